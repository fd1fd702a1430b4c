"""Introspection is limited, cached, and doesn't block the event loop."""

from __future__ import annotations

import asyncio

import pytest
from graphql import get_introspection_query

from resolvers.engine.introspection import MAX_CACHED_RESULTS
from server.http.graphql_view import EXECUTOR
from tests.harness.sample_store import SampleStore
from tests.hostile.conftest import Query, assert_refused

FULL = get_introspection_query(input_value_deprecation=True)


def _type(alias: str) -> str:
    return f'{alias}: __type(name: "Product") {{ name }}'


async def test_the_standard_query_is_answered_and_cached(sample: SampleStore, query: Query):
    introspector = sample.http.app[EXECUTOR]._introspector
    first = await query(FULL)
    cached = len(introspector)
    second = await query(FULL)
    assert first.body["data"]["__schema"]["queryType"]["name"] == "Query"
    assert second.raw == first.raw
    assert len(introspector) == cached
    assert first.body["extensions"] == {"cost": 0}


async def test_the_cache_is_bounded(sample: SampleStore, query: Query):
    for number in range(MAX_CACHED_RESULTS):
        name = await query(
            "query ($n: String!) { __type(name: $n) { name fields { name } } }", n=["Product", "Order"][number % 2]
        )
        assert name.body["data"]["__type"]["name"] == ["Product", "Order"][number % 2]
        await query(f'{{ a{number}: __type(name: "Product") {{ name fields {{ name }} }} }}')
    assert len(sample.http.app[EXECUTOR]._introspector) == MAX_CACHED_RESULTS


@pytest.mark.parametrize(
    "document, message",
    [
        (
            "{" + " ".join(f"s{n}: __schema {{ types {{ name }} }}" for n in range(50)) + "}",
            "the operation selects __schema 50 times; at most 1 allowed",
        ),
        (
            "{ __schema { types { name } } __schema { types { name } } }",
            "the operation selects __schema 2 times; at most 1 allowed",
        ),
        (
            "{ ...F ...G } fragment F on Query { a: __schema { types { name } } }"
            " fragment G on Query { b: __schema { types { name } } }",
            "the operation selects __schema 2 times; at most 1 allowed",
        ),
        (
            "{" + " ".join(_type(f"t{n}") for n in range(51)) + "}",
            "the operation selects __type 51 times; at most 50 allowed",
        ),
        (
            "{ __schema { types {" + " ".join(f"a{n}: name" for n in range(101)) + "} } }",
            "the document has 101 aliases; at most 100 are allowed",
        ),
        (
            "{ __schema { types {"
            + " ".join(f"f{n}: fields {{ name args {{ name type {{ name ofType {{ name }} }} }} }}" for n in range(40))
            + "} } }",
            "introspection has more than 20000 objects",
        ),
        (
            "{" + " ".join(f'a{n}: __type(name: "Query") {{ fields {{ args {{ type {{ name }} }} }} }}' for n in range(50)) + "}",
            "introspection has more than 20000 objects",
        ),
        (
            "{ store { id } __schema { types { fields { type { name } } } } }",
            "introspection has more than 2000 objects",
        ),
    ],
    ids=["schemas", "merged schemas", "fragments", "types", "aliases", "fields", "fields of types", "mixed"],
)  # fmt: skip
async def test_a_hostile_introspection_is_refused(document: str, message: str, query: Query):
    assert_refused(await query(document), message)


async def test_fifty_types_are_answered(query: Query):
    response = await query("{" + " ".join(_type(f"t{n}") for n in range(50)) + "}")
    assert len(response.body["data"]) == 50


async def test_other_requests_are_served_during_introspection(sample: SampleStore, query: Query):
    document = FULL.replace("query IntrospectionQuery", "query Uncached")
    await query("{ store { id } }")  # signs in
    introspected = asyncio.create_task(query(document))
    served = 0
    while not introspected.done():
        await query("{ store { id } }")
        served += 1
    assert "errors" not in (await introspected).body
    # On the event loop it would let one request through before it and one after.
    assert served > 5
