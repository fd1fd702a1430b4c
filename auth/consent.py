"""Look at the request with which an app sends an administrator to the consent page (RFC 6749, section 4.1.1)."""

from __future__ import annotations

from dataclasses import dataclass

from auth.app_scopes import privilege_for, read_app_scopes, widen
from auth.apps import AppDetails, find_app
from auth.installations import MAX_STATE, is_code_challenge, registered_address
from auth.redirects import with_parameters
from kernel.errors import GrantRefused, ValidationFailed
from kernel.scope import Scope
from kernel.text import Malformed


@dataclass(frozen=True, slots=True)
class RequestedScope:
    """A scope that the app asks for, and the privilege that its approver needs."""

    name: str
    privilege: str


@dataclass(frozen=True, slots=True)
class Consent:
    """What the page shows and where it leads.

    `deny_to` is the address of a refusal. With `error_to` the request is wrong and goes back at once; both lie at one of the app's
    own addresses.
    """

    name: str
    mode: str
    store: str
    redirect_uri: str
    scopes: list[RequestedScope]
    deny_to: str
    error_to: str | None


async def asked(
    scope: Scope,
    *,
    client_id: str | None,
    redirect_uri: str | None,
    response_type: str | None,
    scopes: str | None,
    state: str | None,
    code_challenge: str | None,
    code_challenge_method: str | None,
) -> Consent:
    """Give what the page shows.

    Raises `GrantRefused` where the app or its address is not known: then nobody may be sent anywhere.
    """
    app = await find_app(client_id) if client_id else None
    if app is None:
        raise GrantRefused(
            "invalid_request", "client_id is unknown" if client_id else "client_id is required"
        )
    try:
        address = registered_address(app, redirect_uri)
    except ValidationFailed as error:
        raise GrantRefused("invalid_request", error.message) from error
    kept = state if state is not None and len(state) <= MAX_STATE else None
    wanted = _scopes(app, scopes)
    if state is not None and kept is None:
        wrong: str | None = "invalid_request"
    elif response_type not in (None, "code"):
        wrong = "unsupported_response_type"
    elif not _is_pkce(code_challenge, code_challenge_method):
        wrong = "invalid_request"
    else:
        wrong = None if wanted else "invalid_scope"
    return Consent(
        name=app.name,
        mode=app.mode,
        store=scope.store.name,
        redirect_uri=address,
        scopes=[RequestedScope(name, privilege_for(name)) for name in wanted],
        deny_to=with_parameters(address, error="access_denied", state=kept),
        error_to=with_parameters(address, error=wrong, state=kept) if wrong else None,
    )


def _scopes(app: AppDetails, named: str | None) -> list[str]:
    """Read scopes with spaces (or commas) between; none named are all that the app was registered with, wrong ones are none."""
    names = (named or "").replace(",", " ").split()
    if not names:
        return app.scopes
    try:
        given = read_app_scopes(names)
    except Malformed:
        return []
    return given if widen(given) <= widen(app.scopes) else []


def _is_pkce(code_challenge: str | None, method: str | None) -> bool:
    """Say whether PKCE was left out or begun rightly; without a word the method is `plain`, which is not taken."""
    if code_challenge is None:
        return method is None
    return method == "S256" and is_code_challenge(code_challenge)
