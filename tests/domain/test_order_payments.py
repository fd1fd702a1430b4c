"""Money received and paid back, and the word that stands for it."""

from __future__ import annotations

import asyncio

import pytest

from domain.orders.payments import payment_status, record_chargeback, record_payment, record_refund
from kernel.errors import NotFound, ValidationFailed
from kernel.money import MAX_CENTS


@pytest.mark.parametrize(
    "total, paid, refunded, word",
    [
        (1_000, 0, 0, "unpaid"),
        (1_000, 999, 0, "unpaid"),
        (1_000, 1_000, 0, "paid"),
        (1_000, 1_001, 0, "paid"),
        (0, 0, 0, "unpaid"),
        (1_000, 1_000, 1, "partially_refunded"),
        (1_000, 1_000, 1_000, "refunded"),
        (1_000, 500, 500, "refunded"),
    ],
)
def test_the_word_for_what_was_paid(total, paid, refunded, word):
    assert payment_status(total, paid, refunded) == word
    assert payment_status(total, paid, refunded, charged_back=True) == "chargeback"


async def test_payments_add_up_and_are_told(shop):
    order = await shop.order((await shop.product(), 1))
    first = await record_payment(shop.scope, order.id, 400, kind="pix")
    second = await record_payment(shop.scope, order.public_id, 600, kind="credit_card", installments=3)
    assert (first.payment_status, second.payment_status, second.paid_cents) == ("unpaid", "paid", 1_000)
    received = await shop.rows(
        "SELECT * FROM payments WHERE tenant_id = $1 AND order_id = $2 ORDER BY id", order.id
    )
    assert [(row["sequence"], row["kind"], row["installments"]) for row in received] == [
        (1, "pix", 1),
        (2, "credit_card", 3),
    ]
    assert await shop.status(order.id) == "O"
    assert await shop.event_names(order.public_id) == ["order.created", "order.updated", "order.updated"]


async def test_payments_at_once_all_count(shop):
    order = await shop.order((await shop.product(), 1))
    await asyncio.gather(*(record_payment(shop.scope, order.id, 100) for _ in range(10)))
    record = await shop.record("orders", order.id)
    assert (record["paid_cents"], record["payment_status"]) == (1_000, "paid")
    sequences = await shop.rows("SELECT sequence FROM payments WHERE tenant_id = $1 ORDER BY sequence")
    assert [row["sequence"] for row in sequences] == list(range(1, 11))


async def test_what_was_paid_back_is_the_sum_and_never_shrinks(shop):
    order = await shop.order((await shop.product(), 1))
    await record_payment(shop.scope, order.id, 1_000)
    assert (await record_refund(shop.scope, order.id, 300)).payment_status == "partially_refunded"
    assert (await record_refund(shop.scope, order.id, 200)).refunded_cents == 300
    assert (await record_refund(shop.scope, order.id, 1_000)).payment_status == "refunded"


async def test_a_chargeback_stays(shop):
    order = await shop.order((await shop.product(), 1), status="P")
    await record_payment(shop.scope, order.id, 1_000)
    assert (await record_chargeback(shop.scope, order.id)).payment_status == "chargeback"
    assert (await record_refund(shop.scope, order.id, 10)).payment_status == "chargeback"
    assert await shop.status(order.id) == "P"


@pytest.mark.parametrize("amount", [-1, MAX_CENTS + 1])
async def test_an_amount_out_of_range_is_refused(shop, amount):
    order = await shop.order((await shop.product(), 1))
    with pytest.raises(ValidationFailed):
        await record_payment(shop.scope, order.id, amount)


@pytest.mark.parametrize("given", [{"installments": -1}, {"installments": 2**31}, {"kind": "x" * 256}])
async def test_what_no_column_holds_is_refused(shop, given):
    order = await shop.order((await shop.product(), 1))
    with pytest.raises(ValidationFailed) as refusal:
        await record_payment(shop.scope, order.id, 1, **given)
    assert set(refusal.value.fields) == set(given)


async def test_another_stores_order_is_not_found(shop, other_shop):
    order = await shop.order((await shop.product(), 1))
    with pytest.raises(NotFound):
        await record_payment(other_shop.scope, order.public_id, 1)
