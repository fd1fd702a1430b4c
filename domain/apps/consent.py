"""Validate the request with which an app sends an administrator to the consent page (RFC 6749, section 4.1.1)."""

from __future__ import annotations

from dataclasses import dataclass

from auth.app_scopes import expand_scopes, parse_app_scopes, privilege_for
from domain.apps.installations import MAX_STATE, is_code_challenge, resolve_redirect_uri
from domain.apps.redirects import add_query_parameters
from domain.apps.registration import AppDetails, find_app
from kernel.errors import OAuthError, ValidationFailed
from kernel.scope import Scope
from kernel.text import InvalidValue


@dataclass(frozen=True, slots=True)
class RequestedScope:
    """A scope that the app requests, and the privilege that approving it requires."""

    name: str
    privilege: str


@dataclass(frozen=True, slots=True)
class Consent:
    """What the consent page shows and where it redirects.

    `deny_to` is the URL after a denial; `error_to`, if set, the one for an invalid request. Both are redirect URIs of the app.
    """

    name: str
    mode: str
    store: str
    redirect_uri: str
    scopes: list[RequestedScope]
    deny_to: str
    error_to: str | None


async def load_consent(
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
    """Return what the page shows; raise `OAuthError` if the app or its redirect URI is unknown: then no redirect is safe."""
    app = await find_app(client_id) if client_id else None
    if app is None:
        raise OAuthError("invalid_request", "client_id is unknown" if client_id else "client_id is required")
    try:
        redirect_to = resolve_redirect_uri(app, redirect_uri)
    except ValidationFailed as error:
        raise OAuthError("invalid_request", error.message) from error
    valid_state = state if state is not None and len(state) <= MAX_STATE else None
    requested = _scopes(app, scopes)
    if state is not None and valid_state is None:
        error_code: str | None = "invalid_request"
    elif response_type not in (None, "code"):
        error_code = "unsupported_response_type"
    elif not _is_valid_pkce(code_challenge, code_challenge_method):
        error_code = "invalid_request"
    else:
        error_code = None if requested else "invalid_scope"
    return Consent(
        name=app.name,
        mode=app.mode,
        store=scope.store.name,
        redirect_uri=redirect_to,
        scopes=[RequestedScope(name, privilege_for(name)) for name in requested],
        deny_to=add_query_parameters(redirect_to, error="access_denied", state=valid_state),
        error_to=add_query_parameters(redirect_to, error=error_code, state=valid_state) if error_code else None,
    )


def _scopes(app: AppDetails, text: str | None) -> list[str]:
    """Parse scopes separated by spaces or commas; the app's own by default, an empty list if any is invalid."""
    names = (text or "").replace(",", " ").split()
    if not names:
        return app.scopes
    try:
        requested = parse_app_scopes(names)
    except InvalidValue:
        return []
    return requested if expand_scopes(requested) <= expand_scopes(app.scopes) else []


def _is_valid_pkce(code_challenge: str | None, method: str | None) -> bool:
    """Return whether PKCE is absent or well formed; the method defaults to `plain`, which is rejected."""
    if code_challenge is None:
        return method is None
    return method == "S256" and is_code_challenge(code_challenge)
