"""Each store numbers its records itself: from 1 on, no number twice, however they are inserted."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import asyncpg
import pytest

from domain.stores import create_store
from kernel.errors import TransactionConflict
from kernel.ids import uuid7
from kernel.scope import Scope, active_scope
from models.connection import database as db
from models.connection.database import transaction
from models.migrate import disk_migrations, migrate
from models.numbers import NUMBERED_TABLES, RESERVED_TABLES, raise_numbers, take_number, take_numbers
from models.tables.catalog import Product
from resolvers import root
from schema.fields import ColumnSource, entity_of, field_source
from tests.harness.reverting import revert
from tests.harness.scopes import system_scope

INSERT = "insert into vendors (public_id, name) values ($1, $2) returning id"
# As a version that doesn't know of store numbers places an order: in one statement, without ids.
PLACE = """
with inserted as (
    insert into orders (tenant_id, public_id) values ($1, $2) returning id
), lines as (
    insert into order_lines (tenant_id, public_id, order_id, position, product_name, quantity, price_cents, base_price_cents)
    select $1, gen_random_uuid(), inserted.id, n, 'Caneca', 1, 100, 100 from inserted, generate_series(1, 3) n
    returning id
)
select inserted.id, array(select lines.id from lines order by 1) as lines from inserted
"""


async def add_vendor(scope: Scope) -> int:
    with active_scope(scope):
        return int(await db.fetchval(INSERT, uuid7(), "Ateliê"))


async def add_product(scope: Scope, **columns) -> Product:
    with active_scope(scope):
        return await Product.create(name="Caneca", slug=uuid7().hex, price_cents=1990, **columns)


async def counter(scope: Scope, table: str) -> int | None:
    with active_scope(scope):
        number: int | None = await db.fetchval("select last from number_counters where entity = $1", table)
        return number


async def test_numbers_begin_at_1_in_each_store(scope, other_scope):
    assert [(await add_product(scope)).id for _ in range(3)] == [1, 2, 3]
    assert [(await add_product(other_scope)).id for _ in range(2)] == [1, 2]
    assert (await add_product(scope)).id == 4
    assert await add_vendor(scope) == 1


async def test_the_records_that_every_store_begins_with_are_numbered_from_1(database):
    for repetition in range(2):
        scope = system_scope((await create_store({"name": "Loja"})).store)
        with active_scope(scope):
            statuses = await db.fetch("select id from statuses order by id")
            assert [row["id"] for row in statuses] == list(range(1, 11)), repetition
            assert await db.fetchval("select array_agg(id) from languages") == [1], repetition


async def test_the_rows_of_a_statement_get_consecutive_numbers(scope):
    await add_vendor(scope)
    with active_scope(scope):
        rows = await db.fetch(
            "insert into vendors (public_id, name) select gen_random_uuid(), 'x' from generate_series(1, 1000) returning id"
        )
    assert [row["id"] for row in rows] == list(range(2, 1002))
    assert await add_vendor(scope) == 1002


async def test_several_statements_of_a_transaction_go_on_counting(scope):
    with active_scope(scope):
        async with transaction(scope):
            first = [await db.fetchval(INSERT, uuid7(), "x") for _ in range(3)]
            with pytest.raises(db.UniqueViolation):
                async with transaction(scope):  # a savepoint
                    await db.execute(
                        "insert into vendors (public_id, name) select $1, 'x' from generate_series(1, 2)", uuid7()
                    )
            last = await db.fetchval(INSERT, uuid7(), "x")
    assert [*first, last] == [1, 2, 3, 4]


async def test_a_row_that_exists_already_takes_no_number(scope):
    insert = """
        insert into discussion_threads (public_id, object_type, object_id)
        select gen_random_uuid(), 'P', n from generate_series(1, $1::int) n
        on conflict (tenant_id, object_type, object_id) do {} returning id, object_id
    """
    with active_scope(scope):
        assert len(await db.fetch(insert.format("nothing"), 2)) == 2
        for repetition in range(3):
            assert await db.fetch(insert.format("nothing"), 2) == [], repetition
            updated = await db.fetch(insert.format("update set object_type = excluded.object_type"), 2)
            assert {(row["id"], row["object_id"]) for row in updated} == {(1, 1), (2, 2)}, repetition
        assert await counter(scope, "discussion_threads") == 2
        await db.execute(insert.format("nothing"), 3)
        number = await db.fetchval("select id from discussion_threads where object_id = 3")
        assert number == await counter(scope, "discussion_threads")


async def test_two_inserts_into_a_table_in_one_statement_share_the_counter(scope):
    with active_scope(scope):
        await db.execute("""
            with first as (insert into vendors (public_id, name) select gen_random_uuid(), 'a' from generate_series(1, 3)),
            second as (insert into vendors (public_id, name) select gen_random_uuid(), 'b' from generate_series(1, 4))
            insert into vendors (public_id, name) values (gen_random_uuid(), 'c')
        """)
        assert await db.fetchval("select array_agg(id order by id) from vendors") == list(range(1, 9))
    assert await add_vendor(scope) == 9


async def test_the_number_of_the_highest_row_is_not_given_out_again_after_its_deletion(scope):
    products = [await add_product(scope) for _ in range(3)]
    with active_scope(scope):
        await products[-1].delete()
        await products[-2].delete()
    assert (await add_product(scope)).id == 4


async def test_an_imported_number_raises_the_next_one(scope):
    assert (await add_product(scope, id=500)).id == 500
    assert (await add_product(scope)).id == 501
    assert (await add_product(scope, id=7)).id == 7
    assert (await add_product(scope)).id == 502


async def test_numbers_chosen_and_given_out_in_one_statement_do_not_meet(scope):
    with active_scope(scope):
        await db.execute("""
            insert into vendors (id, public_id, name)
            select case when n % 2 = 0 then 1000 + n end, gen_random_uuid(), 'x' from generate_series(1, 6) n
        """)
        assert await db.fetchval("select array_agg(id order by id) from vendors") == [1, 2, 3, 1002, 1004, 1006]
    assert await add_vendor(scope) == 1007


async def test_raised_numbers_are_not_locked_and_never_fall(scope):
    async with transaction(scope):
        await raise_numbers(scope, {"orders": 40, "products": 9})
        assert await take_number(scope, "orders") == 41
    await raise_numbers(scope, {"orders": 3})
    assert await take_number(scope, "orders") == 42
    assert (await add_product(scope)).id == 10


async def test_reserved_numbers_are_given_out_once_and_survive_a_rollback(scope):
    class Failure(Exception):
        pass

    with suppress(Failure):
        async with transaction(scope):
            taken = await take_numbers(scope, {"orders": 1, "order_lines": 3, "shipments": 0})
            raise Failure
    assert taken == {"orders": range(1, 2), "order_lines": range(1, 4), "shipments": range(0)}
    assert await take_numbers(scope, {"order_lines": 2}) == {"order_lines": range(4, 6)}


async def test_concurrent_reservations_are_disjoint_and_without_gaps(scope, other_scope):
    async def reserve(at: Scope) -> range:
        async with transaction(at):
            return (await take_numbers(at, {"orders": 1, "order_lines": 3}))["order_lines"]

    ranges = await asyncio.gather(*(reserve(at) for _ in range(50) for at in (scope, other_scope)))
    for each in (ranges[::2], ranges[1::2]):
        assert sorted(number for numbers in each for number in numbers) == list(range(1, 151))


async def test_a_reservation_is_no_effect_that_prevents_a_retry(scope):
    attempts = []

    async def work() -> None:
        attempts.append(await take_number(scope, "orders"))
        if len(attempts) < 3:
            raise TransactionConflict

    await db.retry_conflicts(work)
    assert attempts == [1, 2, 3]


async def test_no_store_sees_or_raises_another_stores_counter(scope, other_scope):
    await add_vendor(scope)
    with active_scope(other_scope):
        assert await db.fetchval("select count(*) from number_counters where entity = 'vendors'") == 0
        assert await db.execute("update number_counters set last = 900 where tenant_id = $1", scope.store.id) == 0
        with pytest.raises(db.WrongStore):
            await db.execute("insert into number_counters values ($1, 'orders', 900)", scope.store.id)
    assert await add_vendor(scope) == 2


async def test_every_table_whose_numbers_clients_see_is_numbered_by_store(database):
    assert {*RESERVED_TABLES} <= NUMBERED_TABLES
    for trigger in ("take_number", "count_numbers"):
        rows = await db.fetch("select tgrelid::regclass::text as name from pg_trigger where tgname = $1", trigger)
        numbered = {row["name"] for row in rows}
        assert NUMBERED_TABLES - numbered == set(), (
            f"{trigger}: call vitrine_number_by_store in the migrations of these tables: models/references.py names them"
        )
        assert numbered - NUMBERED_TABLES == set(), (
            f"{trigger}: add these tables to models/references.py, or to _FURTHER_TABLES in models/numbers.py: their migrations number them"
        )
    shown = {
        entity.table: f"{type_.name}.{name}"
        for type_ in root.internal_schema().type_map.values()
        if (entity := entity_of(type_)) is not None
        for name, field in type_.fields.items()
        if isinstance(source := field_source(field), ColumnSource) and (source.sql or name) in ("id", "t.id")
    }
    assert "orders" in shown
    assert {shown[table] for table in shown.keys() - NUMBERED_TABLES} == set(), (
        "these fields show ids that reveal the installation's volume: add their tables to models/references.py, or to"
        " _FURTHER_TABLES in models/numbers.py, and call vitrine_number_by_store in the migration"
    )


class TestMigration:
    """A database that was numbered by installation is numbered by store, without a pause for the previous version."""

    @pytest.fixture
    async def previous(self, empty_database_url, monkeypatch):
        """Return the URL of a database of the previous version."""
        migrations = disk_migrations()
        names = [migration.name for migration in migrations]
        with monkeypatch.context() as patch:
            patch.setattr("models.migrate.disk_migrations", lambda: migrations[: names.index("0017_store_numbers")])
            await migrate(empty_database_url)
        return empty_database_url

    @pytest.fixture
    async def connection(self, previous):
        connection = await asyncpg.connect(previous)
        yield connection
        await connection.close()

    async def stores(self, connection, count: int = 2) -> list[int]:
        return [
            await connection.fetchval(
                "insert into tenants (public_id, name) values (gen_random_uuid(), 'x') returning id"
            )
            for _ in range(count)
        ]

    async def place(self, connection, store: int) -> tuple[int, list[int]]:
        await connection.execute("select set_config('vitrine.tenant', $1, false)", str(store))
        return tuple(await connection.fetchrow(PLACE, store, uuid7()))

    async def test_existing_records_keep_their_numbers_and_the_next_is_above_the_highest(self, previous, connection):
        one, two = await self.stores(connection)
        for store in (one, two, one):
            await self.place(connection, store)
        await migrate(previous)
        assert await self.place(connection, one) == (4, [10, 11, 12])
        assert await self.place(connection, two) == (3, [7, 8, 9])
        await connection.execute("select set_config('vitrine.tenant', $1, false)", str(one))
        assert await connection.fetchval("select array_agg(id order by id) from orders") == [1, 3, 4]
        assert await connection.fetchval("select array_agg(last) from number_counters where entity = 'orders'") == [4]
        (new,) = await self.stores(connection, 1)
        assert await self.place(connection, new) == (1, [1, 2, 3])

    async def test_the_previous_version_goes_on_inserting_after_the_migration(self, previous, connection):
        (store,) = await self.stores(connection, 1)
        assert await self.place(connection, store) == (1, [1, 2, 3])  # asyncpg keeps the prepared statement
        await migrate(previous)
        other = await asyncpg.connect(previous)
        try:
            await other.execute("select set_config('vitrine.tenant', $1, false)", str(store))
            await other.execute("insert into orders (id, public_id) values (2, gen_random_uuid())")
            placed = await asyncio.gather(self.place(connection, store), self.place(other, store))
        finally:
            await other.close()
        assert sorted(placed) == [(3, [4, 5, 6]), (4, [7, 8, 9])]

    async def test_reverting_numbers_all_stores_together_again(self, previous, connection):
        one, two = await self.stores(connection)
        await migrate(previous)
        assert [await self.place(connection, store) for store in (one, one, two)] == [
            (1, [1, 2, 3]),
            (2, [4, 5, 6]),
            (1, [1, 2, 3]),
        ]
        for migration in reversed(disk_migrations()):
            await revert(previous, migration.name)
            if migration.name == "0017_store_numbers":
                break
        assert await self.place(connection, two) == (3, [7, 8, 9])
        assert await self.place(connection, one) == (4, [10, 11, 12])
