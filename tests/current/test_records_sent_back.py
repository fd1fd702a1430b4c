"""Programs read a record, change a field and send the whole record back (docs/reference/current.md#admin).

What is equal to the record is not written: no event reaches other programs, which may answer each with a write of their own, and the
values that a record doesn't show stay.
"""

from typing import Any

import pytest

from tests.harness import scopes
from tests.harness.http import Client
from tests.harness.records import UNKNOWN_ID
from tests.harness.row_versions import changed_tables, row_versions

ADMIN = "/api/v1/admin"
ENDPOINT = {"url": "https://shop.example.com/hook", "events": ["order.created"]}
TABLES = {
    "products": "products",
    "categories": "categories",
    "event-endpoints": "event_endpoints",
}
CHANGES: dict[str, dict[str, Any]] = {
    "products": {"price_cents": 5},
    "categories": {"position": 3},
    "event-endpoints": {"events": ["order.updated"]},
}


# What a request writes of its own credential.
_USED = ("sessions", "app_tokens")


@pytest.fixture
async def addresses(admin: Client, app: Client) -> dict[str, tuple[Client, str, str]]:
    """Return a record of each collection: its client, and where it is read and written."""
    image = {"url": "https://img.example.com/1.jpg", "alt": "Frente"}
    product = (await admin.post(f"{ADMIN}/products", {"name": "Caneca", "price_cents": 1, "images": [image]})).body[
        "id"
    ]
    category = (await admin.post(f"{ADMIN}/categories", {"name": "Cozinha"})).body["id"]
    endpoint = (await app.post("/api/admin/webhooks", ENDPOINT)).body["id"]
    ids = {"products": product, "categories": category, "event-endpoints": endpoint}
    paths = {name: f"{ADMIN}/{name}/{record_id}" for name, record_id in ids.items()}
    return {name: (admin, path, path) for name, path in paths.items()} | {
        "app products": (app, f"/api/storefront/products/{product}", f"/api/admin/products/{product}"),
        "app webhooks": (app, f"/api/admin/webhooks/{endpoint}", f"/api/admin/webhooks/{endpoint}"),
    }


async def _age(client: Client) -> None:
    """Move the last changes into the past, so that another one is seen."""
    for table in TABLES.values():
        await scopes.execute(client.store, f"update {table} set updated_at = updated_at - interval '1 day'")
    await scopes.execute(client.store, "update product_images set width = 100, height = 50")


async def _traces(client: Client) -> list[Any]:
    return [
        await scopes.rows(client.store, f"select id from {table} order by id")
        for table in ("outbox_events", "audit_entries", "product_images")
    ]


def _written(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record as writes show it: without what a shopper pays."""
    return {name: value for name, value in record.items() if name != "pricing"}


@pytest.mark.parametrize("name", [*TABLES, "app products", "app webhooks"])
async def test_a_record_sent_back_is_not_written(addresses: dict[str, tuple[Client, str, str]], name: str) -> None:
    client, read, write = addresses[name]
    await _age(client)
    before, traces = (await client.get(read)).body, await _traces(client)
    answer = await client.put(write, before)
    assert (answer.status, answer.body) == (200, _written(before))
    assert (await client.get(read)).body == before
    assert await _traces(client) == traces


async def test_an_equal_field_is_not_written(addresses: dict[str, tuple[Client, str, str]]) -> None:
    for name, (client, read, write) in addresses.items():
        record = (await client.get(read)).body
        fields = CHANGES[name.removeprefix("app ").replace("webhooks", "event-endpoints")]
        before = await row_versions(client.store, without=_USED)
        for body in ({field: record[field] for field in fields}, {}):
            answer = await client.put(write, body)
            assert (answer.status, answer.body) == (200, _written(record)), (name, body)
        assert changed_tables(before, await row_versions(client.store, without=_USED)) == [], name


@pytest.mark.parametrize("name", TABLES)
async def test_the_changed_field_of_a_record_sent_back_is_written(
    addresses: dict[str, tuple[Client, str, str]], name: str
) -> None:
    client, path, _ = addresses[name]
    await _age(client)
    before = (await client.get(path)).body
    answer = await client.put(path, before | CHANGES[name])
    assert answer.status == 200, answer
    assert {field: answer.body[field] for field in before.keys() - {"updated_at"}} == {
        field: value for field, value in (before | CHANGES[name]).items() if field != "updated_at"
    }
    assert answer.body["updated_at"] > before["updated_at"]
    assert [tuple(row) for row in await scopes.rows(client.store, "select width, height from product_images")] == [
        (100, 50)
    ]


async def test_a_wrong_value_is_refused_whatever_else_is_sent(addresses: dict[str, tuple[Client, str, str]]) -> None:
    client, path, _ = addresses["products"]
    before = (await client.get(path)).body
    answer = await client.put(path, before | {"status": "Z", "price_cents": -1})
    assert (answer.status, answer.body["fields"]) == (400, {"status": "status_invalid", "price_cents": "price_invalid"})
    # In Python, True and 1.0 equal the record's 1.
    for value in (True, 1.0):
        without = await client.patch(path, {"price_cents": value})
        answer = await client.put(path, before | {"price_cents": value})
        assert (answer.status, answer.body) == (without.status, without.body), value
    assert (await client.put(path, before | {"price_cents": True})).status == 400
    missing = await client.put(f"{ADMIN}/products/{UNKNOWN_ID}", before)
    assert (missing.status, missing.body) == (404, {"error": "product not found"})
