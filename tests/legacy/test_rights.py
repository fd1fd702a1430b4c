"""Check who may do what: credentials, privileges, vendors, and the wall between stores, over every route there is."""

import base64
from typing import Any

import pytest
from graphql import get_named_type

from models import database
from resolvers.execute import load
from resolvers.root import internal_schema
from rest_facade.legacy import product_combinations, routes
from rest_facade.legacy.addresses import OPERATIONS
from rest_facade.routing import Needs
from schema.fields import entity_of as entity_of_type
from tests.legacy.entities import (
    BY_PATH,
    LISTED,
    body_of,
    change_of,
    create,
    does,
    record_of,
    resource_of,
    rows_in,
)
from tests.shop import NOBODY, Shop

BASES = ("/api", "/api/v1.0", "/api/2.0", "/api/2")
MISSING = "Authentication required. Use Basic with email and API key or a Bearer JWT."
ADMIN_ONLY = "Forbidden: admin scope required"

# Those that administrators alone may use; the doors, inboxes, quotes and the vendor app are tested on their own.
ELSEWHERE = ("/api/delivery_methods", "/api/sellers_availability")
ROUTES = [r for r in routes() if r.needs is Needs.LEGACY_ADMIN and r.path not in ELSEWHERE]
EVERY_ROUTE = pytest.mark.parametrize("route", ROUTES, ids=[f"{r.method} {r.path}" for r in ROUTES])
AREAS = {path: resource.area for path, resource in BY_PATH.items()}
THINGS = {path: resource.thing.capitalize() for path, resource in BY_PATH.items()}


def entity_of(route: Any) -> str:
    nested = product_combinations.COMBINATIONS.path
    return nested if nested in route.path else route.path.split("/")[2]


def named_by(route: Any, named: Any, shop: Shop) -> str:
    """Give the address of the route for a record; what else it names is the shop's."""
    path = route.path.replace("{product_id}", str(shop.mug)).replace("{area_id}", str(shop.delivery_area))
    for segment in ("{group_id}", "{usergroup_id}"):
        path = path.replace(segment, str(shop.wholesale))
    if "{product_id}" in route.path:
        named = getattr(named, "number", named)  # not by its hash
    return path.replace("{id}", str(named))


def makes_away(route: Any) -> bool:
    """Say whether the route deletes a record, not something below it."""
    return route.method == "DELETE" and route.path.endswith("/{id}")


def path_to(route: Any, shop: Shop, base: str = "/api") -> str:
    """Give the address of the route, its ids those of records of the shop."""
    return named_by(route, record_of(shop, resource_of(entity_of(route))), shop).replace("/api", base, 1)


def body_for(route: Any, shop: Shop) -> Any:
    if route.method not in ("POST", "PUT"):
        return None
    resource = resource_of(entity_of(route))
    body = change_of(shop, resource) if route.method == "PUT" else body_of(shop, resource)
    if route.path.endswith("/user_groups"):
        body |= {"usergroup_id": shop.team.number}
    if route.path.endswith("/delivery_areas"):
        body |= {"area_name": "x"}
    return body | ({"status": "A"} if "usergroups/" in route.path else {})


async def ask(shop: Shop, route: Any, **how: Any) -> Any:
    return await shop.call(route.method, path_to(route, shop), body_for(route, how.get("at") or shop), **how)


# --- Credentials -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
async def standing(new_shop) -> Shop:
    """Give a shop for the tests that are refused whatever they try, and so may share one."""
    return await new_shop()


@pytest.fixture(scope="module")
async def other_standing(new_shop) -> Shop:
    """Give another such shop."""
    return await new_shop()


@EVERY_ROUTE
async def test_without_a_credential_a_route_says_how_to_give_one(standing, route):
    answer = await ask(standing, route, auth=None)
    assert (answer.status, answer.body) == (401, {"status": 401, "message": MISSING})
    assert answer.headers["WWW-Authenticate"].startswith("Basic ")


@EVERY_ROUTE
async def test_a_wrong_credential_is_invalid(standing, route):
    wrong_key = base64.b64encode(f"{standing.owner.email}:x".encode()).decode()
    for header in (f"Basic {wrong_key}", "Basic ???", "Bearer x", "Digest x", "Basic", "Bearer "):
        answer = await ask(standing, route, auth=None, headers={"Authorization": header})
        assert (answer.status, answer.body) == (401, {"status": 401, "message": "Invalid credentials"})


async def test_basic_bearer_and_legacy_tokens_open_the_routes(shop):
    assert (await shop.get("/api/products")).status == 200
    assert (await shop.get("/api/products", auth="bearer")).status == 200
    given = {"email": shop.owner.email, "password": shop.owner.password}
    token = (await shop.post("/api/auth_tokens", given, auth=None)).body["token"]
    answer = await shop.get("/api/products", auth=None, headers={"Authorization": f"Bearer {token}"})
    assert answer.status == 200


@EVERY_ROUTE
async def test_customers_and_vendors_are_not_administrators(standing, route):
    for person in (standing.seller, standing.caio):
        answer = await ask(standing, route, auth="bearer", by=person)
        assert (answer.status, answer.body) == (403, {"status": 403, "message": ADMIN_ONLY})


@EVERY_ROUTE
async def test_a_credential_of_another_store_opens_nothing(standing, other_standing, route):
    answer = await standing.call(
        route.method, path_to(route, standing), body_for(route, standing), at=other_standing
    )
    assert (answer.status, answer.body) == (401, {"status": 401, "message": "Invalid credentials"})
    answer = await standing.call(
        route.method, path_to(route, standing), body_for(route, standing), at=other_standing, auth="bearer"
    )
    assert (answer.status, answer.body) == (403, {"status": 403, "message": ADMIN_ONLY})


@EVERY_ROUTE
async def test_a_store_that_is_not_there(standing, route):
    answer = await ask(standing, route, headers={"X-Tenant-ID": NOBODY})
    assert (answer.status, answer.body) == (404, {"status": 404, "message": "tenant not found"})


@EVERY_ROUTE
async def test_a_suspended_store_is_closed(shop, route):
    async with database.across_stores() as everywhere:
        await everywhere.execute("update tenants set status = 'S' where id = $1", shop.store.id)
    answer = await ask(shop, route)
    assert answer.status == 503
    assert answer.body["message"] == "tenant_suspended"
    assert answer.body["status"] == 503


# --- Privileges --------------------------------------------------------------------------------------------------------------


@EVERY_ROUTE
async def test_an_administrator_without_the_privilege_is_told_which(standing, route):
    """What is asked for is refused before the body is read: a broken one changes nothing."""
    verb = "view" if route.method == "GET" else "manage"
    needed = f"{verb}_{AREAS[entity_of(route)]}"
    nobody = await standing.new_person("view_apps")
    for data in (None, b"{broken"):
        answer = await standing.call(route.method, path_to(route, standing), by=nobody, data=data)
        assert (answer.status, answer.body) == (
            403,
            {"status": 403, "message": f"Forbidden: privilege {needed} required"},
        )


@EVERY_ROUTE
async def test_viewing_is_not_managing(shop, route):
    viewer = await shop.new_person(*(f"view_{area}" for area in AREAS.values()))
    answer = await ask(shop, route, by=viewer)
    assert answer.status == (200 if route.method == "GET" else 403), answer.raw


@EVERY_ROUTE
async def test_the_areas_privilege_is_enough(shop, route):
    area = AREAS[entity_of(route)]
    # Products below a category are products, which need their own right.
    besides = ["view_products"] if route.path == "/api/categories/{id}/products" else []
    manager = await shop.new_person(f"manage_{area}", *besides)
    path = path_to(route, shop)
    if makes_away(route):  # a record that nothing else needs
        path = named_by(route, await create(shop, resource_of(entity_of(route)), 1), shop)
    answer = await shop.call(route.method, path, body_for(route, shop), by=manager)
    assert answer.status in (200, 201, 204), answer.raw


async def test_staff_with_orders_alone_sees_orders_alone(shop):
    for route in ROUTES:
        answer = await ask(shop, route, by=shop.staff)
        allowed = AREAS[entity_of(route)] == "orders" and route.method == "GET"
        assert answer.status == (200 if allowed else 403), (route, answer.raw)
    order = (await shop.get(f"/api/orders/{shop.order}", by=shop.staff)).body
    assert order["details"] == ""
    assert "processor_type" not in order["payment_method"]  # a matter of payments


# --- Ids ---------------------------------------------------------------------------------------------------------------------

SINGLE = [route for route in ROUTES if "{id}" in route.path]
SINGLE_ROUTES = pytest.mark.parametrize("route", SINGLE, ids=[f"{r.method} {r.path}" for r in SINGLE])
NO_IDS = [
    "0",
    "-1",
    "abc",
    "1.5",
    "9" * 19,
    "9" * 40,
    NOBODY,
    NOBODY[:-1],
    "é",
    "%20",
    "1%2F2",
    "+1",
    "1e3",
    "null",
]


@SINGLE_ROUTES
async def test_what_names_nothing_is_not_found(standing, route):
    for named in NO_IDS:
        path = named_by(route, named, standing)
        answer = await standing.call(route.method, path, body_for(route, standing))
        message = f"{THINGS[entity_of(route)]} not found"
        assert (answer.status, answer.body) == (404, {"status": 404, "message": message}), named


def internal_table(resource: Any) -> str:
    """Name the table that an entity's records lie in."""
    operation = load(OPERATIONS)[f"{resource.operations}Show"]
    root: Any = operation.prepared.operation(operation.name)
    name = root.selection_set.selections[0].name.value
    query_type = internal_schema().query_type
    assert query_type is not None
    entity = entity_of_type(get_named_type(query_type.fields[name].type))
    assert entity is not None
    return entity.table


@SINGLE_ROUTES
async def test_a_record_is_named_by_its_uuid_too(shop, route):
    resource = resource_of(entity_of(route))
    record = record_of(shop, resource).id
    if makes_away(route) and resource.thing != "combination":
        number = int(await create(shop, resource, 1))
        table = internal_table(resource)
        record = str(await shop.value(f"select public_id from {table} where id = $1", number))
    path = named_by(route, record.upper(), shop)
    answer = await shop.call(route.method, path, body_for(route, shop))
    assert answer.status in (200, 201, 204), answer.raw


@SINGLE_ROUTES
async def test_another_stores_record_is_not_there(standing, other_standing, route):
    theirs = record_of(other_standing, resource_of(entity_of(route)))
    for named in (str(theirs), theirs.id):
        path = named_by(route, named, standing)
        answer = await standing.call(route.method, path, body_for(route, standing))
        message = f"{THINGS[entity_of(route)]} not found"
        assert (answer.status, answer.body) == (404, {"status": 404, "message": message})
    resource = resource_of(entity_of(route))
    if resource.path == product_combinations.COMBINATIONS.path or does(resource, "show"):
        untouched = await other_standing.get(f"/api/{resource.name}/{theirs}")
        assert untouched.status == 200


async def test_another_stores_records_can_not_be_referred_to(shop, other_shop):
    for path, body in (
        ("products", {"product": "x", "price": 1, "company_id": other_shop.vendor.number}),
        ("products", {"product": "x", "price": 1, "category_ids": [other_shop.home.id]}),
        ("products", {"product": "x", "price": 1, "product_features": {str(other_shop.material): "x"}}),
        ("categories", {"category": "x", "parent_id": other_shop.home.number}),
        (
            "users",
            {"email": "n@example.com", "password": "a long password", "company_id": other_shop.vendor.id},
        ),
        ("orders", {"user_id": other_shop.caio.number, "products": {str(shop.ebook): {"amount": 1}}}),
        ("orders", {"user_id": shop.caio.number, "products": {str(other_shop.ebook): {"amount": 1}}}),
        (
            "orders",
            {
                "user_id": shop.caio.number,
                "payment_id": other_shop.pix.number,
                "products": {str(shop.ebook): {"amount": 1}},
            },
        ),
    ):
        answer = await shop.post(f"/api/{path}", body)
        assert answer.status == 400, (path, body, answer.raw)
    answer = await shop.put(f"/api/users/{shop.bia}/usergroups/{other_shop.wholesale}", {"status": "A"})
    assert answer.status == 404


async def test_lists_hold_the_stores_own_records_alone(shop, other_shop):
    for resource in LISTED:
        key = resource.key
        mine, theirs = (str(record_of(each, resource)) for each in (shop, other_shop))
        rows = rows_in(resource, (await shop.get(f"/api/{resource.path}?items_per_page=250")).body)
        assert mine in [row[key] for row in rows]
        assert theirs not in [row[key] for row in rows]
        found = await shop.get(f"/api/{resource.path}?{key}={theirs}")
        assert found.body[resource.name] == {}


# --- Vendors, where the store lets them in -----------------------------------------------------------------------------------


@pytest.fixture
async def open_shop(new_shop) -> Shop:
    return await new_shop(legacy_vendor_keys="Y")


async def test_vendors_see_their_own_products_and_orders(open_shop):
    shop = open_shop
    mine = (await shop.get("/api/products", by=shop.seller)).body
    assert {row["product_id"] for row in mine["products"]} == {
        str(shop.mug),
        str(shop.ebook),
        str(shop.secret),
    }
    assert mine["params"]["total_items"] == 3
    theirs = (await shop.get("/api/products", by=shop.rival_seller)).body
    assert {row["product_id"] for row in theirs["products"]} == {str(shop.plate)}
    orders = (await shop.get("/api/orders", by=shop.rival_seller)).body["orders"]
    assert [row["order_id"] for row in orders] == [str(shop.shared_order)]
    assert orders[0]["total"] == "75.00"  # its own lines
    assert [line["product_id"] for line in orders[0]["products"].values()] == [str(shop.plate)]
    order = (await shop.get(f"/api/orders/{shop.shared_order}", by=shop.rival_seller)).body
    assert not {"details", "ip_address"} & set(order)
    assert [group["company_id"] for group in order["product_groups"]] == [str(shop.rival)]


async def test_another_vendors_records_are_not_there(open_shop):
    shop = open_shop
    for method, path, body, thing in (
        ("GET", f"products/{shop.plate}", None, "Product"),
        ("PUT", f"products/{shop.plate}", {"price": 1}, "Product"),
        ("DELETE", f"products/{shop.plate}", None, "Product"),
        ("GET", f"products/{shop.plate}/features", None, "Product"),
        ("GET", f"products/{shop.plate}/discussions", None, "Product"),
        ("PUT", f"orders/{shop.order}", {"notes": "x"}, "Order"),
        ("GET", f"orders/{shop.order}", None, "Order"),
        ("GET", f"stores/{shop.vendor}", None, "Vendor"),
        ("PUT", f"vendors/{shop.vendor}", {"company": "x"}, "Vendor"),
    ):
        by = shop.seller if "products" in path else shop.rival_seller
        answer = await shop.call(method, f"/api/{path}", body, by=by)
        assert (answer.status, answer.body) == (404, {"status": 404, "message": f"{thing} not found"}), path


async def test_everything_else_is_closed_to_vendors(open_shop):
    shop = open_shop
    for route in ROUTES:
        resource = resource_of(entity_of(route))
        if not resource.open_to_vendors:
            answer = await ask(shop, route, by=shop.seller)
            assert (answer.status, answer.body) == (403, {"status": 403, "message": ADMIN_ONLY}), route
        if resource.path in ("orders", "stores") and route.method in ("POST", "DELETE"):
            assert (await ask(shop, route, by=shop.seller)).status == 403
    shared = await shop.put(f"/api/orders/{shop.shared_order}", {"status": "P"}, by=shop.seller)
    assert shared.status == 403
    customer = await shop.get("/api/products", by=shop.caio, auth="bearer")
    assert (customer.status, customer.body["message"]) == (403, ADMIN_ONLY)


async def test_what_only_the_shop_decides_is_ignored_of_a_vendor(open_shop):
    shop = open_shop
    answer = await shop.put(
        f"/api/products/{shop.mug}", {"company_id": shop.rival.number, "price": "1.00"}, by=shop.seller
    )
    assert answer.status == 200
    product = (await shop.get(f"/api/products/{shop.mug}")).body
    assert (product["company_id"], product["price"]) == (str(shop.vendor), "1.00")
    made = await shop.post(
        "/api/products", {"product": "x", "price": 1, "company_id": shop.rival.number}, by=shop.seller
    )
    assert (await shop.get(f"/api/products/{made.body['product_id']}")).body["company_id"] == str(shop.vendor)


async def test_a_vendor_moves_its_own_order_along_the_table_and_is_told_what_is_allowed(open_shop):
    shop = open_shop
    assert (await shop.put(f"/api/orders/{shop.order}", {"status": "P"}, by=shop.seller)).status == 200
    answer = await shop.put(f"/api/orders/{shop.order}", {"status": "I"}, by=shop.seller)
    assert answer.status == 422
    assert set(answer.body) == {"status", "message", "allowed"}
    assert answer.body["allowed"] == ["C", "B"]


async def test_hidden_fields_can_not_be_asked_for_by_vendors(open_shop):
    shop = open_shop
    await shop.put(f"/api/orders/{shop.order}", {"details": "secret"})
    asked = await shop.get("/api/orders?details=guess", by=shop.seller)
    assert isinstance(asked.body["orders"], list)  # an unknown filter: it says nothing
    assert "details" not in asked.body["params"]


# --- Addresses ---------------------------------------------------------------------------------------------------------------


@EVERY_ROUTE
async def test_a_route_answers_under_every_base_with_and_without_a_slash(shop, route):
    for base in BASES:
        for slash in ("", "/"):
            answer = await shop.call(route.method, path_to(route, shop, base) + slash, auth=None)
            assert (answer.status, answer.body["message"]) == (401, MISSING), (base, slash)


async def test_the_current_and_app_families_keep_their_addresses(shop):
    for path in (
        "/api/v1/products",
        "/api/v1/auth_tokens",
        "/api/admin/orders",
        "/api/storefront/products",
    ):
        answer = await shop.get(path, auth=None)
        assert "message" not in answer.body or "error" in answer.body, path


async def test_a_wrong_method_is_405_with_what_is_allowed(shop):
    for path, allowed in (
        ("/api/products", "GET, HEAD, POST"),
        ("/api/2.0/products/", "GET, HEAD, POST"),
        (f"/api/v1.0/products/{shop.mug}", "DELETE, GET, HEAD, PUT"),
        (f"/api/products/{shop.mug}/features", "GET, HEAD"),
        (f"/api/users/{shop.caio}/usergroups/{shop.wholesale}", "PUT"),
    ):
        answer = await shop.call("PATCH", path)
        assert (answer.status, answer.body) == (405, {"status": 405, "message": "Method not allowed"})
        assert answer.headers["Allow"] == allowed


async def test_an_unknown_route_is_404_in_the_form_of_the_layer(shop):
    for path in ("/api/nothing", "/api/2.0/nothing/1", "/api/products/1/nothing", "/api/", "/api/v1.0"):
        answer = await shop.get(path)
        assert (answer.status, answer.body) == (404, {"status": 404, "message": "Route not found"}), path


async def test_head_answers_like_get_without_a_body(shop):
    answer = await shop.call("HEAD", "/api/products")
    assert (answer.status, answer.raw) == (200, b"")
