"""Shipments contain only units that were ordered and not shipped yet."""

from __future__ import annotations

import asyncio

import pytest

from domain.orders.shipments import create_shipment, delete_shipment, update_shipment
from kernel.errors import Forbidden, NotFound, RuleViolation, ValidationFailed
from tests.harness.domain_store import unknown


async def order_of(kit, *quantities, **values):
    order = await kit.order(*[(await kit.product(stock=100), quantity) for quantity in quantities], **values)
    return order, [line["id"] for line in await kit.lines(order.id)]


async def shipped(kit, shipment):
    records = await kit.rows(
        "SELECT order_line_id, quantity FROM shipment_lines WHERE tenant_id = $1 AND shipment_id = $2",
        shipment,
    )
    return {row["order_line_id"]: row["quantity"] for row in records}


async def test_without_lines_all_units_are_shipped(kit):
    order, [one, other] = await order_of(kit, 2, 3)
    shipment = await create_shipment(kit.scope, order.id)
    assert await shipped(kit, shipment) == {one: 2, other: 3}


async def test_a_shipment_has_the_named_units_and_the_next_one_the_rest(kit):
    order, [one, other] = await order_of(kit, 2, 3)
    first = await create_shipment(kit.scope, order.id, {one: 2, other: 1})
    second = await create_shipment(kit.scope, order.id)
    assert (await shipped(kit, first), await shipped(kit, second)) == ({one: 2, other: 1}, {other: 2})


async def test_lines_are_referenced_by_public_id_too(kit):
    order, [one] = await order_of(kit, 2)
    public_id = await kit.public_id("order_lines", one)
    assert await shipped(kit, await create_shipment(kit.scope, order.public_id, {str(public_id): 1})) == {one: 1}


async def test_a_shipment_is_stored_and_emits_an_event(kit):
    user, method = await kit.customer(), await kit.shipping(name="Sedex")
    order, _ = await order_of(kit, 1)
    shipment = await create_shipment(
        kit.scope,
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
    record = await kit.record("shipments", shipment)
    assert (record["user_id"], record["shipping_method_id"], record["carrier"]) == (user, method, "Correios")
    assert (record["comments"], record["status"]) == ("fragile", "A")
    assert (record["shipping_name"], record["group_key"]) == ("Sedex", "0")
    last = (await kit.events(order.public_id))[-1]
    assert (last["name"], last["data"]["tracking_code"]) == ("order.updated", "BR1")


async def test_legacy_defaults(kit):
    order, _ = await order_of(kit, 1)
    later = await kit.shipping(name="Later", position=5)
    shipment = await create_shipment(kit.as_admin(family="legacy"), order.id)
    record = await kit.record("shipments", shipment)
    assert record["shipping_name"] == "Custom shipping method"
    assert record["shipping_method_id"] == await kit.delivery() != later


async def test_order_status_changes_the_order(kit):
    order, _ = await order_of(kit, 1, status="P")
    await create_shipment(kit.scope, order.id, None, {"order_status": "C"})
    assert await kit.status(order.id) == "C"
    assert (await kit.events(order.public_id))[-1]["data"]["previous_status"] == "P"


@pytest.mark.parametrize(
    "quantity, code",
    [(3, "too_many"), (0, "quantity_invalid"), (-1, "quantity_invalid"), ("1", "quantity_invalid")],
)
async def test_more_than_the_unshipped_units_or_none_is_rejected(kit, quantity, code):
    order, [one] = await order_of(kit, 2)
    with pytest.raises(ValidationFailed) as error:
        await create_shipment(kit.scope, order.id, {one: quantity})
    assert error.value.fields == {"lines": code}


async def test_previously_shipped_units_count(kit):
    order, [one] = await order_of(kit, 2)
    await create_shipment(kit.scope, order.id, {one: 1})
    with pytest.raises(ValidationFailed):
        await create_shipment(kit.scope, order.id, {one: 2})
    await create_shipment(kit.scope, order.id, {one: 1})
    with pytest.raises(ValidationFailed) as error:
        await create_shipment(kit.scope, order.id)
    assert error.value.fields == {"lines": "nothing_left"}


async def test_a_line_of_another_order_is_rejected(kit):
    order, _ = await order_of(kit, 2)
    _, [foreign] = await order_of(kit, 2)
    for line in (foreign, unknown(), "x"):
        with pytest.raises(ValidationFailed) as error:
            await create_shipment(kit.scope, order.id, {line: 1})
        assert error.value.fields == {"lines": "not_in_order"}, line
    with pytest.raises(ValidationFailed):
        await create_shipment(kit.scope, order.id, {})


async def test_concurrent_shipments_never_ship_a_unit_twice(kit):
    order, [one] = await order_of(kit, 3)
    results = await asyncio.gather(
        *(create_shipment(kit.scope, order.id, {one: 2}) for _ in range(4)), return_exceptions=True
    )
    assert sum(isinstance(result, int) for result in results) == 1


async def test_of_concurrent_deletions_of_a_shipment_one_finds_it(kit):
    order, _ = await order_of(kit, 3)
    shipment = await create_shipment(kit.scope, order.id)
    results = await asyncio.gather(*(delete_shipment(kit.scope, shipment) for _ in range(4)), return_exceptions=True)
    assert sorted(type(result).__name__ for result in results) == ["NoneType", *["NotFound"] * 3]


@pytest.mark.parametrize("status", list("DFI"))
async def test_a_closed_order_cannot_be_shipped(kit, status):
    order, _ = await order_of(kit, 1, status=status)
    with pytest.raises(RuleViolation):
        await create_shipment(kit.scope, order.id)


@pytest.mark.parametrize("referred", ["user", "shipping_method"])
async def test_references_of_a_shipment_must_exist(kit, other_kit, referred):
    order, _ = await order_of(kit, 1)
    foreign = await (other_kit.customer() if referred == "user" else other_kit.shipping())
    table = "users" if referred == "user" else "shipping_methods"
    with pytest.raises(ValidationFailed) as error:
        await create_shipment(kit.scope, order.id, None, {referred: await other_kit.public_id(table, foreign)})
    assert error.value.fields == {referred: "not_found"}


async def test_a_shipment_is_updated_partially(kit):
    order, [one, other] = await order_of(kit, 2, 2)
    shipment = await create_shipment(kit.scope, order.id, {one: 2}, {"carrier": "A", "comments": "c"})
    await update_shipment(kit.scope, shipment, {"carrier": "B", "tracking_number": "BR2"})
    record = await kit.record("shipments", shipment)
    assert (record["carrier"], record["comments"]) == ("B", "c")
    assert (await kit.record("orders", order.id))["tracking_code"] == "BR2"

    await update_shipment(kit.scope, await kit.public_id("shipments", shipment), {}, {one: 1, other: 2})
    assert await shipped(kit, shipment) == {one: 1, other: 2}
    with pytest.raises(ValidationFailed):
        await update_shipment(kit.scope, shipment, {}, {one: 3})


async def test_deleting_a_shipment_makes_its_units_unshipped(kit):
    order, [one] = await order_of(kit, 2)
    shipment = await create_shipment(kit.scope, order.id)
    await delete_shipment(kit.scope, shipment)
    assert await shipped(kit, await create_shipment(kit.scope, order.id)) == {one: 2}
    with pytest.raises(NotFound, match="shipment not found"):
        await delete_shipment(kit.scope, shipment)


async def test_another_stores_shipment_is_not_found(kit, other_kit):
    order, _ = await order_of(kit, 2)
    shipment = await create_shipment(kit.scope, order.id)
    for reference in (shipment, await kit.public_id("shipments", shipment), "x", unknown()):
        with pytest.raises(NotFound, match="shipment not found"):
            await update_shipment(other_kit.scope, reference, {"carrier": "X"})


# --- Vendors ---------------------------------------------------------------------------------------------------------------------


async def test_a_vendor_ships_only_its_own_lines(kit):
    one, other = await kit.vendor(), await kit.vendor()
    order = await kit.order((await kit.product(vendor=one), 1), (await kit.product(vendor=other), 1))
    [own, foreign] = [line["id"] for line in await kit.lines(order.id)]

    shipment = await create_shipment(kit.as_vendor(one), order.id)

    assert await shipped(kit, shipment) == {own: 1}
    with pytest.raises(ValidationFailed):
        await create_shipment(kit.as_vendor(one), order.id, {foreign: 1})
    with pytest.raises(Forbidden):
        await update_shipment(kit.as_vendor(one), shipment, {"order_status": "C"})
    with pytest.raises(NotFound):
        await update_shipment(kit.as_vendor(other), shipment, {"carrier": "X"})
    await update_shipment(kit.as_vendor(one), shipment, {"carrier": "X"})
