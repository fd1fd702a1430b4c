"""The cost of a document is calculated from its coerced variables."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hostile.conftest import Query, assert_refused

# A hundred products with a hundred categories each, then images: over the limit, whichever variable holds the size.
SIZE = "query ($n: Int!) { products(limit: $n) { images { url } features { id } } }"
PER_PAGE = "query ($n: Int) { product_page(per_page: $n) { items { images { url } features { id } } } }"
NULLABLE = "query ($n: Int = 3) { products(limit: $n) { images { url } features { id } } }"
FRAGMENT = "query ($n: Int!) { ...F } fragment F on Query { products(limit: $n) { images { url } features { id } } }"
COST = 1000 * (1 + 10 + 10)


@pytest.mark.parametrize("size", [1000, 1000.0])
@pytest.mark.parametrize("document", [SIZE, PER_PAGE, NULLABLE, FRAGMENT])
async def test_a_size_costs_its_coerced_value(size: float, document: str, query: Query):
    cost = COST + (1 if document is PER_PAGE else 0)
    for repetition in range(2):  # the second time from the document's cache
        response = await query(document, n=size)
        assert_refused(response, f"the cost of the document is {cost}; at most 10000 is allowed")
        assert response.body["errors"][0]["extensions"]["details"] == {"cost": cost}, repetition


async def test_a_float_size_has_the_cost_of_the_integer(query: Query):
    document = "query ($n: Int!) { products(limit: $n) { id } }"
    assert [(await query(document, n=n)).body["extensions"]["cost"] for n in (7, 7.0, 8.0, 8)] == [7, 7, 8, 8]


async def test_a_default_size_counts(query: Query):
    response = await query(NULLABLE)
    assert response.body["extensions"]["cost"] == 3 * (1 + 10 + 10)


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
