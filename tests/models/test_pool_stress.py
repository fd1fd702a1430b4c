"""Stress tests of the pool, which uses private parts of asyncpg: random cancellations and terminated backends."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress

import asyncpg
import pytest

from kernel.errors import Unavailable
from kernel.scope import Scope, active_scope
from models.connection import database as db
from models.connection.binding import NO_STORE, BindingTarget
from models.connection.pool import DatabaseSettings, close_pool, open_pool
from models.tables.catalog import Product
from models.tables.marketplace import Vendor
from tests.harness.scopes import system_scope

TASKS = 50
ROUNDS = 80
STORES = 5

pytestmark = pytest.mark.usefixtures("database")


@pytest.fixture
async def scopes(new_store) -> list[Scope]:
    scopes = [system_scope(await new_store(name=f"Store {n}")) for n in range(STORES)]
    for scope in scopes:
        with active_scope(scope):
            for _ in range(3):
                await Vendor.create(name=f"{scope.store.id}")
    return scopes


class Rounds:
    """Counts the results of the rounds, and collects unexpected ones."""

    def __init__(self) -> None:
        self.completed = self.cancelled = self.unavailable = 0
        self.unexpected: list[object] = []

    def check(self, scope: Scope, stores: set[int]) -> None:
        if not stores <= {scope.store.id}:
            self.unexpected.append((scope.store.id, stores))
        self.completed += 1


async def single_query(scope: Scope, rounds: Rounds) -> None:
    with active_scope(scope):
        records = await db.fetch("select tenant_id from vendors")
    assert len(records) == 3
    rounds.check(scope, {r["tenant_id"] for r in records})


async def model_query(scope: Scope, rounds: Rounds) -> None:
    with active_scope(scope):
        vendors = await Vendor.all()
    rounds.check(scope, {vendor.tenant_id for vendor in vendors})


async def in_a_transaction(scope: Scope, rounds: Rounds) -> None:
    async with db.transaction(scope):
        await db.execute("update vendors set city = 'x' where id = (select min(id) from vendors)")
        records = await db.fetch("select tenant_id from vendors")
    rounds.check(scope, {r["tenant_id"] for r in records})


async def failing_savepoint(scope: Scope, rounds: Rounds) -> None:
    async with db.transaction(scope):
        try:
            async with db.transaction(scope):
                _ = await Product.create(name="x", slug="x", price_cents=-1)
        except db.CheckViolation:
            pass
        records = await db.fetch("select tenant_id from vendors")
    rounds.check(scope, {r["tenant_id"] for r in records})


async def without_a_store(_scope: Scope, rounds: Rounds) -> None:
    records = await db.fetch("select tenant_id from vendors")
    if records:
        rounds.unexpected.append(("no store", records))
    rounds.completed += 1


async def concurrent_queries(scope: Scope, rounds: Rounds) -> None:
    with active_scope(scope):
        results = await asyncio.gather(*(db.fetchval("select max(tenant_id) from vendors") for _ in range(3)))
    rounds.check(scope, set(results))


OPERATIONS = [
    single_query, single_query, model_query, in_a_transaction, failing_savepoint, without_a_store, concurrent_queries,
]  # fmt: skip


async def run_rounds(scopes: list[Scope], seed: int, rounds: Rounds) -> None:
    rng = random.Random(seed)

    async def run_sequentially() -> None:
        for _ in range(ROUNDS):
            operation, scope = rng.choice(OPERATIONS), rng.choice(scopes)
            task = asyncio.create_task(operation(scope, rounds))
            if rng.random() < 0.2:
                await asyncio.sleep(rng.random() * 0.006)
                task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                rounds.cancelled += 1
            except Unavailable:
                rounds.unavailable += 1
            except Exception as error:
                rounds.unexpected.append(error)

    await asyncio.gather(*(run_sequentially() for _ in range(TASKS)))


async def all_connections_are_released() -> None:
    pool = db._connected().pool
    async with asyncio.timeout(10):
        while pool._queue.qsize() != pool.get_max_size() or pool._resetting:
            await asyncio.sleep(0.01)
    assert all(holder._in_use is None for holder in pool._holders)


async def all_connections_work(scopes: list[Scope]) -> None:
    barrier = asyncio.Barrier(db._connected().pool.get_max_size())

    async def use(scope: Scope) -> None:
        async with db.transaction(scope):
            async with asyncio.timeout(10):
                await barrier.wait()
            assert {r["tenant_id"] for r in await db.fetch("select tenant_id from vendors")} == {scope.store.id}

    await asyncio.gather(*(use(scopes[n % STORES]) for n in range(barrier.parties)))


@pytest.mark.parametrize("seed", [1, 2])
async def test_thousands_of_queries_with_random_cancellations(scopes, seed):
    rounds = Rounds()
    await run_rounds(scopes, seed, rounds)
    assert rounds.unexpected == []
    assert rounds.unavailable == 0
    assert rounds.cancelled > 100
    assert rounds.completed + rounds.cancelled >= TASKS * ROUNDS
    await all_connections_are_released()
    await all_connections_work(scopes)


async def test_thousands_of_queries_with_terminated_backends(scopes, database, postgres):
    rounds = Rounds()
    name = await db.fetchval("select current_database()")
    killer = await asyncpg.connect(postgres.superuser_url())
    is_finished = asyncio.Event()

    async def kill() -> int:
        killed = 0
        while not is_finished.is_set():
            killed += await killer.fetchval(
                "select count(pg_terminate_backend(pid)) from (select pid from pg_stat_activity"
                " where datname = $1 and application_name = 'vitrine' order by random() limit 2) as chosen",
                name,
            )
            await asyncio.sleep(0.05)
        return killed

    killing = asyncio.create_task(kill())
    await run_rounds(scopes, 3, rounds)
    is_finished.set()
    killed = await killing
    await killer.close()
    assert killed > 10
    assert rounds.unexpected == []
    assert rounds.unavailable < killed * 4
    await all_connections_are_released()
    # A backend may have been terminated while its connection was idle: the first use fails, the next one works.
    for _ in range(3):
        try:
            await all_connections_work(scopes)
            break
        except Unavailable:
            continue
    else:
        pytest.fail("the pool does not recover")


class TestOnePool:
    @pytest.fixture
    async def pool(self, database_url):
        pool = await open_pool(
            DatabaseSettings(database_url, acquire_seconds=3.0), "vitrine_app", min_size=1, max_size=2
        )
        yield pool
        await close_pool(pool)

    @pytest.fixture
    async def wide_pool(self, database_url):
        """Open a pool of which a store has two connections."""
        pool = await open_pool(DatabaseSettings(database_url), "vitrine_app", min_size=0, max_size=4)
        yield pool
        await close_pool(pool)

    async def test_each_acquisition_has_its_own_store(self, pool):
        with db.count_statements() as counted:
            for store in (5, 6, 5):
                connection = await pool.acquire_for_store(store)
                assert await connection.fetchval("select current_setting('vitrine.tenant')") == str(store)
                await pool.release_connection(connection)
        assert (counted.count, counted.overhead) == (3, 0)

    async def test_the_same_connection_is_used_first_whichever_was_released_last(self, pool):
        one, two = await pool.acquire_for_store(5), await pool.acquire_for_store(6)
        for released in ((one, two), (two, one)):
            for connection in released:
                await pool.release_connection(connection)
            again = [await pool.acquire_for_store(6), await pool.acquire_for_store(5)]
            assert again == [one, two], released
        for connection in again:
            await pool.release_connection(connection)

    async def test_a_lost_connection_is_replaced_after_the_others_are_in_use(self, pool, kill_backend):
        one, two = await pool.acquire_for_store(5), await pool.acquire_for_store(6)
        for connection in (one, two):
            await pool.release_connection(connection)
        await kill_backend(await one.fetchval("select pg_backend_pid()"))
        async with asyncio.timeout(5):
            while not one.is_closed():
                await asyncio.sleep(0.01)
        assert pool.acquire_at_once(BindingTarget(5)) is None
        again = await pool.acquire_for_store(5)
        assert again is two
        await pool.release_connection(again)
        # From now on it is the first, also when another one has been opened.
        assert pool.acquire_at_once(BindingTarget(5)) is two
        new = await pool.acquire_for_store(6)
        assert new not in (one, two)
        assert await new.fetchval("select 1") == 1
        for connection in (two, new):
            await pool.release_connection(connection)
        assert pool.acquire_at_once(BindingTarget(5)) is two
        await pool.release_connection(two)

    async def test_a_released_connection_shows_no_rows(self, pool, scope):
        with active_scope(scope):
            await Vendor.create(name="x")
        connection = await pool.acquire_for_store(scope.store.id)
        assert await connection.fetchval("select count(*) from vendors") == 1
        await pool.release_connection(connection)
        assert await connection.fetchval("select count(*) from vendors") == 0

    async def test_an_open_transaction_is_rolled_back_on_release(self, pool):
        connection = await pool.acquire_for_store(NO_STORE)
        await connection.execute("begin")
        await connection.fetchval("select set_config('vitrine.tenant', '9', true)")
        await pool.release_connection(connection)
        again = await pool.acquire_for_store(NO_STORE)
        assert again is connection
        assert not again.is_in_transaction()
        assert await again.fetchval("select current_setting('vitrine.tenant', true)") == ""
        await pool.release_connection(again)

    async def test_a_statement_whose_argument_cant_be_encoded_leaves_no_transaction(self, pool, postgres):
        """It was prepared, which asyncpg ends without a Sync: a pooler would keep a session for the client, and the server time it out."""
        connection = await pool.acquire_for_store(1)
        pid = await connection.fetchval("select pg_backend_pid()")
        with pytest.raises(asyncpg.DataError):
            await connection.fetchval("select $1::int", "seven")
        await pool.release_connection(connection)
        watching = await asyncpg.connect(postgres.superuser_url())
        try:
            assert await watching.fetchval("select state from pg_stat_activity where pid = $1", pid) == "idle"
        finally:
            await watching.close()
        assert pool.acquire_at_once(BindingTarget(5)) is connection
        await pool.release_connection(connection)

    async def test_a_statement_whose_connection_is_terminated_says_so(self, pool):
        """As those of a replica that is taken out of use."""
        connection = await pool.acquire_for_store(1)
        reading = asyncio.create_task(connection.fetchval("select pg_sleep(30)"))
        await asyncio.sleep(0.05)
        connection.terminate()
        with pytest.raises(asyncpg.ConnectionDoesNotExistError):
            await reading
        for statement in (connection.fetchval, connection.execute):
            with pytest.raises(asyncpg.InterfaceError, match="connection is closed"):
                await statement("rollback")
        await pool.release_connection(connection)

    async def test_an_aborted_transaction_is_rolled_back_on_release(self, pool):
        connection = await pool.acquire_for_store(NO_STORE)
        await connection.execute("begin")
        with pytest.raises(asyncpg.DivisionByZeroError):
            await connection.execute("select 1 / 0")
        await pool.release_connection(connection)
        again = await pool.acquire_for_store(5)
        assert await again.fetchval("select 1") == 1
        await pool.release_connection(again)

    async def test_waiting_for_a_connection_times_out(self, pool):
        connections = [await pool.acquire_for_store(1), await pool.acquire_for_store(2)]
        with pytest.raises(TimeoutError):
            await pool.acquire_for_store(1)
        for connection in connections:
            await pool.release_connection(connection)
        await pool.release_connection(await pool.acquire_for_store(1))

    async def test_acquiring_an_idle_connection_does_not_suspend(self, pool):
        await pool.release_connection(await pool.acquire_for_store(7))
        with pytest.raises(StopIteration) as returned:
            pool.acquire_for_store(7).send(None)
        await pool.release_connection(returned.value.value)

    async def test_waiters_are_served_in_fifo_order(self, pool):
        one, two = await pool.acquire_for_store(1), await pool.acquire_for_store(2)
        order: list[str] = []

        async def wait(name: str) -> None:
            connection = await pool.acquire_for_store(1)
            order.append(name)
            await pool.release_connection(connection)

        waiting = []
        for name in ("first", "cancelled", "second"):
            waiting.append(asyncio.create_task(wait(name)))
            await asyncio.sleep(0)
        waiting[1].cancel()
        await pool.release_connection(one)
        await wait("third")  # starts when a connection has just been released
        await asyncio.gather(*waiting, return_exceptions=True)
        assert order == ["first", "second", "third"]
        await pool.release_connection(two)
        assert pool._queue.qsize() == 2

    async def test_a_connection_assigned_to_a_cancelled_waiter_is_not_lost(self, pool):
        one, two = await pool.acquire_for_store(1), await pool.acquire_for_store(2)
        task = asyncio.create_task(pool.acquire_for_store(1))
        await asyncio.sleep(0)
        await pool.release_connection(one)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await pool.release_connection(two)
        assert pool._queue.qsize() == 2

    async def test_a_store_with_half_of_the_connections_waits_for_its_own(self, wide_pool):
        mine = [await wide_pool.acquire_for_store(1) for _ in range(2)]
        waiting = asyncio.create_task(wide_pool.acquire_for_store(1))
        others = [await wide_pool.acquire_for_store(store) for store in (2, NO_STORE)]
        assert (waiting.done(), wide_pool.usage.waiting) == (False, 1)
        await wide_pool.release_connection(others.pop())
        await asyncio.sleep(0)
        assert (waiting.done(), wide_pool._queue.qsize()) == (False, 1)
        await wide_pool.release_connection(mine.pop())
        mine.append(await waiting)
        for connection in (*mine, *others):
            await wide_pool.release_connection(connection)
        assert (wide_pool._queue.qsize(), wide_pool.usage.waiting) == (4, 0)

    async def test_stores_that_wait_take_turns(self, wide_pool):
        taken = [await wide_pool.acquire_for_store(NO_STORE) for _ in range(4)]
        order: list[int] = []

        async def wait(store: int) -> None:
            connection = await wide_pool.acquire_for_store(store)
            order.append(store)
            await wide_pool.release_connection(connection)

        waiting = [asyncio.create_task(wait(store)) for store in (1, 1, 1, 1, 2, 3, 2)]
        await asyncio.sleep(0)
        await wide_pool.release_connection(taken.pop())
        await asyncio.gather(*waiting)
        assert order == [1, 2, 3, 1, 2, 1, 1]
        for connection in taken:
            await wide_pool.release_connection(connection)

    async def test_a_lost_or_reset_connection_counts_for_its_store_no_longer(self, wide_pool, kill_backend):
        for lose in (True, False, True, False):
            connections = [await wide_pool.acquire_for_store(1) for _ in range(2)]
            for connection in connections:
                if lose:
                    await kill_backend(await connection.fetchval("select pg_backend_pid()"))
                    with suppress(asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError):
                        await connection.execute("select 1")  # reads that the connection is lost
                else:
                    await connection.execute("begin")
                await wide_pool.release_connection(connection)
        assert (wide_pool._queue._taken, wide_pool._queue.qsize()) == ({}, 4)

    async def test_a_store_that_stopped_waiting_leaves_no_turn(self, wide_pool):
        mine = [await wide_pool.acquire_for_store(1) for _ in range(2)]
        waiting = asyncio.create_task(wide_pool.acquire_for_store(1))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert not wide_pool._queue.waiters
        for connection in mine:
            await wide_pool.release_connection(connection)

    async def test_releasing_twice_has_no_effect(self, pool):
        connection = await pool.acquire_for_store(1)
        await pool.release_connection(connection)
        await pool.release_connection(connection)
        assert pool._queue.qsize() == 2

    async def test_a_terminated_connection_is_replaced(self, pool, kill_backend):
        connection = await pool.acquire_for_store(1)
        await kill_backend(await connection.fetchval("select pg_backend_pid()"))
        with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)):
            await connection.fetchval("select 1")
        await pool.release_connection(connection)
        async with asyncio.timeout(5):
            while pool._queue.qsize() != 2:  # asyncpg opens another connection
                await asyncio.sleep(0.01)
        again = await pool.acquire_for_store(1)
        assert await again.fetchval("select 1") == 1
        await pool.release_connection(again)

    async def test_settings_of_every_connection(self, pool):
        connection = await pool.acquire_for_store(NO_STORE)
        for name, value in {
            "statement_timeout": "25s",
            "idle_in_transaction_session_timeout": "30s",
            "lock_timeout": "10s",
            "application_name": "vitrine",
            "role": "vitrine_app",
            "TimeZone": "UTC",
            "jit": "off",
        }.items():
            assert await connection.fetchval("select current_setting($1)", name) == value, name
        await pool.release_connection(connection)
