"""`/api/v1/admin/orders`: records and status changes (docs/reference/current.md#admin)."""

import pytest

from kernel.scope import Store
from tests.harness import records, scopes
from tests.harness.http import Client
from tests.harness.records import UNKNOWN_ID

ORDERS = "/api/v1/admin/orders"
FIELDS = {
    "id",
    "number",
    "status",
    "total_cents",
    "subtotal_cents",
    "shipping_cents",
    "discount_cents",
    "currency",
    "payment_status",
    "delivery_time",
    "tracking_code",
    "fiscal_data",
    "customer",
    "items",
    "created_at",
    "updated_at",
}
FISCAL_FIELDS = (
    "link_nota", "codigo_pedido_erp", "chave_nota", "chave_nota_valid", "xml_nota", "pdf_nota", "nota_fiscal", "base64_xml",
)  # fmt: skip


async def test_an_order_has_every_field(admin: Client) -> None:
    customer = await records.add_user(admin.store)
    product = await records.add_product(admin.store)
    order = await records.add_order(
        admin.store,
        customer,
        product,
        shipping_cents=1_500,
        discount_cents=500,
        total_cents=4_980,
        tracking_code="BR123",
        payment_status="paid",
    )
    shown = await admin.get(f"{ORDERS}/{order.id}")
    assert shown.status == 200
    record = shown.body
    assert set(record) == FIELDS
    assert record["created_at"].endswith("Z")
    assert record["updated_at"].endswith("Z")
    assert {name: record[name] for name in FIELDS - {"created_at", "updated_at"}} == {
        "id": order.id,
        "number": order.number,
        "status": "O",
        "total_cents": 4_980,
        "subtotal_cents": 3_980,
        "shipping_cents": 1_500,
        "discount_cents": 500,
        "currency": "BRL",
        "payment_status": "paid",
        "delivery_time": "",
        "tracking_code": "BR123",
        "fiscal_data": dict.fromkeys(FISCAL_FIELDS),
        "customer": {"id": customer.id, "name": "Ana Souza", "email": "ana@example.com"},
        "items": [{"product_id": product.id, "name": "Camiseta", "quantity": 2, "price_cents": 1_990}],
    }
    listed = await admin.get(ORDERS)
    assert listed.body == {"orders": [record], "total": 1, "page": 1, "per_page": 20}


async def test_a_guest_order_has_no_customer_id(admin: Client) -> None:
    order = await records.add_order(admin.store)
    shown = (await admin.get(f"{ORDERS}/{order.id}")).body
    assert shown["customer"] == {"id": None, "name": "Ana Souza", "email": "ana@example.com"}
    assert shown["tracking_code"] is None


async def test_a_deleted_product_remains_on_the_order(admin: Client) -> None:
    product = await records.add_product(admin.store)
    order = await records.add_order(admin.store, product=product)
    assert (await admin.delete(f"/api/v1/admin/products/{product.id}")).status == 204
    shown = (await admin.get(f"{ORDERS}/{order.id}")).body
    assert shown["items"] == [{"product_id": product.id, "name": "Camiseta", "quantity": 2, "price_cents": 1_990}]


@pytest.mark.parametrize(
    "status, stored_status",
    [
        ("P", "P"),
        ("p", "P"),
        ("paid", "P"),
        ("Processing", "P"),
        ("shipped", "C"),
        ("cancelled", "I"),
        ("B", "B"),
        ("O", "O"),
    ],
)
async def test_the_status_of_an_order_is_changed(admin: Client, status: str, stored_status: str) -> None:
    order = await records.add_order(admin.store)
    changed = await admin.put(f"{ORDERS}/{order.id}/status", {"status": status})
    assert changed.status == 200, changed
    assert set(changed.body) == FIELDS
    assert changed.body["status"] == stored_status
    assert (await admin.get(f"{ORDERS}/{order.id}")).body == changed.body


async def test_a_status_change_is_recorded_with_its_reason(admin: Client) -> None:
    order = await records.add_order(admin.store)
    await admin.put(f"{ORDERS}/{order.id}/status", {"status": "I", "reason": "o cliente desistiu", "more": 1})
    change = (await scopes.rows(admin.store, "select * from order_status_changes where order_id = $1", order.number))[0]
    assert (
        change["from_status"],
        change["to_status"],
        change["reason"],
        change["user_id"],
        change["forced"],
    ) == (
        "O",
        "I",
        "o cliente desistiu",
        admin.user.number,
        False,
    )
    events = await scopes.rows(admin.store, "select name from outbox_events order by sequence")
    assert [row["name"] for row in events] == ["order.updated", "order.cancelled"]


async def test_shipping_with_a_tracking_code_creates_a_shipment(admin: Client) -> None:
    order = await records.add_order(admin.store, status="P")
    change = {"status": "shipped", "tracking_code": "BR123", "carrier": "Correios"}
    for repetition in range(2):
        changed = await admin.put(f"{ORDERS}/{order.id}/status", change)
        assert (changed.status, changed.body["status"], changed.body["tracking_code"]) == (200, "C", "BR123"), (
            repetition
        )
    shipments = await scopes.rows(
        admin.store, "select carrier, tracking_number from shipments where order_id = $1", order.number
    )
    assert [tuple(shipment) for shipment in shipments] == [("Correios", "BR123")]


async def test_cancelling_an_order_releases_its_stock(admin: Client) -> None:
    product = await records.add_product(admin.store)
    order = await records.add_order(admin.store, product=product)
    await admin.put(f"{ORDERS}/{order.id}/status", {"status": "I"})
    assert (await admin.get(f"/api/v1/admin/products/{product.id}")).body["stock"] == 100


@pytest.mark.parametrize("restock, stock", [(True, 102), (False, 100), (None, 100)])
async def test_cancelling_a_completed_order_restocks_on_request(
    admin: Client, restock: bool | None, stock: int
) -> None:
    product = await records.add_product(admin.store)
    order = await records.add_order(admin.store, product=product, status="C")
    changed = await admin.put(f"{ORDERS}/{order.id}/status", {"status": "I", "restock": restock})
    assert changed.status == 200
    assert (await admin.get(f"/api/v1/admin/products/{product.id}")).body["stock"] == stock


@pytest.mark.parametrize(
    "status, to, allowed",
    [
        ("I", "O", []),
        ("I", "P", []),
        ("C", "P", ["I"]),
        ("C", "shipped-not", None),
        ("P", "O", ["C", "B", "I"]),
        ("P", "D", ["C", "B", "I"]),
        ("D", "C", ["O", "P", "I"]),
        ("F", "B", ["O", "P", "I"]),
        ("B", "D", ["O", "P", "C", "I"]),
    ],
)
async def test_a_forbidden_status_change_names_the_allowed_ones(
    admin: Client, status: str, to: str, allowed: list | None
) -> None:
    order = await records.add_order(admin.store, status=status)
    answer = await admin.put(f"{ORDERS}/{order.id}/status", {"status": to})
    if allowed is None:
        assert (answer.status, answer.body["fields"]) == (400, {"status": "status_invalid"})
        return
    assert answer.status == 422
    assert set(answer.body) == {"error", "message", "allowed"}
    assert answer.body["error"] == "transition_forbidden"
    assert sorted(answer.body["allowed"]) == sorted(allowed)
    assert (await admin.get(f"{ORDERS}/{order.id}")).body["status"] == status


async def test_the_same_status_changes_nothing(admin: Client) -> None:
    order = await records.add_order(admin.store, status="I")
    before = (await admin.get(f"{ORDERS}/{order.id}")).body
    answer = await admin.put(f"{ORDERS}/{order.id}/status", {"status": "cancelled"})
    assert (answer.status, answer.body) == (200, before)
    assert await scopes.value(admin.store, "select count(*) from outbox_events") == 0


@pytest.mark.parametrize(
    "body, fields",
    [
        ({}, {"status": "required"}),
        ({"status": None}, {"status": "required"}),
        ({"tracking_code": "BR1"}, {"status": "required"}),
        ({"status": ""}, {"status": "required"}),
        ({"status": "Z"}, {"status": "status_invalid"}),
        ({"status": "sold"}, {"status": "status_invalid"}),
        ({"status": 5}, {"status": "status_invalid"}),
        ({"status": ["P"]}, {"status": "status_invalid"}),
        ({"status": True}, {"status": "status_invalid"}),
        ({"status": "P", "reason": 5}, {"reason": "invalid"}),
        ({"status": "P", "tracking_code": []}, {"tracking_code": "invalid"}),
        ({"status": "P", "carrier": {}}, {"carrier": "invalid"}),
        ({"status": "P", "restock": "yes"}, {"restock": "invalid"}),
    ],
)
async def test_invalid_fields_are_named(admin: Client, body: dict, fields: dict) -> None:
    order = await records.add_order(admin.store)
    answer = await admin.put(f"{ORDERS}/{order.id}/status", body)
    assert (answer.status, answer.body) == (400, {"error": "validation_failed", "fields": fields})


async def test_reactivating_an_order_without_stock_is_rejected(admin: Client) -> None:
    product = await records.add_product(admin.store, on_hand=1)
    order = await records.add_order(admin.store, product=product, status="D")
    answer = await admin.put(f"{ORDERS}/{order.id}/status", {"status": "P"})
    assert answer.status == 422
    assert answer.body["error"] == "out_of_stock"


@pytest.mark.parametrize("id", ["1", "abc", UNKNOWN_ID, "%00x"[3:], "9" * 300])
async def test_an_unknown_order_is_not_found(admin: Client, id: str) -> None:
    for answer in (
        await admin.get(f"{ORDERS}/{id}"),
        await admin.put(f"{ORDERS}/{id}/status", {"status": "P"}),
    ):
        assert (answer.status, answer.body) == (404, {"error": "order not found"})


async def test_orders_cannot_be_created_or_deleted(admin: Client) -> None:
    order = await records.add_order(admin.store)
    for method, path, allow in (
        ("POST", ORDERS, "GET, HEAD"),
        ("DELETE", f"{ORDERS}/{order.id}", "GET, HEAD"),
        ("PATCH", f"{ORDERS}/{order.id}/status", "PUT"),
    ):
        answer = await admin.request(method, path, {})
        assert (answer.status, answer.raw, answer.headers["Allow"]) == (405, b"", allow)


async def test_the_order_of_another_store_is_not_found(admin: Client, other_store: Store) -> None:
    foreign = await records.add_order(other_store)
    assert (await admin.get(f"{ORDERS}/{foreign.id}")).status == 404
    assert (await admin.put(f"{ORDERS}/{foreign.id}/status", {"status": "I"})).status == 404
    assert await scopes.value(other_store, "select status from orders where id = $1", foreign.number) == "O"
