"""Records read and written by apps (docs/reference/apps.md#records)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kernel.scope import Store
from tests.harness import records, scopes
from tests.harness.clients import NewApp
from tests.harness.http import Client
from tests.harness.product_records import PRODUCT_RECORD
from tests.harness.records import UNKNOWN_ID
from tests.harness.sample_store import SampleStore

PRODUCTS, PRODUCT_WRITES = "/api/storefront/products", "/api/admin/products"
ORDERS, USERS = "/api/admin/orders", "/api/admin/users"

ORDER_RECORD = {
    "id", "number", "status", "total_cents", "subtotal_cents", "shipping_cents", "discount_cents", "currency", "payment_status",
    "delivery_time", "tracking_code", "fiscal_data", "customer", "items", "created_at", "updated_at",
}  # fmt: skip
USER_RECORD = {"id", "name", "email", "role", "status", "created_at", "last_login_at"}


async def _events(store: Store) -> list[str]:
    return [row["name"] for row in await scopes.rows(store, "select name from outbox_events order by id")]


# --- Products ----------------------------------------------------------------------------------------------------------------


async def test_the_list_leaves_out_what_shoppers_do_not_find_unless_a_status_is_requested(app: Client) -> None:
    hidden = await records.add_category(app.store, status="H")
    for name, values in (("Caneca", {}), ("Prato", {"category_id": hidden.id}), ("Vaso", {"status": "H"})):
        assert (await app.post(PRODUCT_WRITES, {"name": name, "price_cents": 1, **values})).status == 201
    for query, names in (("", {"Caneca"}), ("?status=A", {"Caneca", "Prato"}), ("?status=H", {"Vaso"})):
        listed = (await app.get(PRODUCTS + query)).body
        assert ({product["name"] for product in listed["products"]}, listed["total"]) == (names, len(names)), query


async def test_a_product_is_created_read_and_changed(app: Client) -> None:
    category = await records.add_category(app.store)
    values = {
        "name": "Caneca",
        "price_cents": 4_990,
        "description": "<p>De ágata</p>",
        "status": "A",
        "category_id": category.id,
    }
    created = await app.post(PRODUCT_WRITES, values)
    assert created.status == 201, created
    assert set(created.body) == PRODUCT_RECORD
    assert {name: created.body[name] for name in values} == values
    assert created.body["category"]["id"] == category.id
    assert created.body["currency"] == "BRL"

    shown = await app.get(f"{PRODUCTS}/{created.body['id']}")
    pricing = {"price_cents": 4_990, "base_cents": 4_990, "discount_cents": 0, "promotions": []}
    assert (shown.status, shown.body) == (200, {**created.body, "pricing": pricing})

    changed = await app.put(f"{PRODUCT_WRITES}/{created.body['id']}", {"price_cents": 3_990})
    assert changed.status == 200
    assert changed.body["price_cents"] == 3_990
    unchanged = PRODUCT_RECORD - {"price_cents", "updated_at"}
    assert {name: changed.body[name] for name in unchanged} == {name: created.body[name] for name in unchanged}
    pricing |= {"price_cents": 3_990, "base_cents": 3_990}
    assert (await app.get(f"{PRODUCTS}/{created.body['id']}")).body == {**changed.body, "pricing": pricing}
    assert await _events(app.store) == ["product.created", "product.updated"]


async def test_products_are_listed_by_status_with_active_as_default(app: Client) -> None:
    active = await records.add_product(app.store)
    hidden = await records.add_product(app.store, status="H")
    disabled = await records.add_product(app.store, status="D")

    async def ids(**query: str) -> set[str]:
        answer = await app.get(PRODUCTS, **query)
        assert set(answer.body) == {"products", "total", "page", "limit"}
        assert all(set(record) == PRODUCT_RECORD | {"pricing"} for record in answer.body["products"])
        assert answer.body["total"] == len(answer.body["products"])
        return {record["id"] for record in answer.body["products"]}

    assert await ids() == {active.id}
    assert await ids(status="") == {active.id}
    assert await ids(status="A") == await ids(status="a") == await ids(status="active") == {active.id}
    assert await ids(status="H") == await ids(status="hidden") == {hidden.id}
    assert await ids(status="disabled") == {disabled.id}


@pytest.mark.parametrize(
    "body,fields",
    [
        ({}, {"name": "name_required", "price_cents": "required"}),
        ({"name": "", "price_cents": 1}, {"name": "name_required"}),
        ({"name": "x"}, {"price_cents": "required"}),
        ({"name": "x", "price_cents": -1}, {"price_cents": "price_invalid"}),
        ({"name": "x", "price_cents": "12,5"}, {"price_cents": "price_invalid"}),
        ({"name": "x", "price_cents": 1.5}, {"price_cents": "price_invalid"}),
        ({"name": "x", "price_cents": 2**63 - 1}, {"price_cents": "price_invalid"}),
        ({"name": "x", "price_cents": 1, "status": "Z"}, {"status": "status_invalid"}),
        ({"name": "x", "price_cents": 1, "status": 7}, {"status": "status_invalid"}),
        ({"name": ["x"], "price_cents": 1}, {"name": "name_invalid"}),
        (
            {"price_cents": "x", "status": "Z", "stock": "many"},
            {
                "name": "name_required",
                "price_cents": "price_invalid",
                "status": "status_invalid",
                "stock": "stock_invalid",
            },
        ),
        ({"name": "x", "price_cents": 1, "category_id": UNKNOWN_ID}, {"category_id": "not_found"}),
        ({"name": "x", "price_cents": 1, "category_id": "x"}, {"category_id": "not_found"}),
    ],
)
async def test_an_invalid_product_is_rejected_by_field(app: Client, body: dict, fields: dict) -> None:
    answer = await app.post(PRODUCT_WRITES, body)
    assert answer.status == 400, answer
    assert set(answer.body) == {"error", "message", "status", "fields"}
    assert (answer.body["error"], answer.body["status"]) == ("validation_failed", 400)
    assert answer.body["message"]
    assert answer.body["fields"] == fields
    assert (await app.get(PRODUCTS)).body["total"] == 0


@pytest.mark.parametrize("method,path", [("POST", PRODUCT_WRITES), ("PUT", f"{PRODUCT_WRITES}/{UNKNOWN_ID}")])
@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b'"x"',
        b"null",
        b'{"name": "a\\u0000b"}',
        b"\xff",
        b'{"n":' + b"9" * 40 + b"}",
        b"[" * 70,
    ],
)
async def test_a_body_that_is_not_a_json_object_is_rejected(app: Client, method: str, path: str, raw: bytes) -> None:
    answer = await app.request(method, path, data=raw, headers={"Content-Type": "application/json"})
    assert answer.status == 400
    assert (answer.body["error"], answer.body["message"]) == ("invalid_request_body", "invalid request body")
    assert answer.body["status"] == 400
    assert answer.body["detail"]


async def test_a_body_over_two_mebibytes_is_413(app: Client) -> None:
    answer = await app.post(PRODUCT_WRITES, {"name": "x" * (2 * 1024 * 1024)})
    assert (answer.status, answer.body["error"], answer.body["status"]) == (413, "invalid_request_body", 413)


async def test_an_idempotency_key_creates_a_product_once(app: Client) -> None:
    key = {"Idempotency-Key": "k-1"}
    first = await app.post(PRODUCT_WRITES, {"name": "Copo", "price_cents": 990}, headers=key)
    again = await app.post(PRODUCT_WRITES, {"price_cents": 990, "name": "Copo"}, headers=key)
    assert (again.status, again.body) == (201, first.body)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert (await app.get(PRODUCTS)).body["total"] == 1
    other = await app.post(PRODUCT_WRITES, {"name": "Prato", "price_cents": 990}, headers=key)
    assert (other.status, other.body["error"]) == (422, "rule_violation")
    assert other.body["message"] == "idempotency key reused with a different request"
    wrong = await app.post(PRODUCT_WRITES, {"name": "x"}, headers={"Idempotency-Key": "a b"})
    assert (wrong.status, wrong.body["error"]) == (400, "invalid_parameter")


async def test_a_key_of_a_running_request_is_in_progress(app: Client) -> None:
    key, body = {"Idempotency-Key": "k-1"}, {"name": "Copo", "price_cents": 990}
    await app.post(PRODUCT_WRITES, body, headers=key)
    reopen = "update idempotency_claims set done_at = null, result = null, status = null, body = null"
    assert await scopes.execute(app.store, reopen) == 1
    answer = await app.post(PRODUCT_WRITES, body, headers=key)
    error = {"error": "in_progress", "message": "in_progress", "status": 409, "retry_after_ms": 1000}
    assert (answer.status, answer.body) == (409, error)


async def test_a_duplicate_sku_and_an_unknown_product_are_rejected(app: Client) -> None:
    await records.add_product(app.store, sku="A-1")
    taken = await app.post(PRODUCT_WRITES, {"name": "x", "price_cents": 1, "sku": "A-1"})
    assert (taken.status, taken.body["fields"]) == (400, {"sku": "sku_taken"})
    for id in (UNKNOWN_ID, "7", "x", "..", "é"):
        absent = {"error": "not_found", "message": "product not found", "status": 404}
        shown = await app.get(f"{PRODUCTS}/{id}") if id != ".." else None
        changed = await app.put(f"{PRODUCT_WRITES}/{id}", {"price_cents": 1}) if id != ".." else None
        for answer in (shown, changed):
            if answer is not None:
                assert (answer.status, answer.body) == (404, absent)


# --- Orders ------------------------------------------------------------------------------------------------------------------


async def test_an_order_is_listed_and_retrieved_with_its_event_data(app: Client) -> None:
    customer = await records.add_user(app.store)
    product = await records.add_product(app.store)
    order = await records.add_order(app.store, customer, product)
    answer = await app.get(ORDERS)
    assert answer.status == 200
    assert set(answer.body) == {"orders", "total", "page", "limit"}
    [record] = answer.body["orders"]
    assert set(record) == ORDER_RECORD
    assert record["id"] == order.id
    assert record["customer"] == {"id": customer.id, "name": "Ana Souza", "email": "ana@example.com"}
    assert record["items"] == [{"product_id": product.id, "name": "Camiseta", "quantity": 2, "price_cents": 1_990}]
    shown = await app.get(f"{ORDERS}/{order.id}")
    assert (shown.status, shown.body) == (200, record)


async def test_status_shipped_with_a_tracking_code_creates_a_shipment(app: Client) -> None:
    order = await records.add_order(app.store, status="P")
    answer = await app.put(f"{ORDERS}/{order.id}/status", {"status": "shipped", "tracking_code": "BR123456789BR"})
    assert answer.status == 200
    assert set(answer.body) == ORDER_RECORD
    assert (answer.body["status"], answer.body["tracking_code"]) == ("C", "BR123456789BR")
    shipments = await scopes.rows(app.store, "select tracking_number from shipments")
    assert [shipment["tracking_number"] for shipment in shipments] == ["BR123456789BR"]
    assert (await app.get(f"{ORDERS}/{order.id}")).body == answer.body
    assert await _events(app.store) == ["shipment.created", "order.updated"]
    again = await app.put(f"{ORDERS}/{order.id}/status", {"status": "C"})
    assert (again.status, again.body["status"]) == (200, "C")
    assert await _events(app.store) == ["shipment.created", "order.updated"]


async def test_cancelling_an_order_emits_updated_and_cancelled_events(app: Client) -> None:
    order = await records.add_order(app.store)
    answer = await app.put(f"{ORDERS}/{order.id}/status", {"status": "canceled", "reason": "desistiu"})
    assert (answer.status, answer.body["status"]) == (200, "I")
    events = await scopes.rows(
        app.store, "select name, sequence, data->>'previous_status' as before from outbox_events order by id"
    )
    assert [tuple(row) for row in events] == [("order.updated", 1, "O"), ("order.cancelled", 2, "O")]
    refused = await app.put(f"{ORDERS}/{order.id}/status", {"status": "paid"})
    assert refused.status == 422
    assert refused.body["error"] == "rule_violation"
    assert refused.body["status"] == 422
    assert refused.body["allowed"] == []
    assert refused.body["message"]


@pytest.mark.parametrize(
    "body,code",
    [
        ({}, "required"),
        ({"status": ""}, "required"),
        ({"status": None}, "required"),
        ({"status": "sent"}, "status_invalid"),
        ({"status": 1}, "status_invalid"),
        ({"status": ["P"]}, "status_invalid"),
        ({"status": {"P": 1}}, "status_invalid"),
    ],
)
async def test_an_invalid_status_is_rejected(app: Client, body: dict, code: str) -> None:
    order = await records.add_order(app.store)
    answer = await app.put(f"{ORDERS}/{order.id}/status", body)
    assert answer.status == 400
    assert (answer.body["error"], answer.body["fields"]) == ("validation_failed", {"status": code})
    assert await _events(app.store) == []


@pytest.mark.parametrize("name", ["tracking_code", "carrier", "reason"])
@pytest.mark.parametrize("value", [7, ["x"], "x" * 3_000, {"a": 1}])
async def test_other_invalid_fields_of_a_status_update_change_nothing(app: Client, name: str, value: object) -> None:
    order = await records.add_order(app.store, status="P")
    body = {"status": "shipped", "tracking_code": "X1"} | {name: value}
    answer = await app.put(f"{ORDERS}/{order.id}/status", body)
    assert (answer.status, answer.body["error"]) == (400, "validation_failed"), answer
    assert set(answer.body["fields"]) == {name}
    assert (await app.get(f"{ORDERS}/{order.id}")).body["status"] == "P"


@pytest.mark.parametrize("id", [UNKNOWN_ID, "17", "nothing", "%20"])
async def test_an_unknown_order_is_404(app: Client, id: str) -> None:
    absent = {"error": "not_found", "message": "order not found", "status": 404}
    for answer in (
        await app.get(f"{ORDERS}/{id}"),
        await app.put(f"{ORDERS}/{id}/status", {"status": "P"}),
    ):
        assert (answer.status, answer.body) == (404, absent)


# --- Users -------------------------------------------------------------------------------------------------------------------


async def test_users_are_filtered_by_role_and_search_without_cpf_or_cnpj(app: Client) -> None:
    await records.add_user(app.store, firstname="Zélia", lastname="Prado", cpf="52998224725", phone="11999990000")
    vendor = await records.add_vendor(app.store)
    await records.add_user(app.store, user_type="V", vendor_id=vendor.number, firstname="Vito")

    async def names(**query: str) -> list[str]:
        answer = await app.get(USERS, **query)
        assert set(answer.body) == {"users", "total", "page", "limit"}
        assert all(set(record) == USER_RECORD for record in answer.body["users"])
        return [record["name"].split()[0] for record in answer.body["users"]]

    assert set(await names()) == {"Ana", "Vito", "Zélia"}
    assert await names(role="customer") == ["Zélia"]
    assert await names(role="vendor") == await names(role="VENDOR") == ["Vito"]
    assert await names(role="admin") == ["Ana"]
    assert await names(search="zelia pra") == ["Zélia"]
    assert await names(search="ninguem") == []
    [record] = (await app.get(USERS, role="customer")).body["users"]
    shown = await app.get(f"{USERS}/{record['id']}")
    assert (shown.status, shown.body) == (200, record)
    for id in (UNKNOWN_ID, "1", "x"):
        answer = await app.get(f"{USERS}/{id}")
        assert (answer.status, answer.body["message"]) == (404, "user not found"), id


# --- Lists -------------------------------------------------------------------------------------------------------------------

LISTS = {
    "products": (PRODUCTS, records.add_product),
    "orders": (ORDERS, records.add_order),
    "users": (USERS, records.add_user),
}


@pytest.mark.parametrize("collection", LISTS)
@pytest.mark.parametrize(
    "name,value",
    [
        *((name, value) for name in ("page", "limit") for value in ("0", "-1", "x", "1.5", "", "٣", "1e3", " 1")),
        ("sort_by", "nothing"),
        ("sort_by", "password_hash"),
        ("sort_by", "id; drop table"),
        ("sort_order", "up"),
        ("sort_order", "asc,desc"),
        ("status", "Z"),
        ("status", "AB"),
        ("created_after", "2026-13-01"),
        ("created_after", "01/02/2026"),
        ("created_before", "2026-02-30"),
        ("created_before", "yesterday"),
    ],
)
async def test_an_invalid_parameter_is_rejected(app: Client, collection: str, name: str, value: str) -> None:
    answer = await app.get(LISTS[collection][0], **{name: value})
    assert answer.status == 400, answer
    assert answer.body["error"] == "invalid_parameter"
    assert (answer.body["message"], answer.body["status"]) == (f"invalid {name}", 400)
    assert answer.body["detail"]


async def test_an_invalid_role_is_rejected(app: Client) -> None:
    for role in ("buyer", "A", "admin,vendor"):
        answer = await app.get(USERS, role=role)
        assert (answer.status, answer.body["error"], answer.body["message"]) == (
            400,
            "invalid_parameter",
            "invalid role",
        ), role


@pytest.mark.parametrize("collection", LISTS)
async def test_pagination_returns_every_record_once_and_the_page_size(app: Client, collection: str) -> None:
    path, make = LISTS[collection]
    for _ in range(5):
        await make(app.store)
    total = (await app.get(path)).body["total"]
    assert total >= 5
    seen = []
    for page in range(1, total + 1):
        answer = await app.get(path, limit="1", page=str(page))
        assert (answer.body["page"], answer.body["limit"], answer.body["total"]) == (page, 1, total)
        seen += [record["id"] for record in answer.body[collection]]
    assert len(seen) == len(set(seen)) == total
    for beyond_last in ("2147483647", "2147483648", "9" * 40):
        beyond = await app.get(path, page=beyond_last, limit="100")
        assert (beyond.status, beyond.body[collection], beyond.body["total"]) == (200, [], total), beyond_last
    assert (await app.get(path)).body["limit"] == 20
    assert (await app.get(path, limit="1000")).body["limit"] == 100


@pytest.mark.parametrize("collection", LISTS)
async def test_date_filters_include_both_days(app: Client, collection: str) -> None:
    path, make = LISTS[collection]
    days = [
        (await make(app.store, created_at=datetime(2020, 5, day, hour, minute, tzinfo=UTC))).id
        for day, hour, minute in ((9, 23, 59), (10, 0, 0), (11, 23, 59), (12, 0, 0))
    ]
    answer = await app.get(path, created_after="2020-05-10", created_before="2020-05-11")
    assert {record["id"] for record in answer.body[collection]} == set(days[1:3])
    answer = await app.get(path, created_before="2020-05-09")
    assert [record["id"] for record in answer.body[collection]] == days[:1]
    assert (await app.get(path, created_after="2020-05-12", created_before="2020-05-11")).body["total"] == 0


async def test_products_are_filtered_by_category_and_search(app: Client) -> None:
    category = await records.add_category(app.store)
    created = await app.post(PRODUCT_WRITES, {"name": "Calçado Azul", "price_cents": 100, "category_id": category.id})
    await records.add_product(app.store)

    async def ids(**query: str) -> list[str]:
        return [record["id"] for record in (await app.get(PRODUCTS, **query)).body["products"]]

    assert await ids(category_id=category.id) == await ids(search="calcado") == [created.body["id"]]
    for unknown in (UNKNOWN_ID, "x", "7"):
        assert await ids(category_id=unknown) == []


@pytest.mark.parametrize("collection", LISTS)
async def test_lists_are_sorted_both_ways_by_every_field_that_is_no_object(app: Client, collection: str) -> None:
    path, make = LISTS[collection]
    for _ in range(3):
        await make(app.store)
    (record, *_) = (await app.get(path)).body[collection]
    for name in [
        name for name in record if name not in ("category", "images", "pricing", "customer", "items", "fiscal_data")
    ]:
        up = (await app.get(path, sort_by=name, sort_order="asc")).body[collection]
        down = (await app.get(path, sort_by=name, sort_order="DESC")).body[collection]
        assert len(up) >= 3, name
        assert [record["id"] for record in up] == [record["id"] for record in down][::-1], name


@pytest.mark.parametrize("collection", LISTS)
async def test_a_list_takes_a_constant_number_of_statements(app: Client, collection: str) -> None:
    path, make = LISTS[collection]
    await make(app.store)
    few = int((await app.get(path)).headers["X-Test-Statements"])
    for _ in range(6):
        await make(app.store)
    assert int((await app.get(path)).headers["X-Test-Statements"]) == few <= 4


# --- Authorization ----------------------------------------------------------------------------------------------------------

ROUTES = [
    ("GET", PRODUCTS, "products", "read"),
    ("GET", f"{PRODUCTS}/{UNKNOWN_ID}", "products", "read"),
    ("POST", PRODUCT_WRITES, "products", "write"),
    ("PUT", f"{PRODUCT_WRITES}/{UNKNOWN_ID}", "products", "write"),
    ("GET", ORDERS, "orders", "read"),
    ("GET", f"{ORDERS}/{UNKNOWN_ID}", "orders", "read"),
    ("PUT", f"{ORDERS}/{UNKNOWN_ID}/status", "orders", "write"),
    ("GET", USERS, "users", "read"),
    ("GET", f"{USERS}/{UNKNOWN_ID}", "users", "read"),
]


async def test_each_route_requires_the_scope_of_its_collection(new_app: NewApp) -> None:
    readers = {part: await new_app(f"read_{part}") for part in ("products", "orders", "users")}
    writers = {part: await new_app(f"write_{part}") for part in ("products", "orders", "users")}
    for method, path, part, verb in ROUTES:
        for callers, granted in ((readers, "read"), (writers, "write")):
            for other, caller in callers.items():
                answer = await caller.request(method, path)
                if other == part and (granted == verb or granted == "write"):
                    # Writes have no body, reads of a record an unknown id.
                    expected = 400 if method != "GET" else 404 if UNKNOWN_ID in path else 200
                    assert answer.status == expected, (method, path, answer)
                else:
                    required = f"{verb}_{part}"
                    assert (answer.status, answer.body) == (
                        403,
                        {
                            "error": "token_scope",
                            "message": f"the scope {required} is required",
                            "status": 403,
                            "scope": required,
                        },
                    ), (method, path, part, verb, callers, granted, other, caller)


async def test_only_app_tokens_are_accepted(app: Client, admin: Client) -> None:
    key = await scopes.rows(app.store, "select 1")
    assert key
    for method, path, _, _ in ROUTES:
        for header, code, message in (
            (None, "missing_authorization_header", "missing authorization header"),
            ("Basic YTpi", "invalid_authorization_format", "invalid authorization format"),
            ("Bearer", "invalid_authorization_format", "invalid authorization format"),
            ("Bearer a b", "invalid_authorization_format", "invalid authorization format"),
            ("Bearer nonsense", "invalid_token", "invalid or expired token"),
            ("Bearer vat_live_nonsense", "invalid_token", "invalid or expired token"),
            ("Bearer sfk_nonsense", "invalid_token", "invalid or expired token"),
            (f"Bearer {admin.token}", "invalid_token", "invalid or expired token"),
        ):
            answer = await app.request(method, path, headers={"Authorization": header})
            assert (answer.status, answer.body) == (401, {"error": code, "message": message, "status": 401})


async def test_a_token_of_an_uninstalled_app_is_revoked(app: Client, admin: Client) -> None:
    from tests.harness.clients import INSTALLED_APPS
    from tests.harness.oauth import UNINSTALL, graphql_result

    [installed] = await graphql_result(admin, INSTALLED_APPS)
    await graphql_result(admin, UNINSTALL, id=installed["id"])
    answer = await app.get(ORDERS)
    assert (answer.status, answer.body["error"]) == (401, "invalid_token")
    assert answer.body["message"].startswith("token revoked")


async def test_a_token_of_another_store_is_rejected_and_reads_nothing(
    app: Client, other_admin: Client, new_app: NewApp
) -> None:
    foreign_app = await new_app(at=other_admin)
    product, order = await records.add_product(app.store), await records.add_order(app.store)
    for method, path, _, _ in ROUTES:
        answer = await foreign_app.at(app.store).request(method, path)
        assert (answer.status, answer.body) == (
            403,
            {
                "error": "tenant_mismatch",
                "message": "token not valid for this storefront",
                "status": 403,
            },
        ), (method, path)
    assert (await foreign_app.get(f"{PRODUCTS}/{product.id}")).status == 404
    assert (await foreign_app.put(f"{PRODUCT_WRITES}/{product.id}", {"price_cents": 1})).status == 404
    assert (await foreign_app.get(f"{ORDERS}/{order.id}")).status == 404
    assert (await foreign_app.put(f"{ORDERS}/{order.id}/status", {"status": "I"})).status == 404
    assert (await foreign_app.get(f"{USERS}/{app.store.public_id}")).status == 404


async def test_an_unknown_store_is_reported_before_the_credential(app: Client) -> None:
    unknown = await app.request("GET", PRODUCTS, headers={"X-Tenant-ID": UNKNOWN_ID, "Authorization": None})
    assert (unknown.status, unknown.body) == (
        404,
        {"error": "tenant_not_found", "message": "tenant not found", "status": 404},
    )
    missing = await app.request("GET", PRODUCTS, headers={"X-Tenant-ID": None})
    assert (missing.status, missing.body["error"]) == (404, "tenant_not_found")


async def test_a_store_is_resolved_by_its_own_host(sample: SampleStore, new_app: NewApp) -> None:
    """A store's own host needs no header, and a header naming another store is rejected."""
    assert (await sample.get(PRODUCTS, headers={"X-Tenant-ID": "", "Host": sample.host}, auth=None)).status == 401
    answer = await sample.get(PRODUCTS, headers={"X-Tenant-ID": UNKNOWN_ID, "Host": sample.host})
    assert (answer.status, answer.body["error"]) == (403, "tenant_mismatch")
