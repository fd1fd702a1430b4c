"""Exchange codes and refresh tokens for app tokens, and revoke them (RFC 6749, 7009, 7636; docs/reference/current.md#app-tokens).

A code or refresh token that is used twice was stolen, or its owner was impersonated: the tokens issued for it are revoked in a
separate transaction, because the error that follows rolls back the current one.
"""

from __future__ import annotations

import base64
import hashlib
import re

from asyncpg import Record

from auth.app_scopes import expand_scopes, limit_scopes
from auth.app_tokens import REVOKED_BY_APP, AppTokenPair, credential_owner, issue_app_tokens
from auth.credential_cache import invalidate_credentials
from domain.apps.registration import AppDetails, authenticate_client
from kernel.errors import InvalidClient, OAuthError
from kernel.scope import Scope
from kernel.signatures import constant_time_equal, token_hash
from models import audit
from models.connection import database
from models.rows import update_row

INVALID_GRANT = "invalid_grant"
INVALID_REQUEST = "invalid_request"
CODE_REUSED = "authorization code reused"
REFRESH_REUSED = "refresh token reused"

_VERIFIER = re.compile(r"[A-Za-z0-9\-._~]{43,128}")

_JOIN_INSTALLATION = """
    join app_installations i on i.tenant_id = g.tenant_id and i.id = g.installation_id
    join apps a on a.id = i.app_id
"""
_GRANT = (
    """
    select g.*, i.public_id as installation_public_id, i.scopes as approved, i.removed_at, i.app_id, a.mode from app_grants g
    """
    + _JOIN_INSTALLATION
    + " where g.tenant_id = $1 and g.code_hash = $2 for update of g"
)
_TOKEN = (
    """
    select t.id, t.kind, t.scopes, t.expires_at, t.used_at, t.revoked_at, t.grant_id, g.revoked_at as grant_revoked_at,
           g.installation_id, i.public_id as installation_public_id, i.scopes as approved, i.removed_at, i.app_id, a.mode
    from app_tokens t join app_grants g on g.tenant_id = t.tenant_id and g.id = t.grant_id
    """
    + _JOIN_INSTALLATION
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
    """Exchange an authorization code for tokens, once, within 10 minutes; a second exchange revokes the tokens of the first.

    `redirect_uri` may be omitted; otherwise it must be exactly the approved one. Raise `InvalidClient` and `OAuthError`.
    """
    if not code:
        raise OAuthError(INVALID_REQUEST, "code is required")
    client = await _authenticated_client(client_id, client_secret)
    tokens: AppTokenPair | None = None
    async with database.transaction(scope):
        grant = await database.fetchrow(_GRANT, scope.store.id, token_hash(code))
        if grant is None or grant["app_id"] != client.number:
            raise _invalid_grant("the code is unknown")
        if grant["exchanged_at"] is None:
            _check_code(scope, grant, redirect_uri, code_verifier)
            await update_row(scope, "app_grants", grant["id"], exchanged_at=scope.now)
            granted = limit_scopes(grant["scopes"], grant["approved"])
            tokens = await issue_app_tokens(scope, grant["id"], grant["mode"], granted, granted)
    if tokens is None:
        await _revoke_reused(scope, grant, CODE_REUSED, "app.code_reused", grant_id=grant["id"])
        raise _invalid_grant("the code was used before; what it gave is revoked")
    return tokens


async def refresh_app_tokens(
    scope: Scope,
    refresh_token: str | None,
    client_id: str | None = None,
    client_secret: str | None = None,
    requested: str | None = None,
) -> AppTokenPair:
    """Exchange a refresh token for the next pair, once; reuse revokes all tokens of the installation.

    In a read-only store the refresh token stays the same, so that it is valid where the store moves.
    Client credentials may be omitted, but not be wrong. `requested` names fewer scopes, separated by spaces (RFC 6749, section 6).
    Raise `InvalidClient` and `OAuthError`.
    """
    if not refresh_token:
        raise OAuthError(INVALID_REQUEST, "refresh_token is required")
    has_client = client_id is not None or client_secret is not None
    client = await _authenticated_client(client_id, client_secret) if has_client else None
    tokens: AppTokenPair | None = None
    async with database.transaction(scope):
        row = await database.fetchrow(_TOKEN, scope.store.id, token_hash(refresh_token))
        if row is None or row["kind"] != "R" or (client is not None and row["app_id"] != client.number):
            raise _invalid_grant("the refresh token is unknown")
        if row["used_at"] is None:
            _check_refresh(scope, row)
            granted = limit_scopes(row["scopes"], row["approved"])
            scopes = _requested_scopes(granted, requested)
            kept = refresh_token if scope.store.is_read_only else None
            if kept is None:
                await update_row(scope, "app_tokens", row["id"], used_at=scope.now)
            tokens = await issue_app_tokens(scope, row["grant_id"], row["mode"], scopes, granted, kept)
    if tokens is None:
        await _revoke_reused(scope, row, REFRESH_REUSED, "app.refresh_token_reused")
        raise _invalid_grant("the refresh token was used before; the app's tokens are revoked")
    return tokens


async def revoke_app_token(
    scope: Scope, token: str | None, client_id: str | None = None, client_secret: str | None = None
) -> None:
    """Revoke one of the client's own tokens; an unknown or revoked one is accepted (RFC 7009, section 2.2).

    A refresh token revokes all tokens of its approval, an access token only itself. Raise `InvalidClient` and `OAuthError`.
    """
    client = await _authenticated_client(client_id, client_secret)
    if not token:
        raise OAuthError(INVALID_REQUEST, "token is required")
    async with database.transaction(scope):
        row = await database.fetchrow(_TOKEN, scope.store.id, token_hash(token))
        if row is None:
            return
        if row["app_id"] != client.number:
            raise _invalid_grant("the token is not one of this client's")
        if row["kind"] == "R":
            await _revoke_grants(scope, row["installation_id"], REVOKED_BY_APP, row["grant_id"])
        else:
            await database.execute(
                "update app_tokens set revoked_at = coalesce(revoked_at, $3) where tenant_id = $1 and id = $2",
                scope.store.id,
                row["id"],
                scope.now,
            )
            await invalidate_credentials(scope, credential_owner(row["installation_id"]))


async def _authenticated_client(client_id: str | None, client_secret: str | None) -> AppDetails:
    if not client_id or not client_secret:
        raise InvalidClient("client_id and client_secret are required")
    client = await authenticate_client(client_id, client_secret)
    if client is None:
        raise InvalidClient("the client is unknown or its secret is wrong")
    return client


def _check_code(scope: Scope, grant: Record, redirect_uri: str | None, code_verifier: str | None) -> None:
    if grant["removed_at"] is not None:
        raise _invalid_grant("the app was removed")
    if grant["code_expires_at"] <= scope.now:
        raise _invalid_grant("the code has expired")
    if redirect_uri is not None and redirect_uri != grant["redirect_uri"]:
        raise _invalid_grant("redirect_uri is not the one that was approved")
    challenge = grant["code_challenge"]
    if challenge is None:
        # Else an attacker could remove the challenge from the request unnoticed (RFC 9700, section 4.8.2).
        if code_verifier is not None:
            raise _invalid_grant("code_verifier was sent, and no code_challenge was begun with")
    elif code_verifier is None:
        raise _invalid_grant("code_verifier is required")
    elif not _VERIFIER.fullmatch(code_verifier) or not constant_time_equal(_s256(code_verifier), challenge):
        raise _invalid_grant("code_verifier does not fit the code_challenge")


def _check_refresh(scope: Scope, row: Record) -> None:
    if row["removed_at"] is not None:
        raise _invalid_grant("the app was removed")
    if row["grant_revoked_at"] is not None or row["revoked_at"] is not None:
        raise _invalid_grant("the refresh token was revoked")
    if row["expires_at"] <= scope.now:
        raise _invalid_grant("the refresh token has expired")


def _requested_scopes(granted: list[str], requested: str | None) -> list[str]:
    scopes = (requested or "").split()
    if not scopes:
        return granted
    beyond = sorted(set(scopes) - expand_scopes(granted))
    if beyond:
        raise OAuthError(INVALID_REQUEST, "scope holds what was not approved")
    return sorted(set(scopes))


def _s256(code_verifier: str) -> str:
    """Return the challenge of a verifier (RFC 7636, section 4.6)."""
    digest = hashlib.sha256(code_verifier.encode("ascii")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


async def _revoke_reused(scope: Scope, row: Record, reason: str, action: str, *, grant_id: int | None = None) -> None:
    # In a separate transaction: the error that follows rolls back the caller's.
    async with database.separate_transaction(scope):
        if await _revoke_grants(scope, row["installation_id"], reason, grant_id):
            await audit.record(scope, action, "installed_app", row["installation_public_id"])


async def _revoke_grants(scope: Scope, installation_id: int, reason: str, grant_id: int | None = None) -> int:
    """Revoke the tokens of one approval, or of all of an installation's; return the number of active approvals."""
    revoked = await database.execute(
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
    await invalidate_credentials(scope, credential_owner(installation_id))
    return revoked


def _invalid_grant(detail: str) -> OAuthError:
    return OAuthError(INVALID_GRANT, detail)
