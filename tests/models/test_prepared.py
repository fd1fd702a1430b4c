"""A statement that is prepared already goes a short way, and takes the binding to a store along; it comes back as from the long way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from models import database as db
from models.connections import StoreConnection
from models.pool import DatabaseSettings, StorePool, close_pool, open_pool

pytestmark = pytest.mark.usefixtures("database")


@pytest.fixture
async def connection(scope):
    pool = db._connected().pool
    lent = await pool.lend(scope.store.id)
    try:
        await lent.execute("create temporary table kept (a int)")
        await lent.execute("insert into kept values (1)")
        yield lent
    finally:
        await lent.execute("drop table if exists kept")
        await pool.give_back(lent)


async def test_rows_values_and_tags_are_the_same_the_second_time(connection):
    for _ in range(2):
        assert [tuple(row) for row in await connection.fetch("select a, $1::int from kept", 7)] == [(1, 7)]
        assert await connection.fetchval("select a from kept where a = $1", 1) == 1
        assert await connection.fetchrow("select a from kept where a = $1", 2) is None
        assert await connection.execute("update kept set a = a where a = $1", 1) == "UPDATE 1"


async def test_a_table_that_changes_under_a_statement_is_read_as_it_is_now(connection):
    for _ in range(2):
        assert [tuple(row) for row in await connection.fetch("select * from kept")] == [(1,)]
    await connection.execute("alter table kept add column b text default 'x'")
    assert [tuple(row) for row in await connection.fetch("select * from kept")] == [(1, "x")]


async def test_in_a_transaction_a_changed_table_is_an_error_that_the_caller_sees(connection):
    for _ in range(2):
        await connection.fetch("select * from kept")
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute("alter table kept add column b text default 'x'")
    with pytest.raises(asyncpg.InvalidCachedStatementError):
        await connection.fetch("select * from kept")
    await transaction.rollback()
    assert [tuple(row) for row in await connection.fetch("select * from kept")] == [(1,)]


async def test_a_wrong_argument_leaves_the_connection_usable(connection):
    for _ in range(2):
        with pytest.raises(asyncpg.DataError):
            await connection.fetchval("select $1::int", "seven")
    assert await connection.fetchval("select $1::int", 7) == 7


STORE = "select current_setting('vitrine.tenant'), $1::int"


class TestBindingAhead:
    """One connection that two stores take turns on."""

    @pytest.fixture
    async def pool(self, database_url: str) -> AsyncIterator[StorePool]:
        pool = await open_pool(DatabaseSettings(database_url), "vitrine_app", min_size=1, max_size=1)
        for store in (1, 2, 1):  # so that everything is prepared
            connection = await pool.lend(store, one_statement=True)
            await connection.fetchrow(STORE, 7)
            await pool.give_back(connection)
        yield pool
        await close_pool(pool)

    @staticmethod
    async def ask(pool: StorePool, store: int, sql: str = STORE, argument: object = 7) -> tuple[object, ...]:
        connection = await pool.lend(store, one_statement=True)
        try:
            found = await connection.fetchrow(sql, argument)
        finally:
            await pool.give_back(connection)
        assert found is not None
        return tuple(found)

    async def test_the_statement_sees_its_own_store(self, pool: StorePool) -> None:
        with db.counting() as counted:
            for store in (2, 1, 1, 2, 2, 33):
                assert await self.ask(pool, store) == (str(store), 7)
        assert (counted.count, counted.overhead) == (6, 4)

    async def test_the_binding_takes_no_round_trip_of_its_own(
        self, pool: StorePool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def bind(self: StoreConnection, store: int) -> None:
            raise AssertionError("it went by itself")

        monkeypatch.setattr(StoreConnection, "bind", bind)
        assert await self.ask(pool, 2) == ("2", 7)

    async def test_a_failed_statement_undoes_the_binding_and_the_next_one_sees_its_own_store(
        self, pool: StorePool
    ) -> None:
        sql = "select current_setting('vitrine.tenant'), 1 / $1::int"
        assert await self.ask(pool, 1, sql, 1) == ("1", 1)
        for store, other in ((2, 1), (1, 2), (2, 2)):
            with pytest.raises(asyncpg.DivisionByZeroError):
                await self.ask(pool, store, sql, 0)
            assert await self.ask(pool, other) == (str(other), 7)

    async def test_an_argument_that_cannot_be_sent_leaves_nothing_half_sent(self, pool: StorePool) -> None:
        sql = "select pg_backend_pid(), $1::int"
        pid, _ = await self.ask(pool, 1, sql)
        with pytest.raises(asyncpg.DataError):
            await self.ask(pool, 2, sql, argument="seven")
        # The binding was sent without its statement: only a new connection is sure to be in nobody's transaction.
        for store in (1, 2):
            assert await self.ask(pool, store) == (str(store), 7)
        assert (await self.ask(pool, 1, sql))[0] != pid

    async def test_what_the_server_refuses_costs_no_connection(self, pool: StorePool) -> None:
        sql = "select pg_backend_pid(), 1 / $1::int"
        pid, _ = await self.ask(pool, 1, sql, 1)
        with pytest.raises(asyncpg.DivisionByZeroError):
            await self.ask(pool, 2, sql, 0)
        assert (await self.ask(pool, 1, sql, 1))[0] == pid

    async def test_a_table_that_changes_is_read_as_it_is_now_and_by_the_right_store(
        self, pool: StorePool
    ) -> None:
        connection = await pool.lend(1)
        await connection.execute("create temporary table kept as select 1 as a")
        await pool.give_back(connection)
        sql = "select current_setting('vitrine.tenant'), kept.* from kept where $1::int = 7"
        for store in (1, 2):
            assert await self.ask(pool, store, sql) == (str(store), 1)
        connection = await pool.lend(1)
        await connection.execute("alter table kept add column b text default 'x'")
        await pool.give_back(connection)
        assert await self.ask(pool, 2, sql) == ("2", 1, "x")
        assert await self.ask(pool, 1, sql) == ("1", 1, "x")

    async def test_a_cancelled_statement_leaves_the_next_one_its_own_store(self, pool: StorePool) -> None:
        sql = "select current_setting('vitrine.tenant') from pg_sleep($1::int)"
        assert await self.ask(pool, 1, sql, 0) == ("1",)
        task = asyncio.create_task(self.ask(pool, 2, sql, 5))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for store in (1, 2):
            assert await self.ask(pool, store) == (str(store), 7)

    async def test_preparing_the_binding_may_be_cut_off(
        self, database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pool = await open_pool(DatabaseSettings(database_url), "vitrine_app", min_size=1, max_size=1)
        prepare = StoreConnection.prepare

        async def cut_off(self: StoreConnection, *args: object, **kwargs: object) -> object:
            await prepare(self, *args, **kwargs)
            raise asyncio.CancelledError

        assert await self.ask(pool, 1) == ("1", 7)
        with monkeypatch.context() as patch:
            patch.setattr(StoreConnection, "prepare", cut_off)
            with pytest.raises(asyncio.CancelledError):
                await self.ask(pool, 2)
        for store in (1, 2, 1):
            assert await self.ask(pool, store) == (str(store), 7)
        await close_pool(pool)

    async def test_who_lends_for_one_statement_and_runs_none_leaves_no_trace(self, pool: StorePool) -> None:
        await pool.give_back(await pool.lend(2, one_statement=True))
        connection = await pool.lend(1)
        assert await connection.fetchval("select current_setting('vitrine.tenant')") == "1"
        await pool.give_back(connection)

    async def test_a_text_without_arguments_is_bound_too(self, pool: StorePool) -> None:
        connection = await pool.lend(2, one_statement=True)
        await connection.execute(
            "create temporary table seen as select current_setting('vitrine.tenant') as a"
        )
        await pool.give_back(connection)
        connection = await pool.lend(1, one_statement=True)
        assert await connection.fetchval("select a from seen") == "2"
        await pool.give_back(connection)
