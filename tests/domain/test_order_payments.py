"""Payments and refunds of an order, and its payment status."""

from __future__ import annotations

import asyncio

import pytest

from domain.orders.payments import record_payment
from domain.orders.transitions import payment_status
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
def test_the_payment_status(total, paid, refunded, word):
    assert payment_status(total, paid, refunded) == word
    assert payment_status(total, paid, refunded, charged_back=True) == "chargeback"


async def test_payments_accumulate_and_emit_events(kit):
    order = await kit.order((await kit.product(), 1))
    first = await record_payment(kit.scope, order.id, 400, kind="pix")
    second = await record_payment(kit.scope, order.public_id, 600, kind="credit_card", installments=3)
    assert (first.payment_status, second.payment_status, second.paid_cents) == ("unpaid", "paid", 1_000)
    received = await kit.rows("SELECT * FROM payments WHERE tenant_id = $1 AND order_id = $2 ORDER BY id", order.id)
    assert [(row["sequence"], row["kind"], row["installments"]) for row in received] == [
        (1, "pix", 1),
        (2, "credit_card", 3),
    ]
    assert await kit.status(order.id) == "O"
    assert await kit.event_names(order.public_id) == ["order.created", "order.updated", "order.updated"]


async def test_concurrent_payments_all_count(kit):
    order = await kit.order((await kit.product(), 1))
    await asyncio.gather(*(record_payment(kit.scope, order.id, 100) for _ in range(10)))
    record = await kit.record("orders", order.id)
    assert (record["paid_cents"], record["payment_status"]) == (1_000, "paid")
    sequences = await kit.rows("SELECT sequence FROM payments WHERE tenant_id = $1 ORDER BY sequence")
    assert [row["sequence"] for row in sequences] == list(range(1, 11))


@pytest.mark.parametrize("amount", [-1, MAX_CENTS + 1])
async def test_an_amount_out_of_range_is_rejected(kit, amount):
    order = await kit.order((await kit.product(), 1))
    with pytest.raises(ValidationFailed):
        await record_payment(kit.scope, order.id, amount)


@pytest.mark.parametrize(
    "values", [{"installments": -1}, {"installments": 2**31}, {"kind": "x" * 256}, {"kind": "4111 1111 1111 1111"}]
)
async def test_installments_and_kind_out_of_range_are_rejected(kit, values):
    order = await kit.order((await kit.product(), 1))
    with pytest.raises(ValidationFailed) as error:
        await record_payment(kit.scope, order.id, 1, **values)
    assert set(error.value.fields) == set(values)


async def test_another_stores_order_is_not_found(kit, other_kit):
    order = await kit.order((await kit.product(), 1))
    with pytest.raises(NotFound):
        await record_payment(other_kit.scope, order.public_id, 1)
