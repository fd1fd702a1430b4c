"""An update that expects the version which its caller has read."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from tests.harness.http import Client
from tests.harness.sample_store import SampleStore
from tests.harness.scopes import execute, value

# Entities of both kinds of mutations: built by `build_entity_mutations`, and written by hand.
UPDATES = {
    "category": ("categories", "name"),
    "product": ("products", "name"),
    "user": ("users", "firstname"),
    "order": ("orders", "notes"),
    "warehouse": ("warehouses", "name"),
}


def update(entity: str, field: str) -> str:
    return f"""mutation ($id: ID!, $text: String!, $expected: DateTime) {{
        record: {entity}_update(id: $id, input: {{{field}: $text}}, expected_updated_at: $expected) {{ id updated_at }} }}"""


async def send(client: Client, document: str, **variables: Any) -> Any:
    return (await client.post("/graphql", {"query": document, "variables": variables})).body


@pytest.mark.parametrize("entity", UPDATES)
async def test_an_update_of_a_record_that_was_changed_since_is_refused(entity: str, sample: SampleStore) -> None:
    table, field = UPDATES[entity]
    owner, document = await sample.client(sample.owner), update(*(entity, field))
    id_ = str(await value(sample.store, f"select public_id from {table} order by id limit 1"))
    await execute(sample.store, f"update {table} set updated_at = '2026-01-02T03:04:05.678Z' where public_id = $1", id_)
    before = await value(sample.store, f"select {table}::text from {table} where public_id = $1", id_)
    answer = await send(owner, document, id=id_, text="Nova", expected="2026-01-02T03:04:04Z")
    [error] = answer["errors"]
    assert error["extensions"]["code"] == "CONFLICT"
    assert error["extensions"]["details"] == {"reason": "changed_meanwhile", "updated_at": "2026-01-02T03:04:05Z"}
    assert await value(sample.store, f"select {table}::text from {table} where public_id = $1", id_) == before
    answer = await send(owner, document, id=id_, text="Nova", expected="2026-01-02T03:04:05Z")
    assert "errors" not in answer
    assert answer["data"]["record"]["updated_at"] > "2026-01-02T03:04:05Z"


async def test_of_several_who_expect_one_version_one_succeeds(sample: SampleStore) -> None:
    owner, document = await sample.client(sample.owner), update("category", "name")
    id_ = str(await value(sample.store, "select public_id from categories order by id limit 1"))
    await execute(sample.store, "update categories set updated_at = '2026-01-02T03:04:05Z' where public_id = $1", id_)
    sent = [send(owner, document, id=id_, text=f"Nome {n}", expected="2026-01-02T03:04:05Z") for n in range(5)]
    answers = await asyncio.gather(*sent)
    codes = Counter(answer["errors"][0]["extensions"]["code"] if "errors" in answer else "" for answer in answers)
    assert codes == {"": 1, "CONFLICT": 4}


async def test_a_record_that_the_caller_sees_not_is_missing_whatever_is_expected(
    sample: SampleStore, other_sample: SampleStore
) -> None:
    document = update("product", "name")
    foreign = str(await value(other_sample.store, "select public_id from products order by id limit 1"))
    rivals = await value(
        sample.store, "select public_id from products where vendor_id = $1 limit 1", sample.rival.number
    )
    malformed = [(sample.owner, id_) for id_ in ("1", "none", "0", "")]
    for client, id_ in ((sample.owner, foreign), (sample.vendor_user, str(rivals)), *malformed):
        answer = await send(await sample.client(client), document, id=id_, text="x", expected="2000-01-01T00:00:00Z")
        assert answer["errors"][0]["extensions"]["code"] == "NOT_FOUND", id_


async def test_a_time_that_is_none_is_refused(sample: SampleStore) -> None:
    id_ = str(await value(sample.store, "select public_id from categories order by id limit 1"))
    answer = await send(
        await sample.client(sample.owner), update("category", "name"), id=id_, text="x", expected="ontem"
    )
    assert answer["errors"]
    assert answer.get("data") is None
