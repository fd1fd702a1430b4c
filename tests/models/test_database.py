"""Cross-store connections, notifications and the checks at start-up."""

from __future__ import annotations

import asyncio
from time import monotonic

import pytest

from kernel.errors import Unavailable
from kernel.ids import uuid7
from kernel.scope import active_scope
from models.connection import database as db
from models.connection import pool
from models.connection.database import NotConnected, UnsafeRole, WrongStore, cross_store_connection, transaction
from models.tables.catalog import Product
from models.tables.events import OutboxEvent


async def add_event(scope, sequence: int) -> OutboxEvent:
    with active_scope(scope):
        return await OutboxEvent.create(
            name="product.updated",
            subject_type="product",
            subject_id=scope.store.public_id,
            sequence=sequence,
            data={},
        )


# Of version 0.3.0 plus migration 0086; the column `is_switching` came with 0089.
_SWITCHED_BEFORE_0089 = """
select * from tenants t where created_at <= now() and exists (select from warehouses w where w.tenant_id = t.id and (exists (
    select from warehouse_stock s where s.tenant_id = w.tenant_id and s.warehouse_id = w.id
        and s.is_active = (w.status <> 'A' or w.deleted_at is not null)
) or w.deleted_at is not null and exists (select from warehouse_stock s where s.tenant_id = w.tenant_id and s.warehouse_id = w.id)))
"""


@pytest.mark.usefixtures("database")
class TestCrossStoreConnection:
    async def test_a_worker_of_the_version_before_still_looks_for_switched_warehouses(self):
        async with cross_store_connection() as connection:
            assert await connection.fetch(_SWITCHED_BEFORE_0089) == []

    async def test_the_worker_claims_events_of_every_store(self, scope, other_scope):
        mine, theirs = await add_event(scope, 1), await add_event(other_scope, 1)
        async with cross_store_connection() as connection:
            claimed = await connection.fetch(
                "update outbox_events set dispatched_at = now() where id = any($1) and dispatched_at is null"
                " returning tenant_id, id",
                [mine.id, theirs.id],
            )
        assert {(r["tenant_id"], r["id"]) for r in claimed} == {
            (scope.store.id, mine.id),
            (other_scope.store.id, theirs.id),
        }

    async def test_it_reads_only_tables_with_grants(self, scope):
        with active_scope(scope):
            await Product.create(name="x", slug="x", price_cents=1)
        async with cross_store_connection() as connection:
            for statement in (
                "select 1 from products",
                "select password_hash from users",
                "select email from orders",
            ):
                with pytest.raises(WrongStore):
                    await connection.fetch(statement)
            with pytest.raises(WrongStore):
                await connection.execute("update outbox_events set data = '{}'")

    async def test_it_ignores_the_scope_and_the_open_transaction(self, scope, other_scope):
        await add_event(other_scope, 1)
        with active_scope(scope):
            async with transaction(scope), cross_store_connection() as connection:
                assert (
                    await connection.fetchval(
                        "select count(*) from outbox_events where tenant_id = $1", other_scope.store.id
                    )
                    == 1
                )

    async def insert_and_fail(self, insert: str, name: str) -> None:
        async with cross_store_connection() as connection, connection.transaction():
            await connection.execute(insert, uuid7(), name)
            await connection.execute("select 1 from products")

    async def test_its_transaction_commits_and_rolls_back(self):
        async def count(name: str) -> int:
            async with cross_store_connection() as connection:
                return await connection.fetchval("select count(*) from tenants where name = $1", name)

        insert = "insert into tenants (public_id, name) values ($1, $2)"
        committed, rolled_back = f"committed {uuid7()}", f"rolled back {uuid7()}"
        async with cross_store_connection() as connection, connection.transaction():
            await connection.execute(insert, uuid7(), committed)
        with pytest.raises(WrongStore):
            await self.insert_and_fail(insert, rolled_back)
        assert (await count(committed), await count(rolled_back)) == (1, 0)

    async def test_a_cancelled_transaction_is_rolled_back(self):
        name = f"cancelled {uuid7()}"
        inserted = asyncio.Event()

        async def work() -> None:
            async with cross_store_connection() as connection, connection.transaction():
                await connection.execute("insert into tenants (public_id, name) values ($1, $2)", uuid7(), name)
                inserted.set()
                await asyncio.sleep(10)

        task = asyncio.create_task(work())
        await inserted.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert await db.fetchval("select count(*) from tenants where name = $1", name) == 0


@pytest.mark.usefixtures("database")
class TestNotifications:
    async def subscribe(self, channel: str) -> tuple[list[str], asyncio.Event]:
        payloads: list[str] = []
        event = asyncio.Event()

        def callback(payload: str) -> None:
            payloads.append(payload)
            event.set()

        await db.listen(channel, callback)
        return payloads, event

    async def notify_and_fail(self, scope, channel: str) -> None:
        async with transaction(scope):
            await db.notify(channel, "never")
            raise WrongStore("never mind")

    async def test_they_are_sent_after_the_commit_and_not_after_a_rollback(self, scope):
        channel = f"c_{uuid7().hex}"
        payloads, event = await self.subscribe(channel)
        with pytest.raises(WrongStore):
            await self.notify_and_fail(scope, channel)
        async with transaction(scope):
            await db.notify(channel, "a;b")
            await asyncio.sleep(0.05)
            assert payloads == []
        async with asyncio.timeout(5):
            await event.wait()
        assert payloads == ["a;b"]

    async def test_async_callbacks_and_several_on_one_channel(self, scope):
        channel = f"c_{uuid7().hex}"
        payloads, _ = await self.subscribe(channel)
        done = asyncio.Event()

        async def callback(payload: str) -> None:
            await asyncio.sleep(0)
            payloads.append(payload.upper())
            done.set()

        await db.listen(channel, callback)
        await db.notify(channel, "x")
        async with asyncio.timeout(5):
            await done.wait()
        assert payloads == ["x", "X"]

    async def test_a_lost_connection_is_reported_and_reopened(self, kill_backend):
        channel = f"c_{uuid7().hex}"
        payloads, event = await self.subscribe(channel)
        missed = asyncio.Event()
        await db.listen(f"other_{channel}", lambda _: None, on_missed=missed.set)
        async with cross_store_connection() as connection:
            pid = await connection.fetchval(
                "select pid from pg_stat_activity where application_name = 'vitrine (listening)'"
                " and datname = current_database()"
            )
        await kill_backend(pid)
        async with asyncio.timeout(5):
            await missed.wait()
            while not event.is_set():
                await db.notify(channel, "again")
                await asyncio.sleep(0.02)
        assert set(payloads) == {"again"}


class TestStart:
    @pytest.fixture
    def own_process(self, monkeypatch):
        """Hide the test session's connection, as if this were another process."""
        monkeypatch.setattr(db, "_database", None)

    @pytest.mark.usefixtures("own_process")
    async def test_a_superuser_is_rejected(self, postgres, database_url):
        name = database_url.split("/")[3].split("?")[0]
        await db.connect(db.DatabaseSettings(postgres.superuser_url(name), role=None))
        try:
            with pytest.raises(UnsafeRole, match="postgres is a superuser or has BYPASSRLS"):
                await db.check_role()
        finally:
            await db.close()

    @pytest.mark.usefixtures("own_process")
    async def test_the_owner_is_accepted_because_row_level_security_is_forced(self, database_url):
        await db.connect(db.DatabaseSettings(database_url, role="a_missing_role"))
        try:
            await db.check_role()
            assert await db.fetchval("select current_user") == "vitrine_owner"
            assert await db.fetchval("select count(*) from products") == 0
        finally:
            await db.close()

    @pytest.mark.usefixtures("own_process")
    async def test_connections_that_stay_in_use_delay_the_end_once(self, database_url, monkeypatch):
        monkeypatch.setattr(pool, "CLOSE_SECONDS", 1.0)
        await db.connect(db.DatabaseSettings(database_url))
        for each in (db._connected().pool, await db._connected().worker()):
            await each.acquire()
        began = monotonic()
        await db.close()
        assert 0.9 < monotonic() - began < 1.8

    @pytest.mark.usefixtures("own_process")
    async def test_a_query_before_connect_raises_not_connected(self):
        with pytest.raises(NotConnected):
            await db.fetch("select 1")

    @pytest.mark.usefixtures("own_process")
    async def test_an_unreachable_server_raises_unavailable(self):
        with pytest.raises(Unavailable):
            await db.connect(db.DatabaseSettings("postgresql://x@/x?host=/nowhere"))
