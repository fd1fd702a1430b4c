"""The cost of a document is calculated from its coerced variables, and from what the store has."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.sample_store import SampleStore
from tests.hostile.conftest import Query, assert_refused

# A thousand products with an image each, ten times: over the limit, whichever variable holds the size.
PRODUCTS = """
WITH added AS (
    INSERT INTO products (tenant_id, public_id, vendor_id, name, slug, price_cents, created_at, updated_at)
    SELECT $1, gen_random_uuid(), $2, 'Caneca ' || n, 'caneca-' || n, 100, now(), now() FROM generate_series(1, 1000) n RETURNING id
)
INSERT INTO product_images (tenant_id, public_id, product_id, url, position) SELECT $1, gen_random_uuid(), id, '/a.png', 0 FROM added
"""
IMAGES = "{ " + " ".join(f"i{n}: images {{ url }}" for n in range(10)) + " }"
SIZE = f"query ($n: Int!) {{ products(limit: $n) {IMAGES} }}"
PER_PAGE = f"query ($n: Int) {{ product_page(per_page: $n) {{ items {IMAGES} }} }}"
NULLABLE = f"query ($n: Int = 3) {{ products(limit: $n) {IMAGES} }}"
FRAGMENT = f"query ($n: Int!) {{ ...F }} fragment F on Query {{ products(limit: $n) {IMAGES} }}"
COST = 1000 * (1 + 10)


@pytest.fixture
async def query(sample: SampleStore, query: Query) -> Query:
    """Return the function of `conftest`, for a store with a thousand products."""
    await sample.execute("DELETE FROM product_images")
    await sample.execute(PRODUCTS, sample.store.id, sample.vendor.number)
    return query


@pytest.mark.parametrize("size", [1000, 1000.0])
@pytest.mark.parametrize("document", [SIZE, PER_PAGE, NULLABLE, FRAGMENT])
async def test_a_size_costs_its_coerced_value(size: float, document: str, query: Query):
    cost = COST + (1 if document is PER_PAGE else 0)
    for repetition in range(2):  # the second time from the document's cache
        response = await query(document, n=size)
        assert_refused(response, f"the cost of the document is {cost}; at most 10000 is allowed")
        details = response.body["errors"][0]["extensions"]["details"]
        assert (details["cost"], details["fields"][0]["cost"]) == (cost, 1000), repetition


async def test_a_float_size_has_the_cost_of_the_integer(query: Query):
    document = "query ($n: Int!) { products(limit: $n) { id } }"
    assert [(await query(document, n=n)).body["extensions"]["cost"] for n in (7, 7.0, 8.0, 8)] == [7, 7, 8, 8]


async def test_a_default_size_counts(query: Query):
    response = await query(NULLABLE)
    assert response.body["extensions"]["cost"] == 3 * (1 + 10)


@pytest.mark.parametrize("value", ["1000", 1000.5, True, [1000], {"n": 1000}, 2**31, None])
async def test_an_invalid_size_executes_nothing(value: Any, query: Query):
    response = await query(SIZE, n=value)
    assert "data" not in response.body
    assert {error["extensions"]["code"] for error in response.body["errors"]} <= {
        "VALIDATION_FAILED",
        "QUERY_TOO_COMPLEX",
    }


async def test_other_variables_do_not_change_the_cost(query: Query):
    document = """query ($ids: [ID!], $sort: ProductSort, $filter: ProductFilter, $n: Int!) {
        products(limit: $n, filter: $filter, sort: $sort) { id }
        more: products(limit: $n, filter: {id: $ids}) { id }
    }"""
    variables = {"ids": ["x"], "sort": "PRICE_ASC", "filter": {"price_from": 1000.0, "sku": "x"}}
    response = await query(document, n=4.0, **variables)
    assert "errors" not in response.body
    assert response.body["extensions"]["cost"] == 8
