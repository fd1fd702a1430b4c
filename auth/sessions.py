"""Sign users in and out: sessions and their refresh tokens (docs/reference/current.md#sessions).

A session is one signed-in device. Its refresh token is used once and replaced; its access tokens are valid while it is active.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from asyncpg import Record

from auth import challenges, lockout, two_factor_codes
from auth.access_tokens import AccessTokenClaims, issue_access_token
from auth.challenges import Challenge
from auth.configuration import configured
from auth.credential_cache import invalidate_credentials
from auth.password_authentication import (
    AuthenticatedUser,
    authenticate_password,
    check_may_sign_in,
    record_sign_in,
    update_password_hash,
)
from auth.privileges import check_may_manage_user, load_account
from auth.signing_keys import process_key_ring
from kernel.errors import NotFound, Unauthenticated, ValidationFailed
from kernel.ids import parse_uuid, random_token, uuid7
from kernel.scope import Scope
from kernel.signatures import token_hash
from models import audit
from models.connection import database
from models.rows import from_row, insert_row

LOGGED_OUT = "logged out"
LOGGED_OUT_EVERYWHERE = "signed out of all devices"
REVOKED_BY_USER = "session ended"
ENDED_BY_STAFF = "session ended by an administrator"
REUSED = "refresh token reused"
PASSWORD_CHANGED = "password changed"
DISABLED = "account disabled"
DELETED = "account deleted"
TYPE_CHANGED = "user type changed"

# Tolerates a client that lost the response or refreshes in two tabs (docs/reference/current.md#refresh-tokens).
REUSE_GRACE = timedelta(seconds=10)

_USER_AGENT_LENGTH = 400


@dataclass(frozen=True, slots=True)
class SessionTokens:
    """A token pair; `expires_at` is the access token's, in whole seconds."""

    access_token: str
    refresh_token: str
    expires_at: datetime
    user_id: UUID
    session_id: UUID


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """An active session as listed for its user."""

    id: UUID
    created_at: datetime
    last_used_at: datetime
    expires_at: datetime
    ip_address: str
    user_agent: str
    current: bool


async def login(scope: Scope, identifier: str | None, password: str | None) -> SessionTokens | Challenge:
    """Sign a user in with an e-mail, CPF, CNPJ or phone and a password; return a challenge if two-factor authentication is enabled.

    Raise `RateLimited`, `ValidationFailed` if one is missing, `Unauthenticated` (`invalid credentials`), `AccountLocked`, `Conflict`
    (`multiple_accounts_…`) and `SignInDenied` with the public codes. The attempt is counted before any other check.
    """
    await lockout.count_attempt(scope, "login")
    if not identifier or not identifier.strip():
        raise ValidationFailed("identifier is required")
    if not password:
        raise ValidationFailed("password is required")
    user = await authenticate_password(scope, identifier, password)
    await check_may_sign_in(scope, user)
    if await two_factor_codes.is_enabled(scope, user.id):
        return await challenges.create_challenge(scope, await update_password_hash(scope, user, password))
    return await complete_sign_in(scope, user, password)


async def verify_two_factor(scope: Scope, temp_token: str | None, code: str | None) -> SessionTokens:
    """Complete a challenge with a TOTP or recovery code.

    Raise `ValidationFailed` if one is missing, `Unauthenticated` (`invalid or expired token`, `invalid code`) and `AccountLocked`.
    """
    if not temp_token:
        raise ValidationFailed("temp_token is required")
    if not code or not code.strip():
        raise ValidationFailed("code is required")
    user = await challenges.find_challenged_user(scope, temp_token)
    await check_may_sign_in(scope, user)
    await lockout.check_not_locked(scope, user.subject)
    await challenges.count_attempt(scope, temp_token)
    async with two_factor_codes.code_attempt(scope, user.id):
        await challenges.consume_challenge(scope, temp_token)
        await two_factor_codes.consume_code(scope, user.id, code)
        return await complete_sign_in(scope, user)


async def complete_sign_in(scope: Scope, user: AuthenticatedUser, password: str | None = None) -> SessionTokens:
    """Create a session for a fully authenticated user; this clears its failed attempts."""
    async with database.transaction(scope):
        await record_sign_in(scope, user, password)
        session_id, refresh_token = await _create_session(scope, user.id)
    return await _issue_tokens(scope, user.public_id, session_id, refresh_token)


async def refresh(scope: Scope, refresh_token: str | None) -> SessionTokens:
    """Exchange a refresh token for a new pair; of two concurrent exchanges one fails.

    Raise `Unauthenticated` (`invalid refresh token`, with a detail). A used token, unless it is the previous one and was used at most
    10 s ago, revokes its whole session. In a read-only store the token stays the same, so that it is valid where the store moves.
    """
    if not refresh_token:
        raise ValidationFailed("refresh_token is required")
    hashed = token_hash(refresh_token)
    if scope.store.is_read_only:
        session, new_token = await database.fetchrow(_USABLE, scope.store.id, hashed, scope.now), refresh_token
    else:
        async with database.transaction(scope):
            session, new_token = await _rotate(scope, hashed)
    if session is None:
        raise await _refresh_error(scope, hashed)
    return await _issue_tokens(scope, session["user_public_id"], session["session_public_id"], new_token)


async def logout(scope: Scope, refresh_token: str | None) -> None:
    """Revoke the session of a refresh token; an unknown or revoked one is accepted (docs/reference/current.md#logout)."""
    if not refresh_token:
        raise ValidationFailed("refresh_token is required")
    async with database.transaction(scope):
        session = await database.fetchrow(
            """
            select s.id, s.user_id from refresh_tokens t join sessions s on s.tenant_id = t.tenant_id and s.id = t.session_id
            where t.tenant_id = $1 and t.token_hash = $2
            """,
            scope.store.id,
            token_hash(refresh_token),
        )
        if session is not None:
            await _revoke(scope, session["id"], session["user_id"], LOGGED_OUT)


async def logout_all(scope: Scope) -> None:
    """Revoke every session and legacy token of the caller."""
    user_id = scope.own_user_id()
    async with database.transaction(scope):
        await revoke_all_sessions(scope, user_id, LOGGED_OUT_EVERYWHERE)
        await audit.record(scope, "sessions.ended", "user", scope.actor.user_public_id or user_id)


async def list_sessions(scope: Scope) -> list[SessionInfo]:
    """List the caller's active sessions, most recently used first."""
    rows = await database.fetch(
        """
        select id, public_id, created_at, last_used_at, expires_at, ip_address, user_agent from sessions
        where tenant_id = $1 and user_id = $2 and ended_at is null and expires_at > $3 order by last_used_at desc, id desc
        """,
        scope.store.id,
        scope.own_user_id(),
        scope.now,
    )
    return [
        from_row(SessionInfo, row, id=row["public_id"], current=row["id"] == scope.actor.session_id) for row in rows
    ]


async def revoke_session(scope: Scope, public_id: UUID | str) -> None:
    """Revoke one of the caller's own sessions; raise `NotFound` for any other."""
    session_id, user_id = parse_uuid(public_id), scope.own_user_id()
    async with database.transaction(scope):
        session = await database.fetchrow(
            """
            select id from sessions
            where tenant_id = $1 and public_id = $2 and user_id = $3 and ended_at is null and expires_at > $4
            """,
            scope.store.id,
            session_id,
            user_id,
            scope.now,
        )
        if session is None:
            raise NotFound("session")
        await _revoke(scope, session["id"], user_id, REVOKED_BY_USER)


async def end_session_of_user(scope: Scope, public_id: UUID | str) -> None:
    """Revoke a session of a user whose account the caller may administer; raise `NotFound` for one that isn't active."""
    async with database.transaction(scope):
        session = await database.fetchrow(
            "select id, user_id from sessions where tenant_id = $1 and public_id = $2 and ended_at is null and expires_at > $3",
            scope.store.id,
            parse_uuid(public_id),
            scope.now,
        )
        account = None if session is None else await load_account(scope, session["user_id"])
        if session is None or account is None:
            raise NotFound("session")
        check_may_manage_user(scope, account)
        await _revoke(scope, session["id"], account.id, ENDED_BY_STAFF)
        await audit.record(scope, "user.session_ended", "user", account.public_id, {"session": str(public_id)})


async def revoke_all_sessions(scope: Scope, user_id: int, reason: str, *, except_session_id: int | None = None) -> None:
    """Revoke all sessions and tokens of a user, but for one session, in the open transaction; `reason` is shown in `token revoked: …`."""
    async with database.transaction(scope):
        await database.execute(
            """
            update sessions set ended_at = $3, end_reason = $4
            where tenant_id = $1 and user_id = $2 and ended_at is null and id is distinct from $5
            """,
            scope.store.id,
            user_id,
            scope.now,
            reason,
            except_session_id,
        )
        await database.execute(
            "update legacy_tokens set ended_at = $3 where tenant_id = $1 and user_id = $2 and ended_at is null",
            scope.store.id,
            user_id,
            scope.now,
        )
        # What could still become a session or a change: pending two-factor challenges, and mails whose token needs no session.
        await challenges.delete_challenges(scope, user_id)
        await database.execute(
            "delete from mailed_tokens where tenant_id = $1 and user_id = $2 and purpose <> 'email_verification'",
            scope.store.id,
            user_id,
        )
        await invalidate_credentials(scope, user_id)


async def _create_session(scope: Scope, user_id: int) -> tuple[UUID, str]:
    public_id = uuid7()
    session_id = await insert_row(
        scope,
        "sessions",
        public_id=public_id,
        user_id=user_id,
        created_at=scope.now,
        last_used_at=scope.now,
        expires_at=scope.now + configured().refresh_lifetime,
        ip_address=scope.client_ip,
        user_agent=_user_agent(scope),
    )
    return public_id, await _new_refresh_token(scope, session_id)


async def _new_refresh_token(scope: Scope, session_id: int) -> str:
    token = random_token(256)
    times: dict[str, Any] = {"created_at": scope.now, "expires_at": scope.now + configured().refresh_lifetime}
    await insert_row(scope, "refresh_tokens", session_id=session_id, token_hash=token_hash(token), **times)
    return token


_OF_USABLE = """
    from sessions s join users u on u.tenant_id = s.tenant_id and u.id = s.user_id{}
    where t.tenant_id = $1 and t.token_hash = $2 and t.used_at is null and t.expires_at > $3
      and s.tenant_id = t.tenant_id and s.id = t.session_id and s.ended_at is null
      and u.status = 'A' and u.deleted_at is null
"""
_SESSION = "s.id as session_id, s.public_id as session_public_id, u.public_id as user_public_id"
_USABLE = f"select {_SESSION} {_OF_USABLE.format(' cross join refresh_tokens t')}"
_USE = f"update refresh_tokens t set used_at = $3 {_OF_USABLE.format('')} returning {_SESSION}"


async def _rotate(scope: Scope, hashed: bytes) -> tuple[Record, str] | tuple[None, str]:
    """Consume the token in one atomic UPDATE and create its successor; None if it can't be used."""
    used = await database.fetchrow(_USE, scope.store.id, hashed, scope.now)
    if used is None:
        return None, ""
    # A logout that commits meanwhile locks this row: a revoked session stays revoked.
    updated = await database.execute(
        """
        update sessions set last_used_at = $3, expires_at = $4, ip_address = $5, user_agent = $6
        where tenant_id = $1 and id = $2 and ended_at is null
        """,
        scope.store.id,
        used["session_id"],
        scope.now,
        scope.now + configured().refresh_lifetime,
        scope.client_ip,
        _user_agent(scope),
    )
    return (used, await _new_refresh_token(scope, used["session_id"])) if updated else (None, "")


async def _refresh_error(scope: Scope, hashed: bytes) -> Unauthenticated:
    """Return the error for a token that could not be used, after revoking its session if it was stolen."""
    token = await database.fetchrow(
        """
        select t.used_at, t.expires_at, s.id as session_id, s.public_id, s.user_id, s.ended_at, s.end_reason,
               not exists (
                   select from refresh_tokens later
                   where later.tenant_id = t.tenant_id and later.session_id = t.session_id
                     and later.id > t.id and later.used_at is not null
               ) as is_previous
        from refresh_tokens t join sessions s on s.tenant_id = t.tenant_id and s.id = t.session_id
        where t.tenant_id = $1 and t.token_hash = $2
        """,
        scope.store.id,
        hashed,
    )
    if token is None:
        return _invalid_token("the token is unknown")
    if token["ended_at"] is not None:
        return _invalid_token(f"the session was ended: {token['end_reason']}")
    if token["used_at"] is not None:
        if not token["is_previous"] or scope.now - token["used_at"] > REUSE_GRACE:
            await _revoke_stolen(scope, token)
            return _invalid_token("the token was used before; its session is ended")
        return _invalid_token("the token was used before")
    if token["expires_at"] <= scope.now:
        return _invalid_token("the token has expired")
    return _invalid_token("the account may not enter")


async def _revoke_stolen(scope: Scope, token: Record) -> None:
    # In a separate transaction: the error that follows rolls back the caller's.
    async with database.separate_transaction(scope):
        await _revoke(scope, token["session_id"], token["user_id"], REUSED)
        await audit.record(scope, "session.refresh_token_reused", "session", token["public_id"])


async def _revoke(scope: Scope, session_id: int, user_id: int, reason: str) -> None:
    revoked = await database.execute(
        "update sessions set ended_at = $3, end_reason = $4 where tenant_id = $1 and id = $2 and ended_at is null",
        scope.store.id,
        session_id,
        scope.now,
        reason,
    )
    if revoked:
        await invalidate_credentials(scope, user_id)


async def _issue_tokens(scope: Scope, user_id: UUID, session_id: UUID, refresh_token: str) -> SessionTokens:
    expires_at = scope.now.replace(microsecond=0) + configured().access_lifetime
    claims = AccessTokenClaims(user_id, scope.store.public_id, session_id, expires_at)
    token = await issue_access_token(process_key_ring(), claims, scope.now)
    return SessionTokens(token, refresh_token, expires_at, user_id, session_id)


def _invalid_token(detail: str) -> Unauthenticated:
    return Unauthenticated("invalid refresh token", details={"detail": detail})


def _user_agent(scope: Scope) -> str:
    # Invalid header bytes arrive as lone surrogates, which can't be stored.
    return scope.user_agent[:_USER_AGENT_LENGTH].encode("utf-8", "replace").decode().replace("\x00", "")
