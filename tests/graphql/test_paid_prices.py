"""A search narrows, counts and sorts by the price that the caller pays, which is the one it shows."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.graphql import test_product_pricing as pricing
from tests.graphql.test_product_pricing import callers, execute, promote, respond
from tests.harness.sample_store import SampleStore

products = pricing.products
SEARCH = """query($filter: ProductSearchFilter, $sort: ProductSearchSort, $first: Int, $after: String) {
    product_search(filter: $filter, sort: $sort, first: $first, after: $after) {
        total facets { prices { from_cents to_cents count } }
        edges { node { id pricing { price_cents } } } page_info { end_cursor has_next_page } } }"""


async def search(scope: Any, **variables: Any) -> Any:
    return (await execute(scope, SEARCH, **{"first": 100, **variables}))["product_search"]


def prices_of(result: Any) -> list[int]:
    return [edge["node"]["pricing"]["price_cents"] for edge in result["edges"]]


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(pricing.promotions, max_size=4), st.sampled_from(["PRICE_ASC", "PRICE_DESC"]))
async def test_a_search_compares_counts_and_sorts_by_the_price_it_shows(
    sample: SampleStore, products: list[Any], created: list[Any], sort: str
) -> None:
    tone = await sample.value("select id from features where name = 'Tom'")
    await sample.execute("update promotions set deleted_at = now() where deleted_at is null")
    for number, fields in enumerate(created):
        await promote(sample, name=f"P{number}", **pricing._with_records(sample, products, tone, fields))
    for caller, scope in callers(sample).items():
        result = await search(scope, sort=sort)
        prices = prices_of(result)
        assert prices == sorted(prices, reverse=sort == "PRICE_DESC"), caller
        for step in result["facets"]["prices"]:
            within = [cents for cents in prices if step["from_cents"] <= cents <= (step["to_cents"] or cents)]
            assert len(within) == step["count"], (caller, step)
        assert sum(step["count"] for step in result["facets"]["prices"]) == len(prices) == result["total"], caller
        for cents in {*prices[::2]}:
            dearer = await search(scope, sort=sort, filter={"price_from": cents})
            assert prices_of(dearer) == [price for price in prices if price >= cents], caller
            cheaper = await search(scope, sort=sort, filter={"price_to": cents - 1})
            assert prices_of(cheaper) == [price for price in prices if price < cents], caller
            assert dearer["facets"] == cheaper["facets"] == result["facets"], caller


async def test_pages_by_price_are_in_the_order_of_the_price_paid(sample: SampleStore, products: list[Any]) -> None:
    await promote(
        sample, name="Cara", bonuses={"product_discount": "99%"}, conditions={"products": [products[3].number]}
    )
    scope, prices, after = callers(sample)["guest"], list[int](), None
    while True:
        page = await search(scope, sort="PRICE_ASC", first=1, after=after)
        prices += prices_of(page)
        after = page["page_info"]["end_cursor"]
        if not page["page_info"]["has_next_page"]:
            break
    assert prices == sorted(prices)
    assert prices.index(333) < prices.index(999)


async def test_the_price_takes_one_statement_more_with_promotions_that_the_process_knows(sample: SampleStore) -> None:
    await promote(sample, name="Tudo", bonuses={"product_discount": "10%"})
    plain = "{ product_search(sort: NAME_ASC) { edges { node { id } } } }"
    counts = []
    for _ in range(2):
        for text in (plain, plain.replace("NAME", "PRICE")):
            data, errors, count = await respond(callers(sample)["guest"], text)
            assert errors == [], text
            assert data["product_search"]["edges"], text
            counts.append(count)
    assert counts == [2, 4, 2, 3]
