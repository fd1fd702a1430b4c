"""Exchange codes and refresh tokens for the tokens of apps, and revoke them (RFC 6749, 7009, 7636; decisions section 4).

A code or refresh token that comes back after it was spent has been stolen, or its holder was: what it gave is revoked in a
transaction of its own before the refusal, which would undo it otherwise.
"""

from __future__ import annotations

import base64
import hashlib
import re

from asyncpg import Record

from auth.app_scopes import widen, within
from auth.app_tokens import REVOKED_BY_APP, AppTokenPair, give_tokens
from auth.apps import AppDetails, verify_client
from auth.credential_cache import changed
from auth.installations import holder_of
from domain import audit
from kernel.errors import GrantRefused, InvalidClient
from kernel.scope import Scope
from kernel.signatures import constant_time_equal, token_hash
from models import database

INVALID_GRANT = "invalid_grant"
INVALID_REQUEST = "invalid_request"
UNSUPPORTED = "unsupported_grant_type"
CODE_REUSED = "authorization code reused"
REFRESH_REUSED = "refresh token reused"

_VERIFIER = re.compile(r"[A-Za-z0-9\-._~]{43,128}")

_OF_INSTALLATION = """
    join app_installations i on i.tenant_id = g.tenant_id and i.id = g.installation_id
    join apps a on a.id = i.app_id
"""
_GRANT = (
    """
    select g.*, i.public_id as installation_public_id, i.scopes as approved, i.removed_at, i.app_id, a.mode from app_grants g
    """
    + _OF_INSTALLATION
    + " where g.tenant_id = $1 and g.code_hash = $2 for update of g"
)
_TOKEN = (
    """
    select t.id, t.kind, t.scopes, t.expires_at, t.used_at, t.revoked_at, t.grant_id, g.revoked_at as grant_revoked_at,
           g.installation_id, i.public_id as installation_public_id, i.scopes as approved, i.removed_at, i.app_id, a.mode
    from app_tokens t join app_grants g on g.tenant_id = t.tenant_id and g.id = t.grant_id
    """
    + _OF_INSTALLATION
    + " where t.tenant_id = $1 and t.token_hash = $2 for update of t"
)


async def exchange_code(
    scope: Scope,
    client_id: str | None,
    client_secret: str | None,
    code: str | None,
    redirect_uri: str | None = None,
    code_verifier: str | None = None,
) -> AppTokenPair:
    """Exchange an authorization code for tokens, once, within 10 minutes; a second exchange revokes what the first gave.

    `redirect_uri` may be left out, as the contract's body does; one that is given must be the very one that was approved. Raises
    `InvalidClient` and `GrantRefused`.
    """
    if not code:
        raise GrantRefused(INVALID_REQUEST, "code is required")
    client = await _client(client_id, client_secret)
    tokens: AppTokenPair | None = None
    async with database.transaction(scope):
        grant = await database.row(_GRANT, scope.store.id, token_hash(code))
        if grant is None or grant["app_id"] != client.number:
            raise _invalid("the code is unknown")
        if grant["exchanged_at"] is None:
            _check_code(scope, grant, redirect_uri, code_verifier)
            await database.execute(
                "update app_grants set exchanged_at = $3 where tenant_id = $1 and id = $2",
                scope.store.id,
                grant["id"],
                scope.now,
            )
            granted = within(grant["scopes"], grant["approved"])
            tokens = await give_tokens(scope, grant["id"], grant["mode"], granted, granted)
    if tokens is None:
        await _end_reused(scope, grant, CODE_REUSED, "app.code_reused", grant_id=grant["id"])
        raise _invalid("the code was used before; what it gave is revoked")
    return tokens


async def renew(
    scope: Scope,
    refresh_token: str | None,
    client_id: str | None = None,
    client_secret: str | None = None,
    requested: str | None = None,
) -> AppTokenPair:
    """Exchange a refresh token for the next pair, once; reuse of a spent one revokes all tokens of the installation.

    Client credentials may be left out, but not be wrong. `requested` names fewer scopes, with spaces between (RFC 6749, section 6).
    Raises `InvalidClient` and `GrantRefused`.
    """
    if not refresh_token:
        raise GrantRefused(INVALID_REQUEST, "refresh_token is required")
    is_named = client_id is not None or client_secret is not None
    client = await _client(client_id, client_secret) if is_named else None
    tokens: AppTokenPair | None = None
    async with database.transaction(scope):
        found = await database.row(_TOKEN, scope.store.id, token_hash(refresh_token))
        if found is None or found["kind"] != "R" or (client is not None and found["app_id"] != client.number):
            raise _invalid("the refresh token is unknown")
        if found["used_at"] is None:
            _check_refresh(scope, found)
            granted = within(found["scopes"], found["approved"])
            scopes = _narrowed(granted, requested)
            await database.execute(
                "update app_tokens set used_at = $3 where tenant_id = $1 and id = $2",
                scope.store.id,
                found["id"],
                scope.now,
            )
            tokens = await give_tokens(scope, found["grant_id"], found["mode"], scopes, granted)
    if tokens is None:
        await _end_reused(scope, found, REFRESH_REUSED, "app.refresh_token_reused")
        raise _invalid("the refresh token was used before; the app's tokens are revoked")
    return tokens


async def revoke(
    scope: Scope, token: str | None, client_id: str | None = None, client_secret: str | None = None
) -> None:
    """Revoke a token of the client's own; an unknown or ended one is fine (RFC 7009, section 2.2).

    With a refresh token goes all that came of the same approval, with an access token nothing else. Raises `InvalidClient` and
    `GrantRefused`.
    """
    client = await _client(client_id, client_secret)
    if not token:
        raise GrantRefused(INVALID_REQUEST, "token is required")
    async with database.transaction(scope):
        found = await database.row(_TOKEN, scope.store.id, token_hash(token))
        if found is None:
            return
        if found["app_id"] != client.number:
            raise _invalid("the token is not one of this client's")
        if found["kind"] == "R":
            await _end_grants(scope, found["installation_id"], REVOKED_BY_APP, found["grant_id"])
        else:
            await database.execute(
                "update app_tokens set revoked_at = coalesce(revoked_at, $3) where tenant_id = $1 and id = $2",
                scope.store.id,
                found["id"],
                scope.now,
            )
            await changed(scope, holder_of(found["installation_id"]))


async def _client(client_id: str | None, client_secret: str | None) -> AppDetails:
    if not client_id or not client_secret:
        raise InvalidClient("client_id and client_secret are required")
    client = await verify_client(client_id, client_secret)
    if client is None:
        raise InvalidClient("the client is unknown or its secret is wrong")
    return client


def _check_code(scope: Scope, grant: Record, redirect_uri: str | None, code_verifier: str | None) -> None:
    if grant["removed_at"] is not None:
        raise _invalid("the app was removed")
    if grant["code_expires_at"] <= scope.now:
        raise _invalid("the code has expired")
    if redirect_uri is not None and redirect_uri != grant["redirect_uri"]:
        raise _invalid("redirect_uri is not the one that was approved")
    challenge = grant["code_challenge"]
    if challenge is None:
        # Else an attacker could take the challenge away from the request and go unnoticed (RFC 9700, section 4.8.2).
        if code_verifier is not None:
            raise _invalid("code_verifier was sent, and no code_challenge was begun with")
    elif code_verifier is None:
        raise _invalid("code_verifier is required")
    elif not _VERIFIER.fullmatch(code_verifier) or not constant_time_equal(_s256(code_verifier), challenge):
        raise _invalid("code_verifier does not fit the code_challenge")


def _check_refresh(scope: Scope, found: Record) -> None:
    if found["removed_at"] is not None:
        raise _invalid("the app was removed")
    if found["grant_revoked_at"] is not None or found["revoked_at"] is not None:
        raise _invalid("the refresh token was revoked")
    if found["expires_at"] <= scope.now:
        raise _invalid("the refresh token has expired")


def _narrowed(granted: list[str], requested: str | None) -> list[str]:
    wanted = (requested or "").split()
    if not wanted:
        return granted
    beyond = sorted(set(wanted) - widen(granted))
    if beyond:
        raise GrantRefused(INVALID_REQUEST, "scope holds what was not approved")
    return sorted(set(wanted))


def _s256(code_verifier: str) -> str:
    """Give the challenge of a verifier (RFC 7636, section 4.6)."""
    digest = hashlib.sha256(code_verifier.encode("ascii")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


async def _end_reused(
    scope: Scope, found: Record, reason: str, action: str, *, grant_id: int | None = None
) -> None:
    # In a transaction of its own: the refusal that follows rolls the caller's back.
    async with database.separate_transaction(scope):
        if await _end_grants(scope, found["installation_id"], reason, grant_id):
            await audit.record(scope, action, "installed_app", found["installation_public_id"])


async def _end_grants(scope: Scope, installation_id: int, reason: str, grant_id: int | None = None) -> int:
    """Revoke the tokens of one approval, or of all of an installation's; give how many approvals were live."""
    ended = await database.execute(
        """
        update app_grants set revoked_at = $3, revoke_reason = $4
        where tenant_id = $1 and installation_id = $2 and exchanged_at is not null and revoked_at is null
          and ($5::bigint is null or id = $5)
        """,
        scope.store.id,
        installation_id,
        scope.now,
        reason,
        grant_id,
    )
    await changed(scope, holder_of(installation_id))
    return ended


def _invalid(detail: str) -> GrantRefused:
    return GrantRefused(INVALID_GRANT, detail)
