"""A statement that is prepared already goes a short way, and comes back from it as from the long one."""

from __future__ import annotations

import asyncpg
import pytest

from models import database as db

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
