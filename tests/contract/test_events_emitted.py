"""Every documented event is emitted by every entry point that causes it (docs/reference/shared.md#events)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from domain import stores
from domain.orders.expiry import expire_orders
from domain.people import accounts
from kernel.scope import active_scope
from server import store_admin
from server.importers import olist
from tests.gateway import SECRET, charge, event, raw, signature
from tests.importers.test_olist import write
from tests.product_records import PRODUCT_RECORD
from tests.shop import Answer, Shop

ORDER_DATA = {
    "id", "status", "total_cents", "currency", "customer", "items", "created_at", "previous_status", "tracking_code",
}  # fmt: skip
USER_DATA = {"id", "name", "email", "role", "created_at"}

Events: TypeAlias = list[tuple[str, int, dict[str, Any]]]
EntryPoint: TypeAlias = Callable[[Shop], Awaitable[str]]


async def latest_event_id(shop: Shop) -> int:
    return int(await shop.value("select coalesce(max(id), 0) from outbox_events"))


async def events_since(shop: Shop, before: int) -> Events:
    """Return the emitted events: name, sequence within the subject, data."""
    outbox = await shop.rows(
        "select name, sequence, data::text, subject_id from outbox_events where id > $1 order by id", before
    )
    rows = [(row["name"], row["sequence"], json.loads(row["data"])) for row in outbox]
    assert all(str(row["subject_id"]) == data["id"] for row, (_, _, data) in zip(outbox, rows, strict=True))
    return rows


async def app_token(shop: Shop, *scopes: str) -> str:
    """Install an app in the store and return its token."""
    from tests.current.kit import Caller
    from tests.current.oauth import issue_tokens, register_app

    owner = Caller(shop.client, shop.store, await shop.token(shop.owner), shop.address)
    app = await register_app(owner, scopes=list(scopes))
    return str((await issue_tokens(owner, app, list(scopes)))["access_token"])


async def as_app(shop: Shop, method: str, path: str, body: Any, *scopes: str) -> Answer:
    token = await app_token(shop, *scopes)
    return await shop.call(method, path, body, auth=None, headers={"Authorization": f"Bearer {token}"})


async def graphql(shop: Shop, document: str, **variables: Any) -> Any:
    answer = await shop.post("/graphql", {"query": document, "variables": variables}, auth="bearer")
    assert "errors" not in answer.body, answer.raw
    return next(iter(answer.body["data"].values()))


async def uuid_of(shop: Shop, table: str, number: Any) -> str:
    return str(await shop.value(f"select public_id from {table} where id = $1", int(number)))


# --- Products ----------------------------------------------------------------------------------------------------------------

NEW_PRODUCT = {"name": "Bule", "price_cents": 7_990}


async def _created_by_graphql(shop: Shop) -> str:
    product = await graphql(
        shop, "mutation($i: ProductInput!) { product_create(input: $i) { id } }", i=NEW_PRODUCT
    )
    return str(product["id"])


async def _created_in_bulk(shop: Shop) -> str:
    document = "mutation($r: [ProductUpsertInput!]!) { product_bulk_upsert(rows: $r) { id } }"
    return str((await graphql(shop, document, r=[NEW_PRODUCT]))[0]["id"])


async def _created_by_admin(shop: Shop) -> str:
    return str((await shop.post("/api/v1/admin/products", NEW_PRODUCT, auth="bearer")).body["id"])


async def _created_by_app(shop: Shop) -> str:
    return str((await as_app(shop, "POST", "/api/admin/products", NEW_PRODUCT, "write_products")).body["id"])


async def _created_by_legacy(shop: Shop) -> str:
    answer = await shop.post("/api/products", {"product": "Bule", "price": "79.90"})
    return await uuid_of(shop, "products", answer.body["product_id"])


async def _created_by_app_on_graphql(shop: Shop) -> str:
    body = {"query": 'mutation { product_create(input: {name: "Bule", price_cents: 7990}) { id } }'}
    answer = await as_app(shop, "POST", "/graphql", body, "write_products")
    return str(answer.body["data"]["product_create"]["id"])


@pytest.mark.parametrize(
    "entry_point",
    [
        _created_by_graphql,
        _created_in_bulk,
        _created_by_admin,
        _created_by_app,
        _created_by_app_on_graphql,
        _created_by_legacy,
    ],
)
async def test_creating_a_product_emits_its_record(shop: Shop, entry_point: EntryPoint) -> None:
    before = await latest_event_id(shop)
    id = await entry_point(shop)
    [(name, sequence, data)] = await events_since(shop, before)
    assert (name, sequence, set(data)) == ("product.created", 1, PRODUCT_RECORD)
    assert data == (await shop.get(f"/api/v1/admin/products/{id}", auth="bearer")).body


CHANGES: dict[str, Callable[[Shop], Awaitable[Any]]] = {
    "graphql": lambda shop: graphql(
        shop,
        "mutation($id: ID!) { product_update(id: $id, input: {price_cents: 4000}) { id } }",
        id=shop.mug.id,
    ),
    "bulk": lambda shop: graphql(
        shop,
        "mutation($id: ID!) { product_bulk_upsert(rows: [{id: $id, price_cents: 4000}]) { id } }",
        id=shop.mug.id,
    ),
    "admin put": lambda shop: shop.put(
        f"/api/v1/admin/products/{shop.mug.id}", {"price_cents": 4_000}, auth="bearer"
    ),
    "admin patch": lambda shop: shop.patch(
        f"/api/v1/admin/products/{shop.mug.id}", {"stock": 7}, auth="bearer"
    ),
    "app": lambda shop: as_app(
        shop, "PUT", f"/api/admin/products/{shop.mug.id}", {"price_cents": 4_000}, "write_products"
    ),
    "legacy": lambda shop: shop.put(f"/api/products/{shop.mug}", {"price": "40.00"}),
    "legacy stock": lambda shop: shop.put(f"/api/products/{shop.mug}", {"amount": 9}),
}


@pytest.mark.parametrize("entry_point", CHANGES)
async def test_updating_a_product_emits_its_record(shop: Shop, entry_point: str) -> None:
    before = await latest_event_id(shop)
    previous_events = await shop.value(
        "select count(*) from outbox_events where subject_id = $1", shop.mug.id
    )
    await CHANGES[entry_point](shop)
    [(name, sequence, data)] = await events_since(shop, before)
    assert (name, sequence) == ("product.updated", previous_events + 1)
    assert data == (await shop.get(f"/api/v1/admin/products/{shop.mug.id}", auth="bearer")).body
    assert data["category"] == {"id": shop.kitchen.id, "name": "Cozinha"}
    assert [image["url"] for image in data["images"]] == [
        "https://img.example.com/caneca.jpg",
        "https://img.example.com/caneca-2.jpg",
    ]


DELETIONS: dict[str, Callable[[Shop], Awaitable[Any]]] = {
    "graphql": lambda shop: graphql(
        shop, "mutation($id: ID!) { product_delete(id: $id) { id } }", id=shop.plate.id
    ),
    "admin": lambda shop: shop.delete(f"/api/v1/admin/products/{shop.plate.id}", auth="bearer"),
    "legacy": lambda shop: shop.delete(f"/api/products/{shop.plate}"),
}


@pytest.mark.parametrize("entry_point", DELETIONS)
async def test_deleting_a_product_emits_its_id_and_time(shop: Shop, entry_point: str) -> None:
    before = await latest_event_id(shop)
    await DELETIONS[entry_point](shop)
    [(name, sequence, data)] = await events_since(shop, before)
    assert (name, sequence, set(data)) == ("product.deleted", 1, {"id", "deleted_at"})
    assert data["id"] == shop.plate.id
    assert data["deleted_at"].endswith("Z")


async def test_deleting_a_vendor_emits_the_deletion_of_its_products(shop: Shop) -> None:
    await shop.execute("update orders set status = 'C'")
    before = await latest_event_id(shop)
    await graphql(shop, "mutation($id: ID!) { vendor_delete(id: $id) { id } }", id=shop.rival.id)
    assert [(name, data["id"]) for name, _, data in await events_since(shop, before)] == [
        ("product.deleted", shop.plate.id)
    ]


# --- Orders ------------------------------------------------------------------------------------------------------------------


async def _placed_by_graphql(shop: Shop) -> str:
    document = "mutation($i: OrderInput!) { order_create(input: $i) { id } }"
    values = {
        "customer_id": shop.caio.id,
        "payment_method_id": shop.pix.id,
        "shipping_method_id": shop.sedex.id,
        "items": [{"product_id": shop.mug.id, "quantity": 2}],
    }
    return str((await graphql(shop, document, i=values))["id"])


async def _placed_by_legacy(shop: Shop) -> str:
    body = {
        "user_id": shop.caio.number,
        "payment_id": shop.pix.number,
        "shipping_id": shop.sedex.number,
        "products": [{"product_id": shop.mug.number, "amount": 2}],
    }
    return await uuid_of(shop, "orders", (await shop.post("/api/orders", body)).body["order_id"])


@pytest.mark.parametrize("entry_point", [_placed_by_graphql, _placed_by_legacy])
async def test_creating_an_order_emits_no_product_events(shop: Shop, entry_point: EntryPoint) -> None:
    before = await latest_event_id(shop)
    id = await entry_point(shop)
    [(name, sequence, data)] = await events_since(shop, before)
    assert (name, sequence, set(data)) == ("order.created", 1, ORDER_DATA)
    record = (await shop.get(f"/api/v1/admin/orders/{id}", auth="bearer")).body
    assert {key: record[key] for key in ORDER_DATA - {"previous_status"}} == {
        key: data[key] for key in ORDER_DATA - {"previous_status"}
    }
    assert data["previous_status"] is None
    assert data["customer"] == {"id": shop.caio.id, "name": "Caio Reis", "email": "caio@example.com"}
    assert data["items"] == [
        {"product_id": shop.mug.id, "name": "Caneca de Ágata", "quantity": 2, "price_cents": 4_990}
    ]


async def _notify(shop: Shop, kind: str, **more: Any) -> Answer:
    with active_scope(shop.scope()):
        await stores.set_gateway_secret(shop.scope(), SECRET)
    total = await shop.value("select total_cents from orders where id = $1", shop.order.number)
    body = event(kind, charge(shop.order.id, total, **more))
    headers = {"X-Hub-Signature-256": signature(body)}
    return await shop.post("/api/v1/webhooks/gateway", auth=None, data=raw(body), headers=headers)


async def _expired(shop: Shop) -> None:
    await shop.execute(
        "update orders set hold_until = now() - interval '1 minute' where id = $1", shop.order.number
    )
    scope = shop.scope()
    await expire_orders(replace(scope, now=scope.now + timedelta(minutes=1)))


STATUS_UPDATES: dict[str, tuple[str, Callable[[Shop], Awaitable[Any]]]] = {
    "graphql": (
        "P",
        lambda shop: graphql(
            shop, 'mutation($id: ID!) { order_set_status(id: $id, status: "P") { id } }', id=shop.order.id
        ),
    ),
    "graphql update": (
        "P",
        lambda shop: graphql(
            shop,
            'mutation($id: ID!) { order_update(id: $id, input: {status: "P"}) { id } }',
            id=shop.order.id,
        ),
    ),
    "admin": (
        "P",
        lambda shop: shop.put(
            f"/api/v1/admin/orders/{shop.order.id}/status", {"status": "paid"}, auth="bearer"
        ),
    ),
    "app": (
        "P",
        lambda shop: as_app(
            shop, "PUT", f"/api/admin/orders/{shop.order.id}/status", {"status": "paid"}, "write_orders"
        ),
    ),
    "legacy": ("P", lambda shop: shop.put(f"/api/orders/{shop.order}", {"status": "P"})),
    "gateway": ("P", lambda shop: _notify(shop, "charge.paid")),
    "gateway refusal": ("D", lambda shop: _notify(shop, "charge.payment_failed", status="failed")),
    "payment expired": ("F", _expired),
}


@pytest.mark.parametrize("entry_point", STATUS_UPDATES)
async def test_a_status_update_emits_one_event_with_the_previous_status(shop: Shop, entry_point: str) -> None:
    status, update = STATUS_UPDATES[entry_point]
    before = await latest_event_id(shop)
    await update(shop)
    [(name, sequence, data)] = await events_since(shop, before)
    assert (name, sequence, set(data)) == ("order.updated", 2, ORDER_DATA)
    assert (data["id"], data["status"], data["previous_status"]) == (shop.order.id, status, "O")


CANCELLATIONS: dict[str, Callable[[Shop], Awaitable[Any]]] = {
    "graphql": lambda shop: graphql(
        shop, 'mutation($id: ID!) { order_set_status(id: $id, status: "I") { id } }', id=shop.order.id
    ),
    "graphql update": lambda shop: graphql(
        shop, 'mutation($id: ID!) { order_update(id: $id, input: {status: "I"}) { id } }', id=shop.order.id
    ),
    "graphql delete": lambda shop: graphql(
        shop, "mutation($id: ID!) { order_delete(id: $id) { id } }", id=shop.order.id
    ),
    "admin": lambda shop: shop.put(
        f"/api/v1/admin/orders/{shop.order.id}/status", {"status": "cancelled"}, auth="bearer"
    ),
    "app": lambda shop: as_app(
        shop, "PUT", f"/api/admin/orders/{shop.order.id}/status", {"status": "canceled"}, "write_orders"
    ),
    "legacy": lambda shop: shop.put(f"/api/orders/{shop.order}", {"status": "I"}),
    "legacy delete": lambda shop: shop.delete(f"/api/orders/{shop.order}"),
    "gateway": lambda shop: _notify(shop, "order.canceled"),
}


@pytest.mark.parametrize("entry_point", CANCELLATIONS)
async def test_cancelling_an_order_emits_updated_and_then_cancelled(shop: Shop, entry_point: str) -> None:
    before = await latest_event_id(shop)
    await CANCELLATIONS[entry_point](shop)
    events = await events_since(shop, before)
    assert [(name, sequence) for name, sequence, _ in events] == [
        ("order.updated", 2),
        ("order.cancelled", 3),
    ]
    for _, _, data in events:
        assert set(data) == ORDER_DATA
        assert (data["id"], data["status"], data["previous_status"]) == (shop.order.id, "I", "O")


async def test_other_order_changes_emit_updated(shop: Shop) -> None:
    order = shop.order
    for change, tracking in (
        (
            lambda: graphql(
                shop,
                'mutation($id: ID!) { order_update(id: $id, input: {notes: "Presente"}) { id } }',
                id=order.id,
            ),
            None,
        ),
        (
            lambda: graphql(
                shop,
                "mutation($id: ID!) { payment_record(order_id: $id, amount_cents: 100) { id } }",
                id=order.id,
            ),
            None,
        ),
        (lambda: shop.put(f"/api/orders/{order}", {"notes": "Embrulhar"}), None),
        (
            lambda: shop.put(
                f"/api/v1/admin/orders/{order.id}/status",
                {"status": "O", "tracking_code": "AA1"},
                auth="bearer",
            ),
            "AA1",
        ),
        (
            lambda: graphql(
                shop,
                'mutation($id: ID!) { shipment_create(input: {order_id: $id, tracking_number: "BB2"}) { id } }',
                id=order.id,
            ),
            "BB2",
        ),
    ):
        before = await latest_event_id(shop)
        await change()
        events = await events_since(shop, before)
        assert [name for name, _, _ in events] == ["order.updated"], events
        assert events[0][2]["previous_status"] is None
        assert events[0][2]["tracking_code"] == tracking


async def test_unchanged_and_rejected_requests_emit_nothing(shop: Shop) -> None:
    await shop.put(f"/api/orders/{shop.order}", {"status": "I"})
    before = await latest_event_id(shop)
    path = f"/api/v1/admin/orders/{shop.order.id}/status"
    assert (await shop.put(path, {"status": "I"}, auth="bearer")).status == 200
    assert (await shop.put(path, {"status": "P"}, auth="bearer")).status == 422
    product = {"product": "x", "price": "-1"}
    assert (await shop.post("/api/products", product)).status == 400
    assert (await shop.post("/api/v1/admin/products", {}, auth="bearer")).status == 400
    assert (await shop.delete("/api/products/999999999")).status == 404
    assert await events_since(shop, before) == []


# --- Users -------------------------------------------------------------------------------------------------------------------

MAIL = "nova@example.com"


async def _registered(shop: Shop) -> None:
    body = {"email": MAIL, "password": "correct horse", "name": "Nova Pessoa"}
    assert (await shop.post("/api/v1/auth/register", body, auth=None)).status == 201


async def _registered_by_graphql(shop: Shop) -> None:
    document = "mutation($i: RegistrationInput!) { user_register(input: $i) { message } }"
    await graphql(shop, document, i={"email": MAIL, "password": "correct horse", "name": "Nova Pessoa"})


async def _created_user_by_legacy(shop: Shop) -> None:
    body = {
        "email": MAIL, "user_type": "C", "firstname": "Nova", "lastname": "Pessoa", "password": "correct horse", "company_id": 0,
    }  # fmt: skip
    assert (await shop.post("/api/users", body)).status == 201


async def _created_user_by_graphql(shop: Shop) -> None:
    document = "mutation($i: UserInput!) { user_create(input: $i) { id } }"
    await graphql(shop, document, i={"email": MAIL, "firstname": "Nova", "lastname": "Pessoa"})


async def _created_user_by_cli(shop: Shop) -> None:
    with active_scope(shop.scope()):
        await accounts.create_user(
            store_admin.system_scope(shop.store), {"email": MAIL, "name": "Nova Pessoa"}
        )


@pytest.mark.parametrize(
    "entry_point",
    [
        _registered,
        _registered_by_graphql,
        _created_user_by_legacy,
        _created_user_by_graphql,
        _created_user_by_cli,
    ],
)
async def test_creating_a_user_emits_registered_from_every_entry_point(
    shop: Shop, entry_point: Callable[[Shop], Awaitable[None]]
) -> None:
    before = await latest_event_id(shop)
    await entry_point(shop)
    [(name, sequence, data)] = await events_since(shop, before)
    assert (name, sequence, set(data)) == ("user.registered", 1, USER_DATA)
    [user] = await shop.rows("select public_id from users where email = $1", MAIL)
    assert data == {
        "id": str(user["public_id"]),
        "name": "Nova Pessoa",
        "email": MAIL,
        "role": "customer",
        "created_at": data["created_at"],
    }


async def test_vendor_registration_emits_user_registered(shop: Shop) -> None:
    before = await latest_event_id(shop)
    body = {"company": "Ateliê Novo", "email": MAIL, "password": "a good long password"}
    answer = await shop.post("/api/vendor_signup", body, auth=None)
    assert answer.status in (200, 201), answer.raw
    [(name, sequence, data)] = await events_since(shop, before)
    assert (name, sequence, set(data)) == ("user.registered", 1, USER_DATA)
    assert (data["email"], data["role"]) == (MAIL, "vendor")


# --- Carts -------------------------------------------------------------------------------------------------------------------


async def _checked_out_by_rest(shop: Shop, key: str) -> None:
    async def post(path: str, body: dict[str, Any]) -> Any:
        answer = await shop.post(
            f"/api/v1/storefront/carts{path}", body, auth=None, headers={"X-API-Key": key}
        )
        assert answer.status in (200, 201), answer.raw
        return answer.body

    cart = (await post("", {}))["id"]
    await post(f"/{cart}/items", {"product_id": shop.ebook.id, "quantity": 2})
    await post(f"/{cart}/checkout", {"customer_email": MAIL, "payment_id": shop.pix.id})


async def _checked_out_by_graphql(shop: Shop, key: str) -> None:
    async def ask(document: str, **variables: Any) -> Any:
        answer = await shop.post(
            "/graphql", {"query": document, "variables": variables}, auth=None, headers={"X-API-Key": key}
        )
        assert "errors" not in answer.body, answer.raw
        return next(iter(answer.body["data"].values()))

    cart = (await ask("mutation { cart_create { id } }"))["id"]
    await ask(
        "mutation($id: ID!, $i: CartItemInput!) { cart_item_add(id: $id, input: $i) { id } }",
        id=cart,
        i={"product_id": shop.ebook.id, "quantity": 2},
    )
    await ask(
        "mutation($id: ID!, $i: CartCheckoutInput!) { cart_checkout(id: $id, input: $i) { order { id } } }",
        id=cart,
        i={"customer_email": MAIL, "payment_id": shop.pix.id},
    )


@pytest.mark.parametrize("entry_point", [_checked_out_by_rest, _checked_out_by_graphql])
async def test_a_checkout_emits_cart_order_and_checkout_events(
    shop: Shop, entry_point: Callable[[Shop, str], Awaitable[None]]
) -> None:
    key = await graphql(
        shop,
        "mutation($i: StorefrontKeyInput!) { storefront_key_create(input: $i) { key } }",
        i={"scopes": ["storefront:read", "storefront:cart", "storefront:checkout"]},
    )
    before = await latest_event_id(shop)
    await entry_point(shop, key["key"])
    events = await shop.rows(
        "select name, sequence, data::text from outbox_events where id > $1 order by id", before
    )
    # Cart events are throttled: the second change within five seconds emits none.
    assert [(row["name"], row["sequence"]) for row in events] == [
        ("cart.updated", 1),
        ("order.created", 1),
        ("checkout.completed", 2),
    ]
    cart, order, checkout = (json.loads(row["data"]) for row in events)
    assert set(cart) == {"id", "customer", "items", "total_cents", "currency", "updated_at"}
    assert set(order) == ORDER_DATA
    assert set(checkout) == {
        "cart_id", "order_id", "total_cents", "currency", "customer", "items", "completed_at",
    }  # fmt: skip
    assert (checkout["cart_id"], checkout["order_id"]) == (cart["id"], order["id"])
    assert (checkout["items"], checkout["total_cents"]) == (order["items"], order["total_cents"])
    assert checkout["customer"]["email"] == MAIL


# --- The importer ----------------------------------------------------------------------------------------------------------


async def test_an_import_emits_no_events_by_default(shop: Shop, tmp_path: Path) -> None:
    folder = write(tmp_path)
    before = await latest_event_id(shop)
    await olist.run(folder, shop.store.public_id, progress=False)
    assert await events_since(shop, before) == []


async def test_an_import_with_events_emits_each_event_once(shop: Shop, tmp_path: Path) -> None:
    folder = write(tmp_path)
    before = await latest_event_id(shop)
    await olist.run(folder, shop.store.public_id, events=True, progress=False)
    events = await events_since(shop, before)
    assert sorted(name for name, _, _ in events) == [
        "order.created",
        "order.created",
        "product.created",
        "user.registered",
    ]
    assert {sequence for _, sequence, _ in events} == {1}
    orders = {len(data["items"]): data for name, _, data in events if name == "order.created"}
    assert (orders[2]["total_cents"], orders[2]["status"]) == (13_755, "C")
    assert (orders[0]["total_cents"], orders[0]["status"]) == (2_550, "F")
    await olist.run(folder, shop.store.public_id, events=True, progress=False)
    assert len(await events_since(shop, before)) == len(events)
