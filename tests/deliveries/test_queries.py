"""A subscription may say in GraphQL what it wants to be told; it is run as the app, within the app's rights and limits."""

from __future__ import annotations

import pytest

from tests.apps.conftest import NewApp
from tests.current import kit
from tests.current.kit import Caller
from tests.current.oauth import INSTALLED, UPDATE, done
from tests.deliveries.conftest import Delivering
from tests.deliveries.kit import WEBHOOKS, deliveries, sha256, states, subscribed
from tests.deliveries.receiver import Receiver, until

URL = "https://hooks.example.com/"


async def test_a_query_makes_the_data(app: Caller, receiver: Receiver, delivering: Delivering) -> None:
    category = await kit.add_category(app.store, name="Cozinha")
    await subscribed(
        app,
        receiver.url(),
        "product.created",
        "product.updated",
        query="{ preco: price_cents name category { name } }",
    )
    async with delivering():
        made = await app.post(
            "/api/admin/products", {"name": "Caneca", "price_cents": 4_990, "category_id": category.id}
        )
        assert made.status == 201
        (received,) = await receiver.until(1)
    envelope = received.envelope
    assert envelope["data"] == {"preco": 4_990, "name": "Caneca", "category": {"name": "Cozinha"}}
    assert list(envelope["data"]) == ["preco", "name", "category"]
    assert received.headers["X-Service-Signature"] == sha256(app.user.client_secret, received.raw)


async def test_what_is_gone_is_told_as_it_was_kept(
    app: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    product = await kit.add_product(app.store)
    await subscribed(app, receiver.url(), "product.deleted", query="{ name }")
    answer = await done(app, "mutation ($id: ID!) { product_delete(id: $id) { id } }", id=product.id)
    assert answer == {"id": product.id}
    async with delivering():
        (received,) = await receiver.until(1)
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
    ],
)
async def test_what_is_no_selection_is_refused(app: Caller, query: str) -> None:
    answer = await app.post(WEBHOOKS, {"url": URL, "events": ["order.created"], "query": query})
    if not query:  # none
        assert (answer.status, answer.body["query"]) == (201, None)
        return
    assert (answer.status, answer.body["error"], answer.body["fields"]) == (
        400,
        "validation_failed",
        {"query": "query_invalid"},
    )


async def test_a_query_is_about_one_kind_of_subject(app: Caller) -> None:
    body = {"url": URL, "events": ["order.created", "user.registered"], "query": "{ id }"}
    assert (await app.post(WEBHOOKS, body)).body["fields"] == {"query": "query_invalid"}
    ident = await subscribed(app, URL, "order.created", query="{ id total_cents }")
    assert (await app.put(f"{WEBHOOKS}/{ident}", {"events": ["user.registered"]})).status == 400
    changed = await app.put(f"{WEBHOOKS}/{ident}", {"events": ["user.registered"], "query": "{ id email }"})
    assert (changed.status, changed.body["query"]) == (200, "{ id email }")
    freed = await app.put(
        f"{WEBHOOKS}/{ident}", {"query": None, "events": ["order.created", "user.registered"]}
    )
    assert (freed.status, freed.body["query"]) == (200, None)


async def test_a_query_that_costs_too_much_is_refused(app: Caller) -> None:
    dear = "{ items { product { reviews(limit: 100) { id } category { products(limit: 100) { reviews(limit: 100) { id } } } } } }"
    answer = await app.post(WEBHOOKS, {"url": URL, "events": ["order.created"], "query": dear})
    assert (answer.status, answer.body["fields"]) == (400, {"query": "query_too_complex"})
    deep = "{ category { parent " * 8 + "{ id }" + " } }" * 8
    answer = await app.post(WEBHOOKS, {"url": URL, "events": ["product.created"], "query": deep})
    assert (answer.status, answer.body["fields"]) == (400, {"query": "query_too_complex"})


@pytest.mark.parametrize(
    "query, refusal",
    [
        ("{ id items { product { name } } }", ("token_scope", "read_products")),
        ("{ ... on Order { id items { product { name } } } }", ("token_scope", "read_products")),
        # What apps never see.
        ("{ id user { email } }", ("insufficient_privileges", None)),
        ("{ id ip_address }", ("insufficient_privileges", None)),
    ],
)
async def test_a_query_beyond_the_scopes_is_refused(
    new_app: NewApp, query: str, refusal: tuple[str, str | None]
) -> None:
    app = await new_app("read_orders")
    answer = await app.post(WEBHOOKS, {"url": URL, "events": ["order.created"], "query": query})
    assert (answer.status, (answer.body["error"], answer.body.get("scope"))) == (403, refusal)


async def test_a_query_that_lost_its_rights_sends_nothing(
    new_app: NewApp, admin: Caller, receiver: Receiver, delivering: Delivering
) -> None:
    app = await new_app("read_orders", "read_products")
    order = await kit.add_order(app.store)
    await subscribed(app, receiver.url(), "order.updated", query="{ id items { product { name } } }")
    (installed,) = await done(admin, INSTALLED)
    await done(admin, UPDATE, id=installed["id"], input={"scopes": ["read_orders"]})
    changed = await admin.put(f"/api/v1/admin/orders/{order.id}/status", {"status": "P"})
    assert changed.status == 200
    async with delivering():
        await until(lambda: _cancelled(app))
    assert receiver.got == []
    (delivery,) = await deliveries(app.store)
    assert delivery["last_error"].startswith("the query was refused")


async def _cancelled(app: Caller) -> bool:
    return await states(app.store) == ["cancelled"]


async def test_an_administrator_gives_an_app_no_query_beyond_its_scopes(
    admin: Caller, new_app: NewApp
) -> None:
    await new_app("read_orders")
    (installed,) = await done(admin, INSTALLED)
    body = {
        "url": URL,
        "events": ["order.created"],
        "query": "{ id user { cpf } }",
        "installed_app_id": installed["id"],
    }
    assert (await admin.post("/api/v1/admin/event-endpoints", body)).status == 403
    assert (await admin.post("/api/v1/admin/event-endpoints", {**body, "query": "{ id }"})).status == 201
