"""The executor loads each relation and selection with one statement, however many rows refer to it, and ends with what it started."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kernel.scope import active_scope
from models.connection import database
from models.reading.answer_size import AnswerLimits, limited_answer
from resolvers import root
from resolvers.engine.executor import ExecutionContext, execute_document
from resolvers.engine.prepare import prepare_document
from tests.graphql.conftest import StoreRecords


async def _execute(records: StoreRecords, text: str, caller: str = "admin", *, public: bool = False) -> tuple[Any, int]:
    """Return the result of the executor and its number of statements."""
    scope, schema = records.callers[caller], root.public_schema()
    prepared = prepare_document(schema, text, limited=False)
    assert prepared.errors == ()
    with active_scope(scope), database.count_statements() as counted:
        result = await execute_document(schema, prepared, ExecutionContext(scope, public=public))
    return result, counted.count


@pytest.mark.parametrize(
    "text, statements",
    [
        ("{ products { name category { name } images { url } } }", 3),
        ("{ products { category { parent { name } } images { url } } orders { items { product { name } } } }", 7),
        # The same relation under two names, with different fields, is read once.
        ("{ products { images { url } pictures: images { alt } } }", 2),
        # A list without rows has no relations to read.
        ('{ products(filter: {name: "none"}) { images { url } category { name } } }', 1),
    ],
)
async def test_a_relation_takes_one_statement_for_all_rows(text: str, statements: int, records: StoreRecords) -> None:
    result, count = await _execute(records, text)
    assert result.errors is None
    assert count == statements


async def test_two_lists_of_edges_with_other_fields_under_the_same_names(records: StoreRecords) -> None:
    text = """{ product_connection(sort: NAME_ASC) {
        names: edges { node { value: name other: images { value: url } } }
        slugs: edges { node { value: slug other: category { value: name } } } } }"""
    result, _ = await _execute(records, text)
    plain, _ = await _execute(records, "{ products(sort: NAME_ASC) { name slug images { url } category { name } } }")
    expected = plain.data["products"]
    names, slugs = result.data["product_connection"]["names"], result.data["product_connection"]["slugs"]
    assert [edge["node"]["value"] for edge in names] == [product["name"] for product in expected]
    assert [edge["node"]["value"] for edge in slugs] == [product["slug"] for product in expected]
    assert [edge["node"]["other"] for edge in names] == [
        [{"value": image["url"]} for image in product["images"]] for product in expected
    ]
    assert [edge["node"]["other"] for edge in slugs] == [
        product["category"] and {"value": product["category"]["name"]} for product in expected
    ]


async def test_a_failed_statement_is_an_error_of_its_relation_only(
    records: StoreRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch = database.fetch

    async def fail_categories(sql: str, *values: Any, **options: Any) -> list[Any]:
        if "FROM categories" in sql:
            raise database.WrongStore("for the test")
        return await fetch(sql, *values, **options)

    text = "{ products { name category { name } images { url } } }"
    expected, _ = await _execute(records, text)
    monkeypatch.setattr(database, "fetch", fail_categories)
    result, _ = await _execute(records, text)
    assert result.data["products"] == [product | {"category": None} for product in expected.data["products"]]
    failed = {index for index, product in enumerate(expected.data["products"]) if product["category"]}
    assert failed
    assert {tuple(error.path) for error in result.errors} == {("products", index, "category") for index in failed}


async def test_the_limits_of_an_answer_end_reading_before_the_next_level(records: StoreRecords) -> None:
    text = "{ products { categories { products { edges { node { name } } } } } }"
    _, complete = await _execute(records, text)
    with limited_answer(AnswerLimits(max_objects=2, max_bytes=10_000)):
        result, count = await _execute(records, text, public=True)
    assert result.data is None
    assert "more than 2 objects" in result.errors[0].message
    assert count < complete


async def test_a_cancelled_execution_ends_its_statements(
    records: StoreRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch, started, ended = database.fetch, asyncio.Event(), asyncio.Event()

    async def wait_at_images(sql: str, *values: Any, **options: Any) -> list[Any]:
        if "product_images" not in sql:
            return await fetch(sql, *values, **options)
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        raise AssertionError

    monkeypatch.setattr(database, "fetch", wait_at_images)
    execution = asyncio.create_task(_execute(records, "{ products { images { url } } }"))
    await started.wait()
    execution.cancel()
    with pytest.raises(asyncio.CancelledError):
        await execution
    await asyncio.wait_for(ended.wait(), 1)
