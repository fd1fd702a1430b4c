"""Notices that a product can be bought again (docs/reference/graphql.md#back-in-stock)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from domain import jobs
from domain.jobs import JOBS, Job, for_each_store
from domain.people import stock_notices
from domain.unchanged_stores import UnchangedStores
from kernel.scope import active_scope
from models.tables.catalog import Product
from models.tables.options import Combination
from tests.graphql.test_newsletter import EMAIL, mailed, run
from tests.harness.records import UNKNOWN_ID
from tests.harness.sample_store import SampleStore

REQUEST = """mutation($email: String!, $product: ID!, $combination: ID) {
    stock_notice_request(email: $email, product_id: $product, combination_id: $combination) { message } }"""
CONFIRM = "mutation($token: String!) { stock_notice_confirm(token: $token) { message } }"
CANCEL = "mutation($token: String!) { stock_notice_cancel(token: $token) { message } }"


async def sold_out(sample: SampleStore) -> Any:
    return await sample.add(Product, name="Bule azul", slug="bule-azul", price_cents=100, on_hand=0)


async def confirmed(sample: SampleStore, **variables: Any) -> str:
    """Let the address wait for a product; return the token."""
    await run(sample, REQUEST, email=EMAIL, **variables)
    token = (await mailed(sample))[0][1]
    answer = await run(sample, CONFIRM, token=token)
    assert answer["data"] == {"stock_notice_confirm": {"message": stock_notices.CONFIRMED}}, answer
    return token


async def send(sample: SampleStore) -> int:
    with active_scope(sample.scope):
        return await stock_notices.send_notices(sample.scope)


async def count(sample: SampleStore) -> int:
    return int(await sample.value("select count(*) from stock_notices"))


async def test_an_address_gets_one_mail_when_the_product_is_back(sample: SampleStore) -> None:
    product = await sold_out(sample)
    answer = await run(sample, REQUEST, email=EMAIL, product=product.id)
    assert answer["data"] == {"stock_notice_request": {"message": stock_notices.REQUESTED}}
    assert await count(sample) == 0, "nothing is stored before"
    await run(sample, CONFIRM, token=(await mailed(sample))[0][1])
    assert (await count(sample), await send(sample)) == (1, 0)
    await sample.execute("update products set on_hand = 1 where id = $1", product.number)
    assert (await send(sample), await send(sample), await count(sample)) == (1, 0, 0)
    assert [kind for kind, _ in await mailed(sample)] == ["stock_notice", "stock_notice_confirm"]


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> Job:
    """Return the job of a worker that has not run yet."""
    [job] = [job for job in JOBS if job.name == "send_stock_notices"]
    work = for_each_store(jobs._STORES_WITH_STOCK_NOTICES, jobs.send_stock_notices, UnchangedStores())
    return replace(job, work=work)


WAYS = {
    "stock": ("on_hand = 0", "update products set on_hand = 1 where id = $1"),
    "units returned to stock": ("on_hand = 2, reserved = 2", "update products set reserved = 0 where id = $1"),
    "sold in advance": ("on_hand = 0", "update products set out_of_stock_action = 'B' where id = $1"),
    "stock not tracked": ("on_hand = 0", "update products set tracking = 'D' where id = $1"),
    "smaller quantity": ("on_hand = 1, min_quantity = 2", "update products set min_quantity = 1 where id = $1"),
    "activated": ("on_hand = 1, status = 'D'", "update products set status = 'A' where id = $1"),
    "restored": ("on_hand = 1, deleted_at = now()", "update products set deleted_at = null where id = $1"),
    "released": ("on_hand = 1, available_since = now() + interval '1 day'", "update products set available_since = null where id = $1"),
    "vendor": ("on_hand = 1", "update vendors set status = 'A' where id = (select vendor_id from products where id = $1)"),
    "warehouse": ("on_hand = 0", "update warehouses w set status = 'A' from warehouse_stock where product_id = $1 and w.id = warehouse_id"),
    "combination": ("on_hand = 0", "update combinations set on_hand = 1 where product_id = $1"),
}  # fmt: skip
BEFORE = {
    "vendor": ["update vendors set status = 'D' where id = (select vendor_id from products where id = $1)"],
    "combination": [
        "insert into combinations (tenant_id, public_id, product_id, hash, on_hand)"
        " select tenant_id, gen_random_uuid(), id, '1_1', 0 from products where id = $1"
    ],
    "warehouse": [
        "with made as (insert into warehouses (tenant_id, public_id, name, status)"
        " select tenant_id, gen_random_uuid(), 'CD', 'D' from products where id = $1 returning tenant_id, id)"
        " insert into warehouse_stock (tenant_id, public_id, warehouse_id, product_id, quantity, is_active)"
        " select tenant_id, gen_random_uuid(), id, $1, 5, false from made"
    ],
}


@pytest.mark.parametrize("way", WAYS)
async def test_a_worker_notices_each_way_in_which_a_product_is_back(sample: SampleStore, job: Job, way: str) -> None:
    product = await sold_out(sample)
    await confirmed(sample, product=product.id)
    values, change = WAYS[way]
    vendor = await sample.value("select vendor_id from products where vendor_id is not null limit 1")
    await sample.execute(f"update products set vendor_id = $2, {values} where id = $1", product.number, vendor)
    for statement in BEFORE.get(way, ()):
        await sample.execute(statement, product.number)
    await job.work(lambda: True)
    assert await count(sample) == 1, "not yet"
    await sample.execute(change, product.number)
    await job.work(lambda: True)
    assert await count(sample) == 0


async def test_a_worker_looks_again_when_a_product_is_released(sample: SampleStore, job: Job) -> None:
    product = await sold_out(sample)
    await confirmed(sample, product=product.id)
    soon = "update products set on_hand = 1, available_since = clock_timestamp() + interval '1 second' where id = $1"
    await sample.execute(soon, product.number)
    await job.work(lambda: True)
    assert await count(sample) == 1
    await asyncio.sleep(1.1)
    await job.work(lambda: True)
    assert await count(sample) == 0


async def test_a_notice_may_be_about_one_combination(sample: SampleStore) -> None:
    product = await sold_out(sample)
    first, second = [
        await sample.add(Combination, product_id=product.number, hash=text, on_hand=0) for text in ("1_1", "1_2")
    ]
    await confirmed(sample, product=product.id, combination=first.id)
    await sample.execute("update combinations set on_hand = 1 where id = $1", second.number)
    assert await send(sample) == 0
    await sample.execute("update combinations set on_hand = 1 where id = $1", first.number)
    assert await send(sample) == 1


async def test_the_same_token_cancels_the_notice(sample: SampleStore) -> None:
    product = await sold_out(sample)
    token = await confirmed(sample, product=product.id)
    await run(sample, CONFIRM, token=token)
    assert await count(sample) == 1, "a second confirmation adds none"
    assert (await run(sample, CANCEL, token=token))["data"] == {
        "stock_notice_cancel": {"message": stock_notices.CANCELLED}
    }
    assert await count(sample) == 0


async def test_the_answer_does_not_say_who_waits(sample: SampleStore) -> None:
    product = await sold_out(sample)
    await confirmed(sample, product=product.id)
    other = await run(sample, REQUEST, email="other@example.com", product=product.id)
    assert await run(sample, REQUEST, email=EMAIL, product=product.id) == other
    assert len(await mailed(sample)) == 1, "none to an address that waits already"


async def test_what_can_be_bought_or_not_opened_is_refused(sample: SampleStore) -> None:
    [error] = (await run(sample, REQUEST, email=EMAIL, product=sample.mug.id))["errors"]
    assert error["extensions"]["details"]["reason"] == "product_available"
    disabled = await sample.add_product(status="D")
    for product in (disabled.id, UNKNOWN_ID, "x"):
        [error] = (await run(sample, REQUEST, email=EMAIL, product=product))["errors"]
        assert error["extensions"]["details"]["fields"] == {"product_id": "not_found"}, product
    assert await mailed(sample) == []


async def test_a_wrong_combination_is_named(sample: SampleStore) -> None:
    product = await sold_out(sample)
    [error] = (await run(sample, REQUEST, email=EMAIL, product=product.id, combination=UNKNOWN_ID))["errors"]
    assert error["extensions"]["details"]["fields"] == {"combination_id": "not_found"}


async def test_an_address_waits_for_at_most_100_products(sample: SampleStore) -> None:
    product = await sold_out(sample)
    await sample.execute(
        "insert into products (tenant_id, public_id, name, slug, price_cents, created_at, updated_at)"
        " select tenant_id, gen_random_uuid(), 'P', 'p-' || n, 1, now(), now() from products, generate_series(1, 100) n where id = $1",
        product.number,
    )
    await sample.execute(
        "insert into stock_notices (tenant_id, public_id, email, product_id)"
        " select tenant_id, gen_random_uuid(), $1, id from products where slug like 'p-%'",
        EMAIL,
    )
    await run(sample, REQUEST, email=EMAIL, product=product.id)
    [error] = (await run(sample, CONFIRM, token=(await mailed(sample))[0][1]))["errors"]
    assert error["extensions"]["details"]["reason"] == "too_many_notices"


async def test_an_erasure_forgets_what_an_address_waits_for(sample: SampleStore) -> None:
    await confirmed(sample, product=(await sold_out(sample)).id)
    text = "mutation($email: String!) { guest_anonymize(email: $email) { rows } }"
    answer = await sample.post("/graphql", {"query": text, "variables": {"email": EMAIL}}, auth="bearer")
    assert "errors" not in answer.body, answer.body
    assert await count(sample) == 0
