"""Move a store to another database while it serves: `vitrine tenant move` (docs/scaling.md#move-a-store-while-it-serves).

    copy        all rows, in one snapshot and one transaction, into a copy that is suspended and read-only: workers leave it alone
    follow      what has changed since, again and again, until a round is short; then every table is compared
    pause       the store becomes read-only; the rest is copied, and the tables that differed are compared
    switch      the copy becomes the store, in one transaction there; then the old one becomes the copy, in one here

Why not logical replication: it needs `wal_level=logical` and a superuser for tables with row-level security, and can't change `tenant_id`
and `app_id`, which differ between databases. Why not the event feed: it has no rows of most tables, and no deletions.

`tenants.move` on both sides says how far a move is, and is written in the transaction of each step: an interrupted move is continued by the
same command. The old copy lacks what was written after the switch, so undoing is the same in the other direction.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any
from uuid import UUID, uuid4

import asyncpg

from kernel.clock import format_rfc3339, now
from server.operations.archives import ArchiveError
from server.operations.media_contents import StoredContent, find_contents
from server.operations.store_copy import COPYING, Side, StoreCopy
from server.operations.store_transfer import connect_owner

FOLLOWED, LEAVING, LEFT, ARRIVED = "followed", "leaving", "left", "arrived"
"""The states of a move besides that of the copy: here until the pause, until the switch and from then on; there since the switch."""
_SHORT_SECONDS = 1.0
_MAX_ROUNDS = 30
_NOTICE_SECONDS = 1.0
"""A changed status reaches every process within it."""
_WRITERS_SECONDS = 3.0
_POLL_SECONDS = 0.05
_LOST_IN = {LEAVING: "the store stays read-only until then", LEFT: "the store has moved"}
_PROBE_SECONDS = 5.0
_ANSWER_SECONDS = 10.0

LOCKED = "another command moves the store, or it is being deleted here: wait for its end"
_LOCK = "SELECT pg_try_advisory_lock(hashtextextended('store move:' || $1::text, 0))"
_DATABASE = "SELECT concat(current_database(), ' ', pg_postmaster_start_time())"
_OLDEST = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text"
_STATUS = "SELECT status, is_read_only FROM tenants WHERE id = $1"
_FENCE = f"{_STATUS} FOR UPDATE"
_WRITERS = """
SELECT coalesce(array_agg(l.virtualtransaction), '{}')
FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted AND a.datname = current_database()
    AND l.pid <> pg_catalog.pg_backend_pid()
"""
_HOSTS = "SELECT host, verified_at, is_primary, is_redirected FROM store_hosts WHERE store_id = $1"
_ADD_HOST = (
    "INSERT INTO store_hosts (store_id, host, verified_at, is_primary, is_redirected) VALUES ($1, $2, $3, $4, $5)"
)
# Of requests that were refused in the pause: what they would have done is done nowhere, and they may be repeated at once.
_FREE_KEYS = "DELETE FROM idempotency_claims WHERE tenant_id = $1 AND done_at IS NULL"
_TAKEN = "SELECT host FROM store_hosts WHERE host = ANY($1::text[]) AND store_id <> $2"

Step = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class MoveResult:
    """What a move did: rows written, rounds, files copied, the seconds in which the store was read-only.

    `missing` are the keys of files that the storage here doesn't have.
    `late` are numbers of rows, by table, that were written here after the last copy, such as those of sign-ins: they aren't there.
    """

    rows: int
    rounds: int
    files: int
    missing: tuple[str, ...]
    pause_seconds: float
    late: dict[str, int]


async def lock_move(source: Side, target: Side, public_id: UUID) -> None:
    """Keep other moves of the store, and its deletion here, away while the connections are open, then read both; raises ArchiveError."""
    for side in (source, target):
        if not await try_lock(side.connection, public_id):
            await reject_same_database(source.connection, target.connection)
            raise ArchiveError(LOCKED)
    for side in (source, target):
        try:
            await side.read(public_id)
        except asyncpg.UndefinedTableError as error:
            raise ArchiveError("one of the databases has no tables: run vitrine migrate there") from error


async def reject_same_database(one: asyncpg.Connection, other: asyncpg.Connection) -> None:
    """Raise ArchiveError when both are connections to one database."""
    if await one.fetchval(_DATABASE) == await other.fetchval(_DATABASE):
        raise ArchiveError("both URLs lead to the same database")


async def lock_store(connection: asyncpg.Connection, public_id: UUID) -> None:
    """Keep moves and other deletions of the store away while the connection is open; raises ArchiveError."""
    if not await try_lock(connection, public_id):
        raise ArchiveError(LOCKED)


async def try_lock(connection: asyncpg.Connection, public_id: UUID) -> bool:
    """Keep moves of the store away while the connection is open; return False when another one does."""
    locked: bool = await connection.fetchval(_LOCK, str(public_id))
    return locked


class StoreMove:
    """A move of one store from one database to another; `step` is called at each step, for reports and tests."""

    def __init__(self, source: Side, target: Side, step: Step) -> None:
        self._source = source
        self._target = target
        self._step = step
        since = target.move.get("since") if target.state in (COPYING, LEFT) else None
        returns = target.state == LEFT or target.move.get("returns", False)
        self._copy = StoreCopy(source, target, since, returns=returns)
        self._copied: set[str] = set()
        self._missing: tuple[str, ...] = ()

    async def run(self) -> MoveResult:
        """Move the store, or continue an interrupted move.

        Raises ArchiveError; until the switch the store then serves on where it was.
        """
        source, target = self._source, self._target
        if (
            target.state == ARRIVED
            and source.state in (LEAVING, LEFT)
            and target.move["ticket"] == source.move["ticket"]
        ):
            if source.state == LEAVING:
                await self._leave(source.connection)  # interrupted between the two transactions of the switch
            return self._result(0.0, {})
        async with self._watched():
            return await self._run()

    async def _run(self) -> MoveResult:
        source, target = self._source, self._target
        await self._check()
        was_read_only: bool = source.move["was_read_only"] if source.state == LEAVING else source.is_read_only
        ticket: str = target.move.get("ticket") or str(uuid4())
        await source.set(None, was_read_only, {"state": FOLLOWED, "ticket": ticket})
        try:
            await self._follow(ticket)
            self._step("compare")
            await self._copy.copy_changes(ticket, compares_all=True)
            return await self._switch({"state": LEAVING, "ticket": ticket, "was_read_only": was_read_only})
        except BaseException:
            await self._serve_on()
            raise

    @asynccontextmanager
    async def _watched(self) -> AsyncIterator[None]:
        """Give up when the other database doesn't answer any more, and say so: an interrupted network ends no connection by itself.

        Else the store would stay read-only for as long as the pause waits for an answer. Raises ArchiveError.
        """
        watching = asyncio.create_task(_end_without_answer(self._target))
        try:
            yield
        except Exception as error:
            lost = [
                name for name, side in (("from", self._source), ("to", self._target)) if side.connection.is_closed()
            ]
            if not lost:
                raise
            state = _LOST_IN.get(self._source.state or "", "the store serves on where it was")
            raise ArchiveError(
                f"the connection to the database {' and '.join(lost)} which the store moves is lost: repeat this when it answers; {state}"
            ) from error
        finally:
            watching.cancel()

    async def _check(self) -> None:
        source, target = self._source, self._target
        if not source.store_id or source.state in (COPYING, LEFT):
            raise ArchiveError("the store isn't here, or it is the copy of one that moves or has moved")
        if source.move.get("deleting"):
            raise ArchiveError("the rows of the store are being deleted")
        if target.store_id and target.state not in (COPYING, LEFT):
            raise ArchiveError("the store exists there")
        if target.store_id and target.move["ticket"] != source.move.get("ticket"):
            raise ArchiveError("there is the copy of another move: delete it there first (vitrine tenant delete)")
        hosts = await source.connection.fetch(_HOSTS, source.store_id)
        taken = await target.connection.fetchval(_TAKEN, [row["host"] for row in hosts], target.store_id)
        if taken is not None:
            raise ArchiveError(f"the address {taken} is in use by another store there")
        await self._copy.read_tables()
        await self._contents()

    async def _serve_on(self) -> None:
        """Let the store be written here again, unless the switch has happened; after a lost connection the repeated command does."""
        source, target = self._source, self._target
        if source.state != LEAVING or target.state == ARRIVED:
            return
        if not source.connection.is_closed() and not source.connection.is_in_transaction():
            move = {"state": FOLLOWED, "ticket": source.move["ticket"]}
            await source.set(None, source.move["was_read_only"], move)

    async def _follow(self, ticket: str) -> None:
        """Copy until a round takes less than a second."""
        self._step("copy")
        for _ in range(_MAX_ROUNDS):
            began = monotonic()
            await self._copy_files()
            await self._copy.copy_changes(ticket)
            self._step("follow")
            if monotonic() - began < _SHORT_SECONDS:
                return

    async def _copy_files(self) -> None:
        """Copy the contents of files that were not yet; sizes of media are rendered there again."""
        missing = []
        for content in await self._contents():
            if content.key in self._copied:
                continue
            data = await self._source.files.read(content.key)
            if data is None:
                missing.append(content.key)
                continue
            await self._target.files.put(content.key, data, content.headers)
            self._copied.add(content.key)
        self._missing = tuple(missing)

    async def _contents(self) -> list[StoredContent]:
        """Return the contents here; raises ArchiveError when both share a storage: deleting the old copy deletes its files."""
        source, target = self._source, self._target
        contents = await find_contents(source.connection, source.store_id)
        if contents and source.files.is_same(target.files):
            raise ArchiveError(f"the store has {len(contents)} files: --to-storage is required, another one than here")
        return contents

    # --- The switch ------------------------------------------------------------------------------------------------------

    async def _switch(self, leaving: dict[str, Any]) -> MoveResult:
        """Make the store read-only, copy the rest, and let the other one serve."""
        source = self._source
        self._step("pause")
        began = monotonic()
        _check_status(await source.connection.fetchrow(_STATUS, source.store_id), source)
        await source.set(None, True, leaving)
        await asyncio.sleep(_NOTICE_SECONDS)
        await self._wait_for_writers()
        async with connect_owner(source.url, source.store_id) as fence, fence.transaction():
            # Waits for transactions that have inserted rows of the store, and lets others wait, as the foreign keys of all its tables do.
            await fence.execute("SET LOCAL lock_timeout = '10s'")
            _check_status(await fence.fetchrow(_FENCE, source.store_id), source)
            await self._copy_files()
            await self._copy.copy_changes(leaving["ticket"])
            self._step("switch")
            await self._arrive(leaving)
            self._step("switched")
            await self._leave(fence)
        seconds = monotonic() - began
        self._step("done")
        return self._result(seconds, await self._copy.count_later())

    async def _wait_for_writers(self) -> None:
        """Wait until the transactions that have written something have ended; raises ArchiveError after three seconds."""
        connection = self._source.connection
        running = set(await connection.fetchval(_WRITERS))
        deadline = monotonic() + _WRITERS_SECONDS
        while running:
            if monotonic() > deadline:
                raise ArchiveError(
                    f"{len(running)} transactions that write have been open for {_WRITERS_SECONDS:.0f} s: end them, and repeat this"
                )
            await asyncio.sleep(_POLL_SECONDS)
            running &= set(await connection.fetchval(_WRITERS))

    async def _arrive(self, leaving: dict[str, Any]) -> None:
        source, target = self._source, self._target
        hosts = await source.connection.fetch(_HOSTS, source.store_id)
        async with target.connection.transaction():
            await target.connection.execute("DELETE FROM store_hosts WHERE store_id = $1", target.store_id)
            await target.connection.executemany(_ADD_HOST, [(target.store_id, *host) for host in hosts])
            await target.connection.execute(_FREE_KEYS, target.store_id)
            since = await target.connection.fetchval(_OLDEST)
            move = {"state": ARRIVED, "ticket": leaving["ticket"], "since": since, "at": format_rfc3339(now())}
            move["former_ids"] = sorted({*source.move["former_ids"], source.store_id})
            await target.set(source.status, leaving["was_read_only"], move)

    async def _leave(self, connection: asyncpg.Connection) -> None:
        """Make this one the copy: what is written there from now on has transactions that are not older than `since`."""
        arrived = self._target.move
        move = {"state": LEFT, "ticket": arrived["ticket"], "since": arrived["since"], "at": arrived["at"]}
        await self._source.set("S", True, move, connection)

    def _result(self, seconds: float, late: dict[str, int]) -> MoveResult:
        return MoveResult(self._copy.rows, self._copy.rounds, len(self._copied), self._missing, seconds, late)


async def _end_without_answer(side: Side) -> None:
    while True:
        await asyncio.sleep(_PROBE_SECONDS)
        try:
            (await asyncpg.connect(side.url, timeout=_ANSWER_SECONDS)).terminate()
        except asyncpg.PostgresError:
            pass  # an answer, such as that there are too many connections
        except (OSError, TimeoutError, asyncpg.InterfaceError):
            side.connection.terminate()
            return


def _check_status(row: asyncpg.Record, side: Side) -> None:
    """Raise ArchiveError for another status of the store than the move knows."""
    if tuple(row) != (side.status, side.is_read_only):
        raise ArchiveError("the status of the store has changed meanwhile: repeat this")
