"""Long work is refused or divided, with the same result as undivided."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest
from graphql import (
    GraphQLField,
    GraphQLInt,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    execute,
    parse,
)
from hypothesis import strategies as st

from kernel import large_json
from kernel.large_json import dumps_in_parts
from kernel.request_bodies import MAX_VALUES, MalformedBody, parse_json
from resolvers.engine.executor import MAX_FIELDS_AT_ONCE, SlicedExecutor
from resolvers.engine.limits import MAX_LENGTH
from tests.hostile.conftest import Query, assert_refused
from tests.hostile.fuzzing import fuzz

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=5), inner, max_size=6),
    max_leaves=40,
)


async def test_json_in_parts_is_the_same(monkeypatch: pytest.MonkeyPatch):
    async def compare(value: Any, weight: int) -> None:
        monkeypatch.setattr(large_json, "MAX_PART_WEIGHT", weight)
        whole = orjson.dumps(value)
        assert await dumps_in_parts(value, max_bytes=len(whole)) == whole
        assert await dumps_in_parts(value, max_bytes=len(whole) - 1) is None

    await fuzz(compare, 300, JSON, st.sampled_from([1, 60, 120, 500]))


@pytest.mark.parametrize("value", ["[]", "{}", "1", '"a,b"', '{"a":1}'])
def test_a_body_of_too_many_values_is_refused(value: str):
    assert len(parse_json(f"[{','.join([value] * (MAX_VALUES // 2 - 1))}]".encode())) == MAX_VALUES // 2 - 1
    with pytest.raises(MalformedBody, match=f"more than {MAX_VALUES} values"):
        parse_json(f"[{','.join([value] * (MAX_VALUES + 1))}]".encode())


def test_commas_and_brackets_in_a_text_are_no_values():
    assert parse_json(orjson.dumps({"text": ',[{"' * MAX_VALUES})) == {"text": ',[{"' * MAX_VALUES}


async def test_a_long_document_is_refused(query: Query):
    document = "{ store { id } }"
    assert "errors" not in (await query(document.ljust(MAX_LENGTH))).body
    message = f"the document is {MAX_LENGTH + 1} characters long; at most {MAX_LENGTH} are allowed"
    assert_refused(await query(document.ljust(MAX_LENGTH + 1)), message)


async def test_too_many_input_objects_are_refused(query: Query):
    document = "mutation ($rows: [ProductUpsertInput!]!) { product_bulk_upsert(rows: $rows) { index } }"
    allowed = await query(document, rows=[{"sku": "x"}] * 501)
    assert allowed.body["errors"][0]["extensions"]["code"] == "VALIDATION_FAILED"
    refused = await query(document, rows=[{"sku": "x"}] * 10_000)
    [error] = refused.body["errors"]
    assert error["extensions"]["code"] == "QUERY_TOO_COMPLEX"
    assert error["message"].startswith("the input objects of the variables have ")


async def test_other_work_is_done_while_a_large_answer_is_completed():
    item = GraphQLObjectType("Item", {"n": GraphQLField(GraphQLNonNull(GraphQLInt), resolve=lambda row, _: row)})
    row = GraphQLObjectType("Row", {"items": GraphQLField(GraphQLList(item), resolve=lambda row, _: row)})
    schema = GraphQLSchema(GraphQLObjectType("Query", {"rows": GraphQLField(GraphQLList(row))}))
    rows = [list(range(40)) for _ in range(500)]
    rounds = 0

    async def count_rounds() -> None:
        nonlocal rounds
        while True:
            await asyncio.sleep(0)
            rounds += 1

    counting = asyncio.create_task(count_rounds())
    result: Any = execute(schema, parse("{ rows { items { n } } }"), {"rows": rows}, executor_class=SlicedExecutor)
    data = (await result).data
    counting.cancel()
    assert data == {"rows": [{"items": [{"n": n} for n in row]} for row in rows]}
    # Each object counts one, and each of its fields one.
    assert rounds >= 500 * 41 * 2 / MAX_FIELDS_AT_ONCE / 2


async def test_an_error_in_a_large_answer_makes_its_item_null():
    def resolve(number: int, _info: Any) -> int:
        if number % 1000 == 999:
            raise ValueError(str(number))
        return number

    item = GraphQLObjectType("Item", {"n": GraphQLField(GraphQLNonNull(GraphQLInt), resolve=resolve)})
    schema = GraphQLSchema(GraphQLObjectType("Query", {"items": GraphQLField(GraphQLList(item))}))
    result: Any = execute(schema, parse("{ items { n } }"), {"items": list(range(5000))}, executor_class=SlicedExecutor)
    executed = await result
    assert [position for position, built in enumerate(executed.data["items"]) if built is None] == [
        999, 1999, 2999, 3999, 4999,
    ]  # fmt: skip
    assert [error.path for error in executed.errors] == [["items", number, "n"] for number in range(999, 5000, 1000)]
