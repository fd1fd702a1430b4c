"""Count attempts to get in, and lock out who guesses (decisions section 2, Sign-in and Lockout).

What is counted here must survive the refusal that follows, so every count is committed in a transaction of its own.
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
from domain import audit
from kernel.addresses import counted_as
from kernel.errors import AccountLocked, RateLimited
from kernel.ids import uuid7
from kernel.scope import Scope
from models import database

_MINUTE = timedelta(minutes=1)

# One statement decides and counts: PostgreSQL evaluates the condition on the row it has locked, so attempts that come together
# from several processes are let through one by one. A refused attempt isn't kept, else a client that retries would wait for ever.
_LET_THROUGH = """
    insert into signin_counts as c (bucket, recent) values ($1, array[$2::timestamptz])
    on conflict (bucket) do update
    set recent = array(select at from unnest(c.recent) as at where at > $3) || $2::timestamptz
    where (select count(*) from unnest(c.recent) as at where at > $3) < $4
    returning bucket
"""

_in_turn: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()


async def count_attempt(scope: Scope, purpose: str) -> None:
    """Count an attempt of the caller's address, whatever becomes of it and in whatever store; refuse the sixth in a minute.

    `purpose` keeps the counts apart: `login`, `auth_tokens`, `vendor_login`, `password_forgot`, `password_reset`.
    """
    async with database.separate_transaction(scope):
        await _count(scope.client_ip, purpose, scope.now)


async def count_stray_attempt(address: str, purpose: str, at: datetime) -> None:
    """Count an attempt that reached no store, for it is one all the same; refuse the sixth in a minute."""
    await _count(address, purpose, at)


async def _count(address: str, purpose: str, at: datetime) -> None:
    bucket = f"{purpose}:{counted_as(address)}"
    rate = configured().sign_in_rate
    let_through = await database.row(_LET_THROUGH, bucket, at, at - _MINUTE, rate)
    if let_through is None:
        raise RateLimited(f"at most {rate} attempts a minute are allowed from one address", retry_after=60)


def subject_of_user(user_id: int) -> str:
    """Name the account under which wrong attempts are counted."""
    return f"user:{user_id}"


def subject_of_identifier(normalised: str) -> str:
    """Name an identifier that doesn't lead to exactly one account, so that one nobody has locks like any other."""
    return "identifier:" + keyed_hash("lockout", normalised)


@asynccontextmanager
async def in_turn(scope: Scope, subject: str) -> AsyncIterator[None]:
    """Let one attempt on the subject at a time look at the lock, verify and count.

    Else as many guesses as come together would all be verified before the first is counted. It holds within this process; several
    processes together may verify at most one guess too many each.
    """
    key = (scope.store.id, subject)
    lock = _in_turn.get(key)
    if lock is None:
        lock = _in_turn[key] = asyncio.Lock()
    async with lock:
        yield


async def check_not_locked(scope: Scope, subject: str) -> None:
    """Refuse a subject that is locked, right password or not; raises `AccountLocked` with the seconds left."""
    until = await database.value(
        "select until from lockouts where tenant_id = $1 and subject = $2 and until > $3",
        scope.store.id,
        subject,
        scope.now,
    )
    if until is not None:
        raise AccountLocked(math.ceil((until - scope.now).total_seconds()))


async def record_wrong(scope: Scope, subject: str) -> None:
    """Count a wrong password or code in a transaction of its own; the tenth in 15 minutes locks the subject for 15 minutes."""
    settings = configured()
    async with database.separate_transaction(scope):
        # Two processes that count at once would each miss the other's row.
        await database.execute(
            "select pg_advisory_xact_lock(hashtextextended('lockout:' || $1::text || ':' || $2, 0))",
            str(scope.store.id),
            subject,
        )
        await database.execute(
            "delete from wrong_attempts where tenant_id = $1 and subject = $2 and at <= $3",
            scope.store.id,
            subject,
            scope.now - settings.lockout_window,
        )
        await database.execute(
            "insert into wrong_attempts (tenant_id, public_id, subject, at) values ($1, $2, $3, $4)",
            scope.store.id,
            uuid7(),
            subject,
            scope.now,
        )
        wrong = await database.value(
            "select count(*) from wrong_attempts where tenant_id = $1 and subject = $2",
            scope.store.id,
            subject,
        )
        if wrong >= settings.wrong_attempts:
            await _lock(scope, subject)


async def clear(scope: Scope, subject: str) -> None:
    """Forget the wrong attempts of a subject that has signed in; part of the transaction that completes the sign-in."""
    await database.execute(
        "delete from wrong_attempts where tenant_id = $1 and subject = $2", scope.store.id, subject
    )
    await database.execute(
        "delete from lockouts where tenant_id = $1 and subject = $2", scope.store.id, subject
    )


async def _lock(scope: Scope, subject: str) -> None:
    await database.execute(
        """
        insert into lockouts (tenant_id, public_id, subject, until) values ($1, $2, $3, $4)
        on conflict (tenant_id, subject) do update set until = excluded.until
        """,
        scope.store.id,
        uuid7(),
        subject,
        scope.now + configured().lockout,
    )
    await audit.record(scope, "account.locked", "subject", subject)
