"""Through a pooler in transaction mode stores stay isolated, and what it can't serve is refused (docs/scaling.md#pooler)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from kernel.errors import Unavailable
from kernel.scope import Scope, active_scope
from models.connection import database as db
from models.connection import pooler as pooler_checks
from models.connection.pool import DatabaseSettings
from models.connection.pooler import UnsafePooler, check_pooling
from models.tables.marketplace import Vendor
from server.embedded_postgres import EmbeddedServer
from tests.harness.database import needs_pgbouncer, running_pgbouncer
from tests.models.test_pool_stress import Rounds, run_rounds, scopes
from tests.system.pgbouncer import ROLE, PgBouncer

__all__ = ["scopes"]

pytestmark = [needs_pgbouncer, pytest.mark.usefixtures("pooled_role", "database")]


@pytest.fixture
async def pooled(
    scopes: list[Scope], postgres: EmbeddedServer, database_url: str, database_name: str, monkeypatch
) -> AsyncIterator[PgBouncer]:
    """Connect this process through a PgBouncer that has one server connection, with ten of its own."""
    monkeypatch.setattr(db, "_database", None)
    with running_pgbouncer(postgres, default_pool_size=1, query_wait_timeout=30) as pooler:
        await db.connect(DatabaseSettings(database_url, pooler_url=pooler.url(database_name), acquire_seconds=30))
        try:
            yield pooler
        finally:
            await db.close()


async def test_thousands_of_queries_with_cancellations_share_one_server_connection(pooled, scopes):
    rounds = Rounds()
    await run_rounds(scopes, 1, rounds)
    assert rounds.unexpected == []
    assert rounds.cancelled > 100
    assert rounds.unavailable < rounds.cancelled
    for scope in scopes:
        with active_scope(scope):
            assert {vendor.tenant_id for vendor in await Vendor.all()} == {scope.store.id}


async def test_a_restarted_pooler_is_used_again(pooled, scopes):
    pooled.kill()
    pooled.start()
    async with asyncio.timeout(20):
        for repetition in range(10):  # each connection of the pool finds out by itself
            try:
                with active_scope(scopes[0]):
                    assert await db.fetchval("select count(*) from vendors") == 3, repetition
            except Unavailable:
                continue


async def test_requests_act_as_the_serving_role_with_their_time_outs(pooled, scopes):
    await db.check_role()
    names = ("role", "statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "jit", "TimeZone")
    expected = ["vitrine_app", "25s", "10s", "30s", "off", "UTC"]
    statement = "select array(select current_setting(name) from unnest($1::text[]) as name)"
    assert await db.fetchval(statement, names) == expected
    async with db.transaction(scopes[0]):
        assert await db.fetchval(statement, names) == expected
    async with db.cross_store_connection() as connection:
        assert await connection.fetchval("select current_user") == "vitrine_worker"


async def test_a_notification_arrives_on_the_direct_connection(pooled):
    received: asyncio.Queue[str] = asyncio.Queue()
    await db.listen("through_the_pooler", received.put_nowait)
    await db.notify("through_the_pooler", "x")
    assert await asyncio.wait_for(received.get(), 10) == "x"


async def test_a_statement_without_a_binding_is_refused(pooled, database_name):
    connection = await asyncpg.connect(pooled.url(database_name), statement_cache_size=0)
    try:
        for statement in (
            "select count(*) from vendors",
            "select set_config('vitrine.tenant', '1', false), name from vendors",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.fetch(statement)
    finally:
        await connection.close()


async def test_statements_are_named_only_where_the_pooler_keeps_track_of_them(pooled):
    connection = await db._connected().pool.acquire_for_store(1)
    try:
        assert connection.names_statements == (pooled.version >= (1, 21))
    finally:
        await db._connected().pool.release_connection(connection)


class TestRefusedConfigurations:
    async def test_a_pooler_with_a_log_in_role_of_its_own_is_accepted(self, postgres, database_url, database_name):
        with running_pgbouncer(postgres) as pooler:
            await check_pooling(database_url, pooler.url(database_name))
            await check_pooling(database_url, None)

    async def test_a_pooler_in_session_mode_keeps_sessions(self, postgres, database_url, database_name):
        with running_pgbouncer(postgres, pool_mode="session") as pooler:
            await check_pooling(pooler.url(database_name, "vitrine_owner"), None)

    @pytest.mark.parametrize("pool_size", [1, 5])
    async def test_a_database_url_that_loses_sessions(self, postgres, database_name, pool_size):
        with (
            running_pgbouncer(postgres, default_pool_size=pool_size, server_round_robin=int(pool_size > 1)) as pooler,
            pytest.raises(
                UnsafePooler, match="leads to a connection pooler in transaction mode: set VITRINE_POOLER_URL"
            ),
        ):
            await check_pooling(pooler.url(database_name, "vitrine_owner"), None)

    async def test_a_pooler_without_transactions(self, postgres, database_url, database_name):
        with (
            running_pgbouncer(postgres, pool_mode="statement") as pooler,
            pytest.raises(UnsafePooler, match="use pool_mode = transaction"),
        ):
            await check_pooling(database_url, pooler.url(database_name))

    @pytest.mark.parametrize("role", ["vitrine_owner", "postgres"])
    async def test_a_log_in_role_that_could_read_without_a_store(self, postgres, database_url, database_name, role):
        with (
            running_pgbouncer(postgres) as pooler,
            pytest.raises(UnsafePooler, match=f"the role {role} of VITRINE_POOLER_URL has privileges of its own"),
        ):
            await check_pooling(database_url, pooler.url(database_name, role))

    async def test_a_pooler_of_another_database(self, postgres, database_url, database_name):
        with (
            running_pgbouncer(postgres) as pooler,
            pytest.raises(UnsafePooler, match="leads to another database than DATABASE_URL"),
        ):
            await check_pooling(database_url, pooler.url("postgres", ROLE))


async def test_a_pooler_that_never_answers_is_named(database_url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pooler_checks, "PROBE_SECONDS", 2.0)
    accepted = asyncio.Event()

    async def keep(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.set()
        await writer.wait_closed()

    async with await asyncio.start_server(keep, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(TimeoutError, match="no answer from VITRINE_POOLER_URL within 2 s"):
            await check_pooling(database_url, f"postgresql://vitrine_pooler@127.0.0.1:{port}/vitrine?sslmode=disable")
    assert accepted.is_set()
