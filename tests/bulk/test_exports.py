"""Exports of the app integration API (docs/reference/apps.md#exports)."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from models.connection import database
from resolvers.execute import execute_field, load_operations
from rest_facade.apps import OPERATIONS, exports
from rest_facade.records import FRAGMENTS
from tests.harness.clients import NewApp
from tests.harness.http import Client, Response
from tests.harness.records import add_category, add_product, add_user
from tests.harness.scopes import execute, system_scope


def records(response: Response) -> list[Any]:
    assert response.status == 200, response
    assert response.headers["Content-Type"] == "application/jsonl"
    return [json.loads(line) for line in response.raw.splitlines()]


async def export(app: Client, name: str, **query: str) -> list[Any]:
    return records(await app.get(f"/api/admin/export/{name}.jsonl", **query))


async def test_all_products_are_exported_as_their_records(app: Client):
    created = [await add_product(app.store) for _ in range(260)]
    lines = await export(app, "products")
    assert [line["id"] for line in lines] == [product.id for product in created]
    shown = await app.get(f"/api/storefront/products/{created[7].id}")
    assert lines[7] | {"pricing": shown.body["pricing"]} == shown.body


async def test_orders_users_and_categories_are_exported_as_their_records(app: Client, admin: Client):
    user = await add_user(app.store, user_type="C")
    category = await add_category(app.store)
    await execute(
        app.store,
        "insert into orders (tenant_id, id, public_id, email, total_cents) values ($1, 7, gen_random_uuid(), 'a@example.com', 5)",
        app.store.id,
    )
    orders = (await app.get("/api/admin/orders")).body["orders"]
    assert await export(app, "orders") == orders
    assert len(orders) == 1
    assert (await app.get(f"/api/admin/users/{user.id}")).body in await export(app, "users")
    assert await export(app, "categories") == [(await admin.get(f"/api/v1/admin/categories/{category.id}")).body]


async def test_an_export_of_nothing_is_empty(app: Client):
    assert await export(app, "orders") == []


async def test_the_filters_of_lists_apply(app: Client):
    hidden = await add_product(app.store, status="H", name="Escondida")
    await add_product(app.store)
    assert len(await export(app, "products")) == 2
    assert [line["id"] for line in await export(app, "products", status="hidden")] == [hidden.id]
    assert [line["id"] for line in await export(app, "products", search="escond")] == [hidden.id]
    assert await export(app, "products", created_before="2020-01-01") == []


@pytest.mark.parametrize("query", [{"status": "Ω"}, {"created_after": "ontem"}, {"search": "x" * 1_001}])
async def test_a_wrong_filter_is_refused_before_the_first_line(app: Client, query: dict[str, str]):
    response = await app.get("/api/admin/export/products.jsonl", **query)
    assert (response.status, response.body["error"]) == (400, "invalid_parameter")


@pytest.mark.parametrize(
    "name, scope",
    [(collection.name, f"read_{collection.name}") for collection in exports.COLLECTIONS],
)
async def test_an_export_needs_the_scope_of_its_records(new_app: NewApp, name: str, scope: str):
    other = "read_orders" if scope != "read_orders" else "read_users"
    response = await (await new_app(other)).get(f"/api/admin/export/{name}.jsonl")
    assert (response.status, response.body["error"], response.body["scope"]) == (403, "token_scope", scope)


async def test_users_and_visitors_have_no_export(app: Client, admin: Client, visitor: Client):
    for client in (admin, visitor, app.with_token("vat_live_x")):
        assert (await client.get("/api/admin/export/products.jsonl")).status == 401
    assert (await app.get("/api/admin/export/nothing.jsonl")).status == 404
    assert (await app.post("/api/admin/export/products.jsonl", {})).status == 405


async def test_another_stores_records_are_not_exported(app: Client, other_admin: Client):
    await add_product(other_admin.store)
    assert await export(app, "products") == []
    assert (await app.at(other_admin.store).get("/api/admin/export/products.jsonl")).status == 403


async def test_head_answers_without_lines(app: Client):
    await add_product(app.store)
    response = await app.request("HEAD", "/api/admin/export/products.jsonl")
    assert (response.status, response.raw) == (200, b"")


async def test_an_export_is_compressed_for_those_that_accept_it(app: Client):
    await add_product(app.store)
    headers = {"X-Tenant-ID": str(app.store.public_id), "Accept-Encoding": "gzip", **app.credentials}
    path = "/api/admin/export/products.jsonl"
    async with app.http.request("GET", path, headers=headers, auto_decompress=False) as received:
        assert received.headers["Content-Encoding"] == "gzip"
        assert "Accept-Encoding" in received.headers["Vary"]
        compressed = await received.read()
    assert len(gzip.decompress(compressed).splitlines()) == 1


async def test_a_page_takes_the_same_number_of_statements_whatever_its_size(app: Client):
    operation = load_operations(OPERATIONS, FRAGMENTS)["AppProductsExport"]
    counts = []
    for _ in range(2):
        await add_product(app.store)
        await execute_field(system_scope(app.store), operation, {})
        with database.count_statements() as counted:
            await execute_field(system_scope(app.store), operation, {})
        counts.append(counted.count)
        for _ in range(100):
            await add_product(app.store)
    assert counts[0] == counts[1]


async def test_records_created_meanwhile_do_not_repeat_others(app: Client, monkeypatch: pytest.MonkeyPatch):
    for _ in range(251):
        await add_product(app.store)
    read_page = execute_field

    async def creating(*arguments: Any) -> Any:
        page = await read_page(*arguments)
        await add_product(app.store)
        return page

    monkeypatch.setattr(exports, "execute_field", creating)
    ids = [line["id"] for line in await export(app, "products")]
    assert len(ids) == len(set(ids)) == 252


async def test_a_failure_after_the_first_line_is_no_complete_export(app: Client, monkeypatch: pytest.MonkeyPatch):
    import aiohttp

    for _ in range(251):
        await add_product(app.store)
    read_page = execute_field
    pages = []

    async def failing(*arguments: Any) -> Any:
        pages.append(1)
        if len(pages) > 1:
            raise RuntimeError("the database is gone")
        return await read_page(*arguments)

    monkeypatch.setattr(exports, "execute_field", failing)
    with pytest.raises((aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError, ConnectionError)):
        await app.get("/api/admin/export/products.jsonl")
