"""Parcels hold only units that were ordered and have not gone out yet."""

from __future__ import annotations

import asyncio

import pytest

from domain.orders.shipments import delete_shipment, record_shipment, update_shipment
from kernel.errors import Forbidden, NotFound, RuleViolation, ValidationFailed
from tests.domain.kit import unknown


async def order_of(shop, *quantities, **given):
    order = await shop.order(*[(await shop.product(stock=100), quantity) for quantity in quantities], **given)
    return order, [line["id"] for line in await shop.lines(order.id)]


async def shipped(shop, shipment):
    found = await shop.rows(
        "SELECT order_line_id, quantity FROM shipment_lines WHERE tenant_id = $1 AND shipment_id = $2",
        shipment,
    )
    return {row["order_line_id"]: row["quantity"] for row in found}


async def test_without_lines_everything_goes(shop):
    order, [one, other] = await order_of(shop, 2, 3)
    shipment = await record_shipment(shop.scope, order.id)
    assert await shipped(shop, shipment) == {one: 2, other: 3}


async def test_a_parcel_holds_what_is_named_and_the_next_one_the_rest(shop):
    order, [one, other] = await order_of(shop, 2, 3)
    first = await record_shipment(shop.scope, order.id, {one: 2, other: 1})
    second = await record_shipment(shop.scope, order.id)
    assert (await shipped(shop, first), await shipped(shop, second)) == ({one: 2, other: 1}, {other: 2})


async def test_lines_are_named_by_public_id_too(shop):
    order, [one] = await order_of(shop, 2)
    public_id = await shop.public_id("order_lines", one)
    assert await shipped(shop, await record_shipment(shop.scope, order.public_id, {str(public_id): 1})) == {
        one: 1
    }


async def test_the_parcel_is_written_and_told(shop):
    user, method = await shop.customer(), await shop.shipping(name="Sedex")
    order, _ = await order_of(shop, 1)
    shipment = await record_shipment(
        shop.scope,
        order.id,
        None,
        {
            "user": user,
            "shipping_method": method,
            "carrier": "Correios",
            "tracking_number": "BR1",
            "comments": "fragile",
            "status": "A",
        },
    )
    parcel = await shop.record("shipments", shipment)
    assert (parcel["user_id"], parcel["shipping_method_id"], parcel["carrier"]) == (user, method, "Correios")
    assert (parcel["comments"], parcel["status"]) == ("fragile", "A")
    assert (parcel["shipping_name"], parcel["group_key"]) == ("Sedex", "0")
    last = (await shop.events(order.public_id))[-1]
    assert (last["name"], last["data"]["tracking_code"]) == ("order.updated", "BR1")


async def test_legacy_defaults_stand_where_nothing_was_said(shop):
    order, _ = await order_of(shop, 1)
    later = await shop.shipping(name="Later", position=5)
    shipment = await record_shipment(shop.as_admin(family="legacy"), order.id)
    parcel = await shop.record("shipments", shipment)
    assert parcel["shipping_name"] == "Custom shipping method"
    assert parcel["shipping_method_id"] == await shop.delivery() != later


async def test_a_status_moves_the_order_along(shop):
    order, _ = await order_of(shop, 1, status="P")
    await record_shipment(shop.scope, order.id, None, {"order_status": "C"})
    assert await shop.status(order.id) == "C"
    assert (await shop.events(order.public_id))[-1]["data"]["previous_status"] == "P"


@pytest.mark.parametrize(
    "quantity, code",
    [(3, "too_many"), (0, "quantity_invalid"), (-1, "quantity_invalid"), ("1", "quantity_invalid")],
)
async def test_more_than_is_left_or_nothing_is_refused(shop, quantity, code):
    order, [one] = await order_of(shop, 2)
    with pytest.raises(ValidationFailed) as refusal:
        await record_shipment(shop.scope, order.id, {one: quantity})
    assert refusal.value.fields == {"lines": code}


async def test_what_went_out_before_counts(shop):
    order, [one] = await order_of(shop, 2)
    await record_shipment(shop.scope, order.id, {one: 1})
    with pytest.raises(ValidationFailed):
        await record_shipment(shop.scope, order.id, {one: 2})
    await record_shipment(shop.scope, order.id, {one: 1})
    with pytest.raises(ValidationFailed) as refusal:
        await record_shipment(shop.scope, order.id)
    assert refusal.value.fields == {"lines": "nothing_left"}


async def test_a_line_of_another_order_is_refused(shop):
    order, _ = await order_of(shop, 2)
    _, [foreign] = await order_of(shop, 2)
    for line in (foreign, unknown(), "x"):
        with pytest.raises(ValidationFailed) as refusal:
            await record_shipment(shop.scope, order.id, {line: 1})
        assert refusal.value.fields == {"lines": "not_in_order"}
    with pytest.raises(ValidationFailed):
        await record_shipment(shop.scope, order.id, {})


async def test_two_parcels_at_once_share_what_is_left(shop):
    order, [one] = await order_of(shop, 3)
    results = await asyncio.gather(
        *(record_shipment(shop.scope, order.id, {one: 2}) for _ in range(4)), return_exceptions=True
    )
    assert sum(isinstance(result, int) for result in results) == 1


@pytest.mark.parametrize("status", list("DFI"))
async def test_an_order_that_came_to_nothing_is_not_shipped(shop, status):
    order, _ = await order_of(shop, 1, status=status)
    with pytest.raises(RuleViolation):
        await record_shipment(shop.scope, order.id)


@pytest.mark.parametrize("referred", ["user", "shipping_method"])
async def test_what_a_parcel_refers_to_must_be_there(shop, other_shop, referred):
    order, _ = await order_of(shop, 1)
    foreign = await (other_shop.customer() if referred == "user" else other_shop.shipping())
    table = "users" if referred == "user" else "shipping_methods"
    with pytest.raises(ValidationFailed) as refusal:
        await record_shipment(
            shop.scope, order.id, None, {referred: await other_shop.public_id(table, foreign)}
        )
    assert refusal.value.fields == {referred: "not_found"}


async def test_a_parcel_changes_partially(shop):
    order, [one, other] = await order_of(shop, 2, 2)
    shipment = await record_shipment(shop.scope, order.id, {one: 2}, {"carrier": "A", "comments": "c"})
    await update_shipment(shop.scope, shipment, {"carrier": "B", "tracking_number": "BR2"})
    parcel = await shop.record("shipments", shipment)
    assert (parcel["carrier"], parcel["comments"]) == ("B", "c")
    assert (await shop.record("orders", order.id))["tracking_code"] == "BR2"

    await update_shipment(shop.scope, await shop.public_id("shipments", shipment), {}, {one: 1, other: 2})
    assert await shipped(shop, shipment) == {one: 1, other: 2}
    with pytest.raises(ValidationFailed):
        await update_shipment(shop.scope, shipment, {}, {one: 3})


async def test_a_withdrawn_parcel_gives_its_units_free(shop):
    order, [one] = await order_of(shop, 2)
    shipment = await record_shipment(shop.scope, order.id)
    await delete_shipment(shop.scope, shipment)
    assert await shipped(shop, await record_shipment(shop.scope, order.id)) == {one: 2}
    with pytest.raises(NotFound, match="shipment not found"):
        await delete_shipment(shop.scope, shipment)


async def test_another_stores_parcel_is_not_found(shop, other_shop):
    order, _ = await order_of(shop, 2)
    shipment = await record_shipment(shop.scope, order.id)
    for reference in (shipment, await shop.public_id("shipments", shipment), "x", unknown()):
        with pytest.raises(NotFound, match="shipment not found"):
            await update_shipment(other_shop.scope, reference, {"carrier": "X"})


# --- Vendors ---------------------------------------------------------------------------------------------------------------------


async def test_a_vendor_ships_its_own_lines_only(shop):
    one, other = await shop.vendor(), await shop.vendor()
    order = await shop.order((await shop.product(vendor=one), 1), (await shop.product(vendor=other), 1))
    [own, foreign] = [line["id"] for line in await shop.lines(order.id)]

    shipment = await record_shipment(shop.as_vendor(one), order.id)

    assert await shipped(shop, shipment) == {own: 1}
    with pytest.raises(ValidationFailed):
        await record_shipment(shop.as_vendor(one), order.id, {foreign: 1})
    with pytest.raises(Forbidden):
        await update_shipment(shop.as_vendor(one), shipment, {"order_status": "C"})
    with pytest.raises(NotFound):
        await update_shipment(shop.as_vendor(other), shipment, {"carrier": "X"})
    await update_shipment(shop.as_vendor(one), shipment, {"carrier": "X"})
