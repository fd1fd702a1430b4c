"""Placing orders: what is stored, and what is rejected before anything is written."""

from __future__ import annotations

from datetime import timedelta

import pytest

from domain.catalog.products import delete_product
from domain.payments.methods import PAYMENT_METHOD_RECORDS
from domain.purchase.draft import DraftLine, OrderDraft
from domain.purchase.edit import update_order
from domain.purchase.placement import place_order
from kernel.errors import Forbidden, RuleViolation, ValidationFailed
from kernel.money import MAX_CENTS
from kernel.scope import ActorKind
from models.connection import database
from tests.harness.domain_store import unknown


async def nothing_was_written(kit):
    assert await kit.value("SELECT count(*) FROM orders WHERE tenant_id = $1") == 0
    assert "order.created" not in await kit.event_names()


async def test_a_placed_order_stores_its_input(kit):
    product = await kit.product(name="Tênis", sku="T-1", price_cents=12_990, weight_grams=800)
    user = await kit.customer(firstname="Ana", lastname="Souza", email="ana@example.com", phone="11912345678")
    shipping = await kit.shipping(base_cents=1_000, per_kg_cents=500, per_item_cents=100)
    payment = await kit.payment(surcharge_cents=50, surcharge_percent=250)

    placed = await place_order(
        kit.as_admin(),
        {
            "user": user,
            "lines": [{"product": product, "quantity": 2, "extra": {"gift": "yes"}}],
            "shipping_method": shipping,
            "payment_method": payment,
            "addresses": {"S": {"street": "Rua A", "zipcode": "01310-100", "city": "São Paulo"}},
            "notes": "Leave at reception",
            "details": "VIP",
            "discount_cents": 980,
            "fields": {"codigo_pedido_erp": "77"},
        },
    )

    order = await kit.record("orders", placed.id)
    assert order["public_id"] == placed.public_id
    assert (order["status"], order["stock_state"], order["origin"]) == ("O", "R", "admin")
    assert (order["email"], order["firstname"], order["phone"]) == ("ana@example.com", "Ana", "11912345678")
    # 10.00 + 5.00 × 1.6 kg + 1.00 × 2 items; 0.50 + 2.5 % of (259.80 - 9.80 + 20.00)
    assert (order["subtotal_cents"], order["discount_cents"], order["shipping_cents"]) == (25_980, 980, 2_000)
    assert order["surcharge_cents"] == 50 + 675
    assert order["total_cents"] == placed.total_cents == 25_980 - 980 + 2_000 + 725
    assert (order["notes"], order["details"], order["currency"]) == ("Leave at reception", "VIP", "BRL")
    assert order["hold_until"] is None
    [line] = await kit.lines(placed.id)
    assert (line["product_name"], line["product_code"], line["quantity"]) == ("Tênis", "T-1", 2)
    assert (line["price_cents"], line["base_price_cents"], line["weight_grams"]) == (12_990, 12_990, 800)
    addresses = await kit.rows("SELECT * FROM order_addresses WHERE tenant_id = $1 AND order_id = $2", placed.id)
    assert {address["kind"] for address in addresses} == {"B", "S"}
    assert {(address["street"], address["zipcode"], address["country"]) for address in addresses} == {
        ("Rua A", "01310100", "BR")
    }
    assert await kit.history(placed.id) == [("", "O")]


async def test_the_event_data_match_the_reference(kit):
    product = await kit.product(name="Mug", price_cents=2_000)
    user = await kit.customer(firstname="Ana", lastname="Souza", email="ana@example.com")
    placed = await kit.order((product, 3), user=user, email="")
    [event] = await kit.events(placed.public_id)
    assert event["name"] == "order.created"
    assert event["data"] == {
        "id": str(placed.public_id),
        "status": "O",
        "total_cents": 6_000,
        "currency": "BRL",
        "customer": {
            "id": str(await kit.public_id("users", user)),
            "name": "Ana Souza",
            "email": "ana@example.com",
        },
        "items": [
            {
                "product_id": str(await kit.public_id("products", product)),
                "name": "Mug",
                "quantity": 3,
                "price_cents": 2_000,
            }
        ],
        "created_at": kit.scope.now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "previous_status": None,
        "tracking_code": None,
        "fiscal_data": dict.fromkeys(
            ("chave_nota", "chave_nota_valid", "nota_fiscal", "codigo_pedido_erp", "link_nota", "pdf_nota")
        ),
    }


async def test_event_data_are_the_same_at_placement_and_later(kit):
    # The first event is built from memory, later ones from the rows.
    placed = await kit.order((await kit.product(), 2), (await kit.product(), 1), firstname="Rui", lastname="Lima")
    await update_order(kit.scope, placed.id, {"notes": "x"})
    created, updated = await kit.events(placed.public_id)
    assert created["data"] == updated["data"]


async def test_the_number_of_statements_does_not_grow_with_the_lines(kit):
    products = [await kit.product() for _ in range(20)]
    await kit.delivery()
    counts = []
    for number in (1, 1, 20):
        with database.count_statements() as counted:
            await kit.order(*((product, 1) for product in products[:number]))
        counts.append(counted.count)
    # The first one reads the terms of the price.
    assert counts[0] - 1 == counts[1] == counts[2] <= 7


# --- Permissions --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "caller, price",
    [("admin", 1), ("legacy", 1), ("system", 1), ("app", 1_000), ("storefront", 1_000), ("anonymous", 1_000)],
)
async def test_an_explicit_price_is_honoured_only_from_staff(kit, caller, price):
    product = await kit.product(price_cents=1_000)
    scope = {
        "admin": kit.as_admin(),
        "legacy": kit.as_admin(family="legacy"),
        "system": kit.scope,
        "app": kit.as_app(),
        "storefront": kit.as_storefront(),
        "anonymous": kit.as_actor(ActorKind.ANONYMOUS),
    }[caller]
    placed = await kit.order({"product": product, "quantity": 1, "price_cents": 1}, scope=scope, discount_cents=1)
    # Only staff sets the discount, like the price.
    assert placed.total_cents == (0 if price == 1 else price)
    [line] = await kit.lines(placed.id)
    assert (line["price_cents"], line["base_price_cents"]) == (price, 1_000)


async def test_prices_calculated_by_a_cart_are_trusted(kit):
    product = await kit.product(price_cents=1_000)
    draft = OrderDraft(
        lines=[DraftLine(product, 2, price_cents=900)],
        email="a@example.com",
        shipping_method=await kit.delivery(),
        discount_cents=100,
        priced=True,
    )
    placed = await place_order(kit.as_storefront(), draft)
    assert placed.total_cents == 1_700


@pytest.mark.parametrize("caller, status", [("admin", "B"), ("app", "B"), ("storefront", "O")])
async def test_a_status_is_honoured_from_staff_and_apps(kit, caller, status):
    scope = {"admin": kit.as_admin(), "app": kit.as_app(), "storefront": kit.as_storefront()}[caller]
    placed = await kit.order((await kit.product(), 1), scope=scope, status="B")
    assert placed.status == status


async def test_an_unknown_status_is_rejected(kit):
    with pytest.raises(ValidationFailed) as error:
        await kit.order((await kit.product(), 1), status="Z")
    assert error.value.fields == {"status": "status_invalid"}


async def test_a_vendor_cannot_place_orders(kit):
    vendor = await kit.vendor()
    with pytest.raises(Forbidden):
        await kit.order((await kit.product(vendor=vendor), 1), scope=kit.as_vendor(vendor))


async def test_a_customer_orders_only_for_its_own_account(kit):
    ana, rui = await kit.customer(), await kit.customer()
    product = await kit.product()
    assert (await kit.order((product, 1), user=ana, scope=kit.as_customer(ana))).id
    for values in ({"user": rui}, {}):
        with pytest.raises(Forbidden):
            await kit.order((product, 1), scope=kit.as_customer(ana), **values)


@pytest.mark.parametrize(
    "caller, origin", [("admin", "admin"), ("legacy", "legacy"), ("app", "app"), ("storefront", "storefront")]
)
async def test_the_order_stores_its_origin(kit, caller, origin):
    scope = {
        "admin": kit.as_admin(),
        "legacy": kit.as_admin(family="legacy"),
        "app": kit.as_app(),
        "storefront": kit.as_storefront(),
    }[caller]
    placed = await kit.order((await kit.product(), 1), scope=scope)
    assert (await kit.record("orders", placed.id))["origin"] == origin


# --- Payment and time ------------------------------------------------------------------------------------------------------------


async def test_a_method_that_settles_at_once_makes_a_paid_order(kit):
    payment = await kit.payment(settles_at_once=True, processor="cash")
    product = await kit.product(stock=3)
    placed = await kit.order((product, 1), payment_method=payment, scope=kit.as_storefront())
    order = await kit.record("orders", placed.id)
    assert (order["status"], order["payment_status"], order["paid_cents"]) == ("P", "paid", 1_000)
    assert order["hold_until"] is None
    [received] = await kit.rows("SELECT * FROM payments WHERE tenant_id = $1 AND order_id = $2", placed.id)
    assert (received["amount_cents"], received["kind"]) == (1_000, "cash")
    assert await kit.figures(product) == (2, 0)


async def test_an_explicit_status_overrides_settling_at_once(kit):
    payment = await kit.payment(settles_at_once=True)
    placed = await kit.order((await kit.product(), 1), payment_method=payment, status="O")
    order = await kit.record("orders", placed.id)
    assert (order["status"], order["payment_status"], order["paid_cents"]) == ("O", "unpaid", 0)


@pytest.mark.parametrize("minutes, expected_minutes", [(30, 30), (0, None)])
async def test_a_checkouts_reservation_expires_as_the_payment_method_says(kit, minutes, expected_minutes):
    payment = await kit.payment(hold_minutes=minutes)
    placed = await kit.order((await kit.product(), 1), payment_method=payment, scope=kit.as_storefront())
    expected = kit.scope.now + timedelta(minutes=expected_minutes) if expected_minutes else None
    assert (await kit.record("orders", placed.id))["hold_until"] == expected


@pytest.mark.parametrize("caller", ["as_admin", "as_app"])
async def test_orders_of_staff_and_apps_do_not_expire(kit, caller):
    payment = await kit.payment(hold_minutes=1)
    placed = await kit.order((await kit.product(), 1), payment_method=payment, scope=getattr(kit, caller)())
    assert (await kit.record("orders", placed.id))["hold_until"] is None


# --- Vendors -----------------------------------------------------------------------------------------------------------------------


async def test_an_order_belongs_to_a_vendor_when_all_lines_do(kit):
    one, other = await kit.vendor(), await kit.vendor()
    of_one, also, of_other = [await kit.product(vendor=vendor) for vendor in (one, one, other)]
    assert (await kit.record("orders", (await kit.order((of_one, 1), (also, 1))).id))["vendor_id"] == one
    mixed = await kit.order((of_one, 1), (of_other, 1))
    assert (await kit.record("orders", mixed.id))["vendor_id"] is None
    assert [line["vendor_id"] for line in await kit.lines(mixed.id)] == [one, other]


# --- Errors ------------------------------------------------------------------------------------------------------------------------


async def test_an_order_needs_a_customer_and_lines(kit):
    product = await kit.product()
    with pytest.raises(ValidationFailed, match="customer_id or customer_email is required"):
        await place_order(kit.scope, {"lines": [{"product": product, "quantity": 1}]})
    for lines in ([], None):
        with pytest.raises(ValidationFailed) as error:
            await place_order(kit.scope, {"email": "a@example.com", "lines": lines})
        assert error.value.fields == {"lines": "required"}, lines
    with pytest.raises(ValidationFailed) as error:
        await kit.order((product, 1), email="not an address")
    assert error.value.fields == {"email": "email_invalid"}
    await nothing_was_written(kit)


@pytest.mark.parametrize("quantity", [0, -1, True, 1.5, "2", None, 10**10])
async def test_a_quantity_is_a_whole_number_of_at_least_one(kit, quantity):
    with pytest.raises(ValidationFailed) as error:
        await kit.order((await kit.product(), quantity))
    assert set(error.value.fields) == {"quantity"}


@pytest.mark.parametrize("referred", ["product", "user", "payment_method", "shipping_method"])
@pytest.mark.parametrize("kind", ["unknown", "deleted", "another store's"])
async def test_references_of_an_order_must_exist(kit, other_kit, referred, kind):
    makers = {
        "product": "product",
        "user": "customer",
        "payment_method": "payment",
        "shipping_method": "shipping",
    }
    tables = {
        "product": "products",
        "user": "users",
        "payment_method": "payment_methods",
        "shipping_method": "shipping_methods",
    }
    if kind == "unknown":
        reference = unknown()
    else:
        owner = kit if kind == "deleted" else other_kit
        number = await getattr(owner, makers[referred])()
        reference = await owner.public_id(tables[referred], number)
        if kind == "deleted":
            await kit.rows(f"UPDATE {tables[referred]} SET deleted_at = now() WHERE tenant_id = $1")
    good = await kit.product()
    lines = [(reference if referred == "product" else good, 1)]
    values = {} if referred == "product" else {referred: reference}

    with pytest.raises(ValidationFailed) as error:
        await kit.order(*lines, **values)

    assert error.value.fields == {referred: "not_found"}
    assert str(reference) in error.value.message
    await nothing_was_written(kit)


@pytest.mark.parametrize("status", ["D", "P"])
async def test_inactive_products_are_not_sold(kit, status):
    good, off = await kit.product(), await kit.product(name="Off", status=status)
    with pytest.raises(RuleViolation) as error:
        await kit.order((good, 1), (off, 1))
    assert error.value.reason == "product_unavailable"
    assert [product["name"] for product in error.value.details["products"]] == ["Off"]
    await nothing_was_written(kit)


async def test_products_of_an_inactive_vendor_are_not_sold(kit):
    vendor = await kit.vendor(status="D")
    with pytest.raises(RuleViolation) as error:
        await kit.order((await kit.product(vendor=vendor), 1))
    assert error.value.reason == "product_unavailable"


async def test_a_deleted_product_is_not_sold(kit):
    product = await kit.product()
    await delete_product(kit.scope, product)
    with pytest.raises(ValidationFailed):
        await kit.order((product, 1))


async def test_quantity_limits_apply_to_the_sum_of_lines(kit):
    product = await kit.product(min_quantity=2, max_quantity=4, stock=100)
    with pytest.raises(RuleViolation) as error:
        await kit.order((product, 1))
    assert error.value.reason == "quantity_too_small"
    with pytest.raises(RuleViolation) as error:
        await kit.order((product, 3), (product, 2))
    assert error.value.reason == "quantity_too_large"
    assert (await kit.order((product, 2), (product, 2))).id


async def test_a_disabled_payment_method_is_rejected(kit):
    payment = await kit.payment()
    await PAYMENT_METHOD_RECORDS.update(kit.scope, payment, {"status": "D"})
    with pytest.raises(RuleViolation) as error:
        await kit.order((await kit.product(), 1), payment_method=payment)
    assert error.value.reason == "payment_unavailable"
    await PAYMENT_METHOD_RECORDS.delete(kit.scope, payment)
    with pytest.raises(ValidationFailed):
        await kit.order((await kit.product(), 1), payment_method=payment)


async def test_physical_products_need_a_shipping_method(kit):
    product = await kit.product()
    with pytest.raises(RuleViolation) as error:
        await kit.order((product, 1), shipping_method=None)
    assert error.value.reason == "shipping_required"
    with pytest.raises(ValidationFailed) as legacy:
        await kit.order((product, 1), shipping_method=None, scope=kit.as_admin(family="legacy"))
    assert legacy.value.message == "shipping_service_unavailable: a shipping method is required for physical products"
    download = await kit.product(is_edp=True)
    assert (await kit.order((download, 1), shipping_method=None)).id


@pytest.mark.parametrize(
    "values, weight",
    [({"status": "D"}, 100), ({"max_weight_grams": 1_000}, 600), ({"min_weight_grams": 2_000}, 600)],
)
async def test_a_shipping_method_enforces_its_weight_limits(kit, values, weight):
    shipping = await kit.shipping(**values)
    product = await kit.product(weight_grams=weight)
    with pytest.raises(RuleViolation) as error:
        await kit.order((product, 2), shipping_method=shipping)
    assert error.value.reason == "shipping_unavailable"


async def test_a_total_above_the_column_range_is_rejected(kit):
    product = await kit.product(price_cents=MAX_CENTS, stock=10)
    with pytest.raises(ValidationFailed) as error:
        await kit.order((product, 2))
    assert error.value.fields == {"total_cents": "total_too_large"}
    await nothing_was_written(kit)


async def test_a_discount_above_the_subtotal_is_rejected(kit):
    with pytest.raises(ValidationFailed) as error:
        await kit.order((await kit.product(), 1), discount_cents=1_001)
    assert error.value.fields == {"discount_cents": "discount_invalid"}


async def test_too_many_lines_are_rejected(kit):
    product = await kit.product()
    with pytest.raises(ValidationFailed) as error:
        await kit.order(*[(product, 1)] * 1_001)
    assert error.value.fields == {"lines": "too_many"}


async def test_only_the_system_sets_the_creation_time(kit):
    product = await kit.product()
    then = kit.scope.now - timedelta(days=30)
    old = await kit.order((product, 1), created_at=then)
    new = await kit.order((product, 1), created_at=then, scope=kit.as_admin())
    assert (old.created_at, new.created_at) == (then, kit.scope.now)
