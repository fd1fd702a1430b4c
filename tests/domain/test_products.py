"""Writing products: what is stored, error codes, and permissions."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from domain.catalog.categories import CATEGORY_RECORDS
from domain.catalog.features import FEATURE_RECORDS
from domain.catalog.products import create_product, delete_product, delete_products, update_product
from domain.orders.lifecycle import change_status
from kernel.errors import NotFound, ValidationFailed
from kernel.money import MAX_CENTS
from models.connection import database
from tests.harness.domain_store import unknown
from tests.harness.product_records import DEFAULTS


def with_settings(kit, **settings):
    return replace(kit.scope, store=replace(kit.scope.store, settings=settings))


async def places(kit, product):
    records = await kit.rows(
        "SELECT category_id FROM product_categories WHERE tenant_id = $1 AND product_id = $2 ORDER BY position, id",
        product,
    )
    return [row["category_id"] for row in records]


async def images(kit, product):
    records = await kit.rows(
        "SELECT url, alt, position FROM product_images WHERE tenant_id = $1 AND product_id = $2 ORDER BY position",
        product,
    )
    return [(row["url"], row["alt"], row["position"]) for row in records]


async def image_rows(kit, product):
    """Return all columns of a product's images, by position."""
    statement = "SELECT * FROM product_images WHERE tenant_id = $1 AND product_id = $2 ORDER BY position"
    return [dict(row) for row in await kit.rows(statement, product)]


async def category(kit, name="Category", **data):
    return await CATEGORY_RECORDS.create(kit.scope, {"name": name, **data})


# --- Creation --------------------------------------------------------------------------------------------------------------------


async def test_a_product_stores_its_input(kit):
    vendor, shoes = await kit.vendor(), await category(kit)
    product = await create_product(
        kit.as_admin(),
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
    record = await kit.record("products", product)
    # Composed (NFC) and trimmed.
    assert (record["name"], record["sku"], record["slug"]) == ("Ténis", "T-1", "tenis")
    assert (record["price_cents"], record["compare_at_cents"], record["status"]) == (12_990, 15_000, "A")
    assert (record["on_hand"], record["reserved"], record["stock"]) == (7, 0, 7)
    assert (record["vendor_id"], record["category_id"], record["free_shipping"]) == (vendor, shoes, True)
    assert await places(kit, product) == [shoes]


async def test_only_name_and_price_are_required(kit):
    product = await create_product(kit.as_admin(), {"name": "Mug", "price_cents": 0})
    record = await kit.record("products", product)
    assert (record["status"], record["stock"], record["tracking"], record["vendor_id"]) == ("A", 0, "B", None)


async def test_the_event_data_are_the_product_record(kit):
    shoes = await category(kit, "Shoes")
    product = await create_product(
        kit.as_admin(),
        {
            "name": "Boot",
            "price_cents": 5,
            "category": shoes,
            "images": [{"url": "https://example.com/1.png", "alt": "one"}, {"url": "https://x.example/2.png"}],
        },
    )
    public_id = await kit.public_id("products", product)
    [event] = await kit.events(public_id)
    moment = kit.scope.now.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert event["name"] == "product.created"
    assert event["data"] == DEFAULTS | {
        "id": str(public_id),
        "name": "Boot",
        "slug": "boot",
        "price_cents": 5,
        "category_id": str(await kit.public_id("categories", shoes)),
        "category": {"id": str(await kit.public_id("categories", shoes)), "name": "Shoes"},
        "images": [{"url": "https://example.com/1.png", "alt": "one"}, {"url": "https://x.example/2.png", "alt": ""}],
        "created_at": moment,
        "updated_at": moment,
    }


@pytest.mark.parametrize(
    "data, fields",
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
        ({"min_quantity": 3, "max_quantity": 2}, {"min_quantity": "quantity_invalid"}),
        ({"min_quantity": 3, "max_quantity": -1}, {"max_quantity": "quantity_invalid"}),
        ({"images": [{"url": "javascript:alert(1)"}]}, {"images.url": "url_invalid"}),
        ({"images": [{"alt": "x"}]}, {"images.url": "required"}),
        ({"images": "x"}, {"images": "invalid"}),
        ({"category": 10**12}, {"category": "not_found"}),
        ({"categories": [10**12]}, {"categories": "not_found"}),
        ({"vendor": 10**12}, {"vendor": "not_found"}),
        ({"features": [{"feature": 10**12, "value": "x"}]}, {"features": "not_found"}),
        (
            {"name": "", "price_cents": -1, "status": "?"},
            {"name": "name_required", "price_cents": "price_invalid", "status": "status_invalid"},
        ),
    ],
)
async def test_every_invalid_field_is_reported_with_its_code(kit, data, fields):
    good = {} if not data else {"name": "Mug", "price_cents": 10}
    with pytest.raises(ValidationFailed) as error:
        await create_product(kit.as_admin(), {**good, **data})
    assert error.value.fields == fields
    assert await kit.value("SELECT count(*) FROM products WHERE tenant_id = $1") == 0


@pytest.mark.parametrize(
    "changes, accepted",
    [
        ({"min_quantity": 5}, False),
        ({"max_quantity": 1}, False),
        ({"min_quantity": 9, "max_quantity": 8}, False),
        ({"min_quantity": 5, "max_quantity": 5}, True),
        ({"min_quantity": 5, "max_quantity": 0}, True),
        ({"min_quantity": 0}, True),
    ],
)
async def test_the_limits_of_a_changed_product_are_compared(kit, changes, accepted):
    product = await create_product(
        kit.as_admin(), {"name": "Mug", "price_cents": 10, "min_quantity": 2, "max_quantity": 4}
    )
    if accepted:
        await update_product(kit.as_admin(), product, changes)
        return
    with pytest.raises(ValidationFailed, match=r"min_quantity is \d; expected at most max_quantity, \d") as error:
        await update_product(kit.as_admin(), product, changes)
    assert error.value.fields == {"min_quantity": "quantity_invalid"}


async def test_a_category_is_required_by_the_store_setting(kit):
    scope = with_settings(kit, products_require_category=True)
    with pytest.raises(ValidationFailed) as error:
        await create_product(scope, {"name": "Mug", "price_cents": 1})
    assert error.value.fields == {"category": "category_required"}
    product = await create_product(scope, {"name": "Mug", "price_cents": 1, "category": await category(kit)})
    await update_product(scope, product, {"name": "Cup"})
    for data in ({"category": None}, {"categories": []}):
        with pytest.raises(ValidationFailed):
            await update_product(scope, product, data)


async def test_references_of_a_product_must_exist_in_the_store(kit, other_kit):
    foreign = {
        "category": await other_kit.public_id("categories", await category(other_kit)),
        "vendor": await other_kit.public_id("vendors", await other_kit.vendor()),
    }
    for name, reference in foreign.items():
        with pytest.raises(ValidationFailed) as error:
            await create_product(kit.as_admin(), {"name": "Mug", "price_cents": 1, name: reference})
        assert error.value.fields == {name: "not_found"}


# --- Slugs and SKUs ----------------------------------------------------------------------------------------------------------------


async def slug_of(kit, product):
    return (await kit.record("products", product))["slug"]


async def test_slugs_are_unique_with_numeric_suffixes(kit):
    slugs = [await slug_of(kit, await kit.product(name="Azul Ção")) for _ in range(3)]
    assert slugs == ["azul-cao", "azul-cao-2", "azul-cao-3"]
    assert await slug_of(kit, await kit.product(name="Other", slug="azul-cao")) == "azul-cao-4"
    assert await slug_of(kit, await kit.product(name="日本")) == "product"


async def test_common_names_still_get_a_slug(kit):
    slugs = [await slug_of(kit, await kit.product(name="Mug")) for _ in range(14)]
    assert len(set(slugs)) == 14
    assert all(slug.startswith("mug") for slug in slugs)


async def test_concurrent_products_with_one_name_all_get_a_slug(kit):
    new = await asyncio.gather(*(kit.product(name="Same") for _ in range(15)))
    assert len({await slug_of(kit, product) for product in new}) == 15


async def test_a_slug_of_a_deleted_product_is_reusable(kit):
    first = await kit.product(name="Mug", sku="M")
    await delete_product(kit.scope, first)
    second = await kit.product(name="Mug", sku="M")
    assert await slug_of(kit, second) == "mug"


async def test_a_product_keeps_its_slug_until_changed(kit):
    product = await kit.product(name="Mug")
    await update_product(kit.scope, product, {"name": "Cup"})
    assert await slug_of(kit, product) == "mug"
    await update_product(kit.scope, product, {"slug": "Big Cup!"})
    assert await slug_of(kit, product) == "big-cup"
    await update_product(kit.scope, product, {"slug": "big-cup"})
    assert await slug_of(kit, product) == "big-cup"
    other = await kit.product(name="Plate")
    await update_product(kit.scope, other, {"slug": "big-cup"})
    assert await slug_of(kit, other) == "big-cup-2"


async def test_a_sku_is_unique_within_a_vendor(kit):
    one, other = await kit.vendor(), await kit.vendor()
    first = await kit.product(sku="A", vendor=one)
    await kit.product(sku="A", vendor=other)
    await kit.product(sku="A")
    with pytest.raises(ValidationFailed) as error:
        await kit.product(sku="A", vendor=one)
    assert error.value.fields == {"sku": "sku_taken"}
    second = await kit.product(sku="B", vendor=one)
    with pytest.raises(ValidationFailed):
        await update_product(kit.scope, second, {"sku": "A"})
    await update_product(kit.scope, first, {"sku": "A", "name": "same SKU as before"})
    # An empty SKU is not unique.
    await kit.product(vendor=one)
    await kit.product(vendor=one)


async def test_legacy_routes_may_repeat_a_sku(kit):
    await kit.product(sku="A")
    repeated = await create_product(kit.scope, {"name": "x", "price_cents": 1, "sku": "A"}, check_sku=False)
    await update_product(kit.scope, repeated, {"sku": "A"}, check_sku=False)


async def test_one_of_two_concurrent_products_gets_the_sku(kit):
    results = await asyncio.gather(*(kit.product(sku="X") for _ in range(8)), return_exceptions=True)
    assert sum(isinstance(result, int) for result in results) == 1
    assert await kit.value("SELECT count(*) FROM products WHERE tenant_id = $1 AND sku = 'X'") == 1


# --- Updates -----------------------------------------------------------------------------------------------------------------------


async def test_absent_fields_stay(kit):
    product = await kit.product(
        sku="A", description="d", stock=5, compare_at_cents=9, images=[{"url": "https://x.example/1.png"}]
    )
    before = await kit.record("products", product)
    await update_product(kit.as_admin(), product, {"price_cents": 77})
    after = await kit.record("products", product)
    changed = {name for name in after if after[name] != before[name]}
    assert changed <= {"price_cents", "updated_at"}
    assert after["price_cents"] == 77
    assert await images(kit, product) == [("https://x.example/1.png", "", 0)]
    assert await kit.event_names(before["public_id"]) == ["product.created", "product.updated"]


async def test_null_clears_nullable_fields(kit):
    product = await kit.product(compare_at_cents=9, description="d", vendor=await kit.vendor())
    await update_product(kit.scope, product, {"compare_at_cents": None, "description": None, "vendor": None})
    record = await kit.record("products", product)
    assert (record["compare_at_cents"], record["description"], record["vendor_id"]) == (None, "", None)


async def test_images_are_replaced_together_or_the_main_one_alone(kit):
    product = await kit.product(images=[{"url": "https://x.example/1.png"}, {"url": "https://x.example/2.png"}])
    await update_product(kit.scope, product, {"main_image": {"url": "https://x.example/main.png", "alt": "m"}})
    assert await images(kit, product) == [("https://x.example/main.png", "m", 0), ("https://x.example/2.png", "", 1)]
    await update_product(kit.scope, product, {"images": [{"url": "https://x.example/3.png"}]})
    assert await images(kit, product) == [("https://x.example/3.png", "", 0)]
    await update_product(kit.scope, product, {"main_image": None})
    assert await images(kit, product) == []


async def test_an_image_that_stays_keeps_its_id_and_size(kit):
    """Clients of the current families know neither: sending the images back, or moving them, must not lose them."""
    sized = [{"url": f"https://x.example/{name}.png", "width": 100, "height": 50} for name in "aab"]
    product = await kit.product(images=sized)
    first, second, third = await image_rows(kit, product)
    moved = [
        {"url": "https://x.example/b.png", "alt": "b"},
        {"url": "https://x.example/c.png"},
        {"url": "https://x.example/a.png", "width": 7},
        {"url": "https://x.example/a.png"},
    ]
    await update_product(kit.scope, product, {"images": moved})
    rows = await image_rows(kit, product)
    assert rows[0] == third | {"alt": "b", "position": 0}
    assert (rows[1]["url"], rows[1]["width"], rows[1]["height"]) == ("https://x.example/c.png", 0, 0)
    assert rows[2:] == [first | {"position": 2, "width": 7}, second | {"position": 3}]
    await update_product(
        kit.scope, product, {"more_images": [{"url": "https://x.example/b.png"}, {"url": "https://x.example/a.png"}]}
    )
    again = await image_rows(kit, product)
    assert [again[0], again[2]] == [rows[0], rows[2]], "the main image and the first of two equal ones stay"
    assert again[1]["id"] not in {row["id"] for row in rows}, "the main image is not one of the others"
    assert len(again) == 3


async def test_product_category_links(kit):
    one, two, three = [await category(kit, name) for name in ("one", "two", "three")]
    product = await kit.product(categories=[one, two])
    assert ((await kit.record("products", product))["category_id"], await places(kit, product)) == (
        one,
        [one, two],
    )
    # A main category alone replaces the previous one; the others stay.
    await update_product(kit.scope, product, {"category": three})
    assert (await kit.record("products", product))["category_id"] == three
    assert set(await places(kit, product)) == {two, three}
    # Categories without a main one: the first becomes it.
    await update_product(kit.scope, product, {"categories": [three, one]})
    assert ((await kit.record("products", product))["category_id"], await places(kit, product)) == (
        three,
        [three, one],
    )
    await update_product(kit.scope, product, {"category": two, "categories": [one]})
    assert ((await kit.record("products", product))["category_id"], await places(kit, product)) == (
        two,
        [two, one],
    )
    await update_product(kit.scope, product, {"category": None})
    assert ((await kit.record("products", product))["category_id"], await places(kit, product)) == (
        None,
        [one],
    )


async def test_a_product_is_referenced_by_id_or_public_id_in_its_own_store_only(kit, other_kit):
    product = await kit.product()
    public_id = await kit.public_id("products", product)
    assert await update_product(kit.scope, str(public_id), {"name": "x"}) == product
    for reference in (product, public_id, unknown(), "x", 0):
        with pytest.raises(NotFound, match="product not found"):
            await update_product(other_kit.scope, reference, {"name": "y"})


async def test_a_deleted_category_is_rejected(kit):
    gone = await category(kit)
    await CATEGORY_RECORDS.delete(kit.scope, gone)
    with pytest.raises(ValidationFailed):
        await kit.product(category=gone)


# --- Features ------------------------------------------------------------------------------------------------------------------------


async def values(kit, product):
    records = await kit.rows(
        "SELECT v.feature_id, v.value, v.value_int, n.name FROM feature_values v LEFT JOIN feature_variants n"
        " ON n.tenant_id = v.tenant_id AND n.id = v.variant_id WHERE v.tenant_id = $1 AND v.product_id = $2",
        product,
    )
    return {row["feature_id"]: (row["value"], row["value_int"], row["name"]) for row in records}


@pytest.mark.parametrize(
    "type_, data, stored",
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
async def test_a_feature_value_is_stored_by_type(kit, type_, data, stored):
    feature = await FEATURE_RECORDS.create(kit.scope, {"name": "f", "type": type_})
    product = await kit.product(features=[{"feature": feature, "type": type_, "value": data}])
    assert await values(kit, product) == {feature: stored}
    await update_product(kit.scope, product, {"name": "x"})
    assert await values(kit, product) == {feature: stored}
    await update_product(kit.scope, product, {"features": [{"feature": feature, "value": None}]})
    assert await values(kit, product) == {}


@pytest.mark.parametrize(
    "type_, data",
    [("N", "x"), ("N", "1e3"), ("D", "31/01/2026"), ("C", "maybe"), ("G", "x"), ("S", "x" * 256)],
)
async def test_an_invalid_feature_value_is_rejected(kit, type_, data):
    feature = await FEATURE_RECORDS.create(kit.scope, {"name": "f", "type": type_})
    with pytest.raises(ValidationFailed) as error:
        await kit.product(features=[{"feature": feature, "value": data}])
    assert error.value.fields == {"features": "feature_invalid"}


async def test_a_variant_name_is_reused_or_created(kit):
    feature = await FEATURE_RECORDS.create(kit.scope, {"name": "Colour", "type": "S", "variants": ["Red", "Blue"]})
    for name in ("Blue", "Green", "Green"):
        await kit.product(features=[{"feature": feature, "value": name}])
    records = await kit.rows("SELECT name, position FROM feature_variants WHERE tenant_id = $1 ORDER BY position")
    assert [row["name"] for row in records] == ["Red", "Blue", "Green"]
    red = await kit.value("SELECT id FROM feature_variants WHERE tenant_id = $1 AND name = 'Red'")
    product = await kit.product(features=[{"feature": feature, "variant": red}])
    assert await values(kit, product) == {feature: ("", None, "Red")}
    other = await FEATURE_RECORDS.create(kit.scope, {"name": "Size", "type": "S", "variants": ["Big"]})
    with pytest.raises(ValidationFailed):
        await kit.product(features=[{"feature": other, "variant": red}])


async def test_a_concurrently_named_variant_is_created_once(kit):
    feature = await FEATURE_RECORDS.create(kit.scope, {"name": "Brand", "type": "B"})
    await asyncio.gather(*(kit.product(features=[{"feature": feature, "value": "Acme"}]) for _ in range(8)))
    assert await kit.value("SELECT count(*) FROM feature_variants WHERE tenant_id = $1") == 1


# --- Deletion --------------------------------------------------------------------------------------------------------------------------


async def test_a_deleted_product_is_hidden_and_emits_an_event(kit):
    product = await kit.product()
    public_id = await kit.public_id("products", product)
    await delete_product(kit.scope, product)
    event = (await kit.events(public_id))[-1]
    assert event["name"] == "product.deleted"
    assert event["data"] == {
        "id": str(public_id),
        "deleted_at": kit.scope.now.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    for work in (delete_product(kit.scope, product), update_product(kit.scope, product, {"name": "x"})):
        with pytest.raises(NotFound):
            await work


async def test_orders_still_change_the_stock_of_a_deleted_product(kit):
    product = await kit.product(stock=5)
    order = await kit.order((product, 2))
    await delete_product(kit.scope, product)
    await change_status(kit.scope, order.id, "I")
    assert await kit.figures(product) == (5, 0)


async def test_bulk_deletion_reports_missing_products(kit):
    vendor, other = await kit.vendor(), await kit.vendor()
    own, foreign, nowhere = await kit.product(vendor=vendor), await kit.product(vendor=other), unknown()
    deleted, missing = await delete_products(kit.as_vendor(vendor), [own, foreign, nowhere, own])
    assert (deleted, missing) == ({own: own}, [foreign, nowhere])
    assert (await kit.record("products", foreign))["deleted_at"] is None


# --- Vendors -----------------------------------------------------------------------------------------------------------------------------


async def test_a_vendors_product_belongs_to_it_whatever_the_input(kit):
    vendor, other = await kit.vendor(), await kit.vendor()
    product = await create_product(
        kit.as_vendor(vendor), {"name": "x", "price_cents": 1, "vendor": other, "status": "D"}
    )
    await update_product(kit.as_vendor(vendor), product, {"vendor": other, "price_cents": 2})
    record = await kit.record("products", product)
    assert (record["vendor_id"], record["price_cents"], record["status"]) == (vendor, 2, "D")


async def test_a_vendor_cannot_change_other_products(kit):
    vendor = await kit.vendor()
    for product in (await kit.product(vendor=await kit.vendor()), await kit.product()):
        with pytest.raises(NotFound):
            await update_product(kit.as_vendor(vendor), product, {"name": "mine"})
        with pytest.raises(NotFound):
            await delete_product(kit.as_vendor(vendor), product)


async def test_a_vendor_cannot_set_or_leave_the_approval_status(kit):
    vendor = await kit.vendor()
    pending, active = await kit.product(vendor=vendor, status="P"), await kit.product(vendor=vendor)
    await update_product(kit.as_vendor(vendor), pending, {"status": "A", "name": "changed"})
    await update_product(kit.as_vendor(vendor), active, {"status": "P"})
    assert (await kit.record("products", pending))["status"] == "P"
    assert (await kit.record("products", pending))["name"] == "changed"
    assert (await kit.record("products", active))["status"] == "A"
    await update_product(kit.as_vendor(vendor), active, {"status": "H"})
    assert (await kit.record("products", active))["status"] == "H"


async def test_a_vendors_new_product_awaits_approval_by_store_setting(kit):
    vendor = await kit.vendor()
    scope = replace(kit.as_vendor(vendor), store=with_settings(kit, vendor_products_need_approval=True).store)
    product = await create_product(scope, {"name": "x", "price_cents": 1, "status": "A"})
    assert (await kit.record("products", product))["status"] == "P"


async def test_a_legacy_product_defaults_to_the_first_vendor(kit):
    first, _ = await kit.vendor(), await kit.vendor()
    product = await create_product(kit.as_admin(family="legacy"), {"name": "x", "price_cents": 1})
    assert (await kit.record("products", product))["vendor_id"] == first
    nobodys = await create_product(kit.as_admin(), {"name": "x", "price_cents": 1})
    assert (await kit.record("products", nobodys))["vendor_id"] is None


async def test_creating_a_product_takes_few_statements(kit):
    with database.count_statements() as counted:
        await create_product(kit.as_admin(), {"name": "x", "price_cents": 1})
    assert counted.count <= 7


@pytest.mark.parametrize(
    "url", ["//example.com/1.png", "/\\\\example.com/1.png", "http://", "https:///1.png", "1.png", "javascript:x"]
)
async def test_an_image_of_another_host_needs_a_scheme(kit, url):
    with pytest.raises(ValidationFailed, match="expected an http or https address"):
        await kit.product(images=[{"url": url}])
