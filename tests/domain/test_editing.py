"""What a partial update of an order changes, and what it leaves alone."""

from __future__ import annotations

import pytest

from domain.orders.edit import update_order
from domain.orders.shipments import record_shipment
from domain.shipping.methods import delete_shipping_method, update_shipping_method
from kernel.errors import Forbidden, NotFound, RuleViolation, ValidationFailed
from tests.domain.kit import unknown


async def test_what_is_not_named_stays(shop):
    order = await shop.order((await shop.product(), 1), notes="n", details="d", firstname="Ana", phone="11")
    before = await shop.record("orders", order.id)
    await update_order(shop.as_admin(), order.id, {"notes": "changed"})
    after = await shop.record("orders", order.id)
    assert {name for name in after if after[name] != before[name]} <= {"notes", "updated_at"}
    assert after["notes"] == "changed"
    assert await shop.event_names(order.public_id) == ["order.created", "order.updated"]


async def test_nothing_named_changes_nothing_and_tells_nobody(shop):
    order = await shop.order((await shop.product(), 1))
    moved = await update_order(shop.as_admin(), order.id, {})
    assert not moved.changed
    assert await shop.event_names(order.public_id) == ["order.created"]


async def test_contact_addresses_and_fields_change_partially(shop):
    user = await shop.customer()
    order = await shop.order(
        (await shop.product(), 1),
        addresses={"B": {"street": "Rua A", "city": "Recife"}},
        fields={"nota_fiscal": "1", "link_nota": "x"},
    )
    await update_order(
        shop.as_admin(),
        order.id,
        {
            "user": user,
            "email": "New@Example.com",
            "addresses": {"B": {"city": "Olinda"}},
            "fields": {"nota_fiscal": "2"},
        },
    )
    record = await shop.record("orders", order.id)
    assert (record["user_id"], record["email"]) == (user, "new@example.com")
    rows = await shop.rows("SELECT * FROM order_addresses WHERE tenant_id = $1 AND order_id = $2", order.id)
    assert {(row["kind"], row["street"], row["city"]) for row in rows} == {
        ("B", "Rua A", "Olinda"),
        ("S", "Rua A", "Recife"),
    }
    kept = await shop.value(
        "SELECT fields_data ->> 'link_nota' FROM orders WHERE tenant_id = $1 AND id = $2", order.id
    )
    new = await shop.value(
        "SELECT fields_data ->> 'nota_fiscal' FROM orders WHERE tenant_id = $1 AND id = $2", order.id
    )
    assert (kept, new) == ("x", "2")


async def test_another_buyer_brings_its_name_unless_one_is_given(shop):
    order = await shop.order((await shop.product(), 1), firstname="Old", phone="11")
    user = await shop.customer(firstname="Rui", lastname="Lima", email="rui@example.com", phone="1133334444")
    await update_order(shop.as_admin(), order.id, {"user": user, "phone": "22"})
    record = await shop.record("orders", order.id)
    assert (record["firstname"], record["lastname"]) == ("Rui", "Lima")
    assert (record["email"], record["phone"]) == ("rui@example.com", "22")
    await update_order(shop.as_admin(), order.id, {"user": None})
    record = await shop.record("orders", order.id)
    assert (record["user_id"], record["firstname"]) == (None, "Rui")


async def test_an_address_that_was_not_there_is_added(shop):
    order = await shop.order((await shop.product(), 1))
    await update_order(shop.as_admin(), order.id, {"addresses": {"S": {"city": "Natal"}}})
    [row] = await shop.rows("SELECT * FROM order_addresses WHERE tenant_id = $1 AND order_id = $2", order.id)
    assert (row["kind"], row["city"], row["country"]) == ("S", "Natal", "BR")


async def test_a_status_moves_the_order_and_is_told_once(shop):
    product = await shop.product()
    order = await shop.order((product, 2))
    moved = await update_order(shop.as_admin(), order.id, {"status": "P", "notes": "paid"}, reason="call")
    assert (moved.from_status, moved.status, moved.changed) == ("O", "P", True)
    assert await shop.figures(product) == (8, 0)
    events = await shop.events(order.public_id)
    assert [event["name"] for event in events] == ["order.created", "order.updated"]
    assert events[-1]["data"]["previous_status"] == "O"


async def test_cancelling_by_an_update_is_told_as_cancelling(shop):
    order = await shop.order((await shop.product(), 2))
    await update_order(shop.as_admin(), order.id, {"status": "I"})
    assert await shop.event_names(order.public_id) == ["order.created", "order.updated", "order.cancelled"]


async def test_a_forbidden_status_rolls_everything_back(shop):
    order = await shop.order((await shop.product(), 2), status="I")
    with pytest.raises(RuleViolation) as refusal:
        await update_order(shop.as_admin(), order.id, {"notes": "lost", "status": "P"})
    assert refusal.value.details == {"allowed": []}
    assert (await shop.record("orders", order.id))["notes"] == ""
    forced = await update_order(shop.as_admin(family="legacy"), order.id, {"status": "P"}, force=True)
    assert forced.forced


async def test_shipped_with_a_tracking_code_records_a_parcel(shop):
    order = await shop.order((await shop.product(), 2))
    await update_order(
        shop.as_admin(), order.id, {"status": "C", "tracking_code": "BR1", "carrier": "Correios"}
    )
    [parcel] = await shop.rows("SELECT * FROM shipments WHERE tenant_id = $1 AND order_id = $2", order.id)
    assert parcel["tracking_number"] == "BR1"


# --- Lines and amounts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["O", "B"])
async def test_lines_are_replaced_with_their_stock_and_amounts(shop, status):
    shipping = await shop.shipping(per_item_cents=100)
    kept, gone, new = [await shop.product(stock=10, price_cents=price) for price in (1_000, 2_000, 500)]
    order = await shop.order((kept, 4), (gone, 2), status=status, shipping_method=shipping)

    await update_order(
        shop.as_admin(),
        order.id,
        {"lines": [{"product": new, "quantity": 3}, {"product": kept, "quantity": 1}]},
    )

    assert [await shop.figures(product) for product in (kept, gone, new)] == [(10, 1), (10, 0), (10, 3)]
    record = await shop.record("orders", order.id)
    assert (record["subtotal_cents"], record["shipping_cents"], record["total_cents"]) == (2_500, 400, 2_900)
    assert [
        (line["position"], line["product_id"], line["quantity"]) for line in await shop.lines(order.id)
    ] == [
        (1, new, 3),
        (2, kept, 1),
    ]


@pytest.mark.parametrize("status", list("PCDFI"))
async def test_lines_of_an_order_that_is_paid_or_over_stay(shop, status):
    product = await shop.product()
    order = await shop.order((product, 1), status=status)
    with pytest.raises(RuleViolation) as refusal:
        await update_order(shop.as_admin(), order.id, {"lines": [{"product": product, "quantity": 2}]})
    assert refusal.value.reason == "order_not_editable"


async def test_more_than_there_is_can_not_be_put_into_an_order(shop):
    product = await shop.product(stock=5)
    order = await shop.order((product, 2))
    await shop.order((product, 2))
    with pytest.raises(RuleViolation) as refusal:
        await update_order(shop.as_admin(), order.id, {"lines": [{"product": product, "quantity": 4}]})
    assert refusal.value.reason == "out_of_stock"
    assert [line["quantity"] for line in await shop.lines(order.id)] == [2]
    await update_order(shop.as_admin(), order.id, {"lines": [{"product": product, "quantity": 3}]})
    assert await shop.figures(product) == (5, 5)


async def test_a_product_in_the_order_keeps_its_price_and_may_stay_though_it_is_off_sale(shop):
    product = await shop.product(price_cents=1_000)
    order = await shop.order((product, 1))
    await shop.rows("UPDATE products SET price_cents = 9, status = 'D' WHERE tenant_id = $1")
    await update_order(
        shop.as_app(), order.id, {"lines": [{"product": product, "quantity": 2, "price_cents": 5}]}
    )
    assert (await shop.record("orders", order.id))["total_cents"] == 2_000
    await update_order(
        shop.as_admin(), order.id, {"lines": [{"product": product, "quantity": 2, "price_cents": 5}]}
    )
    assert (await shop.record("orders", order.id))["total_cents"] == 10


async def test_methods_change_the_amounts_while_nobody_paid(shop):
    dear = await shop.shipping(base_cents=5_000)
    payment = await shop.payment(surcharge_cents=10)
    order = await shop.order((await shop.product(), 1))
    await update_order(shop.as_admin(), order.id, {"shipping_method": dear, "payment_method": payment})
    record = await shop.record("orders", order.id)
    assert (record["shipping_cents"], record["surcharge_cents"], record["total_cents"]) == (5_000, 10, 6_010)
    assert (record["shipping_method_id"], record["payment_method_id"]) == (dear, payment)


async def test_methods_are_noted_without_new_amounts_afterwards(shop):
    dear = await shop.shipping(base_cents=5_000)
    order = await shop.order((await shop.product(), 1), status="P")
    await update_order(shop.as_admin(), order.id, {"shipping_method": dear})
    record = await shop.record("orders", order.id)
    assert (record["shipping_method_id"], record["total_cents"]) == (dear, 1_000)


async def test_a_method_the_order_has_serves_it_though_it_is_off_or_deleted(shop):
    shipping = await shop.shipping(base_cents=100)
    product = await shop.product()
    order = await shop.order((product, 1), shipping_method=shipping)
    await update_shipping_method(shop.scope, shipping, {"status": "D"})
    await update_order(shop.as_admin(), order.id, {"lines": [{"product": product, "quantity": 2}]})
    await delete_shipping_method(shop.scope, shipping)
    await update_order(shop.as_admin(), order.id, {"lines": [{"product": product, "quantity": 3}]})
    assert (await shop.record("orders", order.id))["total_cents"] == 3_100


async def test_a_discount_is_staffs_to_give(shop):
    order = await shop.order((await shop.product(), 1))
    await update_order(shop.as_app(), order.id, {"discount_cents": 500})
    assert (await shop.record("orders", order.id))["total_cents"] == 1_000
    await update_order(shop.as_admin(), order.id, {"discount_cents": 500})
    assert (await shop.record("orders", order.id))["total_cents"] == 500


async def test_lines_that_were_shipped_stay(shop):
    product = await shop.product()
    order = await shop.order((product, 2))
    await record_shipment(shop.scope, order.id)
    with pytest.raises(RuleViolation) as refusal:
        await update_order(shop.as_admin(), order.id, {"lines": [{"product": product, "quantity": 3}]})
    assert refusal.value.reason == "order_not_editable"
    assert await shop.figures(product) == (10, 2)


@pytest.mark.parametrize("lines", [[], None])
async def test_an_order_keeps_at_least_one_line(shop, lines):
    order = await shop.order((await shop.product(), 2))
    with pytest.raises(ValidationFailed) as refusal:
        await update_order(shop.as_admin(), order.id, {"lines": lines})
    assert refusal.value.fields == {"lines": "required"}


@pytest.mark.parametrize("referred", ["user", "payment_method", "shipping_method", "product"])
async def test_what_an_update_refers_to_must_be_there(shop, other_shop, referred):
    order = await shop.order((await shop.product(), 1))
    foreign = {
        "user": ("customer", "users"),
        "payment_method": ("payment", "payment_methods"),
        "shipping_method": ("shipping", "shipping_methods"),
        "product": ("product", "products"),
    }[referred]
    number = await getattr(other_shop, foreign[0])()
    for reference in (await other_shop.public_id(foreign[1], number), unknown(), 10**12):
        changes = {referred: reference}
        if referred == "product":
            changes = {"lines": [{"product": reference, "quantity": 1}]}
        with pytest.raises(ValidationFailed) as refusal:
            await update_order(shop.as_admin(), order.id, changes)
        assert refusal.value.fields == {referred: "not_found"}


async def test_an_order_of_another_store_is_not_found(shop, other_shop):
    order = await shop.order((await shop.product(), 1))
    for reference in (order.id, order.public_id):
        with pytest.raises(NotFound):
            await update_order(other_shop.as_admin(), reference, {"notes": "x"})


# --- Vendors ---------------------------------------------------------------------------------------------------------------------


async def test_a_vendor_changes_only_orders_wholly_its_own(shop):
    one, other = await shop.vendor(), await shop.vendor()
    of_one, of_other = await shop.product(vendor=one), await shop.product(vendor=other)
    shared, own = await shop.order((of_one, 1), (of_other, 1)), await shop.order((of_one, 1))
    with pytest.raises(Forbidden):
        await update_order(shop.as_vendor(one), shared.id, {"notes": "x"})
    with pytest.raises(NotFound):
        await update_order(shop.as_vendor(other), own.id, {"notes": "x"})
    assert (await update_order(shop.as_vendor(one), own.id, {"tracking_code": "x"})).changed


async def test_a_vendor_sets_neither_price_nor_discount_nor_buyer(shop):
    vendor = await shop.vendor()
    product = await shop.product(vendor=vendor, price_cents=1_000)
    order = await shop.order((product, 1))
    await update_order(
        shop.as_vendor(vendor),
        order.id,
        {
            "user": await shop.customer(),
            "email": "else@example.com",
            "discount_cents": 900,
            "lines": [{"product": product, "quantity": 2, "price_cents": 1}],
        },
    )
    record = await shop.record("orders", order.id)
    assert (record["total_cents"], record["user_id"], record["email"]) == (2_000, None, "guest@example.com")


async def test_a_vendor_puts_no_other_vendors_products_into_its_order(shop):
    one, other = await shop.vendor(), await shop.vendor()
    order = await shop.order((await shop.product(vendor=one), 1))
    foreign = await shop.product(vendor=other)
    with pytest.raises(ValidationFailed):
        await update_order(shop.as_vendor(one), order.id, {"lines": [{"product": foreign, "quantity": 1}]})
