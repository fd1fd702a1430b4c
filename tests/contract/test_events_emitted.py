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
from server.importers import olist
from server.operations import store_admin
from tests.harness.gateway import SECRET, charge, event, raw, signature
from tests.harness.http import Response
from tests.harness.product_records import PRODUCT_RECORD
from tests.harness.sample_store import SampleStore
from tests.importers.test_olist import write

ORDER_DATA = {
    "id", "status", "total_cents", "currency", "customer", "items", "created_at", "previous_status", "tracking_code",
    "fiscal_data",
}  # fmt: skip
USER_DATA = {"id", "name", "email", "role", "created_at"}

Events: TypeAlias = list[tuple[str, int, dict[str, Any]]]
EntryPoint: TypeAlias = Callable[[SampleStore], Awaitable[str]]


async def latest_event_id(sample: SampleStore) -> int:
    return int(await sample.value("select coalesce(max(id), 0) from outbox_events"))


async def events_since(sample: SampleStore, before: int) -> Events:
    """Return the emitted events: name, sequence within the subject, data."""
    outbox = await sample.rows(
        "select name, sequence, data::text, subject_id from outbox_events where id > $1 order by id", before
    )
    rows = [(row["name"], row["sequence"], json.loads(row["data"])) for row in outbox]
    assert all(str(row["subject_id"]) == data["id"] for row, (_, _, data) in zip(outbox, rows, strict=True))
    return rows


async def app_token(sample: SampleStore, *scopes: str) -> str:
    """Install an app in the store and return its token."""
    from tests.harness.oauth import issue_tokens, register_app

    owner = await sample.client(sample.owner)
    app = await register_app(owner, scopes=list(scopes))
    return str((await issue_tokens(owner, app, list(scopes)))["access_token"])


async def as_app(sample: SampleStore, method: str, path: str, body: Any, *scopes: str) -> Response:
    token = await app_token(sample, *scopes)
    return await sample.request(method, path, body, auth=None, headers={"Authorization": f"Bearer {token}"})


async def graphql(sample: SampleStore, document: str, **variables: Any) -> Any:
    answer = await sample.post("/graphql", {"query": document, "variables": variables}, auth="bearer")
    assert "errors" not in answer.body, answer.raw
    return next(iter(answer.body["data"].values()))


async def uuid_of(sample: SampleStore, table: str, number: Any) -> str:
    return str(await sample.value(f"select public_id from {table} where id = $1", int(number)))


# --- Products ----------------------------------------------------------------------------------------------------------------

NEW_PRODUCT = {"name": "Bule", "price_cents": 7_990}


async def _created_by_graphql(sample: SampleStore) -> str:
    product = await graphql(sample, "mutation($i: ProductInput!) { product_create(input: $i) { id } }", i=NEW_PRODUCT)
    return str(product["id"])


async def _created_in_bulk(sample: SampleStore) -> str:
    document = "mutation($r: [ProductUpsertInput!]!) { product_bulk_upsert(rows: $r) { id } }"
    return str((await graphql(sample, document, r=[NEW_PRODUCT]))[0]["id"])


async def _created_by_admin(sample: SampleStore) -> str:
    return str((await sample.post("/api/v1/admin/products", NEW_PRODUCT, auth="bearer")).body["id"])


async def _created_by_app(sample: SampleStore) -> str:
    return str((await as_app(sample, "POST", "/api/admin/products", NEW_PRODUCT, "write_products")).body["id"])


async def _created_by_legacy(sample: SampleStore) -> str:
    answer = await sample.post("/api/products", {"product": "Bule", "price": "79.90"})
    return await uuid_of(sample, "products", answer.body["product_id"])


async def _created_by_app_on_graphql(sample: SampleStore) -> str:
    body = {"query": 'mutation { product_create(input: {name: "Bule", price_cents: 7990}) { id } }'}
    answer = await as_app(sample, "POST", "/graphql", body, "write_products")
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
async def test_creating_a_product_emits_its_record(sample: SampleStore, entry_point: EntryPoint) -> None:
    before = await latest_event_id(sample)
    id = await entry_point(sample)
    [(name, sequence, data)] = await events_since(sample, before)
    assert (name, sequence, set(data)) == ("product.created", 1, PRODUCT_RECORD)
    assert data == (await sample.get(f"/api/v1/admin/products/{id}", auth="bearer")).body


CHANGES: dict[str, Callable[[SampleStore], Awaitable[Any]]] = {
    "graphql": lambda sample: graphql(
        sample,
        "mutation($id: ID!) { product_update(id: $id, input: {price_cents: 4000}) { id } }",
        id=sample.mug.id,
    ),
    "bulk": lambda sample: graphql(
        sample,
        "mutation($id: ID!) { product_bulk_upsert(rows: [{id: $id, price_cents: 4000}]) { id } }",
        id=sample.mug.id,
    ),
    "admin put": lambda sample: sample.put(
        f"/api/v1/admin/products/{sample.mug.id}", {"price_cents": 4_000}, auth="bearer"
    ),
    "admin patch": lambda sample: sample.patch(f"/api/v1/admin/products/{sample.mug.id}", {"stock": 7}, auth="bearer"),
    "app": lambda sample: as_app(
        sample, "PUT", f"/api/admin/products/{sample.mug.id}", {"price_cents": 4_000}, "write_products"
    ),
    "legacy": lambda sample: sample.put(f"/api/products/{sample.mug}", {"price": "40.00"}),
    "legacy stock": lambda sample: sample.put(f"/api/products/{sample.mug}", {"amount": 9}),
}


@pytest.mark.parametrize("entry_point", CHANGES)
async def test_updating_a_product_emits_its_record(sample: SampleStore, entry_point: str) -> None:
    before = await latest_event_id(sample)
    previous_events = await sample.value("select count(*) from outbox_events where subject_id = $1", sample.mug.id)
    await CHANGES[entry_point](sample)
    [(name, sequence, data)] = await events_since(sample, before)
    assert (name, sequence) == ("product.updated", previous_events + 1)
    assert data == (await sample.get(f"/api/v1/admin/products/{sample.mug.id}", auth="bearer")).body
    assert data["category"] == {"id": sample.kitchen.id, "name": "Cozinha"}
    assert [image["url"] for image in data["images"]] == [
        "https://img.example.com/caneca.jpg",
        "https://img.example.com/caneca-2.jpg",
    ]


DELETIONS: dict[str, Callable[[SampleStore], Awaitable[Any]]] = {
    "graphql": lambda sample: graphql(
        sample, "mutation($id: ID!) { product_delete(id: $id) { id } }", id=sample.plate.id
    ),
    "admin": lambda sample: sample.delete(f"/api/v1/admin/products/{sample.plate.id}", auth="bearer"),
    "legacy": lambda sample: sample.delete(f"/api/products/{sample.plate}"),
}


@pytest.mark.parametrize("entry_point", DELETIONS)
async def test_deleting_a_product_emits_its_id_and_time(sample: SampleStore, entry_point: str) -> None:
    before = await latest_event_id(sample)
    await DELETIONS[entry_point](sample)
    [(name, sequence, data)] = await events_since(sample, before)
    assert (name, sequence, set(data)) == ("product.deleted", 1, {"id", "deleted_at"})
    assert data["id"] == sample.plate.id
    assert data["deleted_at"].endswith("Z")


async def test_deleting_a_vendor_emits_the_deletion_of_its_products(sample: SampleStore) -> None:
    await sample.execute("update orders set status = 'C'")
    before = await latest_event_id(sample)
    await graphql(sample, "mutation($id: ID!) { vendor_delete(id: $id) { id } }", id=sample.rival.id)
    assert [(name, data["id"]) for name, _, data in await events_since(sample, before)] == [
        ("product.deleted", sample.plate.id)
    ]


# --- Orders ------------------------------------------------------------------------------------------------------------------


async def _placed_by_graphql(sample: SampleStore) -> str:
    document = "mutation($i: OrderInput!) { order_create(input: $i) { id } }"
    values = {
        "customer_id": sample.caio.id,
        "payment_method_id": sample.pix.id,
        "shipping_method_id": sample.sedex.id,
        "items": [{"product_id": sample.mug.id, "quantity": 2}],
    }
    return str((await graphql(sample, document, i=values))["id"])


async def _placed_by_legacy(sample: SampleStore) -> str:
    body = {
        "user_id": sample.caio.number,
        "payment_id": sample.pix.number,
        "shipping_id": sample.sedex.number,
        "products": [{"product_id": sample.mug.number, "amount": 2}],
    }
    return await uuid_of(sample, "orders", (await sample.post("/api/orders", body)).body["order_id"])


@pytest.mark.parametrize("entry_point", [_placed_by_graphql, _placed_by_legacy])
async def test_creating_an_order_emits_no_product_events(sample: SampleStore, entry_point: EntryPoint) -> None:
    before = await latest_event_id(sample)
    id = await entry_point(sample)
    [(name, sequence, data)] = await events_since(sample, before)
    assert (name, sequence, set(data)) == ("order.created", 1, ORDER_DATA)
    record = (await sample.get(f"/api/v1/admin/orders/{id}", auth="bearer")).body
    for name in ("xml_nota", "base64_xml"):
        del record["fiscal_data"][name]
    assert {key: record[key] for key in ORDER_DATA - {"previous_status"}} == {
        key: data[key] for key in ORDER_DATA - {"previous_status"}
    }
    assert data["previous_status"] is None
    assert data["customer"] == {"id": sample.caio.id, "name": "Caio Reis", "email": "caio@example.com"}
    assert data["items"] == [
        {"product_id": sample.mug.id, "name": "Caneca de Ágata", "quantity": 2, "price_cents": 4_990}
    ]


async def _notify(sample: SampleStore, kind: str, **more: Any) -> Response:
    with active_scope(sample.scope):
        await stores.set_gateway_secret(sample.scope, SECRET)
    total = await sample.value("select total_cents from orders where id = $1", sample.order.number)
    body = event(kind, charge(sample.order.id, total, **more))
    headers = {"X-Hub-Signature-256": signature(body)}
    return await sample.post("/api/v1/webhooks/gateway", auth=None, data=raw(body), headers=headers)


async def _expired(sample: SampleStore) -> None:
    await sample.execute(
        "update orders set hold_until = now() - interval '1 minute' where id = $1", sample.order.number
    )
    scope = sample.scope
    await expire_orders(replace(scope, now=scope.now + timedelta(minutes=1)))


STATUS_UPDATES: dict[str, tuple[str, Callable[[SampleStore], Awaitable[Any]]]] = {
    "graphql": (
        "P",
        lambda sample: graphql(
            sample, 'mutation($id: ID!) { order_set_status(id: $id, status: "P") { id } }', id=sample.order.id
        ),
    ),
    "graphql update": (
        "P",
        lambda sample: graphql(
            sample,
            'mutation($id: ID!) { order_update(id: $id, input: {status: "P"}) { id } }',
            id=sample.order.id,
        ),
    ),
    "admin": (
        "P",
        lambda sample: sample.put(f"/api/v1/admin/orders/{sample.order.id}/status", {"status": "paid"}, auth="bearer"),
    ),
    "app": (
        "P",
        lambda sample: as_app(
            sample, "PUT", f"/api/admin/orders/{sample.order.id}/status", {"status": "paid"}, "write_orders"
        ),
    ),
    "legacy": ("P", lambda sample: sample.put(f"/api/orders/{sample.order}", {"status": "P"})),
    "gateway": ("P", lambda sample: _notify(sample, "charge.paid")),
    "gateway refusal": ("D", lambda sample: _notify(sample, "charge.payment_failed", status="failed")),
    "payment expired": ("F", _expired),
}


@pytest.mark.parametrize("entry_point", STATUS_UPDATES)
async def test_a_status_update_emits_one_event_with_the_previous_status(sample: SampleStore, entry_point: str) -> None:
    status, update = STATUS_UPDATES[entry_point]
    before = await latest_event_id(sample)
    await update(sample)
    [(name, sequence, data)] = await events_since(sample, before)
    assert (name, sequence, set(data)) == ("order.updated", 2, ORDER_DATA)
    assert (data["id"], data["status"], data["previous_status"]) == (sample.order.id, status, "O")


CANCELLATIONS: dict[str, Callable[[SampleStore], Awaitable[Any]]] = {
    "graphql": lambda sample: graphql(
        sample, 'mutation($id: ID!) { order_set_status(id: $id, status: "I") { id } }', id=sample.order.id
    ),
    "graphql update": lambda sample: graphql(
        sample,
        'mutation($id: ID!) { order_update(id: $id, input: {status: "I"}) { id } }',
        id=sample.order.id,
    ),
    "graphql delete": lambda sample: graphql(
        sample, "mutation($id: ID!) { order_delete(id: $id) { id } }", id=sample.order.id
    ),
    "admin": lambda sample: sample.put(
        f"/api/v1/admin/orders/{sample.order.id}/status", {"status": "cancelled"}, auth="bearer"
    ),
    "app": lambda sample: as_app(
        sample, "PUT", f"/api/admin/orders/{sample.order.id}/status", {"status": "canceled"}, "write_orders"
    ),
    "legacy": lambda sample: sample.put(f"/api/orders/{sample.order}", {"status": "I"}),
    "legacy delete": lambda sample: sample.delete(f"/api/orders/{sample.order}"),
    "gateway": lambda sample: _notify(sample, "order.canceled"),
}


@pytest.mark.parametrize("entry_point", CANCELLATIONS)
async def test_cancelling_an_order_emits_updated_and_then_cancelled(sample: SampleStore, entry_point: str) -> None:
    before = await latest_event_id(sample)
    await CANCELLATIONS[entry_point](sample)
    events = await events_since(sample, before)
    assert [(name, sequence) for name, sequence, _ in events] == [
        ("order.updated", 2),
        ("order.cancelled", 3),
    ]
    for _, _, data in events:
        assert set(data) == ORDER_DATA
        assert (data["id"], data["status"], data["previous_status"]) == (sample.order.id, "I", "O")


async def test_other_order_changes_emit_updated(sample: SampleStore) -> None:
    order = sample.order
    for change, tracking in (
        (
            lambda: graphql(
                sample,
                'mutation($id: ID!) { order_update(id: $id, input: {notes: "Presente"}) { id } }',
                id=order.id,
            ),
            None,
        ),
        (
            lambda: graphql(
                sample,
                "mutation($id: ID!) { payment_record(order_id: $id, amount_cents: 100) { id } }",
                id=order.id,
            ),
            None,
        ),
        (lambda: sample.put(f"/api/orders/{order}", {"notes": "Embrulhar"}), None),
        (
            lambda: sample.put(
                f"/api/v1/admin/orders/{order.id}/status",
                {"status": "O", "tracking_code": "AA1"},
                auth="bearer",
            ),
            "AA1",
        ),
        (
            lambda: graphql(
                sample,
                'mutation($id: ID!) { shipment_create(input: {order_id: $id, tracking_number: "BB2"}) { id } }',
                id=order.id,
            ),
            "BB2",
        ),
    ):
        before = await latest_event_id(sample)
        await change()
        events = await events_since(sample, before)
        events = [event for event in events if event[0] != "shipment.created"]
        assert [name for name, _, _ in events] == ["order.updated"], (change, tracking, events)
        assert events[0][2]["previous_status"] is None, (change, tracking)
        assert events[0][2]["tracking_code"] == tracking


async def test_unchanged_and_rejected_requests_emit_nothing(sample: SampleStore) -> None:
    await sample.put(f"/api/orders/{sample.order}", {"status": "I"})
    before = await latest_event_id(sample)
    path = f"/api/v1/admin/orders/{sample.order.id}/status"
    assert (await sample.put(path, {"status": "I"}, auth="bearer")).status == 200
    assert (await sample.put(path, {"status": "P"}, auth="bearer")).status == 422
    product = {"product": "x", "price": "-1"}
    assert (await sample.post("/api/products", product)).status == 400
    assert (await sample.post("/api/v1/admin/products", {}, auth="bearer")).status == 400
    assert (await sample.delete("/api/products/999999999")).status == 404
    assert await events_since(sample, before) == []


# --- Users -------------------------------------------------------------------------------------------------------------------

MAIL = "nova@example.com"


async def _registered(sample: SampleStore) -> None:
    body = {"email": MAIL, "password": "correct horse", "name": "Nova Pessoa"}
    assert (await sample.post("/api/v1/auth/register", body, auth=None)).status == 201


async def _registered_by_graphql(sample: SampleStore) -> None:
    document = "mutation($i: RegistrationInput!) { user_register(input: $i) { message } }"
    await graphql(sample, document, i={"email": MAIL, "password": "correct horse", "name": "Nova Pessoa"})


async def _created_user_by_legacy(sample: SampleStore) -> None:
    body = {
        "email": MAIL, "user_type": "C", "firstname": "Nova", "lastname": "Pessoa", "password": "correct horse", "company_id": 0,
    }  # fmt: skip
    assert (await sample.post("/api/users", body)).status == 201


async def _created_user_by_graphql(sample: SampleStore) -> None:
    document = "mutation($i: UserInput!) { user_create(input: $i) { id } }"
    await graphql(sample, document, i={"email": MAIL, "firstname": "Nova", "lastname": "Pessoa"})


async def _created_user_by_cli(sample: SampleStore) -> None:
    with active_scope(sample.scope):
        await accounts.create_user(store_admin.system_scope(sample.store), {"email": MAIL, "name": "Nova Pessoa"})


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
    sample: SampleStore, entry_point: Callable[[SampleStore], Awaitable[None]]
) -> None:
    before = await latest_event_id(sample)
    await entry_point(sample)
    [(name, sequence, data), customer] = await events_since(sample, before)
    assert (name, sequence, set(data)) == ("user.registered", 1, USER_DATA)
    assert customer[:2] == ("customer.created", 1)
    assert {key: customer[2][key] for key in ("id", "name", "email")} == {
        key: data[key] for key in ("id", "name", "email")
    }
    [user] = await sample.rows("select public_id from users where email = $1", MAIL)
    assert data == {
        "id": str(user["public_id"]),
        "name": "Nova Pessoa",
        "email": MAIL,
        "role": "customer",
        "created_at": data["created_at"],
    }


async def test_vendor_registration_emits_user_registered(sample: SampleStore) -> None:
    before = await latest_event_id(sample)
    body = {"company": "Ateliê Novo", "email": MAIL, "password": "a good long password"}
    answer = await sample.post("/api/vendor_signup", body, auth=None)
    assert answer.status in (200, 201), answer.raw
    [(name, sequence, data)] = await events_since(sample, before)
    assert (name, sequence, set(data)) == ("user.registered", 1, USER_DATA)
    assert (data["email"], data["role"]) == (MAIL, "vendor")


# --- Carts -------------------------------------------------------------------------------------------------------------------


async def _checked_out_by_rest(sample: SampleStore, key: str) -> None:
    async def post(path: str, body: dict[str, Any]) -> Any:
        answer = await sample.post(f"/api/v1/storefront/carts{path}", body, auth=None, headers={"X-API-Key": key})
        assert answer.status in (200, 201), answer.raw
        return answer.body

    cart = (await post("", {}))["id"]
    await post(f"/{cart}/items", {"product_id": sample.ebook.id, "quantity": 2})
    await post(f"/{cart}/checkout", {"customer_email": MAIL, "payment_id": sample.pix.id})


async def _checked_out_by_graphql(sample: SampleStore, key: str) -> None:
    async def ask(document: str, **variables: Any) -> Any:
        answer = await sample.post(
            "/graphql", {"query": document, "variables": variables}, auth=None, headers={"X-API-Key": key}
        )
        assert "errors" not in answer.body, answer.raw
        return next(iter(answer.body["data"].values()))

    cart = (await ask("mutation { cart_create { id } }"))["id"]
    await ask(
        "mutation($id: ID!, $i: CartItemInput!) { cart_item_add(id: $id, input: $i) { id } }",
        id=cart,
        i={"product_id": sample.ebook.id, "quantity": 2},
    )
    await ask(
        "mutation($id: ID!, $i: CartCheckoutInput!) { cart_checkout(id: $id, input: $i) { order { id } } }",
        id=cart,
        i={"customer_email": MAIL, "payment_id": sample.pix.id},
    )


@pytest.mark.parametrize("entry_point", [_checked_out_by_rest, _checked_out_by_graphql])
async def test_a_checkout_emits_cart_order_and_checkout_events(
    sample: SampleStore, entry_point: Callable[[SampleStore, str], Awaitable[None]]
) -> None:
    key = await graphql(
        sample,
        "mutation($i: StorefrontKeyInput!) { storefront_key_create(input: $i) { key } }",
        i={"scopes": ["storefront:read", "storefront:cart", "storefront:checkout"]},
    )
    before = await latest_event_id(sample)
    await entry_point(sample, key["key"])
    events = await sample.rows("select name, sequence, data::text from outbox_events where id > $1 order by id", before)
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


async def test_an_import_emits_no_events_by_default(sample: SampleStore, tmp_path: Path) -> None:
    folder = write(tmp_path)
    before = await latest_event_id(sample)
    await olist.run(folder, sample.store.public_id, progress=False)
    assert await events_since(sample, before) == []


async def test_an_import_with_events_emits_each_event_once(sample: SampleStore, tmp_path: Path) -> None:
    folder = write(tmp_path)
    before = await latest_event_id(sample)
    await olist.run(folder, sample.store.public_id, events=True, progress=False)
    events = await events_since(sample, before)
    assert sorted(name for name, _, _ in events) == [
        "customer.created",
        "order.created",
        "order.created",
        "product.created",
        "user.registered",
    ]
    assert {sequence for _, sequence, _ in events} == {1}
    orders = {len(data["items"]): data for name, _, data in events if name == "order.created"}
    assert (orders[2]["total_cents"], orders[2]["status"]) == (13_755, "C")
    assert (orders[0]["total_cents"], orders[0]["status"]) == (2_550, "F")
    await olist.run(folder, sample.store.public_id, events=True, progress=False)
    assert len(await events_since(sample, before)) == len(events)
