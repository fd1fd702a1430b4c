"""Sign people in and out: sessions, their refresh tokens and what ends them (current-api Sign-in, decisions section 3).

A session is one signed-in device. Its refresh token is used once and replaced; its access tokens are good while it lives.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from asyncpg import Record

from auth import challenges, lockout, second_factor
from auth.challenges import Challenge
from auth.configuration import configured
from auth.credential_cache import changed
from auth.identify import Entrant, check_may_enter, complete, prove, renew_hash
from auth.keys import process_ring
from auth.tokens import AccessClaims, issue_access_token
from domain import audit
from kernel.errors import Forbidden, NotFound, Unauthenticated, ValidationFailed
from kernel.ids import parse_uuid, random_token, uuid7
from kernel.scope import Scope
from kernel.signatures import token_hash
from models import database

LOGGED_OUT = "logged out"
LOGGED_OUT_EVERYWHERE = "signed out of all devices"
ENDED_BY_USER = "session ended"
REUSED = "refresh token reused"
PASSWORD_CHANGED = "password changed"
DISABLED = "account disabled"
DELETED = "account deleted"
TYPE_CHANGED = "user type changed"

# A client whose answer was lost, or whose two tabs refresh together, is no thief (decisions section 3).
REUSE_GRACE = timedelta(seconds=10)

_USER_AGENT_LENGTH = 400


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A token pair; `expires_at` is the access token's, in whole seconds."""

    access_token: str
    refresh_token: str
    expires_at: datetime
    user_id: UUID
    session_id: UUID


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A live session as its user sees it."""

    id: UUID
    created_at: datetime
    last_used_at: datetime
    expires_at: datetime
    ip_address: str
    user_agent: str
    current: bool


async def login(scope: Scope, identifier: str | None, password: str | None) -> SignedIn | Challenge:
    """Sign a user in with an e-mail, CPF, CNPJ or telephone and a password, or ask for a code where the user has a second factor.

    Raises `RateLimited`, `ValidationFailed` when one is missing, `Unauthenticated` (`invalid credentials`), `AccountLocked`, `Conflict`
    (`multiple_accounts_…`) and `AccountBarred` with the contract's codes. Attempts count before anything else is looked at.
    """
    await lockout.count_attempt(scope, "login")
    if not identifier or not identifier.strip():
        raise ValidationFailed("identifier is required")
    if not password:
        raise ValidationFailed("password is required")
    user = await prove(scope, identifier, password)
    check_may_enter(user)
    if await second_factor.is_on(scope, user.id):
        return await challenges.give(scope, await renew_hash(scope, user, password))
    return await complete_sign_in(scope, user, password)


async def verify_two_factor(scope: Scope, temp_token: str | None, code: str | None) -> SignedIn:
    """Complete a challenge with a code of the authenticator app or a recovery code.

    Raises `ValidationFailed` when one is missing, `Unauthenticated` (`invalid or expired token`, `invalid code`) and `AccountLocked`.
    """
    if not temp_token:
        raise ValidationFailed("temp_token is required")
    if not code or not code.strip():
        raise ValidationFailed("code is required")
    user = await challenges.waiting(scope, temp_token)
    check_may_enter(user)
    await lockout.check_not_locked(scope, user.subject)
    await challenges.count_try(scope, temp_token)
    async with second_factor.guarded(scope, user.id):
        await challenges.finish(scope, temp_token)
        await second_factor.use(scope, user.id, code)
        return await complete_sign_in(scope, user)


async def complete_sign_in(scope: Scope, user: Entrant, password: str | None = None) -> SignedIn:
    """Open a session for a user who has proved everything that was asked; this clears its wrong attempts."""
    async with database.transaction(scope):
        await complete(scope, user, password)
        session_id, refresh_token = await _open_session(scope, user.id)
    return await _signed_in(scope, user.public_id, session_id, refresh_token)


async def refresh(scope: Scope, refresh_token: str | None) -> SignedIn:
    """Exchange a refresh token for a new pair; of two exchanges at once one fails.

    Raises `Unauthenticated` (`invalid refresh token`, with a detail). A token that was used before, unless it is the previous one
    and at most 10 s old, ends its whole session.
    """
    if not refresh_token:
        raise ValidationFailed("refresh_token is required")
    hashed = token_hash(refresh_token)
    async with database.transaction(scope):
        rotated = await _rotate(scope, hashed)
    if rotated is None:
        raise await _why_not_refreshed(scope, hashed)
    record, new_token = rotated
    return await _signed_in(scope, record["user_public_id"], record["session_public_id"], new_token)


async def logout(scope: Scope, refresh_token: str | None) -> None:
    """End the session of a refresh token; one that is unknown or ended already is fine (decisions section 3, Logout)."""
    if not refresh_token:
        raise ValidationFailed("refresh_token is required")
    async with database.transaction(scope):
        session = await database.row(
            """
            select s.id, s.user_id from refresh_tokens t join sessions s on s.tenant_id = t.tenant_id and s.id = t.session_id
            where t.tenant_id = $1 and t.token_hash = $2
            """,
            scope.store.id,
            token_hash(refresh_token),
        )
        if session is not None:
            await _end(scope, session["id"], session["user_id"], LOGGED_OUT)


async def logout_all(scope: Scope) -> None:
    """End every session and legacy token of the caller."""
    user_id = _own_id(scope)
    async with database.transaction(scope):
        await end_all_sessions(scope, user_id, LOGGED_OUT_EVERYWHERE)
        await audit.record(scope, "sessions.ended", "user", scope.actor.user_public_id or user_id)


async def list_sessions(scope: Scope) -> list[SessionInfo]:
    """List the caller's live sessions, the one used last first."""
    found = await database.rows(
        """
        select id, public_id, created_at, last_used_at, expires_at, ip_address, user_agent from sessions
        where tenant_id = $1 and user_id = $2 and ended_at is null and expires_at > $3 order by last_used_at desc, id desc
        """,
        scope.store.id,
        _own_id(scope),
        scope.now,
    )
    return [
        SessionInfo(
            id=record["public_id"],
            created_at=record["created_at"],
            last_used_at=record["last_used_at"],
            expires_at=record["expires_at"],
            ip_address=record["ip_address"],
            user_agent=record["user_agent"],
            current=record["id"] == scope.actor.session_id,
        )
        for record in found
    ]


async def end_session(scope: Scope, public_id: UUID | str) -> None:
    """End one of the caller's own sessions; raises `NotFound` for any other."""
    wanted, user_id = parse_uuid(public_id), _own_id(scope)
    async with database.transaction(scope):
        session = await database.row(
            """
            select id from sessions
            where tenant_id = $1 and public_id = $2 and user_id = $3 and ended_at is null and expires_at > $4
            """,
            scope.store.id,
            wanted,
            user_id,
            scope.now,
        )
        if session is None:
            raise NotFound("session")
        await _end(scope, session["id"], user_id, ENDED_BY_USER)


async def end_all_sessions(scope: Scope, user_id: int, reason: str) -> None:
    """End all sessions and tokens of a user, for a change of password, type or state; joins the open transaction.

    `reason` is what `token revoked: <reason>` will say.
    """
    async with database.transaction(scope):
        await database.execute(
            """
            update sessions set ended_at = $3, end_reason = $4
            where tenant_id = $1 and user_id = $2 and ended_at is null
            """,
            scope.store.id,
            user_id,
            scope.now,
            reason,
        )
        await database.execute(
            "update legacy_tokens set ended_at = $3 where tenant_id = $1 and user_id = $2 and ended_at is null",
            scope.store.id,
            user_id,
            scope.now,
        )
        # What could still become a session: a password that waits for its code, a mail that lets its reader set one.
        await challenges.forget_all(scope, user_id)
        await database.execute(
            "delete from mailed_tokens where tenant_id = $1 and user_id = $2 and purpose = 'password_reset'",
            scope.store.id,
            user_id,
        )
        await changed(scope, user_id)


async def _open_session(scope: Scope, user_id: int) -> tuple[UUID, str]:
    public_id = uuid7()
    session_id = await database.value(
        """
        insert into sessions (tenant_id, public_id, user_id, created_at, last_used_at, expires_at, ip_address, user_agent)
        values ($1, $2, $3, $4, $4, $5, $6, $7) returning id
        """,
        scope.store.id,
        public_id,
        user_id,
        scope.now,
        scope.now + configured().refresh_lifetime,
        scope.client_ip,
        _user_agent(scope),
    )
    return public_id, await _new_refresh_token(scope, session_id)


async def _new_refresh_token(scope: Scope, session_id: int) -> str:
    token = random_token(256)
    await database.execute(
        """
        insert into refresh_tokens (tenant_id, public_id, session_id, token_hash, created_at, expires_at)
        values ($1, $2, $3, $4, $5, $6)
        """,
        scope.store.id,
        uuid7(),
        session_id,
        token_hash(token),
        scope.now,
        scope.now + configured().refresh_lifetime,
    )
    return token


async def _rotate(scope: Scope, hashed: bytes) -> tuple[Record, str] | None:
    """Use the token up in one atomic UPDATE and make its successor; None when it can't be used."""
    used = await database.row(
        """
        update refresh_tokens t set used_at = $3
        from sessions s join users u on u.tenant_id = s.tenant_id and u.id = s.user_id
        where t.tenant_id = $1 and t.token_hash = $2 and t.used_at is null and t.expires_at > $3
          and s.tenant_id = t.tenant_id and s.id = t.session_id and s.ended_at is null
          and u.status = 'A' and u.deleted_at is null
        returning s.id as session_id, s.public_id as session_public_id, u.public_id as user_public_id
        """,
        scope.store.id,
        hashed,
        scope.now,
    )
    if used is None:
        return None
    # A logout that commits meanwhile holds this row: what it ended stays ended.
    alive = await database.execute(
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
    return (used, await _new_refresh_token(scope, used["session_id"])) if alive else None


async def _why_not_refreshed(scope: Scope, hashed: bytes) -> Unauthenticated:
    """Give the refusal of a token that could not be used, after ending its session when it was stolen."""
    token = await database.row(
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
        return _invalid("the token is unknown")
    if token["ended_at"] is not None:
        return _invalid(f"the session was ended: {token['end_reason']}")
    if token["used_at"] is not None:
        if not token["is_previous"] or scope.now - token["used_at"] > REUSE_GRACE:
            await _end_stolen(scope, token)
            return _invalid("the token was used before; its session is ended")
        return _invalid("the token was used before")
    if token["expires_at"] <= scope.now:
        return _invalid("the token has expired")
    return _invalid("the account may not enter")


async def _end_stolen(scope: Scope, token: Record) -> None:
    # In a transaction of its own: the refusal that follows rolls the caller's back.
    async with database.separate_transaction(scope):
        await _end(scope, token["session_id"], token["user_id"], REUSED)
        await audit.record(scope, "session.refresh_token_reused", "session", token["public_id"])


async def _end(scope: Scope, session_id: int, user_id: int, reason: str) -> None:
    ended = await database.execute(
        "update sessions set ended_at = $3, end_reason = $4 where tenant_id = $1 and id = $2 and ended_at is null",
        scope.store.id,
        session_id,
        scope.now,
        reason,
    )
    if ended:
        await changed(scope, user_id)


async def _signed_in(scope: Scope, user_id: UUID, session_id: UUID, refresh_token: str) -> SignedIn:
    expires_at = scope.now.replace(microsecond=0) + configured().access_lifetime
    claims = AccessClaims(user_id, scope.store.public_id, session_id, expires_at)
    token = await issue_access_token(process_ring(), claims, scope.now)
    return SignedIn(token, refresh_token, expires_at, user_id, session_id)


def _invalid(detail: str) -> Unauthenticated:
    return Unauthenticated("invalid refresh token", details={"detail": detail})


def _own_id(scope: Scope) -> int:
    if not scope.actor.is_user or scope.actor.user_id is None:
        raise Forbidden("insufficient permissions")
    return scope.actor.user_id


def _user_agent(scope: Scope) -> str:
    # Odd header bytes arrive as lone surrogates, which can't be stored.
    return scope.user_agent[:_USER_AGENT_LENGTH].encode("utf-8", "replace").decode().replace("\x00", "")
