"""Tenant isolation: a connection reads and writes one store only."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from kernel.ids import uuid7
from kernel.scope import Scope, active_scope
from models.connection import database as db
from models.connection.database import WrongStore
from models.tables.catalog import Category, Product, ProductImage
from models.tables.stores import Tenant
from models.tables.users import User

STORE_TABLES = """
    select relname from pg_class join pg_attribute on attrelid = pg_class.oid
    where attname = 'tenant_id' and relkind = 'r' and relnamespace = 'public'::regnamespace order by 1"""


async def create_product(scope: Scope, **values) -> Product:
    with active_scope(scope):
        return await Product.create(name="Caneca", slug=f"caneca-{uuid7()}", price_cents=1990, **values)


async def test_without_a_store_in_scope_no_row_is_visible(scope):
    await create_product(scope)
    tables = await db.fetch(STORE_TABLES)
    assert len(tables) > 25
    for table in tables:
        assert await db.fetchval(f"select count(*) from {table['relname']}") == 0, table["relname"]


async def test_without_a_store_in_scope_writes_fail(database):
    with pytest.raises(WrongStore):
        await db.execute("insert into vendors (public_id, name) values ($1, 'x')", uuid7())


async def test_each_store_sees_its_own_rows(scope, other_scope):
    mine = await create_product(scope)
    theirs = await create_product(other_scope)
    with active_scope(scope):
        assert [p.id for p in await Product.all()] == [mine.id]
        assert [r["id"] for r in await db.fetch("select id from products")] == [mine.id]
    with active_scope(other_scope):
        assert [p.id for p in await Product.all()] == [theirs.id]
        assert [r["id"] for r in await db.fetch("select id from products")] == [theirs.id]


async def test_another_stores_object_is_not_found_by_its_id(scope, other_scope):
    mine = await create_product(scope)
    with active_scope(other_scope):  # which has no product with this number
        assert await Product.get_or_none(id=mine.id) is None
        assert await db.fetchrow("select id from products where id = $1", mine.id) is None


async def test_raw_sql_cannot_insert_into_another_store(scope, other_scope):
    with active_scope(other_scope), pytest.raises(WrongStore):
        await db.execute(
            "insert into vendors (tenant_id, public_id, name) values ($1, $2, 'x')", scope.store.id, uuid7()
        )


async def test_raw_sql_cannot_change_or_move_rows_of_another_store(scope, other_scope):
    mine = await create_product(scope)
    with active_scope(other_scope):
        assert await db.execute("update products set name = 'x' where id = $1", mine.id) == 0
        assert await db.execute("delete from products where id = $1", mine.id) == 0
    with active_scope(scope), pytest.raises(WrongStore):
        await db.execute("update products set tenant_id = $1", other_scope.store.id)


async def test_bulk_updates_and_deletes_stay_in_the_store(scope, other_scope):
    mine = await create_product(scope)
    theirs = await create_product(other_scope)
    with active_scope(other_scope):
        assert await Product.filter(id__in=[mine.id, theirs.id]).update(name="x") == 1
        assert await Product.filter(id__in=[mine.id, theirs.id]).delete() == 1
    with active_scope(scope):
        assert (await Product.get(id=mine.id)).name == "Caneca"


async def test_a_row_cannot_refer_to_another_store(scope, other_scope):
    with active_scope(scope):
        mine = await Category.create(name="Mine")
        product = [await create_product(scope) for _ in range(2)][-1]  # its number exists in this store only
    theirs = await create_product(other_scope)
    with active_scope(other_scope):
        with pytest.raises(db.ReferenceViolation) as error:
            await db.execute("update products set category_id = $1 where id = $2", mine.id, theirs.id)
        assert error.value.constraint == "products_category_fkey"
        theirs.category_id = mine.id
        with pytest.raises(db.ReferenceViolation):
            await theirs.save()
        with pytest.raises(db.ReferenceViolation):
            await ProductImage.create(product_id=product.id, url="https://example.com/a.png")


async def test_prefetching_stays_in_the_store(scope, other_scope):
    mine = await create_product(scope)
    with active_scope(scope):
        await ProductImage.create(product_id=mine.id, url="https://example.com/a.png")
        (product,) = await Product.all().prefetch_related("images")
        assert [image.url for image in product.images] == ["https://example.com/a.png"]
    with active_scope(other_scope):
        assert await product.images.all() == []


async def test_a_store_changes_its_own_settings_and_no_other(scope, other_scope):
    with active_scope(scope):
        assert await db.execute("update tenants set name = 'Nova' where id = $1", scope.store.id) == 1
        assert await db.execute("update tenants set name = 'x' where id = $1", other_scope.store.id) == 0
        assert await Tenant.filter(id=other_scope.store.id).update(name="x") == 0
        with pytest.raises(WrongStore):  # no UPDATE privilege on the column: only the platform suspends stores
            await db.execute("update tenants set status = 'S' where id = $1", scope.store.id)
        with pytest.raises(WrongStore):
            await db.execute("insert into tenants (public_id, name) values ($1, 'x')", uuid7())
        with pytest.raises(WrongStore):
            await db.execute("delete from tenants where id = $1", scope.store.id)


async def test_the_owner_of_a_store_is_one_of_its_own_users(scope, other_scope):
    with active_scope(scope):
        mine = await User.create(email="a@example.com", user_type="A")
        await db.execute("update tenants set owner_id = $1 where id = $2", mine.id, scope.store.id)
    with active_scope(other_scope), pytest.raises(db.ReferenceViolation):
        await db.execute("update tenants set owner_id = $1 where id = $2", mine.id, other_scope.store.id)


async def test_the_audit_log_is_insert_only(scope):
    with active_scope(scope):
        await db.execute("insert into audit_entries (public_id, action) values ($1, 'x')", uuid7())
        with pytest.raises(WrongStore):
            await db.execute("update audit_entries set action = 'y'")
        with pytest.raises(WrongStore):
            await db.execute("delete from audit_entries")


async def test_tasks_of_a_gather_keep_their_stores(scope, other_scope):
    await create_product(scope)

    async def count(in_scope: Scope) -> int:
        with active_scope(in_scope):
            await asyncio.sleep(0)
            return await db.fetchval("select count(*) from products")

    counts = await asyncio.gather(*(count(scope if n % 2 else other_scope) for n in range(60)))
    assert counts == [n % 2 for n in range(60)]


async def test_the_serving_role_does_not_bypass_row_level_security(database):
    await db.check_role()
    assert await db.fetchval("select current_user") == "vitrine_app"
    # Resets to the role set at connection; through a pooler it ends with the statement.
    await db.execute("reset role")
    assert await db.fetchval("select current_user") == "vitrine_app"


async def test_no_temporary_table_takes_the_place_of_one_that_a_function_uses_as_its_owner(database):
    functions = await db.fetch(
        "select proname, proconfig from pg_proc where prosecdef and pronamespace = 'public'::regnamespace"
    )
    assert len(functions) > 4
    for function in functions:
        [path] = [each for each in function["proconfig"] or [""] if each.startswith("search_path=")]
        assert path.endswith(", pg_temp"), function["proname"]


async def test_the_owner_sees_one_store_although_it_may_act_as_the_worker(database_url, scope, other_scope):
    """On PostgreSQL 15 the owner inherits the policies of the worker and of search."""
    for each in (scope, other_scope):
        await create_product(each)
        with active_scope(each):
            await User.create(email="a@example.com", user_type="C")
            await db.execute(
                "insert into carts (tenant_id, public_id, expires_at) values ($1, $2, now())",
                each.store.id,
                uuid7(),
            )
    connection = await asyncpg.connect(database_url)
    try:
        assert await connection.fetchval("select current_user") == "vitrine_owner"
        await connection.execute(f"set vitrine.tenant = '{scope.store.id}'")
        for table in await connection.fetch(STORE_TABLES):
            name = table["relname"]
            stores = await connection.fetch(f"select distinct tenant_id from {name}")
            assert {record["tenant_id"] for record in stores} <= {scope.store.id}, (table, name)
        assert await connection.execute("update products set name = name") == "UPDATE 1"
        await connection.execute("set role vitrine_worker")
        assert (
            await connection.fetchval(
                "select count(distinct tenant_id) from carts where tenant_id = any($1::bigint[])",
                [scope.store.id, other_scope.store.id],
            )
            == 2
        )
    finally:
        await connection.close()
