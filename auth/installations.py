"""Let a store's administrator install an app, narrow what it may do, and remove it (decisions section 4).

An installation says what the store lets the app do now. Every approval gives a code of its own, which the app exchanges for tokens
(`auth.oauth`); no token does more than the installation allows, whenever it was given.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from asyncpg import Record

from auth.app_scopes import check_may_give, read_app_scopes, widen
from auth.apps import AppDetails, find_app
from auth.credential_cache import changed
from auth.redirects import with_parameters
from domain import audit
from domain.notifications import write as notifications
from domain.webhooks.endpoints import cancel_beyond
from kernel.errors import NotFound, ValidationFailed
from kernel.ids import checksummed_token, parse_uuid, uuid7
from kernel.scope import Scope
from kernel.signatures import token_hash
from kernel.text import Malformed, has_forbidden_characters
from models import database

REMOVED = "app removed"
CODE_LIFETIME = timedelta(minutes=10)
MOST_RATE = 100_000
MAX_STATE = 2_000

# BASE64URL(SHA256(code_verifier)), which is always this long (RFC 7636, section 4.2).
_S256 = re.compile(r"[A-Za-z0-9_-]{43}")

_INSTALL = """
    insert into app_installations as i (tenant_id, public_id, app_id, scopes, installed_at, updated_at)
    values ($1, $2, $3, $4, $5, $5)
    on conflict (tenant_id, app_id) where removed_at is null do update set scopes = $4, updated_at = $5
    returning i.id, i.public_id, i.public_id <> $2 as was_there
"""


@dataclass(frozen=True, slots=True)
class Approval:
    """The code of an approval, and the address that carries it to the app."""

    code: str
    redirect_to: str


async def approve(
    scope: Scope,
    client_id: str,
    scopes: Sequence[str],
    redirect_uri: str | None = None,
    state: str | None = None,
    code_challenge: str | None = None,
) -> Approval:
    """Install an app with these scopes, or approve it anew, and give the code that it exchanges within 10 minutes.

    The scopes must lie within the app's and each be covered by a privilege of the approver; what is approved holds at once for the
    tokens that the app has. Raises `InsufficientPrivileges`, `NotFound` and `ValidationFailed`.
    """
    scope.require("manage_apps")
    app = await find_app(client_id)
    if app is None:
        raise NotFound("app")
    given = _approved(app, scopes)
    check_may_give(scope, given)
    address = registered_address(app, redirect_uri)
    _check_begun_with(state, code_challenge)
    code = checksummed_token("vac_")
    async with database.transaction(scope):
        installed = await database.row(_INSTALL, scope.store.id, uuid7(), app.number, given, scope.now)
        assert installed is not None  # INSERT … RETURNING gives its row
        await database.execute(
            """
            insert into app_grants
                (tenant_id, public_id, installation_id, code_hash, redirect_uri, code_challenge, scopes, created_at, code_expires_at)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            """,
            scope.store.id,
            uuid7(),
            installed["id"],
            token_hash(code),
            address,
            code_challenge,
            given,
            scope.now,
            scope.now + CODE_LIFETIME,
        )
        await cancel_beyond(scope, installed["id"], given)
        action = "app.approved_again" if installed["was_there"] else "app.installed"
        details = {"client_id": app.client_id, "scopes": given}
        await audit.record(scope, action, "installed_app", installed["public_id"], details)
        if not installed["was_there"]:
            await notifications.app_installed(scope, app.name)
        await changed(scope, holder_of(installed["id"]))
    return Approval(code, with_parameters(address, code=code, state=state))


def registered_address(app: AppDetails, redirect_uri: str | None) -> str:
    """Give the address to send the app's answer to: exactly one of its own, or its only one where none is named."""
    if redirect_uri is None and len(app.redirect_uris) == 1:
        return app.redirect_uris[0]
    if redirect_uri is None or redirect_uri not in app.redirect_uris:
        raise ValidationFailed(
            "redirect_uri is none of the app's; it must be written exactly as it was registered",
            field="redirect_uri",
            code="redirect_uri_invalid",
        )
    return redirect_uri


async def narrow(
    scope: Scope, installation: UUID | str, scopes: Sequence[str] | None = None, rate_limit: int | None = None
) -> int:
    """Take scopes away from an installed app, at once, or set its requests a minute; give the installation's number.

    More than was approved is not given here: the app has to ask for it. Raises `NotFound` and `ValidationFailed`.
    """
    scope.require("manage_apps")
    if rate_limit is not None and not 1 <= rate_limit <= MOST_RATE:
        raise ValidationFailed(
            f"rate_limit is {rate_limit}; expected 1 to {MOST_RATE}",
            field="rate_limit",
            code="rate_limit_invalid",
        )
    async with database.transaction(scope):
        found = await _live(scope, installation)
        kept = found["scopes"] if scopes is None else _read_scopes(scopes)
        beyond = sorted(widen(kept) - widen(found["scopes"]))
        if beyond:
            raise ValidationFailed(
                f"scopes holds {beyond[0]}, which was not approved; the app must ask for it",
                field="scopes",
                code="scope_not_approved",
            )
        await database.execute(
            """
            update app_installations set scopes = $3, rate_limit = coalesce($4, rate_limit), updated_at = $5
            where tenant_id = $1 and id = $2
            """,
            scope.store.id,
            found["id"],
            kept,
            rate_limit,
            scope.now,
        )
        await cancel_beyond(scope, found["id"], kept)
        details: dict[str, object] = {"scopes": kept}
        if rate_limit is not None:
            details["rate_limit"] = rate_limit
        await audit.record(scope, "app.narrowed", "installed_app", found["public_id"], details)
        await changed(scope, holder_of(found["id"]))
    return int(found["id"])


async def uninstall(scope: Scope, installation: UUID | str) -> None:
    """Remove an app: its tokens and codes are worthless at once. Raises `NotFound` for one that isn't installed."""
    scope.require("manage_apps")
    async with database.transaction(scope):
        found = await _live(scope, installation)
        await database.execute(
            "update app_installations set removed_at = $3, updated_at = $3 where tenant_id = $1 and id = $2",
            scope.store.id,
            found["id"],
            scope.now,
        )
        await cancel_beyond(scope, found["id"])
        await audit.record(
            scope, "app.uninstalled", "installed_app", found["public_id"], {"client_id": found["client_id"]}
        )
        await changed(scope, holder_of(found["id"]))


def holder_of(installation_id: int) -> str:
    """Name an installation for the memory of credentials."""
    return f"app:{installation_id}"


async def _live(scope: Scope, installation: UUID | str) -> Record:
    found = await database.row(
        """
        select i.id, i.public_id, i.scopes, a.client_id from app_installations i join apps a on a.id = i.app_id
        where i.tenant_id = $1 and i.public_id = $2 and i.removed_at is null for update of i
        """,
        scope.store.id,
        parse_uuid(installation),
    )
    if found is None:
        raise NotFound("installed app")
    return found


def _approved(app: AppDetails, scopes: Sequence[str]) -> list[str]:
    given = _read_scopes(scopes)
    beyond = sorted(widen(given) - widen(app.scopes))
    if beyond:
        raise ValidationFailed(
            f"scopes holds {beyond[0]}, which the app was not registered with",
            field="scopes",
            code="scope_not_requested",
        )
    return given


def _read_scopes(scopes: Sequence[str]) -> list[str]:
    try:
        return read_app_scopes(list(scopes))
    except Malformed as error:
        raise ValidationFailed(f"scopes {error}", field="scopes", code="scope_unknown") from error


def _check_begun_with(state: str | None, code_challenge: str | None) -> None:
    if state is not None and (len(state) > MAX_STATE or has_forbidden_characters(state)):
        raise ValidationFailed(
            f"state has {len(state)} characters; expected at most {MAX_STATE}", field="state", code="too_long"
        )
    if code_challenge is not None and not is_code_challenge(code_challenge):
        raise ValidationFailed(
            "code_challenge must be the base64url form of a SHA-256, 43 characters (method S256)",
            field="code_challenge",
            code="code_challenge_invalid",
        )


def is_code_challenge(text: str) -> bool:
    """Say whether the text can be a PKCE challenge of the method S256 (RFC 7636)."""
    return _S256.fullmatch(text) is not None
