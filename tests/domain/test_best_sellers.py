"""Products ranked by what was sold lately (docs/reference/graphql.md#collections-and-tags)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from domain import jobs
from domain.orders.best_sellers import rank_sales
from kernel.scope import active_scope
from models.connection import database
from tests.harness.records import Record
from tests.harness.sample_store import SampleStore

QUERY = """query($filter: ProductFilter) { products(sort: BEST_SELLING_DESC, limit: 3, filter: $filter) { name }
    product_search(sort: BEST_SELLING_DESC, first: 3) { edges { node { name } } } }"""


async def rank(sample: SampleStore, **changes: Any) -> int:
    scope = replace(sample.scope, **changes)
    with active_scope(scope):
        return await rank_sales(scope)


async def ranks(sample: SampleStore, *products: Record) -> list[int]:
    sql = "select sales_rank from products where id = $1"
    return [int(await sample.value(sql, product.number)) for product in products]


@pytest.fixture
async def empty(sample: SampleStore) -> SampleStore:
    """The sample store after its orders."""
    await sample.execute("update orders set created_at = created_at - interval '400 days'")
    return sample


async def test_what_sold_more_units_in_the_period_comes_first(empty: SampleStore) -> None:
    sample = empty
    cup, plate, pot, jug = [await sample.add_product(name=name) for name in ("Copo", "Prato fundo", "Bule", "Jarra")]
    await sample.place_order((cup, 2), (plate, 3), email="ana@example.com")
    await sample.place_order((cup, 4), email="ana@example.com")
    await sample.place_order((pot, 3), email="ana@example.com")
    cancelled = await sample.place_order((jug, 50), email="ana@example.com")
    await sample.execute("update orders set status = 'I' where id = $1", cancelled.number)
    assert (await rank(sample), await ranks(sample, cup, plate, pot, jug)) == (3, [2, 1, 1, 0])
    assert await rank(sample) == 0, "nothing has changed"
    client = await sample.shopper()
    shown = (await client.post("/graphql", {"query": QUERY})).body["data"]
    expected = ["Copo", "Bule", "Prato fundo"]
    assert [product["name"] for product in shown["products"]] == expected
    assert [edge["node"]["name"] for edge in shown["product_search"]["edges"]] == expected


async def test_sales_before_the_period_do_not_count(empty: SampleStore) -> None:
    sample = empty
    cup, plate = await sample.add_product(), await sample.add_product()
    old = await sample.place_order((cup, 9), email="ana@example.com")
    await sample.place_order((plate, 1), email="ana@example.com")
    await sample.execute("update orders set created_at = created_at - interval '31 days' where id = $1", old.number)
    for days, expected in ((30, [0, 1]), (32, [2, 1])):
        await rank(sample, store=replace(sample.scope.store, settings={"best_seller_days": days}))
        assert await ranks(sample, cup, plate) == expected, days
    await rank(sample, now=sample.scope.now + timedelta(days=40))
    assert await ranks(sample, cup, plate) == [0, 0]


async def test_ranking_takes_as_many_statements_with_more_sales(empty: SampleStore) -> None:
    sample = empty
    counts = []
    for size in (1, 20):
        for _ in range(size):
            await sample.place_order((await sample.add_product(), size), email="ana@example.com")
        with database.count_statements() as counted:
            await rank(sample)
        counts.append(counted.count)
    assert counts[0] == counts[1], counts


async def test_the_worker_ranks_the_products_of_stores_with_orders(empty: SampleStore) -> None:
    sample = empty
    cup = await sample.add_product()
    await sample.place_order((cup, 1), email="ana@example.com")
    job = next(job for job in jobs.JOBS if job.name == "rank_sales")
    result = await job.work(lambda: True)
    assert (result.failures, await ranks(sample, cup)) == ((), [1])
