"""The search entries of many products take time in proportion to them, and are locked in the order of ids (migration 0033)."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import pytest

pytestmark = pytest.mark.slow(seconds=2)

PRODUCTS = 2_050
COLUMNS = "product_id, price_cents, vendor_id, rating, in_stock, status, category_ids, variant_ids, tags, name_words"
FILL = (
    "insert into categories (public_id, name, id_path) select gen_random_uuid(), 'Mesa', n::text from generate_series(1, 3) n",
    "insert into features (public_id, name, type, filterable) values (gen_random_uuid(), 'Cor', 'S', true)",
    "insert into feature_variants (public_id, feature_id, name) select gen_random_uuid(), f.id, 'Azul' from features f",
    "insert into products (public_id, name, slug, sku, price_cents, on_hand)"
    " select gen_random_uuid(), 'Peça ' || chr(97 + n % 26) || chr(97 + n / 26 % 26) || chr(97 + n / 676), 'p-' || n, 'A-' || n, n, n % 2"
    " from generate_series(1, {products}) n",
    "insert into product_categories (public_id, product_id, category_id)"
    " select gen_random_uuid(), p.id, c.id from products p, categories c where (p.id + c.id) % 3 > 0",
    "insert into feature_values (public_id, product_id, feature_id, variant_id)"
    " select gen_random_uuid(), p.id, v.feature_id, v.id from products p, feature_variants v where p.id % 2 = 0",
    "insert into feature_value_variants (public_id, feature_value_id, variant_id)"
    " select gen_random_uuid(), f.id, f.variant_id from feature_values f where f.product_id % 4 = 0",
    "insert into product_tags (public_id, product_id, tag)"
    " select gen_random_uuid(), p.id, 'tag ' || (p.id + n) % 7 from products p, generate_series(1, 3) n where p.id % 2 = 0",
    "insert into combinations (public_id, product_id, hash, on_hand)"
    " select gen_random_uuid(), p.id, '1_' || p.id, p.id % 5 from products p where p.id % 3 = 0",
    "insert into discussion_threads (public_id, object_type, object_id)"
    " select gen_random_uuid(), 'P', p.id from products p where p.id % 7 = 0",
    "insert into discussion_posts (public_id, thread_id, rating, status)"
    " select gen_random_uuid(), h.id, 1 + h.id % 5, 'A' from discussion_threads h",
)
BLOCKS = """
    select sum(pg_stat_get_xact_blocks_fetched(c.oid)) from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'i')"""


class Shop:
    """The tables of an installation, as the serving role sees them in one store at a time."""

    def __init__(self, connection: asyncpg.Connection, url: str) -> None:
        self.connection = connection
        self.url = url

    async def add_store(self) -> int:
        """Add a store, which later statements see."""
        sql = "insert into tenants (public_id, name) values (gen_random_uuid(), 'Loja') returning id"
        await self.connection.execute("reset role")
        store: int = await self.connection.fetchval(sql)
        await self.see(self.connection, store)
        return store

    async def see(self, connection: asyncpg.Connection, store: int) -> None:
        await connection.execute(f"select set_config('vitrine.tenant', '{store}', false); set role vitrine_app")

    async def fill(self, products: int) -> None:
        for statement in FILL:
            await self.connection.execute(statement.format(products=products))

    async def entries(self) -> list[tuple[object, ...]]:
        rows = await self.connection.fetch(f"select {COLUMNS} from search_entries order by product_id")
        return [tuple(row) for row in rows]

    async def words(self) -> list[str]:
        return [row["word"] for row in await self.connection.fetch("select word from search_words order by word")]

    async def calculate(self, function: str, store: int, ids: list[int]) -> None:
        await self.connection.execute(f"select {function}($1, $2)", store, ids)

    async def blocks_read(self) -> int:
        blocks: int = await self.connection.fetchval(BLOCKS)
        return blocks


@pytest.fixture
async def shop(migrated_database_url: str) -> AsyncIterator[Shop]:
    url = migrated_database_url.replace("vitrine_owner@", "postgres@")
    connection = await asyncpg.connect(url)
    try:
        yield Shop(connection, url)
    finally:
        await connection.close()


async def test_many_products_have_the_entries_and_words_of_each(shop: Shop) -> None:
    store = await shop.add_store()
    await shop.fill(PRODUCTS)
    await shop.connection.execute("update products set deleted_at = now() where id % 11 = 0")
    entries, words = await shop.entries(), await shop.words()
    assert len(entries) == PRODUCTS - PRODUCTS // 11
    assert len(words) > 1_000

    await shop.connection.execute("delete from search_entries; delete from search_words")
    for product in range(1, PRODUCTS + 1):
        await shop.calculate("vitrine_update_search_entries", store, [product])
        await shop.calculate("vitrine_add_search_words", store, [product])
    assert await shop.entries() == entries
    # Words of deleted products stay where they were.
    assert set(await shop.words()) <= set(words)

    # In any order, with repeated and unknown products; nothing is left from the entries before.
    ids = [*range(PRODUCTS + 60, 0, -1), *range(990, 1_010), 0, -1]
    await shop.connection.execute("update search_entries set price_cents = 0, category_ids = '{}', name_words = ''")
    await shop.calculate("vitrine_update_search_entries", store, ids)
    assert await shop.entries() == entries
    await shop.connection.execute("update search_entries set category_ids = '{}'")
    await shop.calculate("vitrine_update_entry_categories", store, ids)
    assert await shop.entries() == entries
    await shop.connection.execute("update search_entries set tags = '{}'")
    await shop.calculate("vitrine_update_entry_tags", store, ids)
    assert await shop.entries() == entries
    await shop.connection.execute("delete from search_words")
    await shop.calculate("vitrine_add_search_words", store, ids)
    assert len(added := await shop.words()) == len(set(added)) <= len(words)
    await shop.calculate("vitrine_add_search_words", store, ids)
    assert await shop.words() == added


# What the planner knows decides: nothing of new tables; of a new store, with the statistics of another, that it has no rows. Each function
# once had plans in one of these that read the index of the whole store for each product, on PostgreSQL 15 or 18.
@pytest.mark.parametrize(
    "function, has_statistics, blocks",
    [
        ("vitrine_update_search_entries", False, 60),
        ("vitrine_update_entry_categories", True, 40),
        ("vitrine_update_entry_tags", False, 40),
        ("vitrine_update_entry_tags", True, 40),
        ("vitrine_add_search_words", True, 30),
        ("vitrine_update_entry_columns", False, 30),
    ],
)
async def test_a_product_of_a_large_store_is_looked_up_in_a_few_blocks(
    shop: Shop, function: str, has_statistics: bool, blocks: int
) -> None:
    products = 8_000
    if has_statistics:
        await shop.add_store()
        await shop.fill(300)
        await shop.connection.execute("reset role; analyze")
    async with shop.connection.transaction():
        store = await shop.add_store()
        await shop.fill(products)
        await shop.connection.execute("delete from search_words")
        before = await shop.blocks_read()
        if function == "vitrine_update_entry_columns":
            await shop.connection.execute("update combinations set deleted_at = now()")
        else:
            await shop.calculate(function, store, list(range(1, products + 1)))
        assert (await shop.blocks_read() - before) / products < blocks


async def test_categories_of_other_stores_are_not_read_for_each_product(shop: Shop) -> None:
    """The planner took the first store's placements for all there are, and a merge with the categories of all stores for short."""
    await shop.add_store()
    await shop.fill(300)
    await shop.connection.execute("reset role")
    await shop.connection.execute("analyze")
    await shop.connection.execute(
        "insert into tenants (public_id, name) select gen_random_uuid(), 'Loja' from generate_series(1, 500)"
    )
    await shop.connection.execute(
        "insert into categories (tenant_id, public_id, name, id_path) select id, gen_random_uuid(), 'Mesa', '1'"
        " from tenants, generate_series(1, 10)"
    )
    products = 200
    store = await shop.add_store()
    await shop.fill(products)
    await shop.connection.execute("reset role")
    await shop.connection.execute("analyze categories, search_entries, products")
    async with shop.connection.transaction():
        before = await shop.blocks_read()
        await shop.calculate("vitrine_update_entry_categories", store, list(range(1, products + 1)))
        assert (await shop.blocks_read() - before) / products < 40


async def test_reviews_are_not_compared_with_all_threads_of_a_store(shop: Shop) -> None:
    """The planner took the threads of a new store for one row, and a nested loop over all of them for cheap."""
    await shop.connection.execute("analyze")
    await shop.add_store()
    await shop.fill(2_000)
    body = await shop.connection.fetchval("select prosrc from pg_proc where proname = 'vitrine_reviews_changed'")
    query = re.search(r"FOR store, ids IN(.*?)LOOP", body, flags=re.DOTALL)
    assert query is not None
    changed = "with changed as materialized (select * from discussion_posts)"
    explained = await shop.connection.fetchval(f"explain (analyze, format json) {changed} {query[1]}")
    plan = json.loads(explained)[0]["Plan"]
    (rows,) = [node["Actual Rows"] for node in nodes(plan) if node["Node Type"] == "CTE Scan"]
    assert rows > 200
    assert sum(node.get("Rows Removed by Join Filter", 0) for node in nodes(plan)) < rows


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


@pytest.mark.parametrize(
    "function", ["vitrine_update_search_entries", "vitrine_update_entry_categories", "vitrine_update_entry_tags"]
)
async def test_the_entries_of_many_products_are_locked_in_the_order_of_their_ids(shop: Shop, function: str) -> None:
    store = await shop.add_store()
    await shop.fill(PRODUCTS)
    other = await asyncpg.connect(shop.url)
    try:
        await shop.see(other, store)
        lock = "select from search_entries where product_id = $1 for update nowait"
        async with other.transaction():
            await other.execute(lock, 5)
            call = asyncio.create_task(shop.calculate(function, store, list(range(PRODUCTS, 0, -1))))
            pid = shop.connection.get_server_pid()
            async with asyncio.timeout(30):
                while not await other.fetchval("select cardinality(pg_blocking_pids($1)) > 0", pid):
                    await asyncio.sleep(0.01)
            for free in (6, 1_000, 1_001, PRODUCTS):
                await other.execute(lock, free)
            with pytest.raises(asyncpg.LockNotAvailableError):
                async with other.transaction():
                    await other.execute(lock, 4)
        await call
    finally:
        await other.close()
