"""Deleting an order cancels it when it has payments or shipments, and hides it otherwise."""

from __future__ import annotations

import pytest

from domain.orders.deletion import delete_order
from domain.orders.lifecycle import change_status
from domain.orders.payments import record_payment
from domain.orders.shipments import create_shipment
from kernel.errors import Forbidden, NotFound, RuleViolation


@pytest.mark.parametrize("start", "OPCDFB")
async def test_an_order_without_payments_or_shipments_is_deleted_and_its_stock_restored(kit, start):
    product = await kit.product(stock=10)
    order = await kit.order((product, 2), status=start)

    deleted = await delete_order(kit.as_admin(), order.id)

    assert deleted.hidden
    assert await kit.figures(product) == (10, 0)
    with pytest.raises(NotFound):
        await change_status(kit.scope, order.id, "O")
    with pytest.raises(NotFound):
        await delete_order(kit.scope, order.id)
    assert await kit.event_names(order.public_id) == ["order.created", "order.updated", "order.cancelled"]
    assert await kit.history(order.id) == [("", start), (start, "I")]


async def test_deleting_a_cancelled_order_emits_another_event(kit):
    order = await kit.order((await kit.product(), 2), status="I")
    assert (await delete_order(kit.scope, order.id)).hidden
    assert await kit.event_names(order.public_id) == ["order.created", "order.cancelled"]


@pytest.mark.parametrize("reason", ["payment", "shipment"])
@pytest.mark.parametrize("start", "OPB")
async def test_an_order_with_payments_or_shipments_is_cancelled_and_kept(kit, reason, start):
    product = await kit.product(stock=10)
    order = await kit.order((product, 2), status=start)
    if reason == "payment":
        await record_payment(kit.scope, order.id, 500)
    else:
        await create_shipment(kit.scope, order.id)

    deleted = await delete_order(kit.as_admin(), order.id)

    assert not deleted.hidden
    assert await kit.status(order.id) == "I"
    assert await kit.figures(product) == (10, 0)
    assert (await kit.event_names(order.public_id))[-2:] == ["order.updated", "order.cancelled"]
    names = await kit.event_names(order.public_id)
    assert not (await delete_order(kit.scope, order.id)).hidden
    assert await kit.event_names(order.public_id) == names


async def test_deleting_a_completed_paid_order_does_not_restock(kit):
    product = await kit.product(stock=10)
    order = await kit.order((product, 2), status="C")
    await record_payment(kit.scope, order.id, 2_000)
    await delete_order(kit.scope, order.id)
    assert await kit.figures(product) == (8, 0)


async def test_a_refunded_payment_does_not_prevent_deletion(kit):
    order = await kit.order((await kit.product(), 1))
    await record_payment(kit.scope, order.id, 1_000)
    await kit.rows("UPDATE orders SET refunded_cents = 1000 WHERE tenant_id = $1 AND id = $2", order.id)
    assert (await delete_order(kit.scope, order.id)).hidden


@pytest.mark.parametrize("gateway", ["", "pagarme"])
async def test_what_an_imported_order_was_paid_elsewhere_does_not_prevent_deletion(kit, gateway):
    order = await kit.order((await kit.product(), 1), status="C")
    await record_payment(kit.scope, order.id, 1_000)
    await kit.rows("UPDATE payments SET gateway = $2 WHERE tenant_id = $1", gateway)
    await kit.rows("UPDATE orders SET imported = true WHERE tenant_id = $1 AND id = $2", order.id)
    assert (await delete_order(kit.scope, order.id)).hidden is (not gateway)


async def test_a_vendor_deletes_only_orders_it_may_cancel(kit):
    one, other = await kit.vendor(), await kit.vendor()
    of_one, of_other = await kit.product(vendor=one), await kit.product(vendor=other)
    shared, paid = await kit.order((of_one, 1), (of_other, 1)), await kit.order((of_one, 1), status="P")
    own = await kit.order((of_one, 1))
    with pytest.raises(Forbidden):
        await delete_order(kit.as_vendor(one), shared.id)
    with pytest.raises(RuleViolation):
        await delete_order(kit.as_vendor(one), paid.id)
    with pytest.raises(NotFound):
        await delete_order(kit.as_vendor(other), own.id)
    assert (await delete_order(kit.as_vendor(one), own.id)).hidden


async def test_another_stores_order_is_not_found(kit, other_kit):
    order = await kit.order((await kit.product(), 1))
    with pytest.raises(NotFound):
        await delete_order(other_kit.scope, order.public_id)
