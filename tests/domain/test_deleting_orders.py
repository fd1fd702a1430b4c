"""DELETE cancels an order that holds money or a shipment, and hides one that does not."""

from __future__ import annotations

import pytest

from domain.orders.delete import delete_order
from domain.orders.lifecycle import move
from domain.orders.payments import record_payment, record_refund
from domain.orders.shipments import record_shipment
from kernel.errors import Forbidden, NotFound, RuleViolation


@pytest.mark.parametrize("start", "OPCDFB")
async def test_an_order_without_money_or_parcels_is_gone_with_its_stock_given_back(shop, start):
    product = await shop.product(stock=10)
    order = await shop.order((product, 2), status=start)

    deleted = await delete_order(shop.as_admin(), order.id)

    assert deleted.hidden
    assert await shop.figures(product) == (10, 0)
    with pytest.raises(NotFound):
        await move(shop.scope, order.id, "O")
    with pytest.raises(NotFound):
        await delete_order(shop.scope, order.id)
    assert await shop.event_names(order.public_id) == ["order.created", "order.updated", "order.cancelled"]
    assert await shop.history(order.id) == [("", start), (start, "I")]


async def test_deleting_a_cancelled_order_is_told_once_more(shop):
    order = await shop.order((await shop.product(), 2), status="I")
    assert (await delete_order(shop.scope, order.id)).hidden
    assert await shop.event_names(order.public_id) == ["order.created", "order.cancelled"]


@pytest.mark.parametrize("holds", ["money", "parcel"])
@pytest.mark.parametrize("start", "OPB")
async def test_an_order_with_money_or_a_parcel_is_cancelled_and_stays(shop, holds, start):
    product = await shop.product(stock=10)
    order = await shop.order((product, 2), status=start)
    if holds == "money":
        await record_payment(shop.scope, order.id, 500)
    else:
        await record_shipment(shop.scope, order.id)

    deleted = await delete_order(shop.as_admin(), order.id)

    assert not deleted.hidden
    assert await shop.status(order.id) == "I"
    assert await shop.figures(product) == (10, 0)
    assert (await shop.event_names(order.public_id))[-2:] == ["order.updated", "order.cancelled"]
    told = await shop.event_names(order.public_id)
    assert not (await delete_order(shop.scope, order.id)).hidden
    assert await shop.event_names(order.public_id) == told


async def test_a_completed_order_that_was_paid_keeps_its_goods_away(shop):
    product = await shop.product(stock=10)
    order = await shop.order((product, 2), status="C")
    await record_payment(shop.scope, order.id, 2_000)
    await delete_order(shop.scope, order.id)
    assert await shop.figures(product) == (8, 0)


async def test_money_that_was_paid_back_is_no_money(shop):
    order = await shop.order((await shop.product(), 1))
    await record_payment(shop.scope, order.id, 1_000)
    await record_refund(shop.scope, order.id, 1_000)
    assert (await delete_order(shop.scope, order.id)).hidden


async def test_a_vendor_deletes_what_it_could_cancel(shop):
    one, other = await shop.vendor(), await shop.vendor()
    of_one, of_other = await shop.product(vendor=one), await shop.product(vendor=other)
    shared, paid = await shop.order((of_one, 1), (of_other, 1)), await shop.order((of_one, 1), status="P")
    own = await shop.order((of_one, 1))
    with pytest.raises(Forbidden):
        await delete_order(shop.as_vendor(one), shared.id)
    with pytest.raises(RuleViolation):
        await delete_order(shop.as_vendor(one), paid.id)
    with pytest.raises(NotFound):
        await delete_order(shop.as_vendor(other), own.id)
    assert (await delete_order(shop.as_vendor(one), own.id)).hidden


async def test_another_stores_order_is_not_found(shop, other_shop):
    order = await shop.order((await shop.product(), 1))
    with pytest.raises(NotFound):
        await delete_order(other_shop.scope, order.public_id)
