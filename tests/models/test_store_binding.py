"""A connection never serves a statement under another store, whatever interleaving of tasks, cancellations and errors precedes it."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterator
from dataclasses import dataclass

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models.connections import StoreConnection
from models.pool import DatabaseSettings, StorePool, close_pool, open_pool
from models.store_binding import BIND_PIPELINED, NO_STORE, StoreBinding, binding_message

CONNECTIONS = 2
MAX_TURNS = 12
STORE = "select coalesce(current_setting('vitrine.tenant', true), '')"

# By kind: a statement with one integer as its argument, whose first column is the store it runs under.
STATEMENTS = {
    "one": f"{STORE}, $1::int",
    "other": f"{STORE} as store, $1::int + 1",
    "slow": f"{STORE} from pg_sleep($1::int * 0.004)",
    "error": f"{STORE}, 1 / ($1::int - 1)",
    "encoding": f"{STORE}, $1::int + 2",
    "unused": "",
    "transaction": f"{STORE}, $1::int + 3",
    "terminated": f"{STORE}, pg_terminate_backend(pg_backend_pid()), $1::int",
}
EXPECTED_ERRORS = (
    asyncpg.DivisionByZeroError,
    asyncpg.DataError,
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.InternalClientError,
    asyncpg.InterfaceError,
    TimeoutError,
)


@dataclass(frozen=True)
class Step:
    """One use of a connection: begun after some turns of the event loop, cancelled or timed out after others (None: never)."""

    store: int
    kind: str
    begin_after: int
    cancel_after: int | None
    timeout_ms: int | None


steps = st.builds(
    Step,
    st.integers(NO_STORE, 3),
    st.sampled_from([*STATEMENTS, "one", "one", "other"]),
    st.integers(0, MAX_TURNS),
    st.none() | st.integers(0, MAX_TURNS),
    st.none() | st.integers(0, 6),
)
programs = st.lists(st.lists(steps, min_size=1, max_size=6), min_size=1, max_size=5)


async def run_step(pool: StorePool, step: Step) -> None:
    """Use a connection as `models.database` does, and check the store of what it returns."""
    in_transaction = step.kind == "transaction"
    connection = await pool.acquire_for_store(step.store, one_statement=not in_transaction)
    try:
        if step.kind == "unused":
            return
        if in_transaction:
            await connection.execute("begin")
        argument = "seven" if step.kind == "encoding" else 1
        async with asyncio.timeout(None if step.timeout_ms is None else step.timeout_ms / 1_000):
            records = await connection.run(STATEMENTS[step.kind], [argument])
        assert records[0][0] == (str(step.store) if step.store else "")
        if in_transaction:
            await connection.execute("commit")
    finally:
        await pool.release_connection(connection)


async def run_program(pool: StorePool, program: list[Step]) -> None:
    for step in program:
        for _ in range(step.begin_after):
            await asyncio.sleep(0)
        task = asyncio.create_task(run_step(pool, step))
        if step.cancel_after is not None:
            for _ in range(step.cancel_after):
                await asyncio.sleep(0)
            task.cancel()
        try:
            await task
        except EXPECTED_ERRORS:
            pass
        except asyncio.CancelledError:
            assert step.cancel_after is not None


async def check_beliefs(pool: StorePool) -> None:
    """Compare what each connection believes with its session, and let every connection serve every store."""
    async with asyncio.timeout(20):  # a terminated connection frees its holder when the loop sees the closed socket
        while pool._resetting or pool._queue.qsize() < CONNECTIONS:
            await asyncio.sleep(0.001)
    for holder in pool._holders:
        connection: StoreConnection | None = holder._con
        if connection is None or connection.is_closed():
            continue
        assert connection.binding.pending is None
        believed = connection.binding.store
        actual = await asyncpg.Connection.fetchval(connection, STORE)
        assert believed is None or actual == (str(believed) if believed else "")
    for store in (1, 2, 3, 1):
        await asyncio.gather(*(run_step(pool, Step(store, "one", 0, None, None)) for _ in range(CONNECTIONS)))


@pytest.fixture(params=[True, False], ids=["pipelined", "separate"], scope="module")
def running_pool(request: pytest.FixtureRequest, database_url: str) -> Iterator[tuple[asyncio.Runner, StorePool]]:
    with asyncio.Runner() as runner:

        async def open_() -> StorePool:
            # As the owner, which may terminate its own backends.
            options = DatabaseSettings(database_url, pipelined_binding=request.param)
            return await open_pool(options, None, min_size=CONNECTIONS, max_size=CONNECTIONS)

        pool = runner.run(open_())
        yield runner, pool
        runner.run(close_pool(pool))


@settings(
    max_examples=80,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(programs)
def test_no_interleaving_shows_another_stores_rows(
    running_pool: tuple[asyncio.Runner, StorePool], concurrent: list[list[Step]]
) -> None:
    runner, pool = running_pool

    async def run() -> None:
        async with asyncio.TaskGroup() as group:
            for program in concurrent:
                group.create_task(run_program(pool, program))
        await check_beliefs(pool)

    runner.run(run())


def test_the_binding_message_is_a_bind_and_an_execute_without_sync() -> None:
    message = binding_message(b"stmt_1", 42)

    kinds, parts = [], []
    while message:
        kind, (length,) = message[:1], struct.unpack("!i", message[1:5])
        kinds.append(kind)
        parts.append(message[5 : 1 + length])
        message = message[1 + length :]
    assert kinds == [b"B", b"E"]
    # Unnamed portal, statement, no parameter formats, one parameter of two bytes, no result formats.
    assert parts[0] == b"\0stmt_1\0" + struct.pack("!hhi2sh", 0, 1, 2, b"42", 0)
    assert parts[1] == b"\0" + struct.pack("!i", 0)
    assert BIND_PIPELINED.count("$1") == 1


def test_a_binding_is_unknown_from_its_sending_to_its_confirmation() -> None:
    binding = StoreBinding()
    states = [(binding.store, binding.pending)]
    for change in (
        lambda: binding.request(7),
        binding.withdraw,
        lambda: binding.request(7),
        binding.begin,
        lambda: binding.confirm(7),
        binding.forget,
    ):
        change()
        states.append((binding.store, binding.pending))

    assert states == [(0, None), (0, 7), (0, None), (0, 7), (None, None), (7, None), (None, None)]
