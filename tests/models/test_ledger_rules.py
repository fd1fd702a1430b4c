"""Rules of the ledger that the database keeps: entries stay for every role, and orders that change are queued (0046)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from models.migrate import disk_migrations, migrate
from server.embedded_postgres import EmbeddedServer
from tests.harness.reverting import revert

NAME = "0046_ledger"
STORE = "insert into tenants (public_id, name) values (gen_random_uuid(), 'Loja') returning id"
ORDER = "insert into orders (public_id, status, total_cents, paid_cents) values (gen_random_uuid(), $1, 100, $2) returning id"
ENTRY = """insert into ledger_entries (public_id, kind, amount_cents, reason, available_at)
    values (gen_random_uuid(), 'adjustment', 5, 'Teste', now()) returning id"""
QUEUED = "select array_agg(order_id order by order_id) from ledger_queue"


async def enter(connection: asyncpg.Connection, store: int) -> None:
    await connection.execute("select set_config('vitrine.tenant', $1, false)", str(store))


@pytest.fixture
async def owner(migrated_database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """Return a connection of the tables' owner, in a new store."""
    connection = await asyncpg.connect(migrated_database_url)
    await enter(connection, await connection.fetchval(STORE))
    yield connection
    await connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "update ledger_entries set amount_cents = 6",
        "update ledger_entries set reason = reason",
        "delete from ledger_entries",
        "truncate ledger_entries",
        "truncate tenants cascade",
    ],
)
@pytest.mark.parametrize("role", ["owner", "superuser"])
async def test_no_role_changes_or_deletes_an_entry(owner, postgres: EmbeddedServer, role, statement):
    store = await owner.fetchval("select current_setting('vitrine.tenant')::bigint")
    await owner.fetchval(ENTRY)
    name = await owner.fetchval("select current_database()")
    connection = owner if role == "owner" else await asyncpg.connect(postgres.superuser_url(name))
    try:
        await enter(connection, store)
        with pytest.raises(asyncpg.RestrictViolationError, match="neither changed nor deleted"):
            await connection.execute(statement)
    finally:
        if connection is not owner:
            await connection.close()
    assert await owner.fetchval("select sum(amount_cents) from ledger_entries") == 5


async def test_the_ledger_of_a_store_is_deleted_with_the_store_alone(owner):
    await owner.fetchval(ENTRY)
    store = await owner.fetchval("select current_setting('vitrine.tenant')::bigint")
    user = await owner.fetchval(
        "insert into users (public_id, email) values (gen_random_uuid(), 'a@example.com') returning id"
    )
    change = "update tenants set owner_id = $2, status = $3 where id = $1"
    for owner_id, status in ((user, "A"), (None, "A"), (user, "S")):
        await owner.execute(change, store, owner_id, status)
        with pytest.raises(asyncpg.RestrictViolationError):
            await owner.execute("delete from ledger_entries")
    await owner.execute(change, store, None, "S")
    assert await owner.execute("delete from ledger_entries") == "DELETE 1"


@pytest.mark.parametrize(
    "columns, values",
    [
        ("kind, amount_cents", "'sale', 5"),
        ("kind, amount_cents, reason", "'adjustment', 5, ''"),
        ("kind, amount_cents, reason", "'adjustment', 0, 'x'"),
        ("kind, amount_cents", "'payout', -5"),
        ("kind, amount_cents", "'gift', 5"),
    ],
)
async def test_an_entry_has_an_origin_and_an_amount(owner, columns, values):
    with pytest.raises(asyncpg.CheckViolationError):
        await owner.execute(
            f"insert into ledger_entries (public_id, available_at, {columns}) values (gen_random_uuid(), now(), {values})"
        )


async def test_what_changes_the_money_of_an_order_queues_it(owner):
    unpaid, sold = await owner.fetchval(ORDER, "O", 0), await owner.fetchval(ORDER, "P", 0)
    assert await owner.fetchval(QUEUED) == [sold]
    for change, is_queued in (
        ("notes = 'x', updated_at = now()", False),
        ("status = 'C'", False),
        ("paid_cents = 100", True),
        ("refunded_cents = 10", True),
        ("payment_status = 'chargeback'", True),
        ("status = 'I'", True),
        ("total_cents = 90", True),
        ("deleted_at = now()", True),
    ):
        await owner.execute("delete from ledger_queue")
        await owner.execute(f"update orders set {change} where id = $1", sold)
        assert await owner.fetchval(QUEUED) == ([sold] if is_queued else None), change
    await owner.execute("delete from ledger_queue")
    await owner.execute("update orders set status = 'F', total_cents = 90 where id = $1", unpaid)
    assert await owner.fetchval(QUEUED) is None


async def test_the_orders_of_all_stores_are_queued_by_the_migration(empty_database_url):
    await migrate(empty_database_url)
    for migration in reversed(disk_migrations()):
        await revert(empty_database_url, migration.name)
        if migration.name == NAME:
            break
    connection = await asyncpg.connect(empty_database_url)
    try:
        stores = [await connection.fetchval(STORE) for _ in range(2)]
        for store in stores:
            await enter(connection, store)
            for status, paid in (("O", 0), ("C", 0), ("P", 100)):
                await connection.fetchval(ORDER, status, paid)
        await migrate(empty_database_url)
        for store in stores:
            await enter(connection, store)
            assert await connection.fetchval(QUEUED) == [1, 2, 3], store
            assert await connection.fetchval("select count(*) from ledger_entries") == 0, store
    finally:
        await connection.close()
