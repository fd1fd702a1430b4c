"""Privileges of the admin routes and the order of checks (docs/reference/shared.md#order-of-checks)."""

from typing import Any

import pytest

from auth.privileges import ALL
from domain.people.accounts import update_user
from kernel.scope import Store, active_scope
from tests.harness import records, scopes
from tests.harness.http import Client, Response
from tests.harness.records import UNKNOWN_ID

ADMIN = "/api/v1/admin"
ONE = UNKNOWN_ID

# Every admin route with the privilege it requires.
ROUTES = [
    ("GET", "/products", "view_products"),
    ("GET", f"/products/{ONE}", "view_products"),
    ("POST", "/products", "manage_products"),
    ("PUT", f"/products/{ONE}", "manage_products"),
    ("PATCH", f"/products/{ONE}", "manage_products"),
    ("DELETE", f"/products/{ONE}", "manage_products"),
    ("GET", "/categories", "view_catalog"),
    ("GET", f"/categories/{ONE}", "view_catalog"),
    ("POST", "/categories", "manage_catalog"),
    ("PUT", f"/categories/{ONE}", "manage_catalog"),
    ("PATCH", f"/categories/{ONE}", "manage_catalog"),
    ("DELETE", f"/categories/{ONE}", "manage_catalog"),
    ("GET", "/orders", "view_orders"),
    ("GET", f"/orders/{ONE}", "view_orders"),
    ("PUT", f"/orders/{ONE}/status", "manage_orders"),
    ("GET", "/users", "view_users"),
    ("GET", f"/users/{ONE}", "view_users"),
    ("GET", "/customers", "view_users"),
    ("GET", f"/customers/{ONE}", "view_users"),
]
BROKEN = {"data": b'{"name": ', "headers": {"Content-Type": "application/json"}}


def _assert_error(answer: Response, status: int, text: str) -> None:
    assert (answer.status, answer.body["error"]) == (status, text), answer


async def _call_every_route(caller: Client, *, broken: bool = True):
    """Call every route; bodies are unreadable because access checks must come before reading them."""
    for method, path, privilege in ROUTES:
        more: dict[str, Any] = BROKEN if broken and method in ("POST", "PUT", "PATCH") else {}
        yield await caller.request(method, f"{ADMIN}{path}", **more), method, path, privilege


async def test_each_route_requires_its_privilege(new_client) -> None:
    unprivileged = await new_client("view_settings")
    async for answer, _, _, privilege in _call_every_route(unprivileged):
        assert (answer.status, answer.body) == (
            403,
            {"error": "insufficient privileges", "required": privilege},
        )


async def test_the_privilege_of_a_route_is_sufficient(new_client, store: Store) -> None:
    for privilege in sorted({privilege for _, _, privilege in ROUTES}):
        only = await new_client(privilege, store=store)
        async for answer, method, path, asked in _call_every_route(only, broken=False):
            if asked == privilege:
                is_list = method == "GET" and not path.endswith(ONE)
                assert answer.status in ((200,) if is_list else (400, 404)), (answer, path)


async def test_manage_privileges_include_view_privileges(new_client, store: Store) -> None:
    for area in ("products", "orders", "users", "catalog"):
        manager = await new_client(f"manage_{area}", store=store)
        async for answer, method, _, asked in _call_every_route(manager):
            if asked == f"view_{area}" and method == "GET":
                assert answer.status in (200, 404)


async def test_view_orders_does_not_allow_other_collections(new_client, store: Store) -> None:
    staff = await new_client("view_orders")
    order = await records.add_order(store, await records.add_user(store))
    shown = await staff.get(f"{ADMIN}/orders/{order.id}")
    assert (shown.status, shown.body["customer"]["email"]) == (200, "ana@example.com")
    changed = await staff.put(f"{ADMIN}/orders/{order.id}/status", {"status": "P"})
    assert (changed.status, changed.body) == (
        403,
        {"error": "insufficient privileges", "required": "manage_orders"},
    )
    assert await scopes.value(store, "select status from orders where id = $1", order.number) == "O"
    for path in ("products", "categories", "users", "customers"):
        _assert_error(await staff.get(f"{ADMIN}/{path}"), 403, "insufficient privileges")


async def test_privileges_of_a_usergroup_apply(new_client, store: Store) -> None:
    staff = await new_client("view_orders")
    group = await records.insert(store, "usergroups", name="Catálogo", type="A", privileges=["manage_products"])
    await records.insert(store, "usergroup_memberships", usergroup_id=group.number, user_id=staff.user.number)
    tokens = await records.sign_in(store, staff.user)
    staff = staff.with_token(tokens.access_token)
    made = await staff.post(f"{ADMIN}/products", {"name": "A", "price_cents": 1})
    assert made.status == 201


@pytest.mark.parametrize("user_type", ["C", "V"])
async def test_every_admin_route_rejects_vendors_and_customers(new_client, store: Store, user_type: str) -> None:
    columns = {"vendor_id": (await records.add_vendor(store)).number} if user_type == "V" else {}
    user = await new_client(user_type=user_type, **columns)
    async for answer, *_ in _call_every_route(user):
        assert (answer.status, answer.body) == (403, {"error": "insufficient permissions"})


async def test_privileges_stored_on_a_customer_have_no_effect(new_client, store: Store) -> None:
    user = await new_client(*sorted(ALL), user_type="C")
    async for answer, *_ in _call_every_route(user):
        _assert_error(answer, 403, "insufficient permissions")


async def test_every_route_requires_a_token(visitor: Client) -> None:
    async for answer, *_ in _call_every_route(visitor):
        assert (answer.status, answer.body) == (401, {"error": "missing authorization header"})
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "header, text",
    [
        ("", "invalid authorization format"),
        ("Basic YTpi", "invalid authorization format"),
        ("Bearer", "invalid authorization format"),
        ("Bearer a b", "invalid authorization format"),
        ("Token abc", "invalid authorization format"),
        ("Bearer abc", "invalid or expired token"),
        ("bearer a.b.c", "invalid or expired token"),
        ("Bearer eyJhbGciOiJub25lIn0.e30.", "invalid or expired token"),
        ("Bearer sfk_abc", "invalid or expired token"),
        ("Bearer vat_live_abc", "invalid or expired token"),
        ("Bearer " + "x" * 7_000, "invalid or expired token"),
    ],
)
async def test_invalid_credentials_get_specific_errors(visitor: Client, header: str, text: str) -> None:
    for path in ("/products", f"/orders/{ONE}"):
        answer = await visitor.get(f"{ADMIN}{path}", headers={"Authorization": header})
        assert (answer.status, answer.body) == (401, {"error": text}), path


async def test_a_refresh_token_is_not_accepted_as_an_access_token(admin: Client) -> None:
    _assert_error(await admin.with_token(admin.refresh_token).get(f"{ADMIN}/products"), 401, "invalid or expired token")


async def test_a_revoked_token_error_states_the_reason(admin: Client) -> None:
    await admin.post("/api/v1/auth/logout", {"refresh_token": admin.refresh_token})
    async for answer, *_ in _call_every_route(admin):
        assert (answer.status, answer.body) == (401, {"error": "token revoked: logged out"})


async def test_disabling_an_administrator_revokes_access_immediately(new_client, admin: Client, store: Store) -> None:
    staff = await new_client("view_orders")
    assert (await staff.get(f"{ADMIN}/orders")).status == 200
    scope = scopes.system_scope(store)
    with active_scope(scope):
        await update_user(scope, staff.user.number, {"status": "D"})
    _assert_error(await staff.get(f"{ADMIN}/orders"), 401, "token revoked: account disabled")


async def test_a_token_of_another_store_is_rejected(admin: Client, other_admin: Client) -> None:
    foreign_admin = other_admin.at(admin.store)
    async for answer, *_ in _call_every_route(foreign_admin):
        assert (answer.status, answer.body) == (403, {"error": "token not valid for this storefront"})


async def test_revocation_is_checked_before_the_store_of_a_token(admin: Client, other_admin: Client) -> None:
    await other_admin.post("/api/v1/auth/logout-all")
    answer = await other_admin.at(admin.store).get(f"{ADMIN}/products")
    _assert_error(answer, 401, "token revoked: signed out of all devices")


async def test_records_of_another_store_are_not_found(admin: Client, other_store: Store) -> None:
    user = await records.add_user(other_store)
    foreign_records = {
        "product": ("products", await records.add_product(other_store)),
        "category": ("categories", await records.add_category(other_store)),
        "order": ("orders", await records.add_order(other_store)),
        "user": ("users", user),
        "customer": ("customers", user),
    }
    for noun, (collection, record) in foreign_records.items():
        address = f"{ADMIN}/{collection}/{record.id}"
        assert (await admin.get(address)).body == {"error": f"{noun} not found"}
        if collection in ("products", "categories"):
            for method in ("PUT", "PATCH"):
                changed = await admin.request(method, address, {"name": "stolen"})
                assert (changed.status, changed.body) == (404, {"error": f"{noun} not found"})
            deleted = await admin.delete(address)
            assert (deleted.status, deleted.body) == (404, {"error": f"{noun} not found"})
            rows = await scopes.rows(
                other_store, f"select name, deleted_at from {collection} where id = $1", record.number
            )
            assert rows[0]["name"] != "stolen", (noun, collection, record)
            assert rows[0]["deleted_at"] is None, (noun, collection, record)
        listed = (await admin.get(f"{ADMIN}/{collection}")).body
        assert record.id not in {shown["id"] for shown in listed[collection]}


@pytest.mark.parametrize("collection, noun", [("products", "product"), ("categories", "category")])
async def test_a_malformed_id_is_not_found(admin: Client, collection: str, noun: str) -> None:
    made = await (records.add_product if collection == "products" else records.add_category)(admin.store)
    for id in (
        str(made.number),
        "0",
        "-1",
        "abc",
        "%20",
        "null",
        made.id + "0",
        made.id.replace("-", ""),
        "%7Bid%7D",
        "9" * 300,
        "☃",
    ):
        for method in ("GET", "PUT", "PATCH", "DELETE"):
            answer = await admin.request(method, f"{ADMIN}/{collection}/{id}", {} if method[0] == "P" else None)
            assert (answer.status, answer.body) == (404, {"error": f"{noun} not found"}), (method, id)
    assert (await admin.get(f"{ADMIN}/{collection}/{made.id.upper()}")).status == 200


async def test_errors_are_reported_in_the_documented_order(
    new_client, admin: Client, other_admin: Client, new_store
) -> None:
    path = f"{ADMIN}/products"
    suspended = await new_store(status="S")
    # 1. store
    answer = await admin.with_token("rubbish").post(path, headers={"X-Tenant-ID": ONE}, data=b"{")
    _assert_error(answer, 404, "tenant not found")
    answer = await admin.at(suspended).with_token(None).post(path, data=b"{")
    _assert_error(answer, 503, "tenant_suspended")
    # 2. header, 3. token
    _assert_error(await admin.with_token(None).post(path, data=b"{"), 401, "missing authorization header")
    answer = await admin.post(path, data=b"{", headers={"Authorization": "Basic x"})
    _assert_error(answer, 401, "invalid authorization format")
    _assert_error(await admin.with_token("x").post(path, data=b"{"), 401, "invalid or expired token")
    _assert_error(await other_admin.at(admin.store).post(path, data=b"{"), 403, "token not valid for this storefront")
    # 4. user type, 5. privilege
    customer = await new_client(*sorted(ALL), user_type="C")
    _assert_error(await customer.post(path, data=b"{"), 403, "insufficient permissions")
    staff = await new_client("view_products")
    _assert_error(await staff.post(path, data=b"{"), 403, "insufficient privileges")
    # 6. body
    _assert_error(await admin.post(path, data=b"{"), 400, "invalid request body")


async def test_an_unknown_route_is_404_without_authentication(visitor: Client) -> None:
    for path in (f"{ADMIN}/nothing", f"{ADMIN}/products/{ONE}/nothing", "/api/v1/auth/nothing", "/api/v1"):
        answer = await visitor.get(path)
        assert (answer.status, answer.body) == (404, {"error": "route not found"}), path


async def test_an_inbound_request_id_is_returned(admin: Client) -> None:
    for status, path in (
        (200, f"{ADMIN}/products"),
        (404, f"{ADMIN}/products/{ONE}"),
        (400, f"{ADMIN}/products?page=x"),
    ):
        answer = await admin.get(path, headers={"X-Request-Id": "mine-1"})
        assert (answer.status, answer.headers["X-Request-Id"]) == (status, "mine-1")
