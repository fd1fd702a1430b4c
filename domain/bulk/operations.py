"""The life of bulk operations: created by their caller, claimed and ended by a worker, deleted with their files.

    state        next                                 when
    pending      running                              a worker claims it
    pending      cancelled                            cancelled before
    running      completed, failed                    its work ends
    running      cancelling                           cancelled; the worker notices within `REPORT_SECONDS`
    cancelling   cancelled                            it has stopped

A worker claims an operation by moving `due_at` past a lease, which it renews with its progress; after a crash the lease expires and the
operation is due again. All times of claims come from the database's clock, because machines' clocks differ.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from auth.credentials import load_app, load_user
from domain.bulk.configuration import configured
from domain.bulk.files import ResultFile, delete_files
from domain.bulk.uploads import delete_unused
from domain.resting_stores import RESTING_STORES
from domain.store_limits import check_limit, find_left
from kernel.errors import Conflict, Forbidden, NotFound, RateLimited, Unauthenticated
from kernel.ids import parse_reference, uuid7
from kernel.scope import Actor, ActorKind, Scope
from models import audit
from models.connection import database
from models.connection.database import (
    UniqueViolation,
    execute,
    fetch,
    fetch_separately,
    fetchrow,
    fetchval,
    transaction,
)
from models.reading.snapshots import stream
from models.rows import delete_rows

QUERY, MUTATION = "query", "mutation"
LEASE = timedelta(minutes=1)
# A worker that dies with an operation this often is not the cause.
MAX_TRIES = 3
RETENTION = timedelta(days=7)
_SECONDS_A_DAY = 86_400
_WITHDRAWN = "rights of the caller were withdrawn"

_INSERT = """
INSERT INTO bulk_operations (
    tenant_id, public_id, kind, credential, user_id, installation_id, scopes, document, upload, is_atomic, created_at, due_at
) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, clock_timestamp()) RETURNING id
"""
_USED_ROWS = """
SELECT coalesce(sum(object_count), 0)::bigint FROM bulk_operations
WHERE tenant_id = $1 AND credential = $2 AND kind = 'query' AND created_at >= $3
"""
_CANCEL = """
UPDATE bulk_operations SET
    state = CASE state WHEN 'pending' THEN 'cancelled' WHEN 'running' THEN 'cancelling' ELSE state END,
    due_at = CASE state WHEN 'pending' THEN NULL ELSE due_at END,
    finished_at = CASE state WHEN 'pending' THEN $5 ELSE finished_at END,
    expires_at = CASE state WHEN 'pending' THEN $6 ELSE expires_at END
WHERE tenant_id = $1 AND public_id = $2 AND (user_id = $3 OR installation_id = $4)
RETURNING id
"""
# The store with the fewest running operations first, so that one store doesn't keep the others waiting.
_CLAIM = f"""
UPDATE bulk_operations o SET claim = $1, due_at = clock_timestamp() + $2, tries = o.tries + 1,
    started_at = coalesce(o.started_at, clock_timestamp()), state = CASE o.state WHEN 'pending' THEN 'running' ELSE o.state END
FROM (
    SELECT b.tenant_id, b.id FROM bulk_operations b WHERE b.due_at <= clock_timestamp() AND b.tenant_id <> ALL({RESTING_STORES})
    ORDER BY (
        SELECT count(*) FROM bulk_operations r WHERE r.tenant_id = b.tenant_id AND r.claim IS NOT NULL AND r.due_at > clock_timestamp()
    ), b.due_at
    LIMIT 1 FOR UPDATE SKIP LOCKED
) c
WHERE o.tenant_id = c.tenant_id AND o.id = c.id
RETURNING o.tenant_id AS store_id, o.id, o.public_id, o.kind, o.state, o.credential, o.user_id, o.installation_id, o.scopes,
    o.document, o.upload, o.is_atomic, o.tries
"""
_OWN = "WHERE tenant_id = $1 AND id = $2 AND claim = $3 AND due_at IS NOT NULL"
_REPORT = f"""
UPDATE bulk_operations SET object_count = $4, root_object_count = $5, error_count = $6, file_size = $7, due_at = clock_timestamp() + $8
{_OWN} RETURNING state
"""
_END = f"""
UPDATE bulk_operations SET state = $4, error_code = $5, error_message = $6, object_count = $7, root_object_count = $8, error_count = $9,
    file_size = $10, finished_at = $11, expires_at = $12, due_at = NULL
{_OWN}
"""
_RELEASE = f"UPDATE bulk_operations SET due_at = clock_timestamp(), tries = greatest(tries - 1, 0) {_OWN}"
# At the end of a batch, in its transaction: one that is another worker's by then is rolled back.
_SAVE_RESULTS = f"""
WITH own AS (
    UPDATE bulk_operations SET object_count = object_count + $6, error_count = error_count + $7, tries = 0, due_at = clock_timestamp() + $10
    {_OWN} RETURNING tenant_id, id, state
), saved AS (
    INSERT INTO bulk_results (tenant_id, operation_id, first_line, lines, results, errors, next_offset, content)
    SELECT o.tenant_id, o.id, $4, $5, $6, $7, $8, $9 FROM own o
)
SELECT state FROM own
"""
_SAVED = """
SELECT coalesce(max(first_line + lines - 1), 0)::bigint AS lines, coalesce(max(next_offset), 0)::bigint AS next_offset,
    coalesce(sum(results), 0)::bigint AS results, coalesce(sum(errors), 0)::bigint AS errors
FROM bulk_results WHERE tenant_id = $1 AND operation_id = $2
"""
_EXPIRED = "SELECT id, public_id FROM bulk_operations WHERE tenant_id = $1 AND expires_at < $2 ORDER BY id LIMIT $3"
_DELETE = "DELETE FROM bulk_operations WHERE tenant_id = $1 AND id = ANY($2::bigint[])"


class ClaimLost(Exception):
    """Report that the operation was claimed by another worker, or has ended."""


class Cancelled(Exception):
    """Report that the caller has cancelled the operation."""


@dataclass(frozen=True, slots=True)
class ClaimedOperation:
    """An operation and this worker's claim on it."""

    store_id: int
    id: int
    public_id: UUID
    kind: str
    state: str
    claim: UUID
    credential: str
    user_id: int | None
    installation_id: int | None
    scopes: list[str]
    document: str
    upload: UUID | None
    is_atomic: bool
    tries: int


@dataclass(frozen=True, slots=True)
class SavedLines:
    """A batch of a mutation that is done: its first line, and the counts of lines, results and refused ones."""

    first_line: int
    lines: int
    results: int
    errors: int
    next_offset: int
    content: bytes


@dataclass(slots=True)
class BulkProgress:
    """What an operation has done: lines of its result, those of root fields, those with errors; bytes of the result."""

    object_count: int = 0
    root_object_count: int = 0
    error_count: int = 0
    file_size: int = 0


# --- The caller -------------------------------------------------------------------------------------------------------


async def create(scope: Scope, kind: str, document: str, *, upload: UUID | None = None, is_atomic: bool = False) -> int:
    """Create a checked operation of the caller and return its internal id.

    Raise `Conflict` (`bulk_operation_running`) while another of the kind has not ended, `RateLimited` when the caller's rows of today are
    used up (docs/reference/bulk.md#limits).
    """
    if kind == QUERY:
        await rows_left(scope)
    actor, public_id = scope.actor, uuid7()
    try:
        async with transaction(scope):
            number: int = await fetchval(
                _INSERT,
                scope.store.id,
                public_id,
                kind,
                actor.credential,
                actor.user_id,
                actor.installation_id,
                sorted(rights_of(actor)),
                document,
                upload,
                is_atomic,
                scope.now,
            )
            await audit.record(scope, "bulk_operation.created", "bulk_operation", public_id, {"kind": kind})
    except UniqueViolation as error:
        raise Conflict(f"another bulk {kind} has not ended", reason="bulk_operation_running") from error
    return number


def rights_of(actor: Actor) -> frozenset[str]:
    """Return the names of what the caller may read, which the operation keeps: without any of them nobody gets a link to its result."""
    vendor = () if actor.vendor_id is None else (f"vendor:{actor.vendor_id}",)
    return actor.scopes | actor.privileges | frozenset(vendor)


async def cancel(scope: Scope, operation: object) -> int:
    """Cancel an operation of the caller and return its internal id; one that has ended stays as it is. Raise `NotFound`."""
    public_id, actor = parse_reference(operation), scope.actor
    async with transaction(scope):
        number: int | None = await fetchval(
            _CANCEL,
            scope.store.id,
            public_id if isinstance(public_id, UUID) else None,
            actor.user_id if actor.kind is not ActorKind.APP else None,
            actor.installation_id,
            scope.now,
            scope.now + RETENTION,
        )
    if number is None:
        raise NotFound("bulk operation")
    return number


async def rows_left(scope: Scope) -> int | None:
    """Return how many lines a query of the caller that has none so far may have today (UTC), None without a limit.

    Raise `RateLimited` when the caller, `RuleViolation` when the store may have none.
    """
    await check_limit(scope, "bulk_rows_per_day")
    of_store = await find_left(scope, "bulk_rows_per_day")
    of_caller = await _rows_of_caller(scope)
    return of_caller if of_store is None or of_caller is None else min(of_store, of_caller)


async def _rows_of_caller(scope: Scope) -> int | None:
    allowance = configured().daily_rows
    if not allowance:
        return None
    midnight = scope.now.replace(hour=0, minute=0, second=0, microsecond=0)
    used: int = await fetchval(_USED_ROWS, scope.store.id, scope.actor.credential, midnight)
    if used >= allowance:
        until_midnight = _SECONDS_A_DAY - int((scope.now - midnight).total_seconds())
        raise RateLimited(f"bulk queries have read the {allowance} rows of today", retry_after=until_midnight)
    return allowance - used


# --- The worker -------------------------------------------------------------------------------------------------------


async def claim(*, lease: timedelta = LEASE) -> ClaimedOperation | None:
    """Claim a due operation of any store; of several concurrent workers one gets it."""
    claim_id = uuid7()
    async with database.cross_store_connection() as connection:
        row = await connection.fetchrow(_CLAIM, claim_id, lease)
    if row is None:
        return None
    return ClaimedOperation(claim=claim_id, **row)


async def as_caller(scope: Scope, operation: ClaimedOperation) -> Scope:
    """Return the scope with the operation's caller and its present rights; raise `Forbidden` for one that has lost any."""
    try:
        if operation.user_id is not None:
            actor = await load_user(scope, operation.user_id)
        else:
            assert operation.installation_id is not None
            actor = await load_app(scope, operation.installation_id, operation.scopes)
    except Unauthenticated as error:
        raise Forbidden(error.message) from error
    if not rights_of(actor).issuperset(operation.scopes):
        raise Forbidden(_WITHDRAWN)
    return replace(scope, actor=actor, family="graphql")


async def check_rights(scope: Scope, operation: ClaimedOperation) -> None:
    """Raise `Forbidden` if the caller in the scope has lost a right since; not in the snapshot, which would show the rights of before."""
    async with database.separate_transaction(scope):
        current = (await as_caller(scope, operation)).actor
    if not _includes(current, scope.actor):
        raise Forbidden(_WITHDRAWN)


def _includes(current: Actor, before: Actor) -> bool:
    return (
        (current.kind, current.vendor_id) == (before.kind, before.vendor_id)
        and current.privileges >= before.privileges
        and current.scopes >= before.scopes
    )


async def report(scope: Scope, operation: ClaimedOperation, progress: BulkProgress) -> None:
    """Store the progress and renew the lease, on a connection of its own; raise `ClaimLost` and `Cancelled`."""
    rows = await fetch_separately(
        scope,
        _REPORT,
        scope.store.id,
        operation.id,
        operation.claim,
        progress.object_count,
        progress.root_object_count,
        progress.error_count,
        progress.file_size,
        LEASE,
    )
    if not rows:
        raise ClaimLost
    if rows[0]["state"] == "cancelling":
        raise Cancelled


async def with_lease(
    scope: Scope,
    operation: ClaimedOperation,
    progress: BulkProgress,
    work: Coroutine[Any, Any, None],
    *,
    until_done: bool = False,
) -> None:
    """Do work that takes long, and renew the lease meanwhile; `ClaimLost` ends it, and `Cancelled` unless it goes on `until_done`."""
    task = asyncio.create_task(work)
    try:
        while not (await asyncio.wait([task], timeout=LEASE.total_seconds() / 4))[0]:
            with suppress(*((Cancelled,) if until_done else ())):
                await report(scope, operation, progress)
        await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def save_results(scope: Scope, operation: ClaimedOperation, saved: SavedLines) -> bool:
    """Store the results of a batch, renew the lease and return whether to go on; False when the caller has cancelled.

    Inside the transaction of the batch. Raise `ClaimLost`, which rolls it back.
    """
    state: str | None = await fetchval(
        _SAVE_RESULTS,
        scope.store.id,
        operation.id,
        operation.claim,
        saved.first_line,
        saved.lines,
        saved.results,
        saved.errors,
        saved.next_offset,
        saved.content,
        LEASE,
    )
    if state is None:
        raise ClaimLost
    return state != "cancelling"


async def saved_progress(scope: Scope, operation: ClaimedOperation) -> tuple[int, int, BulkProgress]:
    """Return how many lines are done, where the next one begins, and the progress."""
    row = await fetchrow(_SAVED, scope.store.id, operation.id)
    assert row is not None
    return row["lines"], row["next_offset"], BulkProgress(object_count=row["results"], error_count=row["errors"])


async def write_saved(scope: Scope, operation: ClaimedOperation, progress: BulkProgress) -> None:
    """Write the result of the lines that are done, whatever becomes of the others; cancelling doesn't end it."""
    file = ResultFile(scope.store.public_id, operation.public_id, operation.claim)

    async def write() -> None:
        async with transaction(scope):
            async for content in _saved_results(scope, operation):
                await file.write(content)
        await file.complete()

    try:
        await with_lease(scope, operation, progress, write(), until_done=True)
        progress.file_size = file.size
    finally:
        await file.discard()


async def keep_saved(scope: Scope, operation: ClaimedOperation, progress: BulkProgress) -> None:
    """Write the result of the lines that took effect, if any, of an operation that ends before the others."""
    done, _, saved = await saved_progress(scope, operation)
    if done:
        progress.object_count, progress.error_count = saved.object_count, saved.error_count
        await write_saved(scope, operation, progress)


async def _saved_results(scope: Scope, operation: ClaimedOperation) -> AsyncIterator[bytes]:
    """Yield the results of all lines that are done, in order, in the open transaction."""
    sql = "SELECT content FROM bulk_results WHERE tenant_id = $1 AND operation_id = $2 ORDER BY first_line"
    async for rows in stream(sql, scope.store.id, operation.id, size=lambda: 10):
        for row in rows:
            yield row["content"]


async def delete_results(scope: Scope, operation: ClaimedOperation) -> None:
    """Delete the results of lines, which are in the operation's file."""
    await delete_rows(scope, "bulk_results", operation_id=operation.id)


async def end(
    scope: Scope, operation: ClaimedOperation, state: str, progress: BulkProgress, *, code: str = "", message: str = ""
) -> None:
    """End the operation; its result is kept for `RETENTION`. Raise `ClaimLost`."""
    at = await fetchval("select clock_timestamp()")
    if not await execute(
        _END,
        scope.store.id,
        operation.id,
        operation.claim,
        state,
        code,
        message[:1_000],
        progress.object_count,
        progress.root_object_count,
        progress.error_count,
        progress.file_size,
        at,
        at + RETENTION,
    ):
        raise ClaimLost


async def release(scope: Scope, operation: ClaimedOperation) -> None:
    """Make the operation due for another worker, because this one is stopping."""
    await execute(_RELEASE, scope.store.id, operation.id, operation.claim)


async def delete_expired(scope: Scope, *, limit: int = 500) -> int:
    """Delete the store's operations whose time is over, with their files; return how many."""
    rows = await fetch(_EXPIRED, scope.store.id, scope.now, limit)
    # The files first: an operation whose files could not be deleted is found again.
    await delete_files(scope.store.public_id, [row["public_id"] for row in rows])
    if rows:
        await execute(_DELETE, scope.store.id, [row["id"] for row in rows])
    await delete_unused(scope)
    return len(rows)
