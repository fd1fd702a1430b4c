"""A statement never sees another store's rows, whatever interleaving of tasks, cancellations and errors precedes it."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models.connection.binding import NO_STORE, NO_TARGET, BindingTarget, Plans, StoreBinding
from models.connection.connections import binding_message, parse
from models.connection.pool import DatabaseSettings, StorePool, close_pool, open_pool
from server.embedded_postgres import EmbeddedServer
from tests.harness.database import needs_pgbouncer, running_pgbouncer

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
    asyncpg.InsufficientPrivilegeError,  # through the pooler no role may terminate a session of the login role
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
    """Use a connection as `models.connection.database` does, and check the store of what it returns."""
    in_transaction = step.kind == "transaction"
    connection = await pool.acquire_for(BindingTarget(step.store, begins=in_transaction))
    try:
        if step.kind == "unused":
            return
        argument = "seven" if step.kind == "encoding" else 1
        async with asyncio.timeout(None if step.timeout_ms is None else step.timeout_ms / 1_000):
            records = await connection.run(STATEMENTS[step.kind], [argument])
        assert records[0][0] == (str(step.store) if step.store else "")
        if in_transaction:
            assert connection.is_in_transaction()
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


async def check_connections(pool: StorePool) -> None:
    """Let every connection serve every store once all are released."""
    async with asyncio.timeout(20):  # a terminated connection frees its holder when the loop sees the closed socket
        while pool._resetting or pool._queue.qsize() < CONNECTIONS:
            await asyncio.sleep(0.001)
    for store in (1, 2, 3, 1):
        await asyncio.gather(*(run_step(pool, Step(store, "one", 0, None, None)) for _ in range(CONNECTIONS)))


@contextmanager
def open_runner(options: DatabaseSettings, role: str | None) -> Iterator[tuple[asyncio.Runner, StorePool]]:
    with asyncio.Runner() as runner:

        async def open_() -> StorePool:
            return await open_pool(options, role, min_size=CONNECTIONS, max_size=CONNECTIONS)

        pool = runner.run(open_())
        yield runner, pool
        runner.run(close_pool(pool))


@pytest.fixture(
    params=["pipelined", "separate", pytest.param("pooled", marks=needs_pgbouncer)],
    scope="module",
)
def running_pool(
    request: pytest.FixtureRequest, postgres: EmbeddedServer, database_url: str, database_name: str
) -> Iterator[tuple[asyncio.Runner, StorePool]]:
    """Yield a pool of two connections; through the pooler they share one server connection."""
    if request.param != "pooled":
        # As the owner, which may terminate its own backends.
        with open_runner(
            DatabaseSettings(database_url, pipelined_binding=request.param == "pipelined"), None
        ) as opened:
            yield opened
        return
    request.getfixturevalue("pooled_role")
    with running_pgbouncer(postgres, default_pool_size=1) as pooler:
        options = DatabaseSettings(database_url, pooler_url=pooler.url(database_name))
        with open_runner(options, "vitrine_app") as opened:
            yield opened


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
        await check_connections(pool)

    runner.run(run())


def messages(sent: bytes) -> list[tuple[bytes, bytes]]:
    """Split what was sent into kinds and contents."""
    split = []
    while sent:
        (length,) = struct.unpack("!i", sent[1:5])
        split.append((sent[:1], sent[5 : 1 + length]))
        sent = sent[1 + length :]
    return split


def test_the_binding_message_is_a_bind_and_an_execute_without_sync() -> None:
    binding = StoreBinding({"role": "vitrine_app"})
    assert messages(binding_message("stmt_1", binding, BindingTarget(42))) == [
        # Unnamed portal, statement, no parameter formats, three parameters with their lengths, no result formats.
        (b"B", b"\0stmt_1\0" + struct.pack("!hhi2si4si11sh", 0, 3, 2, b"42", 4, b"auto", 11, b"vitrine_app", 0)),
        (b"E", b"\0" + struct.pack("!i", 0)),
    ]
    begun = messages(binding_message("stmt_1", binding, BindingTarget(42, begins=True)))
    assert [kind for kind, _ in begun] == [b"B", b"E", b"P", b"B", b"E"]
    assert begun[2][1] == b"\0begin\0\0\0"
    assert messages(parse("stmt_1", binding.sql)) == [(b"P", b"stmt_1\0" + binding.sql.encode() + b"\0\0\0")]
    assert binding.values(NO_TARGET) == ("", "auto", "vitrine_app")
    assert binding.values(BindingTarget(42, Plans.REUSED)) == ("42", "force_generic_plan", "vitrine_app")
    assert binding.values(BindingTarget(42, Plans.FOR_VALUES)) == ("42", "force_custom_plan", "vitrine_app")
