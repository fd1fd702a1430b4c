"""`/api/v1/admin/products`: records, changes and validation (docs/reference/current.md#admin)."""

import pytest

from kernel.product_fields import PRODUCT_FIELDS
from kernel.scope import Store
from models.connection import database
from tests.harness import records, scopes
from tests.harness.http import Client
from tests.harness.product_records import ACCEPTED, DEFAULTS, PRODUCT_RECORD, REJECTED
from tests.harness.records import UNKNOWN_ID, is_uuid

PRODUCTS = "/api/v1/admin/products"


async def _all_fields(store: Store) -> dict:
    category = await records.add_category(store, name="Roupas")
    return {
        "name": "Camiseta Básica",
        "sku": "CAM-01",
        "slug": "camiseta-basica",
        "description": "<p>Algodão</p>",
        "short_description": "Algodão",
        "status": "H",
        "price_cents": 4_990,
        "compare_at_cents": 5_990,
        "stock": 12,
        "category_id": category.id,
        "images": [
            {"url": "https://img.example.com/1.jpg", "alt": "Frente"},
            {"url": "https://x.example/img/2.jpg", "alt": ""},
        ],
    }


@pytest.mark.parametrize("name, cases", [("ACCEPTED", ACCEPTED), ("REJECTED", REJECTED)], ids=["accepted", "rejected"])
def test_every_field_that_the_families_write_has_values_in_the_tests(name: str, cases: list) -> None:
    tried = {field for values, _ in cases for field in values}
    assert (PRODUCT_FIELDS.keys() & PRODUCT_RECORD) - tried == set(), (
        f"add values of these fields to {name} in tests/harness/product_records.py: every family is tested with them"
    )
    assert tried - (PRODUCT_FIELDS.keys() & PRODUCT_RECORD) == set(), (
        "add these fields to PRODUCT_FIELDS and PRODUCT_RECORD of kernel/product_fields.py: REST bodies have the fields of both"
    )


async def test_every_field_is_stored_and_returned(admin: Client) -> None:
    product_fields = await _all_fields(admin.store)
    made = await admin.post(PRODUCTS, product_fields)
    assert made.status == 201
    record = made.body
    assert set(record) == PRODUCT_RECORD
    assert {name: record[name] for name in product_fields} == product_fields
    assert record["category"] == {"id": product_fields["category_id"], "name": "Roupas"}
    assert record["currency"] == "BRL"
    assert is_uuid(record["id"])
    assert record["created_at"] == record["updated_at"]
    assert record["created_at"].endswith("Z")
    shown = await admin.get(f"{PRODUCTS}/{record['id']}")
    assert (shown.status, shown.body) == (200, record)
    listed = await admin.get(PRODUCTS)
    assert listed.body == {"products": [record], "total": 1, "page": 1, "per_page": 20}


async def test_only_name_and_price_are_required(admin: Client) -> None:
    made = await admin.post(PRODUCTS, {"name": "Boné", "price_cents": 0})
    assert made.status == 201
    record = made.body
    shown = {name: record[name] for name in PRODUCT_RECORD - {"id", "created_at", "updated_at"}}
    assert shown == DEFAULTS | {"name": "Boné", "slug": "bone", "price_cents": 0}


async def test_product_changes_emit_events(admin: Client) -> None:
    made = (await admin.post(PRODUCTS, {"name": "Boné", "price_cents": 100})).body
    await admin.put(f"{PRODUCTS}/{made['id']}", {"price_cents": 200})
    await admin.delete(f"{PRODUCTS}/{made['id']}")
    events = await scopes.rows(admin.store, "select name, request_id from outbox_events order by sequence")
    assert [row["name"] for row in events] == ["product.created", "product.updated", "product.deleted"]
    assert all(row["request_id"] for row in events)


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@pytest.mark.parametrize(
    "change, shown",
    [
        *ACCEPTED,
        ({"category_id": None}, {"category_id": None, "category": None}),
        ({"images": []}, {"images": []}),
        (
            {"images": [{"url": "https://img.example.com/3.jpg", "caption": "ignored"}]},
            {"images": [{"url": "https://img.example.com/3.jpg", "alt": ""}]},
        ),
        ({}, {}),
        ({"id": UNKNOWN_ID, "currency": "USD", "anything": {"a": [1]}}, {}),
    ],
)
async def test_updates_are_partial(admin: Client, method: str, change: dict, shown: dict) -> None:
    made = (await admin.post(PRODUCTS, await _all_fields(admin.store))).body
    changed = await admin.request(method, f"{PRODUCTS}/{made['id']}", change)
    assert changed.status == 200, changed
    assert set(changed.body) == PRODUCT_RECORD
    assert changed.body == made | shown | {"updated_at": changed.body["updated_at"]}
    assert (await admin.get(f"{PRODUCTS}/{made['id']}")).body == changed.body


async def test_a_product_is_moved_to_another_category(admin: Client) -> None:
    made = (await admin.post(PRODUCTS, await _all_fields(admin.store))).body
    category = await records.add_category(admin.store, name="Chapéus")
    moved = await admin.patch(f"{PRODUCTS}/{made['id']}", {"category_id": category.id})
    assert moved.body["category"] == {"id": category.id, "name": "Chapéus"}


async def test_stock_excludes_units_reserved_by_open_orders(admin: Client) -> None:
    product = await records.add_product(admin.store)
    await records.add_order(admin.store, product=product)
    assert (await admin.get(f"{PRODUCTS}/{product.id}")).body["stock"] == 98
    assert (await admin.put(f"{PRODUCTS}/{product.id}", {"stock": 5})).body["stock"] == 5
    assert await scopes.value(admin.store, "select on_hand from products where id = $1", product.number) == 7


async def test_a_deleted_product_is_not_found_and_its_sku_can_be_reused(admin: Client) -> None:
    product_fields = {"name": "Boné", "price_cents": 100, "sku": "B-1", "slug": "bone"}
    made = (await admin.post(PRODUCTS, product_fields)).body
    answer = await admin.delete(f"{PRODUCTS}/{made['id']}")
    assert (answer.status, answer.raw) == (204, b"")
    for method, body in (("GET", None), ("PUT", {}), ("PATCH", {"name": "x"}), ("DELETE", None)):
        again = await admin.request(method, f"{PRODUCTS}/{made['id']}", body)
        assert (again.status, again.body) == (404, {"error": "product not found"}), (method, body)
    assert (await admin.get(PRODUCTS)).body["total"] == 0
    recreated = await admin.post(PRODUCTS, product_fields)
    assert (recreated.status, recreated.body["slug"]) == (201, "bone")


@pytest.mark.parametrize(
    "change, fields",
    [
        *REJECTED,
        ({"category_id": UNKNOWN_ID}, {"category_id": "not_found"}),
        ({"category_id": "abc"}, {"category_id": "not_found"}),
        ({"category_id": 2**62}, {"category_id": "not_found"}),
        ({"category_id": []}, {"category_id": "invalid"}),
        ({"category_id": True}, {"category_id": "invalid"}),
        ({"images": "x"}, {"images": "invalid"}),
        ({"images": {"url": "https://img.example.com/1.jpg"}}, {"images": "invalid"}),
        ({"images": [1]}, {"images": "invalid"}),
        ({"images": [None]}, {"images": "invalid"}),
        ({"images": [{}]}, {"images.url": "required"}),
        ({"images": [{"url": 5}]}, {"images.url": "url_invalid"}),
        ({"images": [{"url": None}]}, {"images.url": "url_invalid"}),
        ({"images": [{"url": "javascript:alert(1)"}]}, {"images.url": "url_invalid"}),
        ({"images": [{"url": "https://x.example/a.png", "alt": 5}]}, {"images.alt": "invalid"}),
        ({"images": [{"url": "https://x.example/a.png"}] * 101}, {"images": "too_many"}),
        ({"name": "", "price_cents": -1}, {"name": "name_required", "price_cents": "price_invalid"}),
        (
            {"status": "zz", "price_cents": -1, "name": "", "sku": "s" * 300, "stock": "3"},
            {
                "status": "status_invalid",
                "price_cents": "price_invalid",
                "name": "name_required",
                "sku": "sku_invalid",
                "stock": "stock_invalid",
            },
        ),
    ],
)
async def test_invalid_fields_are_named(admin: Client, change: dict, fields: dict) -> None:
    made = await admin.post(PRODUCTS, {"name": "Boné", "price_cents": 100} | change)
    assert (made.status, made.body) == (400, {"error": "validation_failed", "fields": fields})
    product = await records.add_product(admin.store)
    for method in ("PUT", "PATCH"):
        changed = await admin.request(method, f"{PRODUCTS}/{product.id}", change)
        assert (changed.status, changed.body) == (400, {"error": "validation_failed", "fields": fields}), method


@pytest.mark.parametrize(
    "product_fields, fields",
    [
        ({}, {"name": "name_required", "price_cents": "required"}),
        ({"name": "Boné"}, {"price_cents": "required"}),
        ({"price_cents": 100}, {"name": "name_required"}),
        ({"name": "Boné", "price_cents": None}, {"price_cents": "required"}),
        ({"name": None, "price_cents": None}, {"name": "name_required", "price_cents": "required"}),
    ],
)
async def test_name_and_price_of_a_new_product_are_required(admin: Client, product_fields: dict, fields: dict) -> None:
    made = await admin.post(PRODUCTS, product_fields)
    assert (made.status, made.body) == (400, {"error": "validation_failed", "fields": fields})


async def test_the_price_of_a_product_cannot_be_removed(admin: Client) -> None:
    product = await records.add_product(admin.store)
    changed = await admin.put(f"{PRODUCTS}/{product.id}", {"price_cents": None})
    assert (changed.status, changed.body["fields"]) == (400, {"price_cents": "required"})


async def test_a_sku_is_unique(admin: Client) -> None:
    taken = {"error": "validation_failed", "fields": {"sku": "sku_taken"}}
    assert (await admin.post(PRODUCTS, {"name": "A", "price_cents": 1, "sku": "S-1"})).status == 201
    again = await admin.post(PRODUCTS, {"name": "B", "price_cents": 1, "sku": "S-1"})
    assert (again.status, again.body) == (400, taken)
    other = (await admin.post(PRODUCTS, {"name": "B", "price_cents": 1, "sku": "S-2"})).body
    changed = await admin.put(f"{PRODUCTS}/{other['id']}", {"sku": "S-1"})
    assert (changed.status, changed.body) == (400, taken)
    assert (await admin.put(f"{PRODUCTS}/{other['id']}", {"sku": "S-2"})).status == 200


async def test_a_category_is_required_by_a_store_setting(new_client, new_store) -> None:
    store = await new_store()
    async with database.cross_store_connection() as everywhere:
        await everywhere.execute(
            """update tenants set settings = '{"products_require_category": true}' where id = $1""", store.id
        )
    admin = await new_client("manage_products", store=store)
    made = await admin.post(PRODUCTS, {"name": "Boné", "price_cents": 100})
    assert (made.status, made.body) == (
        400,
        {"error": "validation_failed", "fields": {"category_id": "category_required"}},
    )
    category = await records.add_category(store)
    assert (await admin.post(PRODUCTS, {"name": "Boné", "price_cents": 100, "category_id": category.id})).status == 201


async def test_text_is_stored_in_nfc(admin: Client) -> None:
    made = await admin.post(PRODUCTS, {"name": "Calc\u0327ado", "price_cents": 1})
    assert made.body["name"] == "Calçado"


async def test_64_bit_numbers_are_stored(admin: Client) -> None:
    made = await admin.post(PRODUCTS, {"name": "Ilha", "price_cents": 10**15, "stock": 10**12})
    assert (made.body["price_cents"], made.body["stock"]) == (10**15, 10**12)


async def test_images_belong_to_their_product(admin: Client) -> None:
    first = (
        await admin.post(PRODUCTS, {"name": "A", "price_cents": 1, "images": [{"url": "https://x.example/a.png"}]})
    ).body
    second = (
        await admin.post(PRODUCTS, {"name": "B", "price_cents": 1, "images": [{"url": "https://x.example/b.png"}]})
    ).body
    await admin.put(f"{PRODUCTS}/{second['id']}", {"images": []})
    listed = (await admin.get(PRODUCTS, sort_by="name")).body["products"]
    assert [product["images"] for product in listed] == [[{"url": "https://x.example/a.png", "alt": ""}], []]
    assert (await admin.get(f"{PRODUCTS}/{first['id']}")).body["images"] == [
        {"url": "https://x.example/a.png", "alt": ""}
    ]


async def test_a_category_of_another_store_is_rejected(admin: Client, other_store: Store) -> None:
    foreign = await records.add_category(other_store)
    for category in (foreign.id, foreign.number):
        made = await admin.post(PRODUCTS, {"name": "A", "price_cents": 1, "category_id": category})
        assert (made.status, made.body["fields"]) == (400, {"category_id": "not_found"}), category
