"""Rate limit sign-in attempts and lock accounts after too many failures (docs/reference/shared.md#lockout).

The counts must survive the error that follows, so each is committed in a separate transaction.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from weakref import WeakValueDictionary

from auth.configuration import configured
from auth.secrets import keyed_hash
from kernel.errors import AccountLocked, RateLimited
from kernel.ip_addresses import rate_limit_key
from kernel.scope import Scope
from models import audit
from models.connection import database
from models.rows import delete_rows, insert_row

_PURPOSE = "lockout"
_MINUTE = timedelta(minutes=1)
# What is later was stored while the clock was ahead, before it was set back: it would lock accounts and addresses until then.
_AHEAD = timedelta(minutes=1)

# One statement checks and counts: PostgreSQL evaluates the condition on the locked row, so concurrent attempts are serialized.
# A rejected attempt isn't counted, else a client that keeps retrying would never get through.
_COUNT_ATTEMPT = """
    insert into signin_counts as c (bucket, recent) values ($1, array[$2::timestamptz])
    on conflict (bucket) do update
    set recent = array(select at from unnest(c.recent) as at where at > $3 and at < $5) || $2::timestamptz
    where (select count(*) from unnest(c.recent) as at where at > $3 and at < $5) < $4
    returning bucket
"""

_locks: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()


async def count_attempt(scope: Scope, purpose: str) -> None:
    """Count an attempt of the caller's address, whatever its result and store; raise `RateLimited` for the sixth in a minute.

    Each `purpose` has its own count: `login`, `auth_tokens`, `vendor_login`, `password_forgot`, `password_reset`, `email_resend`,
    `register`, `newsletter_subscribe`, `stock_notice_request`, `vendor_signup`, `vendor_profile`, `sign_in_key`, `sign_in_key_create`.
    Every operation of a GraphQL document counts.
    """
    async with database.separate_transaction(scope):
        await _count(scope.client_ip, purpose, scope.now)


async def count_address_attempt(address: str, purpose: str, at: datetime) -> None:
    """Count an attempt for which no store was resolved; raise `RateLimited` for the sixth in a minute."""
    await _count(address, purpose, at)


async def _count(address: str, purpose: str, at: datetime) -> None:
    rate = configured().sign_in_rate
    if not await count_recent(f"{purpose}:{rate_limit_key(address)}", at, rate):
        raise RateLimited(f"at most {rate} attempts a minute are allowed from one address", retry_after=60)


async def count_recent(bucket: str, at: datetime, limit: int) -> bool:
    """Count something in a bucket (at most 200 characters), for all processes; False if there were `limit` in a minute already."""
    return await database.fetchrow(_COUNT_ATTEMPT, bucket, at, at - _MINUTE, limit, at + _AHEAD) is not None


def user_subject(user_id: int) -> str:
    """Return the lockout subject of an account."""
    return f"user:{user_id}"


def identifier_subject(normalised: str) -> str:
    """Return the lockout subject of an identifier that doesn't match exactly one account, so that unknown ones lock alike."""
    return "identifier:" + keyed_hash(_PURPOSE, normalised)


@asynccontextmanager
async def attempt_lock(scope: Scope, subject: str) -> AsyncIterator[None]:
    """Serialize the attempts on a subject: check the lockout, verify and count one at a time.

    Otherwise concurrent guesses would all be verified before the first is counted. The lock is per process; each further process may
    verify at most one guess too many.
    """
    key = (scope.store.id, subject)
    lock = _locks.get(key)
    if lock is None:
        lock = _locks[key] = asyncio.Lock()
    async with lock:
        yield


async def check_not_locked(scope: Scope, subject: str) -> None:
    """Raise `AccountLocked`, with the seconds left, for a locked subject, even with the right password."""
    until = await database.fetchval(
        "select until from lockouts where tenant_id = $1 and subject = $2 and until > $3 and until < $4",
        scope.store.id,
        subject,
        scope.now,
        scope.now + configured().lockout + _AHEAD,
    )
    if until is not None:
        raise AccountLocked(math.ceil((until - scope.now).total_seconds()))


async def record_failure(scope: Scope, subject: str) -> None:
    """Count a wrong password or code in a separate transaction; the tenth in 15 minutes locks the subject for 15 minutes."""
    settings = configured()
    async with database.separate_transaction(scope):
        # Two processes that count concurrently would each miss the other's row.
        await database.execute(
            "select pg_advisory_xact_lock(hashtextextended('lockout:' || $1::text || ':' || $2, 0))",
            str(scope.store.id),
            subject,
        )
        await database.execute(
            "delete from wrong_attempts where tenant_id = $1 and subject = $2 and (at <= $3 or at > $4)",
            scope.store.id,
            subject,
            scope.now - settings.lockout_window,
            scope.now + _AHEAD,
        )
        await insert_row(scope, "wrong_attempts", subject=subject, at=scope.now)
        failures = await database.fetchval(
            "select count(*) from wrong_attempts where tenant_id = $1 and subject = $2", scope.store.id, subject
        )
        if failures >= settings.wrong_attempts:
            await _lock(scope, subject)


async def clear_failures(scope: Scope, subject: str) -> None:
    """Delete the failed attempts of a subject that has signed in; part of the sign-in transaction."""
    await delete_rows(scope, "wrong_attempts", subject=subject)
    await delete_rows(scope, "lockouts", subject=subject)


async def _lock(scope: Scope, subject: str) -> None:
    replace = "ON CONFLICT (tenant_id, subject) DO UPDATE SET until = excluded.until"
    await insert_row(scope, "lockouts", subject=subject, until=scope.now + configured().lockout, conflict=replace)
    await audit.record(scope, "account.locked", "subject", subject)
