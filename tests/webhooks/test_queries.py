"""A subscription's GraphQL query selects the data of its events; it runs with the app's scopes and limits."""

from __future__ import annotations

import pytest

from tests.harness import records
from tests.harness.clients import NewApp
from tests.harness.http import Client
from tests.harness.oauth import INSTALLED, UPDATE, graphql_result
from tests.webhooks.conftest import RunWorker
from tests.webhooks.kit import WEBHOOKS, deliveries, sha256, states, subscribe
from tests.webhooks.receiver import Receiver, wait_until

URL = "https://hooks.example.com/"


async def test_query_selects_the_data(app: Client, receiver: Receiver, run_worker: RunWorker) -> None:
    category = await records.add_category(app.store, name="Cozinha")
    await subscribe(
        app,
        receiver.url(),
        "product.created",
        "product.updated",
        query="{ preco: price_cents name category { name } }",
    )
    async with run_worker():
        created = await app.post(
            "/api/admin/products", {"name": "Caneca", "price_cents": 4_990, "category_id": category.id}
        )
        assert created.status == 201
        (received,) = await receiver.wait_for(1)
    envelope = received.envelope
    assert envelope["data"] == {"preco": 4_990, "name": "Caneca", "category": {"name": "Cozinha"}}
    assert list(envelope["data"]) == ["preco", "name", "category"]
    assert received.headers["X-Service-Signature"] == sha256(app.user.client_secret, received.raw)


async def test_event_of_a_deleted_subject_has_the_stored_data(
    app: Client, receiver: Receiver, run_worker: RunWorker
) -> None:
    product = await records.add_product(app.store)
    await subscribe(app, receiver.url(), "product.deleted", query="{ name }")
    answer = await graphql_result(app, "mutation ($id: ID!) { product_delete(id: $id) { id } }", id=product.id)
    assert answer == {"id": product.id}
    async with run_worker():
        (received,) = await receiver.wait_for(1)
    assert set(received.envelope["data"]) == {"id", "deleted_at"}


@pytest.mark.parametrize(
    "query",
    [
        "id",
        "",
        "{",
        "{ id ",
        "{ nothing }",
        "{ id } }",
        "{ id } other: products { id }",
        "{ id } } query More { products { id } ",
        "{ id } } fragment F on Order { id ",
        "{ items }",
        "{ id(x: 1) }",
        "query { order(id: 1) { id } }",
        "mutation { product_delete(id: 1) { id } }",
        "{ __typename @nothing }",
        "{ ...F }",
        "{ id @include(if: $yes) }",
        "@include(if: false) { id }",
    ],
)
async def test_invalid_selection_is_refused(app: Client, query: str) -> None:
    answer = await app.post(WEBHOOKS, {"url": URL, "events": ["order.created"], "query": query})
    if not query:  # none
        assert (answer.status, answer.body["query"]) == (201, None)
        return
    assert (answer.status, answer.body["error"], answer.body["fields"]) == (
        400,
        "validation_failed",
        {"query": "query_invalid"},
    )


@pytest.mark.parametrize(
    "query, message",
    [
        ("{ reviews(limit: 101) { id } }", "limit is 101; expected 1 to 100"),
        ("{ related(first: 0) { id } }", "first is 0; expected 1 to 100"),
        ("{ category { products(first: 101) { edges { node { id } } } } }", "first is 101; expected 0 to 100"),
        ("{ category { ...on Category { products(first: 1, last: 1) { edges { node { id } } } } } }", "expected first or last, not both"),
        ("{ category { products(after: \"x\") { edges { node { id } } } } }", "after "),
    ],
)  # fmt: skip
async def test_a_page_that_no_delivery_could_have_is_refused(app: Client, query: str, message: str) -> None:
    answer = await app.post(WEBHOOKS, {"url": URL, "events": ["product.updated"], "query": query})
    assert (answer.status, answer.body["fields"]) == (400, {"query": "query_invalid"})
    assert answer.body["message"].startswith(f"query: {message}")
    endpoint = await subscribe(app, URL, "product.updated", query="{ reviews(limit: 100) { id } }")
    assert (await app.put(f"{WEBHOOKS}/{endpoint}", {"query": query})).status == 400


async def test_the_message_of_a_wrong_literal_is_that_of_a_document(app: Client) -> None:
    query = "{ related(first: null) { id } }"
    answer = await app.post(WEBHOOKS, {"url": URL, "events": ["product.updated"], "query": query})
    assert answer.body["message"] == "query: Expected value of non-null type 'Int!' not to be null."


async def test_query_requires_events_about_one_subject_type(app: Client) -> None:
    body = {"url": URL, "events": ["order.created", "user.registered"], "query": "{ id }"}
    assert (await app.post(WEBHOOKS, body)).body["fields"] == {"query": "query_invalid"}
    endpoint_id = await subscribe(app, URL, "order.created", query="{ id total_cents }")
    assert (await app.put(f"{WEBHOOKS}/{endpoint_id}", {"events": ["user.registered"]})).status == 400
    changed = await app.put(f"{WEBHOOKS}/{endpoint_id}", {"events": ["user.registered"], "query": "{ id email }"})
    assert (changed.status, changed.body["query"]) == (200, "{ id email }")
    removed = await app.put(
        f"{WEBHOOKS}/{endpoint_id}", {"query": None, "events": ["order.created", "user.registered"]}
    )
    assert (removed.status, removed.body["query"]) == (200, None)


async def test_too_complex_query_is_refused(app: Client) -> None:
    products = "products(first: 100) { edges { node { reviews(limit: 100) { id } } } }"
    expensive = f"{{ items {{ product {{ reviews(limit: 100) {{ id }} category {{ {products} }} }} }} }}"
    answer = await app.post(WEBHOOKS, {"url": URL, "events": ["order.created"], "query": expensive})
    assert (answer.status, answer.body["fields"]) == (400, {"query": "query_too_complex"})
    deep = "{ category { parent " * 8 + "{ id }" + " } }" * 8
    answer = await app.post(WEBHOOKS, {"url": URL, "events": ["product.created"], "query": deep})
    assert (answer.status, answer.body["fields"]) == (400, {"query": "query_too_complex"})


@pytest.mark.parametrize(
    "query, refusal",
    [
        ("{ id items { product { name } } }", ("token_scope", "read_products")),
        ("{ ... on Order { id items { product { name } } } }", ("token_scope", "read_products")),
        # Never visible to apps.
        ("{ id user { email } }", ("insufficient_privileges", None)),
        ("{ id ip_address }", ("insufficient_privileges", None)),
    ],
)
async def test_query_outside_the_scopes_is_refused(
    new_app: NewApp, query: str, refusal: tuple[str, str | None]
) -> None:
    app = await new_app("read_orders")
    answer = await app.post(WEBHOOKS, {"url": URL, "events": ["order.created"], "query": query})
    assert (answer.status, (answer.body["error"], answer.body.get("scope"))) == (403, refusal)


async def test_query_that_lost_its_scopes_cancels_the_delivery(
    new_app: NewApp, admin: Client, receiver: Receiver, run_worker: RunWorker
) -> None:
    app = await new_app("read_orders", "read_products")
    order = await records.add_order(app.store)
    await subscribe(app, receiver.url(), "order.updated", query="{ id items { product { name } } }")
    (installed,) = await graphql_result(admin, INSTALLED)
    await graphql_result(admin, UPDATE, id=installed["id"], input={"scopes": ["read_orders"]})
    changed = await admin.put(f"/api/v1/admin/orders/{order.id}/status", {"status": "P"})
    assert changed.status == 200
    async with run_worker():
        await wait_until(lambda: _cancelled(app))
    assert receiver.received == []
    (delivery,) = await deliveries(app.store)
    assert delivery["last_error"].startswith("the query was refused")


async def _cancelled(app: Client) -> bool:
    return await states(app.store) == ["cancelled"]


async def test_administrator_cannot_set_a_query_outside_the_apps_scopes(admin: Client, new_app: NewApp) -> None:
    await new_app("read_orders")
    (installed,) = await graphql_result(admin, INSTALLED)
    body = {
        "url": URL,
        "events": ["order.created"],
        "query": "{ id user { cpf } }",
        "installed_app_id": installed["id"],
    }
    assert (await admin.post("/api/v1/admin/event-endpoints", body)).status == 403
    assert (await admin.post("/api/v1/admin/event-endpoints", {**body, "query": "{ id }"})).status == 201
