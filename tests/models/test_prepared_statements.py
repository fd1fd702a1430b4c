"""Prepared statements are pipelined with the store binding and return the same results as asyncpg's own code path."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from models.connection import database as db
from models.connection.pool import DatabaseSettings, StorePool, close_pool, open_pool
from tests.harness.database import needs_session

pytestmark = pytest.mark.usefixtures("database")


@pytest.fixture
async def connection(scope):
    pool = db._connected().pool
    acquired = await pool.acquire_for_store(scope.store.id)
    try:
        await acquired.execute("create temporary table items (a int)")
        await acquired.execute("insert into items values (1)")
        yield acquired
    finally:
        await acquired.execute("drop table if exists items")
        await pool.release_connection(acquired)


@needs_session
async def test_a_prepared_statement_returns_the_same_rows_values_and_tags(connection):
    for repetition in range(2):
        assert [tuple(row) for row in await connection.fetch("select a, $1::int from items", 7)] == [(1, 7)], repetition
        assert await connection.fetchval("select a from items where a = $1", 1) == 1, repetition
        assert await connection.fetchrow("select a from items where a = $1", 2) is None, repetition
        assert await connection.execute("update items set a = a where a = $1", 1) == "UPDATE 1", repetition


@needs_session
async def test_a_prepared_statement_on_an_altered_table_is_prepared_again(connection):
    for repetition in range(2):
        assert [tuple(row) for row in await connection.fetch("select * from items")] == [(1,)], repetition
    await connection.execute("alter table items add column b text default 'x'")
    assert [tuple(row) for row in await connection.fetch("select * from items")] == [(1, "x")]


@needs_session
async def test_in_a_transaction_a_prepared_statement_on_an_altered_table_fails(connection):
    for _ in range(2):
        await connection.fetch("select * from items")
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute("alter table items add column b text default 'x'")
    with pytest.raises(asyncpg.InvalidCachedStatementError):
        await connection.fetch("select * from items")
    await transaction.rollback()
    assert [tuple(row) for row in await connection.fetch("select * from items")] == [(1,)]


@needs_session
async def test_an_invalid_argument_leaves_the_connection_usable(connection):
    for _ in range(2):
        with pytest.raises(asyncpg.DataError):
            await connection.fetchval("select $1::int", "seven")
    assert await connection.fetchval("select $1::int", 7) == 7


def _message_kinds(data: bytes) -> bytes:
    """Return the kinds of the messages in the data of the protocol (PostgreSQL documentation, section 54.7)."""
    kinds = b""
    while data:
        kinds += data[:1]
        data = data[1 + int.from_bytes(data[1:5], "big") :]
    return kinds


STORE = "select current_setting('vitrine.tenant'), $1::int"


class TestPipelinedBinding:
    """One connection used by two stores alternately."""

    @pytest.fixture
    async def pool(self, database_url: str) -> AsyncIterator[StorePool]:
        pool = await open_pool(DatabaseSettings(database_url), "vitrine_app", min_size=1, max_size=1)
        yield pool
        await close_pool(pool)

    @staticmethod
    async def query(pool: StorePool, store: int, sql: str = STORE, argument: object = 7) -> tuple[object, ...]:
        connection = await pool.acquire_for_store(store)
        try:
            record = await connection.fetchrow(sql, argument)
        finally:
            await pool.release_connection(connection)
        assert record is not None
        return tuple(record)

    async def test_the_statement_sees_its_own_store(self, pool: StorePool) -> None:
        with db.count_statements() as counted:
            for store in (2, 1, 1, 2, 2, 33):
                assert await self.query(pool, store) == (str(store), 7)
        assert (counted.count, counted.overhead) == (6, 0)

    async def test_binding_and_statement_are_sent_in_one_write(self, pool: StorePool) -> None:
        assert await self.query(pool, 1) == ("1", 7)
        output, sent = self.output(pool), list[bytes]()
        written = output._write

        def write(data: bytes) -> None:
            sent.append(bytes(data))
            written(data)

        output._write = write
        assert await self.query(pool, 2) == ("2", 7)
        # Bind and Execute of the binding, then of the statement; one Sync for both.
        assert [_message_kinds(data) for data in sent] == [b"BEBES"]

    async def test_of_a_statement_that_is_not_sent_neither_is_the_binding(self, pool: StorePool) -> None:
        assert await self.query(pool, 1) == ("1", 7)
        output, sent = self.output(pool), list[bytes]()
        write, output._write = output._write, sent.append
        with pytest.raises(asyncpg.DataError):
            await self.query(pool, 2, argument="seven")
        output._write = write  # or the pool would wait ten seconds for the connection's end
        assert (sent, output.prefix) == ([], b"")

    @staticmethod
    def output(pool: StorePool) -> Any:
        """Return the output of the pool's only connection."""
        return pool._holders[0]._con._protocol.output

    async def test_nothing_of_the_binding_stays_in_the_session(self, pool: StorePool) -> None:
        connection = await pool.acquire_for_store(2)
        assert await connection.fetchrow(STORE, 7) is not None
        seen = await connection._protocol.query("do $$ begin assert current_setting('vitrine.tenant') = ''; end $$", 5)
        assert seen == "DO"
        await pool.release_connection(connection)

    async def test_a_failed_statement_rolls_back_the_binding(self, pool: StorePool) -> None:
        sql = "select current_setting('vitrine.tenant'), 1 / $1::int"
        assert await self.query(pool, 1, sql, 1) == ("1", 1)
        for store, other in ((2, 1), (1, 2), (2, 2)):
            with pytest.raises(asyncpg.DivisionByZeroError):
                await self.query(pool, store, sql, 0)
            assert await self.query(pool, other) == (str(other), 7)

    async def test_an_invalid_argument_leaves_no_binding_behind(self, pool: StorePool) -> None:
        sql = "select pg_backend_pid(), $1::int"
        pid, _ = await self.query(pool, 1, sql)
        with pytest.raises(asyncpg.DataError):
            await self.query(pool, 2, sql, argument="seven")
        # The binding was sent without its statement.
        for store in (1, 2):
            assert await self.query(pool, store) == (str(store), 7)
        assert (await self.query(pool, 1, sql))[0] == pid

    async def test_a_server_error_does_not_close_the_connection(self, pool: StorePool) -> None:
        sql = "select pg_backend_pid(), 1 / $1::int"
        pid, _ = await self.query(pool, 1, sql, 1)
        with pytest.raises(asyncpg.DivisionByZeroError):
            await self.query(pool, 2, sql, 0)
        assert (await self.query(pool, 1, sql, 1))[0] == pid

    async def test_a_statement_on_an_altered_table_is_retried_with_the_right_store(self, pool: StorePool) -> None:
        connection = await pool.acquire_for_store(1)
        await connection.execute("create temporary table items as select 1 as a")
        await pool.release_connection(connection)
        sql = "select current_setting('vitrine.tenant'), items.* from items where $1::int = 7"
        for store in (1, 2):
            assert await self.query(pool, store, sql) == (str(store), 1)
        connection = await pool.acquire_for_store(1)
        await connection.execute("alter table items add column b text default 'x'")
        await pool.release_connection(connection)
        assert await self.query(pool, 2, sql) == ("2", 1, "x")
        assert await self.query(pool, 1, sql) == ("1", 1, "x")

    async def test_after_a_cancelled_statement_the_next_one_sees_its_own_store(self, pool: StorePool) -> None:
        sql = "select current_setting('vitrine.tenant') from pg_sleep($1::int)"
        assert await self.query(pool, 1, sql, 0) == ("1",)
        task = asyncio.create_task(self.query(pool, 2, sql, 5))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for store in (1, 2):
            assert await self.query(pool, store) == (str(store), 7)

    async def test_a_connection_is_replaced_when_the_server_lost_its_statements(self, pool: StorePool) -> None:
        assert await self.query(pool, 1) == ("1", 7)
        connection = await pool.acquire_for_store(1)
        await connection._protocol.query("deallocate all", 5)
        await pool.release_connection(connection)
        with pytest.raises(asyncpg.InvalidSQLStatementNameError):
            await self.query(pool, 1)
        assert await self.query(pool, 2) == ("2", 7)

    async def test_a_statement_without_arguments_is_bound_too(self, pool: StorePool) -> None:
        connection = await pool.acquire_for_store(2)
        await connection.execute("create temporary table seen as select current_setting('vitrine.tenant') as a")
        await pool.release_connection(connection)
        connection = await pool.acquire_for_store(1)
        assert await connection.fetchval("select a from seen") == "2"
        await pool.release_connection(connection)
