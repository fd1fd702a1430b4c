"""`/api/v1/admin/categories`: records, changes and validation (docs/reference/current.md#admin)."""

import pytest

from kernel.scope import Store
from tests.harness import records
from tests.harness.http import Client
from tests.harness.records import UNKNOWN_ID, is_uuid

CATEGORIES = "/api/v1/admin/categories"
FIELDS = {"id", "name", "slug", "parent_id", "position", "status", "created_at", "updated_at"}


async def test_every_field_is_stored_and_returned(admin: Client) -> None:
    parent = await records.add_category(admin.store)
    fields = {"name": "Camisetas", "parent_id": parent.id, "position": 7, "status": "H"}
    made = await admin.post(CATEGORIES, fields)
    assert made.status == 201
    record = made.body
    assert set(record) == FIELDS
    assert {name: record[name] for name in fields} == fields
    assert is_uuid(record["id"])
    assert record["created_at"].endswith("Z")
    assert record["updated_at"].endswith("Z")
    shown = await admin.get(f"{CATEGORIES}/{record['id']}")
    assert (shown.status, shown.body) == (200, record)
    listed = (await admin.get(CATEGORIES)).body
    assert (listed["total"], listed["page"], listed["per_page"]) == (2, 1, 20)
    assert record in listed["categories"]


@pytest.mark.parametrize("order", ["asc", "desc"])
async def test_names_are_sorted_without_regard_to_case_and_accents(admin: Client, order: str) -> None:
    names = ["abajures", "Água", "Bebidas", "Úteis", "vasos", "Zíper"]
    for name in ("Zíper", "Água", "vasos", "abajures", "Úteis", "Bebidas"):
        await admin.post(CATEGORIES, {"name": name})
    expected = names if order == "asc" else names[::-1]
    pages = [
        (await admin.get(f"{CATEGORIES}?sort_by=name&sort_order={order}&per_page=4&page={page}")).body["categories"]
        for page in (1, 2)
    ]
    assert [category["name"] for page in pages for category in page] == expected
    query = f"""query ($after: String) {{
        category_connection(sort: NAME_{order.upper()}, first: 4, after: $after) {{
            edges {{ node {{ name }} }} page_info {{ end_cursor }} }} }}"""
    read, after = [], None
    for _ in range(2):
        answer = await admin.post("/graphql", {"query": query, "variables": {"after": after}})
        connection = answer.body["data"]["category_connection"]
        read += [edge["node"]["name"] for edge in connection["edges"]]
        after = connection["page_info"]["end_cursor"]
    assert read == expected


async def test_only_the_name_is_required(admin: Client) -> None:
    made = await admin.post(CATEGORIES, {"name": "Roupas", "description": "ignored", "anything": 1})
    assert made.status == 201
    assert {name: made.body[name] for name in ("name", "parent_id", "position", "status")} == {
        "name": "Roupas",
        "parent_id": None,
        "position": 0,
        "status": "A",
    }


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@pytest.mark.parametrize(
    "change, shown",
    [
        ({"name": "Calçados"}, {"name": "Calçados"}),
        ({"position": 3}, {"position": 3}),
        ({"status": "disabled"}, {"status": "D"}),
        ({"parent_id": None}, {"parent_id": None}),
        ({"parent_id": 0}, {"parent_id": None}),
        ({}, {}),
        ({"id": UNKNOWN_ID, "product_count": 9}, {}),
    ],
)
async def test_updates_are_partial(admin: Client, method: str, change: dict, shown: dict) -> None:
    parent = await records.add_category(admin.store)
    made = (await admin.post(CATEGORIES, {"name": "Camisetas", "parent_id": parent.id})).body
    changed = await admin.request(method, f"{CATEGORIES}/{made['id']}", change)
    assert changed.status == 200, changed
    assert changed.body == made | shown | {"updated_at": changed.body["updated_at"]}
    assert (await admin.get(f"{CATEGORIES}/{made['id']}")).body == changed.body


async def test_an_empty_category_is_deleted(admin: Client) -> None:
    made = (await admin.post(CATEGORIES, {"name": "Roupas"})).body
    answer = await admin.delete(f"{CATEGORIES}/{made['id']}")
    assert (answer.status, answer.raw) == (204, b"")
    for method, body in (("GET", None), ("PUT", {}), ("PATCH", {"name": "x"}), ("DELETE", None)):
        again = await admin.request(method, f"{CATEGORIES}/{made['id']}", body)
        assert (again.status, again.body) == (404, {"error": "category not found"}), (method, body)


async def test_a_category_with_products_or_subcategories_is_not_deleted(admin: Client) -> None:
    parent = (await admin.post(CATEGORIES, {"name": "Roupas"})).body
    child = (await admin.post(CATEGORIES, {"name": "Camisetas", "parent_id": parent["id"]})).body
    await admin.post("/api/v1/admin/products", {"name": "A", "price_cents": 1, "category_id": child["id"]})
    for category in (parent, child):
        answer = await admin.delete(f"{CATEGORIES}/{category['id']}")
        assert answer.status == 422, category
        assert answer.body["error"] == "category_not_empty", category
        assert (await admin.get(f"{CATEGORIES}/{category['id']}")).status == 200


@pytest.mark.parametrize(
    "change, fields",
    [
        ({"name": None}, {"name": "name_required"}),
        ({"name": "  "}, {"name": "name_required"}),
        ({"name": 5}, {"name": "name_invalid"}),
        ({"name": {}}, {"name": "name_invalid"}),
        ({"name": "x" * 256}, {"name": "name_invalid"}),
        ({"position": -1}, {"position": "position_invalid"}),
        ({"position": "1"}, {"position": "position_invalid"}),
        ({"position": 1.5}, {"position": "position_invalid"}),
        ({"position": True}, {"position": "position_invalid"}),
        ({"position": None}, {"position": "position_invalid"}),
        ({"position": 2**31}, {"position": "position_invalid"}),
        ({"position": 2**62}, {"position": "position_invalid"}),
        ({"status": "P"}, {"status": "status_invalid"}),
        ({"status": "on"}, {"status": "status_invalid"}),
        ({"status": 1}, {"status": "status_invalid"}),
        ({"status": None}, {"status": "status_invalid"}),
        ({"status": "on", "position": -1}, {"status": "status_invalid", "position": "position_invalid"}),
        ({"parent_id": UNKNOWN_ID}, {"parent_id": "not_found"}),
        ({"parent_id": "abc"}, {"parent_id": "not_found"}),
        ({"parent_id": {}}, {"parent_id": "invalid"}),
        ({"parent_id": True}, {"parent_id": "invalid"}),
    ],
)
async def test_invalid_fields_are_named(admin: Client, change: dict, fields: dict) -> None:
    made = await admin.post(CATEGORIES, {"name": "Roupas"} | change)
    assert (made.status, made.body) == (400, {"error": "validation_failed", "fields": fields})
    category = await records.add_category(admin.store)
    for method in ("PUT", "PATCH"):
        changed = await admin.request(method, f"{CATEGORIES}/{category.id}", change)
        assert (changed.status, changed.body) == (400, {"error": "validation_failed", "fields": fields}), method


async def test_the_name_of_a_new_category_is_required(admin: Client) -> None:
    made = await admin.post(CATEGORIES, {"position": 1})
    assert (made.status, made.body) == (
        400,
        {"error": "validation_failed", "fields": {"name": "name_required"}},
    )


async def test_a_category_cannot_be_its_own_descendant(admin: Client) -> None:
    root = (await admin.post(CATEGORIES, {"name": "Roupas"})).body
    child = (await admin.post(CATEGORIES, {"name": "Camisetas", "parent_id": root["id"]})).body
    for parent in (root, child):
        answer = await admin.put(f"{CATEGORIES}/{root['id']}", {"parent_id": parent["id"]})
        assert (answer.status, answer.body["fields"]) == (400, {"parent_id": "parent_invalid"}), parent


async def test_a_parent_of_another_store_is_rejected(admin: Client, other_store: Store) -> None:
    foreign_category = await records.add_category(other_store)
    made = await admin.post(CATEGORIES, {"name": "Roupas", "parent_id": foreign_category.id})
    assert (made.status, made.body["fields"]) == (400, {"parent_id": "not_found"})
