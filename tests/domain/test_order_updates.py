"""Partial updates of orders."""

from __future__ import annotations

import pytest

from domain.orders.lifecycle import change_status
from domain.orders.payments import record_payment
from domain.orders.shipments import create_shipment
from domain.purchase.draft import parse_lines
from domain.purchase.edit import update_order
from domain.shipping.methods import SHIPPING_METHOD_RECORDS
from kernel.errors import Forbidden, NotFound, RuleViolation, ValidationFailed
from models.connection import database
from tests.harness.domain_store import unknown


async def test_absent_fields_stay(kit):
    order = await kit.order((await kit.product(), 1), notes="n", details="d", firstname="Ana", phone="11")
    before = await kit.record("orders", order.id)
    await update_order(kit.as_admin(), order.id, {"notes": "changed"})
    after = await kit.record("orders", order.id)
    assert {name for name in after if after[name] != before[name]} <= {"notes", "updated_at"}
    assert after["notes"] == "changed"
    assert await kit.event_names(order.public_id) == ["order.created", "order.updated"]


async def test_an_empty_update_changes_nothing_and_emits_no_event(kit):
    order = await kit.order((await kit.product(), 1))
    moved = await update_order(kit.as_admin(), order.id, {})
    assert not moved.changed
    assert await kit.event_names(order.public_id) == ["order.created"]


async def test_contact_addresses_and_fields_are_updated_partially(kit):
    user = await kit.customer()
    order = await kit.order(
        (await kit.product(), 1),
        addresses={"B": {"street": "Rua A", "city": "Recife"}},
        fields={"nota_fiscal": "1", "link_nota": "x"},
    )
    await update_order(
        kit.as_admin(),
        order.id,
        {
            "user": user,
            "email": "New@Example.com",
            "addresses": {"B": {"city": "Olinda"}},
            "fields": {"nota_fiscal": "2"},
        },
    )
    record = await kit.record("orders", order.id)
    assert (record["user_id"], record["email"]) == (user, "new@example.com")
    rows = await kit.rows("SELECT * FROM order_addresses WHERE tenant_id = $1 AND order_id = $2", order.id)
    assert {(row["kind"], row["street"], row["city"]) for row in rows} == {
        ("B", "Rua A", "Olinda"),
        ("S", "Rua A", "Recife"),
    }
    kept = await kit.value("SELECT fields_data ->> 'link_nota' FROM orders WHERE tenant_id = $1 AND id = $2", order.id)
    new = await kit.value("SELECT fields_data ->> 'nota_fiscal' FROM orders WHERE tenant_id = $1 AND id = $2", order.id)
    assert (kept, new) == ("x", "2")


async def test_a_new_customer_brings_its_name_unless_the_input_has_one(kit):
    order = await kit.order((await kit.product(), 1), firstname="Old", phone="11")
    user = await kit.customer(firstname="Rui", lastname="Lima", email="rui@example.com", phone="1133334444")
    await update_order(kit.as_admin(), order.id, {"user": user, "phone": "22"})
    record = await kit.record("orders", order.id)
    assert (record["firstname"], record["lastname"]) == ("Rui", "Lima")
    assert (record["email"], record["phone"]) == ("rui@example.com", "22")
    await update_order(kit.as_admin(), order.id, {"user": None})
    record = await kit.record("orders", order.id)
    assert (record["user_id"], record["firstname"]) == (None, "Rui")


async def test_a_missing_address_is_added(kit):
    order = await kit.order((await kit.product(), 1))
    await update_order(kit.as_admin(), order.id, {"addresses": {"S": {"city": "Natal"}}})
    [row] = await kit.rows("SELECT * FROM order_addresses WHERE tenant_id = $1 AND order_id = $2", order.id)
    assert (row["kind"], row["city"], row["country"]) == ("S", "Natal", "BR")


async def test_a_status_change_emits_one_event(kit):
    product = await kit.product()
    order = await kit.order((product, 2))
    moved = await update_order(kit.as_admin(), order.id, {"status": "P", "notes": "paid"}, reason="call")
    assert (moved.from_status, moved.status, moved.changed) == ("O", "P", True)
    assert await kit.figures(product) == (8, 0)
    events = await kit.events(order.public_id)
    assert [event["name"] for event in events] == ["order.created", "order.updated"]
    assert events[-1]["data"]["previous_status"] == "O"


async def test_cancelling_by_an_update_emits_order_cancelled(kit):
    order = await kit.order((await kit.product(), 2))
    await update_order(kit.as_admin(), order.id, {"status": "I"})
    assert await kit.event_names(order.public_id) == ["order.created", "order.updated", "order.cancelled"]


async def test_a_forbidden_status_rolls_everything_back(kit):
    order = await kit.order((await kit.product(), 2), status="I")
    with pytest.raises(RuleViolation) as error:
        await update_order(kit.as_admin(), order.id, {"notes": "lost", "status": "P"})
    assert error.value.details == {"allowed": []}
    assert (await kit.record("orders", order.id))["notes"] == ""
    forced = await update_order(kit.as_admin(family="legacy"), order.id, {"status": "P"}, force=True)
    assert forced.forced


async def test_completing_with_a_tracking_code_records_a_shipment(kit):
    order = await kit.order((await kit.product(), 2))
    await update_order(kit.as_admin(), order.id, {"status": "C", "tracking_code": "BR1", "carrier": "Correios"})
    [shipment] = await kit.rows("SELECT * FROM shipments WHERE tenant_id = $1 AND order_id = $2", order.id)
    assert shipment["tracking_number"] == "BR1"


async def test_another_tracking_code_of_a_shipped_order_is_that_of_its_only_shipment(kit):
    order = await kit.order((await kit.product(), 2))
    await change_status(kit.as_admin(), order.id, "C", tracking_code="BR1", carrier="Correios")
    for change in ({"status": "C", "tracking_code": "BR2"}, {"tracking_code": "BR3", "carrier": "Jadlog"}):
        for _ in range(2):
            await update_order(kit.as_admin(), order.id, change)
    updates = [event["data"] for event in await kit.events() if event["name"] == "shipment.updated"]
    assert [data["tracking_number"] for data in updates] == ["BR2", "BR3"]
    [shipment] = await kit.rows("SELECT * FROM shipments WHERE tenant_id = $1 AND order_id = $2", order.id)
    assert (shipment["tracking_number"], shipment["carrier"]) == ("BR3", "Jadlog")


async def test_another_tracking_code_of_an_order_with_several_shipments_leaves_them(kit):
    order = await kit.order((await kit.product(), 2))
    [line] = await kit.lines(order.id)
    await create_shipment(kit.scope, order.id, {line["id"]: 1}, {"tracking_number": "BR1"})
    await change_status(kit.as_admin(), order.id, "C", tracking_code="BR2")
    await change_status(kit.as_admin(), order.id, "C", tracking_code="BR3")
    shipments = await kit.rows("SELECT * FROM shipments WHERE tenant_id = $1 AND order_id = $2 ORDER BY id", order.id)
    assert [shipment["tracking_number"] for shipment in shipments] == ["BR1", "BR2"]
    assert (await kit.record("orders", order.id))["tracking_code"] == "BR3"


# --- Lines and amounts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["O", "B"])
async def test_replacing_lines_updates_stock_and_totals(kit, status):
    shipping = await kit.shipping(per_item_cents=100)
    kept, gone, new = [await kit.product(stock=10, price_cents=price) for price in (1_000, 2_000, 500)]
    order = await kit.order((kept, 4), (gone, 2), status=status, shipping_method=shipping)

    await update_order(
        kit.as_admin(),
        order.id,
        {"lines": [{"product": new, "quantity": 3}, {"product": kept, "quantity": 1}]},
    )

    assert [await kit.figures(product) for product in (kept, gone, new)] == [(10, 1), (10, 0), (10, 3)]
    record = await kit.record("orders", order.id)
    assert (record["subtotal_cents"], record["shipping_cents"], record["total_cents"]) == (2_500, 400, 2_900)
    assert [(line["position"], line["product_id"], line["quantity"]) for line in await kit.lines(order.id)] == [
        (1, new, 3),
        (2, kept, 1),
    ]


async def test_a_line_that_stays_keeps_its_ids(kit):
    kept, other, new = [await kit.product(stock=10) for _ in range(3)]
    order = await kit.order((kept, 4), (other, 1), (kept, 2))
    before = [(line["id"], line["public_id"]) for line in await kit.lines(order.id)]
    drafts = [{"product": product, "quantity": 3} for product in (new, kept, kept, kept)]
    await update_order(kit.as_admin(), order.id, {"lines": drafts})
    after = [(line["id"], line["public_id"]) for line in await kit.lines(order.id)]
    assert after[1:3] == [before[0], before[2]]
    assert not {after[0], after[3]} & set(before)
    assert len(set(after)) == 4


@pytest.mark.parametrize("status", list("PCDFI"))
async def test_lines_of_a_paid_or_closed_order_cannot_change(kit, status):
    product = await kit.product()
    order = await kit.order((product, 1), status=status)
    with pytest.raises(RuleViolation) as error:
        await update_order(kit.as_admin(), order.id, {"lines": [{"product": product, "quantity": 2}]})
    assert error.value.reason == "order_not_editable"


async def test_an_update_cannot_oversell(kit):
    product = await kit.product(stock=5)
    order = await kit.order((product, 2))
    await kit.order((product, 2))
    with pytest.raises(RuleViolation) as error:
        await update_order(kit.as_admin(), order.id, {"lines": [{"product": product, "quantity": 4}]})
    assert error.value.reason == "out_of_stock"
    assert [line["quantity"] for line in await kit.lines(order.id)] == [2]
    await update_order(kit.as_admin(), order.id, {"lines": [{"product": product, "quantity": 3}]})
    assert await kit.figures(product) == (5, 5)


async def test_a_product_in_the_order_keeps_its_price_even_when_disabled(kit):
    product = await kit.product(price_cents=1_000)
    order = await kit.order((product, 1))
    await kit.rows("UPDATE products SET price_cents = 9, status = 'D' WHERE tenant_id = $1")
    await update_order(kit.as_app(), order.id, {"lines": [{"product": product, "quantity": 2, "price_cents": 5}]})
    assert (await kit.record("orders", order.id))["total_cents"] == 2_000
    await update_order(kit.as_admin(), order.id, {"lines": [{"product": product, "quantity": 2, "price_cents": 5}]})
    assert (await kit.record("orders", order.id))["total_cents"] == 10


async def test_changing_methods_recalculates_an_unpaid_order(kit):
    dear = await kit.shipping(base_cents=5_000)
    payment = await kit.payment(surcharge_cents=10)
    order = await kit.order((await kit.product(), 1))
    await update_order(kit.as_admin(), order.id, {"shipping_method": dear, "payment_method": payment})
    record = await kit.record("orders", order.id)
    assert (record["shipping_cents"], record["surcharge_cents"], record["total_cents"]) == (5_000, 10, 6_010)
    assert (record["shipping_method_id"], record["payment_method_id"]) == (dear, payment)


async def test_changing_methods_of_a_paid_order_keeps_its_totals(kit):
    dear = await kit.shipping(base_cents=5_000)
    order = await kit.order((await kit.product(), 1), status="P")
    await update_order(kit.as_admin(), order.id, {"shipping_method": dear})
    record = await kit.record("orders", order.id)
    assert (record["shipping_method_id"], record["total_cents"]) == (dear, 1_000)


async def test_the_orders_current_method_stays_usable_when_disabled_or_deleted(kit):
    shipping = await kit.shipping(base_cents=100)
    product = await kit.product()
    order = await kit.order((product, 1), shipping_method=shipping)
    await SHIPPING_METHOD_RECORDS.update(kit.scope, shipping, {"status": "D"})
    await update_order(kit.as_admin(), order.id, {"lines": [{"product": product, "quantity": 2}]})
    await SHIPPING_METHOD_RECORDS.delete(kit.scope, shipping)
    await update_order(kit.as_admin(), order.id, {"lines": [{"product": product, "quantity": 3}]})
    assert (await kit.record("orders", order.id))["total_cents"] == 3_100


async def test_only_staff_sets_a_discount(kit):
    order = await kit.order((await kit.product(), 1))
    await update_order(kit.as_app(), order.id, {"discount_cents": 500})
    assert (await kit.record("orders", order.id))["total_cents"] == 1_000
    await update_order(kit.as_admin(), order.id, {"discount_cents": 500})
    assert (await kit.record("orders", order.id))["total_cents"] == 500


async def test_the_payment_status_follows_the_total(kit):
    order = await kit.order((await kit.product(), 1))
    await record_payment(kit.scope, order.id, 600)
    for discount, expected in ((100, "unpaid"), (400, "paid"), (0, "unpaid"), (1_000, "paid")):
        await update_order(kit.as_admin(), order.id, {"discount_cents": discount})
        assert (await kit.record("orders", order.id))["payment_status"] == expected, discount


async def test_shipped_lines_cannot_change(kit):
    product = await kit.product()
    order = await kit.order((product, 2))
    await create_shipment(kit.scope, order.id)
    with pytest.raises(RuleViolation) as error:
        await update_order(kit.as_admin(), order.id, {"lines": [{"product": product, "quantity": 3}]})
    assert error.value.reason == "order_not_editable"
    assert await kit.figures(product) == (10, 2)


@pytest.mark.parametrize("lines", [[], None])
async def test_an_order_needs_at_least_one_line(kit, lines):
    order = await kit.order((await kit.product(), 2))
    with pytest.raises(ValidationFailed) as error:
        await update_order(kit.as_admin(), order.id, {"lines": lines})
    assert error.value.fields == {"lines": "required"}


@pytest.mark.parametrize("referred", ["user", "payment_method", "shipping_method", "product"])
async def test_references_of_an_update_must_exist(kit, other_kit, referred):
    order = await kit.order((await kit.product(), 1))
    foreign = {
        "user": ("customer", "users"),
        "payment_method": ("payment", "payment_methods"),
        "shipping_method": ("shipping", "shipping_methods"),
        "product": ("product", "products"),
    }[referred]
    number = await getattr(other_kit, foreign[0])()
    for reference in (await other_kit.public_id(foreign[1], number), unknown(), 10**12):
        changes = {referred: reference}
        if referred == "product":
            changes = {"lines": [{"product": reference, "quantity": 1}]}
        with pytest.raises(ValidationFailed) as error:
            await update_order(kit.as_admin(), order.id, changes)
        assert error.value.fields == {referred: "not_found"}, reference


async def test_an_order_of_another_store_is_not_found(kit, other_kit):
    order = await kit.order((await kit.product(), 1))
    for reference in (order.id, order.public_id):
        with pytest.raises(NotFound):
            await update_order(other_kit.as_admin(), reference, {"notes": "x"})


# --- Vendors ---------------------------------------------------------------------------------------------------------------------


async def test_a_vendor_changes_only_orders_wholly_its_own(kit):
    one, other = await kit.vendor(), await kit.vendor()
    of_one, of_other = await kit.product(vendor=one), await kit.product(vendor=other)
    shared, own = await kit.order((of_one, 1), (of_other, 1)), await kit.order((of_one, 1))
    with pytest.raises(Forbidden):
        await update_order(kit.as_vendor(one), shared.id, {"notes": "x"})
    with pytest.raises(NotFound):
        await update_order(kit.as_vendor(other), own.id, {"notes": "x"})
    assert (await update_order(kit.as_vendor(one), own.id, {"tracking_code": "x"})).changed


async def test_a_vendor_sets_neither_price_nor_discount_nor_customer(kit):
    vendor = await kit.vendor()
    product = await kit.product(vendor=vendor, price_cents=1_000)
    order = await kit.order((product, 1))
    await update_order(
        kit.as_vendor(vendor),
        order.id,
        {
            "user": await kit.customer(),
            "email": "else@example.com",
            "discount_cents": 900,
            "lines": [{"product": product, "quantity": 2, "price_cents": 1}],
        },
    )
    record = await kit.record("orders", order.id)
    assert (record["total_cents"], record["user_id"], record["email"]) == (2_000, None, "guest@example.com")


async def test_a_vendor_cannot_add_other_vendors_products(kit):
    one, other = await kit.vendor(), await kit.vendor()
    order = await kit.order((await kit.product(vendor=one), 1))
    foreign = await kit.product(vendor=other)
    with pytest.raises(ValidationFailed):
        await update_order(kit.as_vendor(one), order.id, {"lines": [{"product": foreign, "quantity": 1}]})


async def _lines(kit, order):
    rows = await kit.rows(
        "SELECT * FROM order_lines WHERE tenant_id = $1 AND order_id = $2 ORDER BY position", order.id
    )
    return [dict(row) for row in rows]


async def test_a_line_named_by_its_id_stays_although_its_product_is_gone(kit):
    deleted, unknown_one, other = await kit.product(), await kit.product(), await kit.product()
    order = await kit.order((deleted, 2), (unknown_one, 1), (other, 1))
    await kit.rows("UPDATE products SET deleted_at = now() WHERE tenant_id = $1 AND id = $2 RETURNING id", deleted)
    await kit.rows(
        "UPDATE order_lines SET product_id = NULL WHERE tenant_id = $1 AND product_id = $2 RETURNING id", unknown_one
    )
    before = await _lines(kit, order)
    stay = [{"id": str(line["public_id"]), "quantity": line["quantity"]} for line in before[:2]]
    moved = await update_order(kit.as_admin(), order.id, {"lines": [*stay, {"product": other, "quantity": 3}]})
    after = await _lines(kit, order)
    assert moved.changed
    assert after[:2] == before[:2]
    assert (after[2]["quantity"], after[2]["public_id"]) == (3, before[2]["public_id"])
    assert await kit.figures(other) == (10, 3)
    assert await kit.figures(deleted) == (10, 2)
    unchanged = await update_order(kit.as_admin(), order.id, {"lines": [*stay, {"product": other, "quantity": 3}]})
    assert not unchanged.changed


async def test_a_staying_line_counts_in_the_stock_and_the_limits_of_its_product(kit):
    product = await kit.product(stock=3, max_quantity=3)
    order = await kit.order((product, 2))
    [line] = await _lines(kit, order)
    stay = {"id": str(line["public_id"]), "quantity": 2}
    await update_order(kit.as_admin(), order.id, {"lines": [stay, {"product": product, "quantity": 1}]})
    assert await kit.figures(product) == (3, 3)
    with pytest.raises(RuleViolation, match="sold up to 3 units"):
        await update_order(kit.as_admin(), order.id, {"lines": [stay, {"product": product, "quantity": 2}]})


@pytest.mark.parametrize(
    "change, message",
    [
        ({"quantity": 3}, "a line named by id stays as it is; name its product_id"),
        ({"price_cents": 1}, "a line named by id stays as it is; name its product_id"),
        ({"product": 1}, "expected id or product_id, not both"),
        ({"id": "00000000-0000-7000-8000-000000000000"}, "order line '00000000-0000-7000-8000-000000000000' not found"),
        ({"id": "x"}, "order line 'x' not found"),
    ],
)
async def test_a_line_named_by_its_id_changes_nothing(kit, change, message):
    order = await kit.order((await kit.product(), 2))
    [line] = await _lines(kit, order)
    entry = {"id": str(line["public_id"]), "quantity": 2} | change
    with pytest.raises(ValidationFailed) as error:
        await update_order(kit.as_admin(), order.id, {"lines": [entry]})
    assert error.value.message == message


async def test_a_line_is_named_once(kit):
    order = await kit.order((await kit.product(), 2))
    [line] = await _lines(kit, order)
    with pytest.raises(ValidationFailed):
        await update_order(kit.as_admin(), order.id, {"lines": [{"id": str(line["public_id"]), "quantity": 2}] * 2})


async def test_a_new_order_has_no_lines_to_name(kit):
    with pytest.raises(ValidationFailed, match="product_id is required"):
        parse_lines([{"id": "00000000-0000-7000-8000-000000000000", "quantity": 1}])


async def test_a_changed_address_is_priced_and_compared_by_few_reads(kit):
    order = await kit.order((await kit.product(), 1), addresses={"S": {"state": "PE", "city": "Recife"}})
    with database.count_statements() as counted:
        await update_order(kit.as_admin(), order.id, {"addresses": {"S": {"state": "SP", "city": "Santos"}}})
    assert counted.count <= 15, counted.statements
