"""Mutations of a store that is read-only while it moves: the client waits for a second and repeats them."""

from __future__ import annotations

from typing import Any

import pytest

from auth.store_resolution import invalidate_store
from models.connection import database
from tests.harness.http import Response
from tests.harness.sample_store import SampleStore

CREATE = 'mutation { category_create(input: {name: "Louça"}) { name } }'
REFUSED, DONE = [{"code": "TENANT_CLOSED"}], {"category_create": {"name": "Louça"}}


async def change(sample: SampleStore, columns: str) -> None:
    async with database.cross_store_connection() as platform:
        await platform.execute(f"update tenants set {columns} where id = $1", sample.store.id)
    await invalidate_store(sample.store.id)


async def create(sample: SampleStore, **headers: str) -> Response:
    return await sample.post("/graphql", {"query": CREATE}, auth="bearer", headers=headers)


def codes(response: Response) -> list[dict[str, Any]]:
    return [{"code": error["extensions"]["code"]} for error in response.body["errors"]]


@pytest.mark.parametrize("move, expected", [('\'{"state": "leaving"}\'', "1"), ("null", None)])
async def test_a_refused_mutation_says_when_to_repeat_it(sample: SampleStore, move: str, expected: str | None) -> None:
    await create(sample)
    await change(sample, f"is_read_only = true, move = {move}")
    refused = await create(sample)
    assert (refused.status, codes(refused)) == (200, REFUSED)
    assert refused.headers.get("Retry-After") == expected
    read = await sample.post("/graphql", {"query": "{ store { name } }"}, auth="bearer")
    assert (read.status, "errors" in read.body, read.headers.get("Retry-After")) == (200, False, None)


@pytest.mark.parametrize("move", ['\'{"state": "leaving"}\'', "null"])
async def test_a_refusal_is_not_kept_for_an_idempotency_key(sample: SampleStore, move: str) -> None:
    await change(sample, f"is_read_only = true, move = {move}")
    refused = await create(sample, **{"Idempotency-Key": "k1"})
    assert codes(refused) == REFUSED
    await change(sample, "is_read_only = false, move = null")
    repeated = await create(sample, **{"Idempotency-Key": "k1"})
    assert repeated.body.get("data") == DONE, repeated.body
    assert "Idempotent-Replayed" not in repeated.headers
    assert (await create(sample, **{"Idempotency-Key": "k1"})).headers["Idempotent-Replayed"] == "true"
