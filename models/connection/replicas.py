"""Answer compiled reads from streaming replicas (`VITRINE_REPLICA_URL`, docs/scaling.md#replicas).

    positions   `WritePositions`: how far a replica must have replayed before it may answer for a store
    replicas    `Replica`: one replica, its connections and its watch; `Replicas` chooses one per read
    reads       `replica_read`: entered by compiled reads; `models.connection.database` asks `current_read` for each statement

Positions are bytes of WAL. A write to a store makes its position unknown, at once in the process that wrote and with the notice
(`models.connection.notices`) in the others; until the primary was asked for its position the store is read there. The replica itself
checks the position, before the statement and in its round trip, so that neither an old poll nor a restart can show an older state. A store
always prefers the same replica: answers don't go back in time.

A replica causes no error. What fails there is repeated on the primary, with the rest of the same read. A lost connection, a failed check or
a lag of more than MAX_LAG_SECONDS takes it out of use; after pauses that double it is checked again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import asyncpg

from kernel import metrics
from kernel.event_loop import wait_at_most
from models.connection.binding import BindingTarget, StoreBinding
from models.connection.pool import DatabaseSettings, StorePool, open_pool

POLL_SECONDS = 1.0
CHECK_SECONDS = 2.0
SAMPLE_SECONDS = 0.02
MAX_LAG_SECONDS = 5.0
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
# What a read may take on a replica, so that the primary has time left to answer it.
STATEMENT_SHARE = 1 / 3
# A replica that was behind is not asked for a later position this soon.
BEHIND_SECONDS = 0.02

POSITION = "(pg_current_wal_insert_lsn() - '0/0')::bigint"
"""The primary's position in SQL: every commit that the statement sees is before it."""

_STATE = "select pg_is_in_recovery() as follows, coalesce(pg_last_wal_replay_lsn() - '0/0', 0)::bigint as replayed"
_BEHIND = "behind"
# Besides what is no response of the server. A statement that took too long there says nothing of the replica: its check does.
_LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
)
NOT_READ = object()
"""Returned instead of a result: the primary has to run the statement."""

logger = logging.getLogger("vitrine.database")


@dataclass(frozen=True, slots=True)
class ReplicaStatus:
    """A replica for metrics and `vitrine doctor`; `lag_seconds` is None while it is not known, `problem` why it is out of use."""

    name: str
    is_used: bool
    lag_seconds: float | None
    reads: int
    fallbacks: int
    problem: str | None


class ReplicaProblem(RuntimeError):
    """A server that can't be used as a replica."""


class ReplicaBinding(StoreBinding):
    """Bind a statement to its store, or fail if the replica has not replayed the position."""

    __slots__ = ("_timeout_ms",)

    def __init__(self, timeout_ms: int) -> None:
        super().__init__({})
        self._timeout_ms = timeout_ms
        self.sql += (
            " or set_config('statement_timeout', case when pg_is_in_recovery() and pg_last_wal_replay_lsn() >= $3::pg_lsn"
            f" then $4 else '{_BEHIND}' end, true) is null"
        )

    def values(self, target: BindingTarget) -> tuple[str, ...]:
        """Return the parameters for a store and the position that must have been replayed."""
        position = f"{target.position >> 32:X}/{target.position & 0xFFFFFFFF:X}"
        return (*super().values(target), position, str(self._timeout_ms))


class WritePositions:
    """The position of the last write to each store, as far as this process knows; None while the primary has not been asked."""

    def __init__(self) -> None:
        self._common: int | None = None  # of every store without a position of its own
        self._own: dict[int, int] = {}
        self._unknown: set[int] = set()
        self._all_unknown = True
        self._asking: set[int] = set()
        self._asking_all = False
        self._last = 0

    def required(self, store: int) -> int | None:
        """Return the position that a replica must have replayed to answer for the store; None: read from the primary."""
        if self._common is None or self._all_unknown or store in self._unknown or store in self._asking:
            return None
        return self._own.get(store, self._common)

    def record_write(self, store: int) -> None:
        """Note a write whose position is not known yet."""
        self._unknown.add(store)

    def set_least(self, store: int, position: int) -> None:
        """Read the store from replicas at this position or a later one from now on."""
        self._own[store] = max(position, self._own.get(store, 0))

    def forget(self) -> None:
        """Note that there may have been writes to any store."""
        self._all_unknown = True

    @property
    def is_complete(self) -> bool:
        """Return whether there is nothing to ask the primary for."""
        return not self._unknown and not self._all_unknown

    def begin(self) -> None:
        """Note that the primary is about to be asked for its position: it will be that of all writes noted so far."""
        self._asking, self._unknown = self._asking | self._unknown, set()
        self._asking_all, self._all_unknown = self._asking_all or self._all_unknown, False
        if self._asking_all:
            self._common = None

    def end(self, position: int) -> None:
        """Note the primary's response."""
        if position < self._last:  # another server, which may have lost what its predecessor had
            self._own.clear()
            self._asking_all, self._common = False, None
            self._all_unknown = True
        elif self._asking_all:
            self._own.clear()
            self._common = position
        else:
            self._own.update(dict.fromkeys(self._asking, position))
        self._asking, self._asking_all, self._last = set(), False, position

    def fail(self) -> None:
        """Note that the primary did not respond."""
        self._unknown |= self._asking
        self._all_unknown = self._all_unknown or self._asking_all
        self._asking, self._asking_all = set(), False

    def prune(self, replayed: int) -> None:
        """Forget positions that every replica in use has replayed; before another is used, `forget` raises that of all stores."""
        if any(position <= replayed for position in self._own.values()):
            self._own = {store: position for store, position in self._own.items() if position > replayed}


class Replica:
    """One replica: its pool, and the task that watches it."""

    def __init__(self, url: str, settings: DatabaseSettings, role: Callable[[], str | None]) -> None:
        parts = urlsplit(url)
        self.name = f"{parts.hostname or 'local'}:{parts.port or 5432}"
        timeout_ms = int(settings.statement_timeout_ms * STATEMENT_SHARE)
        self._settings = replace(
            settings,
            url=url,
            pooler_url=None,
            statement_timeout_ms=timeout_ms,
            acquire_seconds=CHECK_SECONDS,
            restart_seconds=0.0,  # the primary answers meanwhile
        )
        self._binding = ReplicaBinding(timeout_ms)
        self._role = role
        self._pool: StorePool | None = None
        self._failed = asyncio.Event()
        self._behind: tuple[float, int] = (0.0, 0)
        self.replayed = 0
        self.lag_seconds: float | None = None
        self.reads = self.fallbacks = 0
        self.problem: str | None = "not checked yet"

    @property
    def status(self) -> ReplicaStatus:
        """The state for metrics."""
        return ReplicaStatus(self.name, self.is_used, self.lag_seconds, self.reads, self.fallbacks, self.problem)

    @property
    def is_used(self) -> bool:
        """Return whether reads go to it."""
        return self._pool is not None and self.lag_seconds is not None and self.lag_seconds <= MAX_LAG_SECONDS

    def may_have(self, position: int) -> bool:
        """Return False for a position that it did not have a moment ago."""
        until, behind = self._behind
        return position < behind or monotonic() >= until

    async def run(self, target: BindingTarget, sql: str, args: Sequence[Any], **options: Any) -> Any:
        """Run a statement; return `NOT_READ` when the primary has to."""
        pool = self._pool
        if pool is None:
            return NOT_READ
        try:
            connection = await pool.acquire_idle(target)
            if connection is None:
                self.fallbacks += 1  # all in use: rather than wait
                return NOT_READ
            try:
                result = await connection.run(sql, args, **options)
            finally:
                await pool.release_connection(connection)
        except Exception as error:
            self.fallbacks += 1
            self._note(error, target.position)
            return NOT_READ
        self.reads += 1
        return result

    def _note(self, error: Exception, position: int) -> None:
        if isinstance(error, asyncpg.InvalidParameterValueError) and f'"{_BEHIND}"' in str(error):
            self._behind = (monotonic() + BEHIND_SECONDS, position)
        elif not isinstance(error, asyncpg.PostgresError) or isinstance(error, _LOST):
            self.fail(f"{type(error).__name__}: {error}")

    def fail(self, problem: str) -> None:
        """Take it out of use; statements under way are repeated on the primary."""
        pool, self._pool = self._pool, None
        self.lag_seconds = None
        if pool is not None:
            logger.warning("the replica %s is out of use: %s", self.name, problem)
            pool.terminate()
        self.problem = problem
        self._failed.set()

    async def watch(self, on_use: Callable[[], None], lag_of: Callable[[int], float]) -> None:
        """Check it for ever: connect, poll, and after a failure pause; `on_use` before reads go to it."""
        pause = FIRST_PAUSE_SECONDS
        while True:
            began_at = monotonic()
            try:
                await self._follow(on_use, lag_of)
            except asyncio.CancelledError:
                if self._pool is not None:
                    self._pool.terminate()
                raise
            except Exception as error:
                self.fail(str(error) or type(error).__name__)
            if monotonic() - began_at > LONGEST_PAUSE_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    async def _follow(self, on_use: Callable[[], None], lag_of: Callable[[int], float]) -> None:
        """Connect, use it, and poll until it fails; the connection's end is noticed at once."""
        self._failed.clear()
        role = self._role()
        connection = await asyncpg.connect(
            self._settings.url,
            timeout=CHECK_SECONDS,
            command_timeout=CHECK_SECONDS,
            server_settings=self._settings.server_settings(role),
        )
        try:
            connection.add_termination_listener(self._on_lost)
            await self._check(connection)
            self._pool = await open_pool(
                self._settings, role, min_size=0, max_size=self._settings.max_size, binding=self._binding
            )
            while not self._failed.is_set():
                await self._poll(connection, on_use, lag_of)
                await wait_at_most(self._failed, POLL_SECONDS)
            raise ReplicaProblem(self.problem or "failed")
        finally:
            connection.remove_termination_listener(self._on_lost)
            connection.terminate()

    def _on_lost(self, _: object) -> None:
        self.fail("the connection was lost")

    async def _check(self, connection: asyncpg.Connection) -> None:
        if connection.get_server_pid() != await connection.fetchval("select pg_backend_pid()"):
            raise ReplicaProblem("it is behind a connection pooler: VITRINE_REPLICA_URL must lead to PostgreSQL itself")

    async def _poll(
        self, connection: asyncpg.Connection, on_use: Callable[[], None], lag_of: Callable[[int], float]
    ) -> None:
        state = await connection.fetchrow(_STATE)
        if not state["follows"]:
            raise ReplicaProblem("it is not a replica: it was promoted, or VITRINE_REPLICA_URL leads to the primary")
        self.replayed = state["replayed"]
        was_used, self.lag_seconds = self.is_used, lag_of(self.replayed)
        self.problem = None if self.is_used else f"it is {self.lag_seconds:.0f} s behind"
        if self.is_used and not was_used:
            on_use()
            logger.info("the replica %s is in use", self.name)


class Replicas:
    """The replicas of this process; `ask` returns the primary's position, `hears_writes` whether notices of other processes arrive."""

    def __init__(
        self, replicas: Sequence[Replica], ask: Callable[[], Awaitable[int]], hears_writes: Callable[[], bool]
    ) -> None:
        self.replicas = replicas
        self.positions = WritePositions()
        self._ask = ask
        self._hears_writes = hears_writes
        self._wake = asyncio.Event()
        self._samples: deque[tuple[float, int]] = deque(maxlen=60)
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start to watch the replicas and the primary's position."""
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(each.watch(self.forget, self._lag)) for each in self.replicas]
        self._tasks.append(loop.create_task(self._sample()))

    async def close(self) -> None:
        """Close all connections."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def record_write(self, store: int) -> None:
        """Read the store from the primary until the position of the write is known."""
        self.positions.record_write(store)
        self._wake.set()

    def forget(self) -> None:
        """Read all stores from the primary until its position is known: notices may have been lost."""
        self.positions.forget()
        self._wake.set()

    def choose(self, store: int) -> tuple[Replica, int] | None:
        """Return the replica for a read of the store, and the position it must have replayed; None: the primary."""
        if not self._hears_writes():
            return None
        position = self.positions.required(store)
        if position is None:
            return None
        count = len(self.replicas)
        for index in range(count):
            replica = self.replicas[(store + index) % count]
            if replica.is_used and replica.may_have(position):
                return replica, position
        return None

    def _lag(self, replayed: int) -> float:
        """Return for how long the primary has been ahead of the position, to a second."""
        return next((monotonic() - at for at, position in self._samples if position > replayed), 0.0)

    async def _sample(self) -> None:
        """Ask the primary for its position after writes, and every POLL_SECONDS."""
        while True:
            await wait_at_most(self._wake, POLL_SECONDS)
            self._wake.clear()
            self.positions.begin()
            try:
                position = await self._ask()
            except Exception as error:
                self.positions.fail()
                logger.debug("the primary's position is not known: %r", error)
                await asyncio.sleep(POLL_SECONDS)
            else:
                self.positions.end(position)
                self._add_sample(position)
            if not self.positions.is_complete:
                self._wake.set()
            await asyncio.sleep(SAMPLE_SECONDS)

    def _add_sample(self, position: int) -> None:
        if not self._samples or monotonic() - self._samples[-1][0] >= POLL_SECONDS / 2:
            self._samples.append((monotonic(), position))
        used = [replica.replayed for replica in self.replicas if replica.is_used]
        if used:
            self.positions.prune(min(used))


class ReplicaRead:
    """The statements of one compiled read: all on one replica, and after the first that failed there on the primary."""

    __slots__ = ("_chosen", "_store")

    def __init__(self, store: int, chosen: tuple[Replica, int]) -> None:
        self._store = store
        self._chosen: tuple[Replica, int] | None = chosen

    async def run(self, target: BindingTarget, sql: str, args: Sequence[Any], **options: Any) -> Any:
        """Run a statement; return `NOT_READ` when the primary has to."""
        if self._chosen is None or target.store != self._store:
            return NOT_READ
        replica, position = self._chosen
        result = await replica.run(target._replace(position=position), sql, args, **options)
        if result is NOT_READ:
            self._chosen = None
        return result


active: Replicas | None = None
"""The replicas of this process."""
PRIMARY = nullcontext()
"""The `replica_read` of statements that run on the primary."""
_read: ContextVar[ReplicaRead | None] = ContextVar("vitrine_replica_read", default=None)
primary_only: ContextVar[bool] = ContextVar("vitrine_primary_only", default=False)
"""Whether the request uses no replica: what it reads decides what is written."""


def use(replicas: Replicas | None) -> None:
    """Let compiled reads of this process use the replicas; None: no longer."""
    global active
    active = replicas


def replica_status() -> list[ReplicaStatus]:
    """Return the state of each replica of this process, in the order of the setting."""
    return [] if active is None else [replica.status for replica in active.replicas]


def _lags() -> dict[tuple[str, ...], float]:
    lags = [status.lag_seconds for status in replica_status()]
    return {(str(number),): lag for number, lag in enumerate(lags, 1) if lag is not None}


def _reads() -> dict[tuple[str, ...], float]:
    reads: dict[tuple[str, ...], float] = {}
    for number, status in enumerate(replica_status(), 1):
        reads[str(number), "answered"], reads[str(number), "by primary"] = status.reads, status.fallbacks
    return reads


metrics.gauge(
    "vitrine_replica_lag_seconds",
    "How far a read replica is behind, by its number in the settings.",
    "replica",
    read=_lags,
    largest=True,
)
metrics.gauge(
    "vitrine_replica_reads_total",
    "Statements that a read replica answered, and those that the primary had to answer in its place.",
    "replica",
    "result",
    read=_reads,
    counts=True,
)


def set_least_position(store: int, position: int) -> None:
    """Read the store only from replicas that have replayed the position."""
    if active is not None:
        active.positions.set_least(store, position)


def replica_read(store: int) -> AbstractContextManager[object]:
    """Let the statements inside the block, which only read the store, run on a replica."""
    if active is None or primary_only.get() or (chosen := active.choose(store)) is None:
        return PRIMARY
    return _reading(ReplicaRead(store, chosen))


@contextmanager
def _reading(read: ReplicaRead) -> Iterator[None]:
    token = _read.set(read)
    try:
        yield
    finally:
        _read.reset(token)


current_read: Callable[[], ReplicaRead | None] = _read.get
"""Return the compiled read under way that may use a replica (the variable's own method: each statement asks)."""
