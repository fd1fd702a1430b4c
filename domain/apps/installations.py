"""Install apps in a store, restrict their scopes and uninstall them (docs/reference/current.md#app-installation).

An installation has the scopes that the store currently allows the app. Every approval creates a code, which the app exchanges for
tokens (`domain.apps.oauth`); no token has more scopes than the installation, whenever it was issued.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from asyncpg import Record

from auth.app_scopes import check_may_grant_scopes, expand_scopes, parse_app_scopes
from auth.app_tokens import credential_owner, new_code
from auth.credential_cache import invalidate_credentials
from domain.apps.redirects import add_query_parameters
from domain.apps.registration import AppDetails, find_app
from domain.notifications import write as notifications
from domain.webhooks.endpoints import cancel_outside_scopes
from kernel.errors import NotFound, ValidationFailed
from kernel.ids import parse_uuid, uuid7
from kernel.scope import Scope
from kernel.signatures import token_hash
from kernel.text import InvalidValue, has_forbidden_characters
from models import audit
from models.connection import database
from models.rows import insert_row, update_row

CODE_LIFETIME = timedelta(minutes=10)
MAX_RATE_LIMIT = 100_000
MAX_STATE = 2_000

# BASE64URL(SHA256(code_verifier)) always has this length (RFC 7636, section 4.2).
_S256 = re.compile(r"[A-Za-z0-9_-]{43}")

_INSTALL = """
    insert into app_installations as i (tenant_id, public_id, app_id, scopes, installed_at, updated_at)
    values ($1, $2, $3, $4, $5, $5)
    on conflict (tenant_id, app_id) where removed_at is null do update set scopes = $4, updated_at = $5
    returning i.id, i.public_id, i.public_id <> $2 as already_installed
"""


@dataclass(frozen=True, slots=True)
class Approval:
    """The code of an approval, and the URL that carries it to the app."""

    code: str
    redirect_to: str


async def approve_app(
    scope: Scope,
    client_id: str,
    scopes: Sequence[str],
    redirect_uri: str | None = None,
    state: str | None = None,
    code_challenge: str | None = None,
) -> Approval:
    """Install an app with these scopes, or approve it again, and return the code that it must exchange within 10 minutes.

    The scopes must be within the app's and each covered by a privilege of the approver; they apply at once to the app's existing
    tokens. Raise `InsufficientPrivileges`, `NotFound` and `ValidationFailed`.
    """
    scope.check_privilege("manage_apps")
    app = await find_app(client_id)
    if app is None:
        raise NotFound("app")
    approved = _approved_scopes(app, scopes)
    check_may_grant_scopes(scope, approved)
    redirect_to = resolve_redirect_uri(app, redirect_uri)
    _check_request(state, code_challenge)
    code = new_code(scope.store.public_id)
    async with database.transaction(scope):
        installed = await database.fetchrow(_INSTALL, scope.store.id, uuid7(), app.number, approved, scope.now)
        assert installed is not None  # INSERT … RETURNING returns its row
        await insert_row(
            scope,
            "app_grants",
            installation_id=installed["id"],
            code_hash=token_hash(code),
            redirect_uri=redirect_to,
            code_challenge=code_challenge,
            scopes=approved,
            created_at=scope.now,
            code_expires_at=scope.now + CODE_LIFETIME,
        )
        await cancel_outside_scopes(scope, installed["id"], approved)
        action = "app.approved_again" if installed["already_installed"] else "app.installed"
        details = {"client_id": app.client_id, "scopes": approved}
        await audit.record(scope, action, "installed_app", installed["public_id"], details)
        if not installed["already_installed"]:
            await notifications.notify_app_installed(scope, app.name)
        await invalidate_credentials(scope, credential_owner(installed["id"]))
    return Approval(code, add_query_parameters(redirect_to, code=code, state=state))


def resolve_redirect_uri(app: AppDetails, redirect_uri: str | None) -> str:
    """Return the redirect URI: exactly one of the app's, or its only one by default."""
    if redirect_uri is None and len(app.redirect_uris) == 1:
        return app.redirect_uris[0]
    if redirect_uri is None or redirect_uri not in app.redirect_uris:
        raise ValidationFailed(
            "redirect_uri is none of the app's; it must be written exactly as it was registered",
            field="redirect_uri",
            code="redirect_uri_invalid",
        )
    return redirect_uri


async def restrict_installation(
    scope: Scope, installation: UUID | str, scopes: Sequence[str] | None = None, rate_limit: int | None = None
) -> int:
    """Remove scopes from an installed app, effective at once, or set its rate limit per minute; return the installation's number.

    Scopes that were not approved can't be added here: the app has to request them. Raise `NotFound` and `ValidationFailed`.
    """
    scope.check_privilege("manage_apps")
    if rate_limit is not None and not 1 <= rate_limit <= MAX_RATE_LIMIT:
        raise ValidationFailed(
            f"rate_limit is {rate_limit}; expected 1 to {MAX_RATE_LIMIT}", field="rate_limit", code="rate_limit_invalid"
        )
    async with database.transaction(scope):
        row = await _lock_installation(scope, installation)
        new_scopes = row["scopes"] if scopes is None else _parse_scopes(scopes)
        beyond = sorted(expand_scopes(new_scopes) - expand_scopes(row["scopes"]))
        if beyond:
            raise ValidationFailed(
                f"scopes holds {beyond[0]}, which was not approved; the app must ask for it",
                field="scopes",
                code="scope_not_approved",
            )
        changes: dict[str, Any] = {"scopes": new_scopes}
        if rate_limit is not None:
            changes["rate_limit"] = rate_limit
        if await update_row(scope, "app_installations", row["id"], **changes, updated_at=scope.now):
            await cancel_outside_scopes(scope, row["id"], new_scopes)
            await audit.record(scope, "app.narrowed", "installed_app", row["public_id"], changes)
            await invalidate_credentials(scope, credential_owner(row["id"]))
    return int(row["id"])


async def uninstall_app(scope: Scope, installation: UUID | str) -> None:
    """Uninstall an app; its tokens and codes are revoked at once. Raise `NotFound` if it isn't installed."""
    scope.check_privilege("manage_apps")
    async with database.transaction(scope):
        row = await _lock_installation(scope, installation)
        await update_row(scope, "app_installations", row["id"], removed_at=scope.now, updated_at=scope.now)
        await cancel_outside_scopes(scope, row["id"])
        await audit.record(scope, "app.uninstalled", "installed_app", row["public_id"], {"client_id": row["client_id"]})
        await invalidate_credentials(scope, credential_owner(row["id"]))


async def _lock_installation(scope: Scope, installation: UUID | str) -> Record:
    row = await database.fetchrow(
        """
        select i.id, i.public_id, i.scopes, a.client_id from app_installations i join apps a on a.id = i.app_id
        where i.tenant_id = $1 and i.public_id = $2 and i.removed_at is null for update of i
        """,
        scope.store.id,
        parse_uuid(installation),
    )
    if row is None:
        raise NotFound("installed app")
    return row


def _approved_scopes(app: AppDetails, scopes: Sequence[str]) -> list[str]:
    approved = _parse_scopes(scopes)
    beyond = sorted(expand_scopes(approved) - expand_scopes(app.scopes))
    if beyond:
        raise ValidationFailed(
            f"scopes holds {beyond[0]}, which the app was not registered with",
            field="scopes",
            code="scope_not_requested",
        )
    return approved


def _parse_scopes(scopes: Sequence[str]) -> list[str]:
    try:
        return parse_app_scopes(list(scopes))
    except InvalidValue as error:
        raise ValidationFailed(f"scopes {error}", field="scopes", code="scope_unknown") from error


def _check_request(state: str | None, code_challenge: str | None) -> None:
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
    """Return whether the text can be a PKCE challenge of the method S256 (RFC 7636)."""
    return _S256.fullmatch(text) is not None
