"""`exceptions_type` of a product says what its exceptions are, forbidden or the only allowed choices, in CS-Cart's dialect."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.sample_store import NewSampleStore, SampleStore

pytestmark = pytest.mark.combination
NEW = ("exceptions_type", "options_type", "details_layout")


async def add_exception(sample: SampleStore, variant: Any, **fields: Any) -> None:
    body = {"product_id": str(sample.mug), "combination": {str(sample.print): str(variant)}, **fields}
    answer = await sample.post("/api/exceptions", body)
    assert answer.status == 201, answer.raw


async def types(sample: SampleStore) -> list[str]:
    return [row["type"] for row in (await sample.get(f"/api/exceptions?product_id={sample.mug}")).body]


async def order(sample: SampleStore, variant: Any) -> int:
    line = {"product_id": str(sample.mug), "amount": 1, "product_options": {str(sample.print): str(variant)}}
    body = {
        "user_id": str(sample.caio),
        "products": [line],
        "payment_id": str(sample.pix),
        "shipping_id": str(sample.sedex),
    }
    return (await sample.post("/api/orders", body)).status


async def test_exceptions_follow_the_type_of_their_product(new_sample: NewSampleStore) -> None:
    sample = await new_sample(combination=True, legacy_lists="cscart")
    path = f"/api/products/{sample.mug}"
    before = await types(sample)
    assert await order(sample, sample.plain) == 201
    await add_exception(sample, sample.plain)
    assert await types(sample) == [*before, "F"]
    assert await order(sample, sample.plain) == 422
    answer = await sample.put(path, {"exceptions_type": "A", "options_type": "S", "details_layout": "big_picture"})
    assert answer.status == 200, answer.raw
    assert set(await types(sample)) == {"A"}
    record = (await sample.get(path)).body
    assert {name: record[name] for name in NEW} == dict(zip(NEW, ("A", "S", "big_picture"), strict=True))
    assert await order(sample, sample.plain) == 201
    await add_exception(sample, sample.dotted)
    assert set(await types(sample)) == {"A"}, "a new exception has the type of the product"
    assert (await sample.put(path, record)).status == 200, "a record sent back changes nothing"
    assert set(await types(sample)) == {"A"}


async def test_an_exception_of_both_types_is_left_once(new_sample: NewSampleStore) -> None:
    sample = await new_sample(combination=True, legacy_lists="cscart")
    for type_ in "FA":
        await add_exception(sample, sample.dotted, type=type_)
    assert (await sample.put(f"/api/products/{sample.mug}", {"exceptions_type": "A"})).status == 200
    assert set(await types(sample)) == {"A"}
    wrong = await sample.put(f"/api/products/{sample.mug}", {"exceptions_type": "X"})
    assert (wrong.status, "exceptions_type" in wrong.body["message"]) == (400, True)


async def test_the_contract_has_none_of_these_fields(sample: SampleStore) -> None:
    answer = await sample.put(f"/api/products/{sample.mug}", {"exceptions_type": "A", "details_layout": "x"})
    assert answer.status == 200
    assert answer.headers["X-Ignored-Fields"] == "exceptions_type, details_layout"
    record = (await sample.get(f"/api/products/{sample.mug}")).body
    assert not set(NEW) & set(record)
