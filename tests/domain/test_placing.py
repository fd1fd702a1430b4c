"""What an order becomes when it is placed, and what is refused before anything is written."""

from __future__ import annotations

from datetime import timedelta

import pytest

from domain.catalog.products import delete_product
from domain.orders.draft import Draft, DraftLine
from domain.orders.edit import update_order
from domain.orders.place import place_order
from domain.payments.methods import delete_payment_method, update_payment_method
from kernel.errors import Forbidden, RuleViolation, ValidationFailed
from kernel.money import MAX_CENTS
from kernel.scope import ActorKind
from models import database
from tests.domain.kit import unknown


async def nothing_was_written(shop):
    assert await shop.value("SELECT count(*) FROM orders WHERE tenant_id = $1") == 0
    assert "order.created" not in await shop.event_names()


async def test_an_order_holds_everything_it_was_asked_to(shop):
    product = await shop.product(name="Tênis", sku="T-1", price_cents=12_990, weight_grams=800)
    user = await shop.customer(
        firstname="Ana", lastname="Souza", email="ana@example.com", phone="11912345678"
    )
    shipping = await shop.shipping(base_cents=1_000, per_kg_cents=500, per_item_cents=100)
    payment = await shop.payment(surcharge_cents=50, surcharge_percent=250)

    placed = await place_order(
        shop.as_admin(),
        {
            "user": user,
            "lines": [{"product": product, "quantity": 2, "extra": {"gift": "yes"}}],
            "shipping_method": shipping,
            "payment_method": payment,
            "addresses": {"S": {"street": "Rua A", "zipcode": "01310-100", "city": "São Paulo"}},
            "notes": "Leave at the door",
            "details": "VIP",
            "discount_cents": 980,
            "fields": {"codigo_pedido_erp": "77"},
        },
    )

    order = await shop.record("orders", placed.id)
    assert order["public_id"] == placed.public_id
    assert (order["status"], order["stock_state"], order["origin"]) == ("O", "R", "admin")
    assert (order["email"], order["firstname"], order["phone"]) == ("ana@example.com", "Ana", "11912345678")
    # 10.00 + 5.00 × 1.6 kg + 1.00 × 2 items; 0.50 + 2.5 % of (259.80 - 9.80 + 20.00)
    assert (order["subtotal_cents"], order["discount_cents"], order["shipping_cents"]) == (25_980, 980, 2_000)
    assert order["surcharge_cents"] == 50 + 675
    assert order["total_cents"] == placed.total_cents == 25_980 - 980 + 2_000 + 725
    assert (order["notes"], order["details"], order["currency"]) == ("Leave at the door", "VIP", "BRL")
    assert order["hold_until"] is None
    [line] = await shop.lines(placed.id)
    assert (line["product_name"], line["product_code"], line["quantity"]) == ("Tênis", "T-1", 2)
    assert (line["price_cents"], line["base_price_cents"], line["weight_grams"]) == (12_990, 12_990, 800)
    addresses = await shop.rows(
        "SELECT * FROM order_addresses WHERE tenant_id = $1 AND order_id = $2", placed.id
    )
    assert {address["kind"] for address in addresses} == {"B", "S"}
    assert {(address["street"], address["zipcode"], address["country"]) for address in addresses} == {
        ("Rua A", "01310100", "BR")
    }
    assert await shop.history(placed.id) == [("", "O")]


async def test_the_event_tells_what_the_contract_says(shop):
    product = await shop.product(name="Mug", price_cents=2_000)
    user = await shop.customer(firstname="Ana", lastname="Souza", email="ana@example.com")
    placed = await shop.order((product, 3), user=user, email="")
    [event] = await shop.events(placed.public_id)
    assert event["name"] == "order.created"
    assert event["data"] == {
        "id": str(placed.public_id),
        "status": "O",
        "total_cents": 6_000,
        "currency": "BRL",
        "customer": {
            "id": str(await shop.public_id("users", user)),
            "name": "Ana Souza",
            "email": "ana@example.com",
        },
        "items": [
            {
                "product_id": str(await shop.public_id("products", product)),
                "name": "Mug",
                "quantity": 3,
                "price_cents": 2_000,
            }
        ],
        "created_at": shop.scope.now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "previous_status": None,
        "tracking_code": None,
    }


async def test_what_is_told_at_placing_is_what_is_told_later(shop):
    # The first event is built from what is at hand, later ones from the rows.
    placed = await shop.order(
        (await shop.product(), 2), (await shop.product(), 1), firstname="Rui", lastname="Lima"
    )
    await update_order(shop.scope, placed.id, {"notes": "x"})
    created, updated = await shop.events(placed.public_id)
    assert created["data"] == updated["data"]


async def test_the_number_of_statements_does_not_grow_with_the_lines(shop):
    products = [await shop.product() for _ in range(20)]
    await shop.delivery()
    counts = []
    for number in (1, 20):
        with database.counting() as counted:
            await shop.order(*((product, 1) for product in products[:number]))
        counts.append(counted.count)
    assert counts[0] == counts[1] <= 8


# --- Who may say what ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "caller, price",
    [("admin", 1), ("legacy", 1), ("system", 1), ("app", 1_000), ("storefront", 1_000), ("anonymous", 1_000)],
)
async def test_a_price_is_honoured_only_from_staff(shop, caller, price):
    product = await shop.product(price_cents=1_000)
    scope = {
        "admin": shop.as_admin(),
        "legacy": shop.as_admin(family="legacy"),
        "system": shop.scope,
        "app": shop.as_app(),
        "storefront": shop.as_storefront(),
        "anonymous": shop.as_actor(ActorKind.ANONYMOUS),
    }[caller]
    placed = await shop.order(
        {"product": product, "quantity": 1, "price_cents": 1}, scope=scope, discount_cents=1
    )
    # The discount is staff's to give, like the price.
    assert placed.total_cents == (0 if price == 1 else price)
    [line] = await shop.lines(placed.id)
    assert (line["price_cents"], line["base_price_cents"]) == (price, 1_000)


async def test_prices_that_a_cart_computed_are_trusted(shop):
    product = await shop.product(price_cents=1_000)
    draft = Draft(
        lines=[DraftLine(product, 2, price_cents=900)],
        email="a@example.com",
        shipping_method=await shop.delivery(),
        discount_cents=100,
        priced=True,
    )
    placed = await place_order(shop.as_storefront(), draft)
    assert placed.total_cents == 1_700


@pytest.mark.parametrize("caller, status", [("admin", "B"), ("app", "B"), ("storefront", "O")])
async def test_a_status_is_taken_from_staff_and_apps(shop, caller, status):
    scope = {"admin": shop.as_admin(), "app": shop.as_app(), "storefront": shop.as_storefront()}[caller]
    placed = await shop.order((await shop.product(), 1), scope=scope, status="B")
    assert placed.status == status


async def test_a_letter_that_is_none_is_refused(shop):
    with pytest.raises(ValidationFailed) as refusal:
        await shop.order((await shop.product(), 1), status="Z")
    assert refusal.value.fields == {"status": "status_invalid"}


async def test_a_vendor_places_no_orders(shop):
    vendor = await shop.vendor()
    with pytest.raises(Forbidden):
        await shop.order((await shop.product(vendor=vendor), 1), scope=shop.as_vendor(vendor))


async def test_a_customer_orders_in_its_own_name_only(shop):
    ana, rui = await shop.customer(), await shop.customer()
    product = await shop.product()
    assert (await shop.order((product, 1), user=ana, scope=shop.as_customer(ana))).id
    for given in ({"user": rui}, {}):
        with pytest.raises(Forbidden):
            await shop.order((product, 1), scope=shop.as_customer(ana), **given)


@pytest.mark.parametrize(
    "caller, origin", [("admin", "admin"), ("legacy", "legacy"), ("app", "app"), ("storefront", "storefront")]
)
async def test_the_order_remembers_its_door(shop, caller, origin):
    scope = {
        "admin": shop.as_admin(),
        "legacy": shop.as_admin(family="legacy"),
        "app": shop.as_app(),
        "storefront": shop.as_storefront(),
    }[caller]
    placed = await shop.order((await shop.product(), 1), scope=scope)
    assert (await shop.record("orders", placed.id))["origin"] == origin


# --- Payment and time ------------------------------------------------------------------------------------------------------------


async def test_a_method_that_settles_at_once_makes_a_paid_order(shop):
    payment = await shop.payment(settles_at_once=True, processor="cash")
    product = await shop.product(stock=3)
    placed = await shop.order((product, 1), payment_method=payment, scope=shop.as_storefront())
    order = await shop.record("orders", placed.id)
    assert (order["status"], order["payment_status"], order["paid_cents"]) == ("P", "paid", 1_000)
    assert order["hold_until"] is None
    [received] = await shop.rows("SELECT * FROM payments WHERE tenant_id = $1 AND order_id = $2", placed.id)
    assert (received["amount_cents"], received["kind"]) == (1_000, "cash")
    assert await shop.figures(product) == (2, 0)


async def test_a_status_given_wins_over_settling_at_once(shop):
    payment = await shop.payment(settles_at_once=True)
    placed = await shop.order((await shop.product(), 1), payment_method=payment, status="O")
    order = await shop.record("orders", placed.id)
    assert (order["status"], order["payment_status"], order["paid_cents"]) == ("O", "unpaid", 0)


@pytest.mark.parametrize("minutes, held", [(30, 30), (0, None)])
async def test_a_checkout_holds_its_stock_as_long_as_the_method_says(shop, minutes, held):
    payment = await shop.payment(hold_minutes=minutes)
    placed = await shop.order((await shop.product(), 1), payment_method=payment, scope=shop.as_storefront())
    expected = shop.scope.now + timedelta(minutes=held) if held else None
    assert (await shop.record("orders", placed.id))["hold_until"] == expected


@pytest.mark.parametrize("caller", ["as_admin", "as_app"])
async def test_orders_made_by_staff_and_apps_do_not_expire(shop, caller):
    payment = await shop.payment(hold_minutes=1)
    placed = await shop.order(
        (await shop.product(), 1), payment_method=payment, scope=getattr(shop, caller)()
    )
    assert (await shop.record("orders", placed.id))["hold_until"] is None


# --- Vendors -----------------------------------------------------------------------------------------------------------------------


async def test_an_order_is_a_vendors_when_all_lines_are(shop):
    one, other = await shop.vendor(), await shop.vendor()
    of_one, also, of_other = [await shop.product(vendor=vendor) for vendor in (one, one, other)]
    assert (await shop.record("orders", (await shop.order((of_one, 1), (also, 1))).id))["vendor_id"] == one
    mixed = await shop.order((of_one, 1), (of_other, 1))
    assert (await shop.record("orders", mixed.id))["vendor_id"] is None
    assert [line["vendor_id"] for line in await shop.lines(mixed.id)] == [one, other]


# --- Refusals ----------------------------------------------------------------------------------------------------------------------


async def test_without_a_buyer_or_lines_nothing_is_placed(shop):
    product = await shop.product()
    with pytest.raises(ValidationFailed, match="customer_id or customer_email is required"):
        await place_order(shop.scope, {"lines": [{"product": product, "quantity": 1}]})
    for lines in ([], None):
        with pytest.raises(ValidationFailed) as refusal:
            await place_order(shop.scope, {"email": "a@example.com", "lines": lines})
        assert refusal.value.fields == {"lines": "required"}
    with pytest.raises(ValidationFailed) as refusal:
        await shop.order((product, 1), email="not an address")
    assert refusal.value.fields == {"email": "email_invalid"}
    await nothing_was_written(shop)


@pytest.mark.parametrize("quantity", [0, -1, True, 1.5, "2", None, 10**10])
async def test_a_quantity_is_a_whole_number_of_at_least_one(shop, quantity):
    with pytest.raises(ValidationFailed) as refusal:
        await shop.order((await shop.product(), quantity))
    assert set(refusal.value.fields) == {"quantity"}


@pytest.mark.parametrize("referred", ["product", "user", "payment_method", "shipping_method"])
@pytest.mark.parametrize("kind", ["unknown", "deleted", "another store's"])
async def test_what_an_order_refers_to_must_be_there(shop, other_shop, referred, kind):
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
        owner = shop if kind == "deleted" else other_shop
        number = await getattr(owner, makers[referred])()
        reference = await owner.public_id(tables[referred], number)
        if kind == "deleted":
            await shop.rows(f"UPDATE {tables[referred]} SET deleted_at = now() WHERE tenant_id = $1")
    good = await shop.product()
    lines = [(reference if referred == "product" else good, 1)]
    given = {} if referred == "product" else {referred: reference}

    with pytest.raises(ValidationFailed) as refusal:
        await shop.order(*lines, **given)

    assert refusal.value.fields == {referred: "not_found"}
    assert str(reference) in refusal.value.message
    await nothing_was_written(shop)


@pytest.mark.parametrize("status", ["D", "H", "P"])
async def test_products_that_are_not_active_are_not_sold(shop, status):
    good, off = await shop.product(), await shop.product(name="Off", status=status)
    with pytest.raises(RuleViolation) as refusal:
        await shop.order((good, 1), (off, 1))
    assert refusal.value.reason == "product_unavailable"
    assert [product["name"] for product in refusal.value.details["products"]] == ["Off"]
    await nothing_was_written(shop)


async def test_products_of_a_vendor_that_is_not_active_are_not_sold(shop):
    vendor = await shop.vendor(status="D")
    with pytest.raises(RuleViolation) as refusal:
        await shop.order((await shop.product(vendor=vendor), 1))
    assert refusal.value.reason == "product_unavailable"


async def test_a_deleted_product_is_not_sold(shop):
    product = await shop.product()
    await delete_product(shop.scope, product)
    with pytest.raises(ValidationFailed):
        await shop.order((product, 1))


async def test_quantities_have_bounds_over_all_lines(shop):
    product = await shop.product(min_quantity=2, max_quantity=4, stock=100)
    with pytest.raises(RuleViolation) as refusal:
        await shop.order((product, 1))
    assert refusal.value.reason == "quantity_too_small"
    with pytest.raises(RuleViolation) as refusal:
        await shop.order((product, 3), (product, 2))
    assert refusal.value.reason == "quantity_too_large"
    assert (await shop.order((product, 2), (product, 2))).id


async def test_a_payment_method_that_is_off_is_refused(shop):
    payment = await shop.payment()
    await update_payment_method(shop.scope, payment, {"status": "D"})
    with pytest.raises(RuleViolation) as refusal:
        await shop.order((await shop.product(), 1), payment_method=payment)
    assert refusal.value.reason == "payment_unavailable"
    await delete_payment_method(shop.scope, payment)
    with pytest.raises(ValidationFailed):
        await shop.order((await shop.product(), 1), payment_method=payment)


async def test_physical_goods_need_a_shipping_method(shop):
    product = await shop.product()
    with pytest.raises(RuleViolation) as refusal:
        await shop.order((product, 1), shipping_method=None)
    assert refusal.value.reason == "shipping_required"
    with pytest.raises(ValidationFailed) as legacy:
        await shop.order((product, 1), shipping_method=None, scope=shop.as_admin(family="legacy"))
    assert (
        legacy.value.message
        == "shipping_service_unavailable: a shipping method is required for physical products"
    )
    download = await shop.product(is_edp=True)
    assert (await shop.order((download, 1), shipping_method=None)).id


@pytest.mark.parametrize(
    "given, weight",
    [({"status": "D"}, 100), ({"max_weight_grams": 1_000}, 600), ({"min_weight_grams": 2_000}, 600)],
)
async def test_a_shipping_method_must_take_the_parcel(shop, given, weight):
    shipping = await shop.shipping(**given)
    product = await shop.product(weight_grams=weight)
    with pytest.raises(RuleViolation) as refusal:
        await shop.order((product, 2), shipping_method=shipping)
    assert refusal.value.reason == "shipping_unavailable"


async def test_a_total_that_no_column_holds_is_refused(shop):
    product = await shop.product(price_cents=MAX_CENTS, stock=10)
    with pytest.raises(ValidationFailed) as refusal:
        await shop.order((product, 2))
    assert refusal.value.fields == {"total_cents": "total_too_large"}
    await nothing_was_written(shop)


async def test_a_discount_above_the_subtotal_is_refused(shop):
    with pytest.raises(ValidationFailed) as refusal:
        await shop.order((await shop.product(), 1), discount_cents=1_001)
    assert refusal.value.fields == {"discount_cents": "discount_invalid"}


async def test_too_many_lines_are_refused(shop):
    product = await shop.product()
    with pytest.raises(ValidationFailed) as refusal:
        await shop.order(*[(product, 1)] * 1_001)
    assert refusal.value.fields == {"lines": "too_many"}


async def test_an_order_placed_quietly_tells_nobody(shop):
    product = await shop.product()
    await place_order(
        shop.scope,
        {
            "email": "a@example.com",
            "lines": [{"product": product, "quantity": 1}],
            "shipping_method": await shop.delivery(),
        },
        told=False,
    )
    assert "order.created" not in await shop.event_names()


async def test_only_the_system_places_orders_in_the_past(shop):
    product = await shop.product()
    then = shop.scope.now - timedelta(days=30)
    old = await shop.order((product, 1), created_at=then)
    new = await shop.order((product, 1), created_at=then, scope=shop.as_admin())
    assert (old.created_at, new.created_at) == (then, shop.scope.now)
