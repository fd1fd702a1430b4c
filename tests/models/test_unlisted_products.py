"""Which products are unlisted is decided in the transaction of each change, and by concurrent ones as if they had run one by one (0037)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

TREE = (
    "insert into vendors (public_id, name) select gen_random_uuid(), 'Loja ' || n from generate_series(1, 2) n",
    "insert into categories (public_id, name, slug, id_path)"
    " select gen_random_uuid(), 'C' || n, 'c' || n, n::text from generate_series(1, 4) n",
    # 3 is below 2, which is below 1.
    "update categories set parent_id = id - 1, id_path = case id when 2 then '1/2' else '1/2/3' end where id in (2, 3)",
    "insert into products (public_id, name, slug, price_cents, vendor_id)"
    " select gen_random_uuid(), 'P' || n, 'p' || n, 1, 1 from generate_series(1, 3) n",
    # The first product is in 3, the second in 3 and 4, the third in none.
    "insert into product_categories (public_id, product_id, category_id)"
    " select gen_random_uuid(), p, c from (values (1, 3), (2, 3), (2, 4)) as v (p, c)",
)
Unlisted = dict[int, bool]


class Shop:
    """The tables of an installation with one store, as the serving role sees them."""

    def __init__(self, url: str) -> None:
        self.url = url

    async def connect(self) -> asyncpg.Connection:
        connection = await asyncpg.connect(self.url)
        await connection.execute("select set_config('vitrine.tenant', '1', false); set role vitrine_app")
        return connection


@pytest.fixture
async def shop(migrated_database_url: str) -> Shop:
    url = migrated_database_url.replace("vitrine_owner@", "postgres@")
    connection = await asyncpg.connect(url)
    await connection.execute("insert into tenants (public_id, name) values (gen_random_uuid(), 'Loja')")
    await connection.close()
    shop = Shop(url)
    connection = await shop.connect()
    for statement in TREE:
        await connection.execute(statement)
    await connection.close()
    return shop


@pytest.fixture
async def one(shop: Shop) -> AsyncIterator[asyncpg.Connection]:
    connection = await shop.connect()
    yield connection
    await connection.close()


@pytest.fixture
async def other(shop: Shop) -> AsyncIterator[asyncpg.Connection]:
    connection = await shop.connect()
    yield connection
    await connection.close()


async def unlisted(connection: asyncpg.Connection) -> Unlisted:
    rows = await connection.fetch("select product_id, is_disabled from unlisted_products order by product_id")
    return {row["product_id"]: row["is_disabled"] for row in rows}


@pytest.mark.parametrize(
    "change, back, expected",
    [
        (
            "update vendors set status = 'P' where id = 1",
            "update vendors set status = 'A'",
            {1: True, 2: True, 3: True},
        ),
        ("update vendors set status = 'P' where id = 2", "update vendors set status = 'A'", {}),
        (
            "update vendors set deleted_at = now() where id = 1",
            "update vendors set deleted_at = null",
            {1: True, 2: True, 3: True},
        ),
        ("update categories set status = 'D' where id = 3", "update categories set status = 'A'", {1: True}),
        ("update categories set status = 'H' where id = 1", "update categories set status = 'A'", {1: False}),
        ("update categories set status = 'D' where id = 4", "update categories set status = 'A'", {}),
        (
            "update categories set status = 'H' where id in (1, 4)",
            "update categories set status = 'A'",
            {1: False, 2: False},
        ),
        ("update categories set status = 'D' where id > 2", "update categories set status = 'A'", {1: True, 2: True}),
        # Of several restrictions on the way the strictest counts.
        (
            "update categories set status = case id when 1 then 'D' else 'H' end where id <= 2",
            "update categories set status = 'A'",
            {1: True},
        ),
    ],
)
async def test_a_change_and_its_reversal_are_followed(
    one: asyncpg.Connection, change: str, back: str, expected: Unlisted
) -> None:
    assert await unlisted(one) == {}
    await one.execute(change)
    assert await unlisted(one) == expected
    await one.execute(back)
    assert await unlisted(one) == {}


async def test_placements_moves_and_vendors_of_products_are_followed(one: asyncpg.Connection) -> None:
    await one.execute("update categories set status = 'D' where id = 4; update vendors set status = 'D' where id = 2")
    await one.execute("delete from product_categories where product_id = 2 and category_id = 3")
    assert await unlisted(one) == {2: True}
    await one.execute("update product_categories set category_id = 3 where product_id = 2")
    assert await unlisted(one) == {}
    # The subtree of 2 moves below the disabled one.
    await one.execute("update categories set id_path = '4' || substr(id_path, 2) where id in (2, 3)")
    assert await unlisted(one) == {1: True, 2: True}
    await one.execute("update categories set id_path = '1' || substr(id_path, 2) where id in (2, 3)")
    assert await unlisted(one) == {}
    await one.execute("update products set vendor_id = 2 where id = 3")
    assert await unlisted(one) == {3: True}
    await one.execute("update products set vendor_id = null where id = 3")
    assert await unlisted(one) == {}
    await one.execute(
        "insert into products (public_id, name, slug, price_cents, vendor_id) values (gen_random_uuid(), 'P4', 'p4', 1, 2)"
    )
    assert await unlisted(one) == {4: True}
    await one.execute("delete from products where id = 4")
    assert await unlisted(one) == {}


PLACE = "insert into product_categories (public_id, product_id, category_id) values (gen_random_uuid(), 3, 3)"
LEAVE = "delete from product_categories where product_id = 2 and category_id = 4"
ADD = (
    "insert into products (public_id, name, slug, price_cents, vendor_id) values (gen_random_uuid(), 'P4', 'p4', 1, 1)"
)


@pytest.mark.parametrize(
    "first, second, expected",
    [
        (PLACE, "update categories set status = 'D' where id = 3", {1: True, 3: True}),
        (PLACE, "update categories set status = 'H' where id = 1", {1: False, 3: False}),
        (LEAVE, "update categories set status = 'D' where id = 2", {1: True, 2: True}),
        (ADD, "update vendors set status = 'D' where id = 1", {1: True, 2: True, 3: True, 4: True}),
        (
            "update categories set status = 'H' where id = 1",
            "update categories set status = 'D' where id = 2",
            {1: True},
        ),
        ("update categories set status = 'D' where id = 3", "update vendors set status = 'D' where id = 2", {1: True}),
    ],
)
@pytest.mark.parametrize("is_swapped", [False, True])
async def test_concurrent_changes_end_as_if_they_had_run_one_by_one(
    one: asyncpg.Connection, other: asyncpg.Connection, first: str, second: str, expected: Unlisted, *, is_swapped: bool
) -> None:
    if is_swapped:
        first, second = second, first
    transaction = one.transaction()
    await transaction.start()
    await one.execute(first)
    waiting = asyncio.create_task(other.execute(second))
    await asyncio.wait([waiting], timeout=0.2)
    await transaction.commit()
    await waiting
    assert await unlisted(one) == expected
