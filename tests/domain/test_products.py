"""What a product becomes, what is refused with which code, and who may write what."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from domain.catalog.categories import create_category, delete_category
from domain.catalog.features import create_feature
from domain.catalog.products import create_product, delete_product, delete_products, update_product
from domain.orders.lifecycle import move
from kernel.errors import NotFound, ValidationFailed
from kernel.money import MAX_CENTS
from models import database
from tests.domain.kit import unknown


def with_settings(shop, **settings):
    return replace(shop.scope, store=replace(shop.scope.store, settings=settings))


async def places(shop, product):
    found = await shop.rows(
        "SELECT category_id FROM product_categories WHERE tenant_id = $1 AND product_id = $2 ORDER BY position, id",
        product,
    )
    return [row["category_id"] for row in found]


async def images(shop, product):
    found = await shop.rows(
        "SELECT url, alt, position FROM product_images WHERE tenant_id = $1 AND product_id = $2 ORDER BY position",
        product,
    )
    return [(row["url"], row["alt"], row["position"]) for row in found]


async def category(shop, name="Category", **given):
    return await create_category(shop.scope, {"name": name, **given})


# --- Making ----------------------------------------------------------------------------------------------------------------------


async def test_a_product_holds_what_it_was_given(shop):
    vendor, shoes = await shop.vendor(), await category(shop)
    product = await create_product(
        shop.as_admin(),
        {
            "name": "Te\u0301nis  ",
            "sku": " T-1 ",
            "price_cents": 12_990,
            "compare_at_cents": 15_000,
            "description": "<p>x</p>",
            "short_description": "x",
            "status": "active",
            "stock": 7,
            "weight_grams": 800,
            "is_edp": False,
            "free_shipping": "Y",
            "min_quantity": 1,
            "max_quantity": 3,
            "vendor": vendor,
            "category": shoes,
        },
    )
    record = await shop.record("products", product)
    # Composed (NFC) and trimmed.
    assert (record["name"], record["sku"], record["slug"]) == ("Ténis", "T-1", "tenis")
    assert (record["price_cents"], record["compare_at_cents"], record["status"]) == (12_990, 15_000, "A")
    assert (record["on_hand"], record["reserved"], record["stock"]) == (7, 0, 7)
    assert (record["vendor_id"], record["category_id"], record["free_shipping"]) == (vendor, shoes, True)
    assert await places(shop, product) == [shoes]


async def test_only_a_name_and_a_price_are_needed(shop):
    product = await create_product(shop.as_admin(), {"name": "Mug", "price_cents": 0})
    record = await shop.record("products", product)
    assert (record["status"], record["stock"], record["tracking"], record["vendor_id"]) == ("A", 0, "B", None)


async def test_the_event_holds_the_record_of_the_product(shop):
    shoes = await category(shop, "Shoes")
    product = await create_product(
        shop.as_admin(),
        {
            "name": "Boot",
            "price_cents": 5,
            "category": shoes,
            "images": [{"url": "https://example.com/1.png", "alt": "one"}, {"url": "/2.png"}],
        },
    )
    public_id = await shop.public_id("products", product)
    [event] = await shop.events(public_id)
    moment = shop.scope.now.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert event["name"] == "product.created"
    assert event["data"] == {
        "id": str(public_id),
        "name": "Boot",
        "sku": "",
        "slug": "boot",
        "description": "",
        "short_description": "",
        "status": "A",
        "price_cents": 5,
        "compare_at_cents": None,
        "currency": "BRL",
        "stock": 0,
        "category_id": str(await shop.public_id("categories", shoes)),
        "category": {"id": str(await shop.public_id("categories", shoes)), "name": "Shoes"},
        "images": [{"url": "https://example.com/1.png", "alt": "one"}, {"url": "/2.png", "alt": ""}],
        "created_at": moment,
        "updated_at": moment,
    }


@pytest.mark.parametrize(
    "given, fields",
    [
        ({}, {"name": "name_required", "price_cents": "required"}),
        ({"name": "  "}, {"name": "name_required"}),
        ({"name": None}, {"name": "name_required"}),
        ({"name": "x" * 256}, {"name": "name_invalid"}),
        ({"name": "a\x00b"}, {"name": "name_invalid"}),
        ({"price_cents": -1}, {"price_cents": "price_invalid"}),
        ({"price_cents": "10"}, {"price_cents": "price_invalid"}),
        ({"price_cents": 1.5}, {"price_cents": "price_invalid"}),
        ({"price_cents": True}, {"price_cents": "price_invalid"}),
        ({"price_cents": MAX_CENTS + 1}, {"price_cents": "price_invalid"}),
        ({"price_cents": None}, {"price_cents": "required"}),
        ({"compare_at_cents": -1}, {"compare_at_cents": "price_invalid"}),
        ({"status": "X"}, {"status": "status_invalid"}),
        ({"stock": -1}, {"stock": "stock_invalid"}),
        ({"tracking": "Z"}, {"tracking": "tracking_invalid"}),
        ({"min_quantity": -1}, {"min_quantity": "quantity_invalid"}),
        ({"images": [{"url": "javascript:alert(1)"}]}, {"images.url": "url_invalid"}),
        ({"images": [{"alt": "x"}]}, {"images.url": "required"}),
        ({"images": "x"}, {"images": "invalid"}),
        ({"category": 10**12}, {"category": "not_found"}),
        ({"categories": [10**12]}, {"category": "not_found"}),
        ({"vendor": 10**12}, {"vendor": "not_found"}),
        ({"features": [{"feature": 10**12, "value": "x"}]}, {"features": "not_found"}),
        (
            {"name": "", "price_cents": -1, "status": "?"},
            {"name": "name_required", "price_cents": "price_invalid", "status": "status_invalid"},
        ),
    ],
)
async def test_every_wrong_field_is_named_with_its_code(shop, given, fields):
    good = {} if not given else {"name": "Mug", "price_cents": 10}
    with pytest.raises(ValidationFailed) as refusal:
        await create_product(shop.as_admin(), {**good, **given})
    assert refusal.value.fields == fields
    assert await shop.value("SELECT count(*) FROM products WHERE tenant_id = $1") == 0


async def test_a_category_is_needed_where_the_store_says_so(shop):
    scope = with_settings(shop, products_require_category=True)
    with pytest.raises(ValidationFailed) as refusal:
        await create_product(scope, {"name": "Mug", "price_cents": 1})
    assert refusal.value.fields == {"category": "category_required"}
    product = await create_product(scope, {"name": "Mug", "price_cents": 1, "category": await category(shop)})
    await update_product(scope, product, {"name": "Cup"})
    for given in ({"category": None}, {"categories": []}):
        with pytest.raises(ValidationFailed):
            await update_product(scope, product, given)


async def test_what_a_product_refers_to_must_be_in_the_store(shop, other_shop):
    foreign = {
        "category": await other_shop.public_id("categories", await category(other_shop)),
        "vendor": await other_shop.public_id("vendors", await other_shop.vendor()),
    }
    for name, reference in foreign.items():
        with pytest.raises(ValidationFailed) as refusal:
            await create_product(shop.as_admin(), {"name": "Mug", "price_cents": 1, name: reference})
        assert refusal.value.fields == {name: "not_found"}


# --- Addresses and SKUs ------------------------------------------------------------------------------------------------------------


async def slug_of(shop, product):
    return (await shop.record("products", product))["slug"]


async def test_addresses_are_unique_with_numbers_behind(shop):
    slugs = [await slug_of(shop, await shop.product(name="Azul Ção")) for _ in range(3)]
    assert slugs == ["azul-cao", "azul-cao-2", "azul-cao-3"]
    assert await slug_of(shop, await shop.product(name="Other", slug="azul-cao")) == "azul-cao-4"
    assert await slug_of(shop, await shop.product(name="日本")) == "product"


async def test_names_that_everybody_uses_still_find_an_address(shop):
    slugs = [await slug_of(shop, await shop.product(name="Mug")) for _ in range(14)]
    assert len(set(slugs)) == 14
    assert all(slug.startswith("mug") for slug in slugs)


async def test_products_made_at_once_with_one_name_all_find_an_address(shop):
    made = await asyncio.gather(*(shop.product(name="Same") for _ in range(15)))
    assert len({await slug_of(shop, product) for product in made}) == 15


async def test_an_address_of_a_deleted_product_is_free_again(shop):
    first = await shop.product(name="Mug", sku="M")
    await delete_product(shop.scope, first)
    second = await shop.product(name="Mug", sku="M")
    assert await slug_of(shop, second) == "mug"


async def test_a_product_keeps_its_address_until_another_is_given(shop):
    product = await shop.product(name="Mug")
    await update_product(shop.scope, product, {"name": "Cup"})
    assert await slug_of(shop, product) == "mug"
    await update_product(shop.scope, product, {"slug": "Big Cup!"})
    assert await slug_of(shop, product) == "big-cup"
    await update_product(shop.scope, product, {"slug": "big-cup"})
    assert await slug_of(shop, product) == "big-cup"
    other = await shop.product(name="Plate")
    await update_product(shop.scope, other, {"slug": "big-cup"})
    assert await slug_of(shop, other) == "big-cup-2"


async def test_a_sku_is_unique_within_a_vendor(shop):
    one, other = await shop.vendor(), await shop.vendor()
    first = await shop.product(sku="A", vendor=one)
    await shop.product(sku="A", vendor=other)
    await shop.product(sku="A")
    with pytest.raises(ValidationFailed) as refusal:
        await shop.product(sku="A", vendor=one)
    assert refusal.value.fields == {"sku": "sku_taken"}
    second = await shop.product(sku="B", vendor=one)
    with pytest.raises(ValidationFailed):
        await update_product(shop.scope, second, {"sku": "A"})
    await update_product(shop.scope, first, {"sku": "A", "name": "same SKU as before"})
    # No SKU is no SKU, however many have none.
    await shop.product(vendor=one)
    await shop.product(vendor=one)


async def test_the_legacy_layer_may_repeat_a_sku(shop):
    await shop.product(sku="A")
    repeated = await create_product(shop.scope, {"name": "x", "price_cents": 1, "sku": "A"}, check_sku=False)
    await update_product(shop.scope, repeated, {"sku": "A"}, check_sku=False)


async def test_one_of_two_products_made_at_once_gets_the_sku(shop):
    results = await asyncio.gather(*(shop.product(sku="X") for _ in range(8)), return_exceptions=True)
    assert sum(isinstance(result, int) for result in results) == 1
    assert await shop.value("SELECT count(*) FROM products WHERE tenant_id = $1 AND sku = 'X'") == 1


# --- Changing ----------------------------------------------------------------------------------------------------------------------


async def test_what_is_not_named_stays(shop):
    product = await shop.product(
        sku="A", description="d", stock=5, compare_at_cents=9, images=[{"url": "/1.png"}]
    )
    before = await shop.record("products", product)
    await update_product(shop.as_admin(), product, {"price_cents": 77})
    after = await shop.record("products", product)
    changed = {name for name in after if after[name] != before[name]}
    assert changed <= {"price_cents", "updated_at"}
    assert after["price_cents"] == 77
    assert await images(shop, product) == [("/1.png", "", 0)]
    assert await shop.event_names(before["public_id"]) == ["product.created", "product.updated"]


async def test_null_takes_away_what_may_be_missing(shop):
    product = await shop.product(compare_at_cents=9, description="d", vendor=await shop.vendor())
    await update_product(shop.scope, product, {"compare_at_cents": None, "description": None, "vendor": None})
    record = await shop.record("products", product)
    assert (record["compare_at_cents"], record["description"], record["vendor_id"]) == (None, "", None)


async def test_pictures_are_replaced_as_a_whole_or_the_main_one_alone(shop):
    product = await shop.product(images=[{"url": "/1.png"}, {"url": "/2.png"}])
    await update_product(shop.scope, product, {"main_image": {"url": "/main.png", "alt": "m"}})
    assert await images(shop, product) == [("/main.png", "m", 0), ("/2.png", "", 1)]
    await update_product(shop.scope, product, {"images": [{"url": "/3.png"}]})
    assert await images(shop, product) == [("/3.png", "", 0)]
    await update_product(shop.scope, product, {"main_image": None})
    assert await images(shop, product) == []


async def test_places_in_the_catalogue(shop):
    one, two, three = [await category(shop, name) for name in ("one", "two", "three")]
    product = await shop.product(categories=[one, two])
    assert ((await shop.record("products", product))["category_id"], await places(shop, product)) == (
        one,
        [one, two],
    )
    # A main category alone takes the old one's place; the others stay.
    await update_product(shop.scope, product, {"category": three})
    assert (await shop.record("products", product))["category_id"] == three
    assert set(await places(shop, product)) == {two, three}
    # All of them: the first is the main one unless that is named.
    await update_product(shop.scope, product, {"categories": [three, one]})
    assert ((await shop.record("products", product))["category_id"], await places(shop, product)) == (
        three,
        [three, one],
    )
    await update_product(shop.scope, product, {"category": two, "categories": [one]})
    assert ((await shop.record("products", product))["category_id"], await places(shop, product)) == (
        two,
        [two, one],
    )
    await update_product(shop.scope, product, {"category": None})
    assert ((await shop.record("products", product))["category_id"], await places(shop, product)) == (
        None,
        [one],
    )


async def test_a_product_is_named_by_number_or_public_id_in_its_own_store_only(shop, other_shop):
    product = await shop.product()
    public_id = await shop.public_id("products", product)
    assert await update_product(shop.scope, str(public_id), {"name": "x"}) == product
    for reference in (product, public_id, unknown(), "x", 0):
        with pytest.raises(NotFound, match="product not found"):
            await update_product(other_shop.scope, reference, {"name": "y"})


async def test_a_deleted_category_is_no_category(shop):
    gone = await category(shop)
    await delete_category(shop.scope, gone)
    with pytest.raises(ValidationFailed):
        await shop.product(category=gone)


# --- Features ------------------------------------------------------------------------------------------------------------------------


async def values(shop, product):
    found = await shop.rows(
        "SELECT v.feature_id, v.value, v.value_int, n.name FROM feature_values v LEFT JOIN feature_variants n"
        " ON n.tenant_id = v.tenant_id AND n.id = v.variant_id WHERE v.tenant_id = $1 AND v.product_id = $2",
        product,
    )
    return {row["feature_id"]: (row["value"], row["value_int"], row["name"]) for row in found}


@pytest.mark.parametrize(
    "type_, given, stored",
    [
        ("T", "cotton", ("cotton", None, None)),
        ("N", "12.5", ("12.5", 12, None)),
        ("N", -3, ("-3", -3, None)),
        ("D", "2026-01-31", ("2026-01-31", 1_769_817_600, None)),
        ("D", "1769820000", ("2026-01-31", 1_769_817_600, None)),
        ("C", "Y", ("Y", None, None)),
        ("C", "n", ("N", None, None)),
        ("S", "Red", ("", None, "Red")),
        ("E", "Red", ("", None, "Red")),
        ("B", "Acme", ("", None, "Acme")),
        ("A", "Machado", ("", None, "Machado")),
    ],
)
async def test_a_value_is_kept_as_its_type_wants(shop, type_, given, stored):
    feature = await create_feature(shop.scope, {"name": "f", "type": type_})
    product = await shop.product(features=[{"feature": feature, "type": type_, "value": given}])
    assert await values(shop, product) == {feature: stored}
    await update_product(shop.scope, product, {"name": "x"})
    assert await values(shop, product) == {feature: stored}
    await update_product(shop.scope, product, {"features": [{"feature": feature, "value": None}]})
    assert await values(shop, product) == {}


@pytest.mark.parametrize(
    "type_, given",
    [("N", "x"), ("N", "1e3"), ("D", "31/01/2026"), ("C", "maybe"), ("G", "x"), ("S", "x" * 256)],
)
async def test_a_value_its_type_can_not_have_is_refused(shop, type_, given):
    feature = await create_feature(shop.scope, {"name": "f", "type": type_})
    with pytest.raises(ValidationFailed) as refusal:
        await shop.product(features=[{"feature": feature, "value": given}])
    assert refusal.value.fields == {"features": "feature_invalid"}


async def test_a_name_that_is_known_uses_the_variant_and_a_new_one_makes_it(shop):
    feature = await create_feature(shop.scope, {"name": "Colour", "type": "S", "variants": ["Red", "Blue"]})
    for name in ("Blue", "Green", "Green"):
        await shop.product(features=[{"feature": feature, "value": name}])
    found = await shop.rows(
        "SELECT name, position FROM feature_variants WHERE tenant_id = $1 ORDER BY position"
    )
    assert [row["name"] for row in found] == ["Red", "Blue", "Green"]
    red = await shop.value("SELECT id FROM feature_variants WHERE tenant_id = $1 AND name = 'Red'")
    product = await shop.product(features=[{"feature": feature, "variant": red}])
    assert await values(shop, product) == {feature: ("", None, "Red")}
    other = await create_feature(shop.scope, {"name": "Size", "type": "S", "variants": ["Big"]})
    with pytest.raises(ValidationFailed):
        await shop.product(features=[{"feature": other, "variant": red}])


async def test_a_variant_named_by_many_at_once_is_made_once(shop):
    feature = await create_feature(shop.scope, {"name": "Brand", "type": "B"})
    await asyncio.gather(*(shop.product(features=[{"feature": feature, "value": "Acme"}]) for _ in range(8)))
    assert await shop.value("SELECT count(*) FROM feature_variants WHERE tenant_id = $1") == 1


# --- Deleting --------------------------------------------------------------------------------------------------------------------------


async def test_a_deleted_product_is_told_and_absent(shop):
    product = await shop.product()
    public_id = await shop.public_id("products", product)
    await delete_product(shop.scope, product)
    event = (await shop.events(public_id))[-1]
    assert event["name"] == "product.deleted"
    assert event["data"] == {
        "id": str(public_id),
        "deleted_at": shop.scope.now.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    for work in (delete_product(shop.scope, product), update_product(shop.scope, product, {"name": "x"})):
        with pytest.raises(NotFound):
            await work


async def test_orders_go_on_moving_what_was_deleted(shop):
    product = await shop.product(stock=5)
    order = await shop.order((product, 2))
    await delete_product(shop.scope, product)
    await move(shop.scope, order.id, "I")
    assert await shop.figures(product) == (5, 0)


async def test_several_are_deleted_at_once_and_the_rest_is_named(shop):
    vendor, other = await shop.vendor(), await shop.vendor()
    own, foreign, nowhere = await shop.product(vendor=vendor), await shop.product(vendor=other), unknown()
    deleted, missing = await delete_products(shop.as_vendor(vendor), [own, foreign, nowhere, own])
    assert (deleted, missing) == ({own: own}, [foreign, nowhere])
    assert (await shop.record("products", foreign))["deleted_at"] is None


# --- Vendors -----------------------------------------------------------------------------------------------------------------------------


async def test_a_vendors_product_is_its_own_whatever_it_says(shop):
    vendor, other = await shop.vendor(), await shop.vendor()
    product = await create_product(
        shop.as_vendor(vendor), {"name": "x", "price_cents": 1, "vendor": other, "status": "D"}
    )
    await update_product(shop.as_vendor(vendor), product, {"vendor": other, "price_cents": 2})
    record = await shop.record("products", product)
    assert (record["vendor_id"], record["price_cents"], record["status"]) == (vendor, 2, "D")


async def test_a_vendor_reaches_no_other_product(shop):
    vendor = await shop.vendor()
    for product in (await shop.product(vendor=await shop.vendor()), await shop.product()):
        with pytest.raises(NotFound):
            await update_product(shop.as_vendor(vendor), product, {"name": "mine"})
        with pytest.raises(NotFound):
            await delete_product(shop.as_vendor(vendor), product)


async def test_a_vendor_neither_leaves_nor_takes_the_letter_of_approval(shop):
    vendor = await shop.vendor()
    pending, active = await shop.product(vendor=vendor, status="P"), await shop.product(vendor=vendor)
    await update_product(shop.as_vendor(vendor), pending, {"status": "A", "name": "changed"})
    await update_product(shop.as_vendor(vendor), active, {"status": "P"})
    assert (await shop.record("products", pending))["status"] == "P"
    assert (await shop.record("products", pending))["name"] == "changed"
    assert (await shop.record("products", active))["status"] == "A"
    await update_product(shop.as_vendor(vendor), active, {"status": "H"})
    assert (await shop.record("products", active))["status"] == "H"


async def test_a_vendors_new_product_awaits_approval_where_the_store_says_so(shop):
    vendor = await shop.vendor()
    scope = replace(
        shop.as_vendor(vendor), store=with_settings(shop, vendor_products_need_approval=True).store
    )
    product = await create_product(scope, {"name": "x", "price_cents": 1, "status": "A"})
    assert (await shop.record("products", product))["status"] == "P"


async def test_a_legacy_product_without_a_vendor_is_the_first_vendors(shop):
    first, _ = await shop.vendor(), await shop.vendor()
    product = await create_product(shop.as_admin(family="legacy"), {"name": "x", "price_cents": 1})
    assert (await shop.record("products", product))["vendor_id"] == first
    nobodys = await create_product(shop.as_admin(), {"name": "x", "price_cents": 1})
    assert (await shop.record("products", nobodys))["vendor_id"] is None


async def test_a_product_takes_few_statements(shop):
    with database.counting() as counted:
        await create_product(shop.as_admin(), {"name": "x", "price_cents": 1})
    assert counted.count <= 7
