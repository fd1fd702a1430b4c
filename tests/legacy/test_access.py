"""Check authentication, privileges, vendor access and tenant isolation on every route."""

import base64
import re
from itertools import groupby
from typing import Any

import pytest
from graphql import get_named_type

from models.connection import database
from resolvers.root import internal_schema
from rest_facade.legacy import product_combinations, routes
from rest_facade.legacy.resource_operations import load_legacy_operations
from rest_facade.routing import Credential
from schema.fields import entity_of as entity_of_type
from tests.harness.records import UNKNOWN_ID
from tests.harness.sample_store import NewSampleStore, SampleStore
from tests.legacy.entities import (
    BY_PATH,
    LISTED,
    body_of,
    create,
    record_of,
    resource_of,
    rows_in,
    supports,
    update_body_of,
)

pytestmark = pytest.mark.combination

BASES = ("/api", "/api/v1.0", "/api/2.0", "/api/2")
MISSING = "Authentication required. Use Basic with email and API key or a Bearer JWT."
ADMIN_ONLY = "Forbidden: admin scope required"

# Routes for administrators only; auth tokens, notifications, quotes and the vendor app have their own tests.
TESTED_ELSEWHERE = ("/api/auth", "/api/delivery_methods", "/api/sellers_availability")
# Records of one area below another's, and variables of a language (tests/legacy/test_nested_records.py, test_language_variables.py).
_TWO_AREAS = re.compile(
    r"/orders$|^/api/(stores|vendors|categories)/\{id\}/products(/\{product_id\})?$|feature_id|post_id|/langvars/\{name\}"
)
ROUTES = [
    r
    for r in routes()
    if r.credential is Credential.LEGACY_ADMIN
    and r.path not in TESTED_ELSEWHERE
    and r.serves is None  # those of one dialect: test_cscart_routes
    and "product_variations" not in r.path  # test_variations
    and (not _TWO_AREAS.search(r.path) or r.path in ("/api/orders", "/api/categories/{id}/products"))
]
EVERY_ROUTE = pytest.mark.parametrize("route", ROUTES, ids=[f"{r.method} {r.path}" for r in ROUTES])
AREAS = {path: resource.privilege_area for path, resource in BY_PATH.items()}
ENTITY_NAMES = {path: resource.display_name.capitalize() for path, resource in BY_PATH.items()}


def entity_of(route: Any) -> str:
    nested = product_combinations.COMBINATIONS.path
    return nested if nested in route.path else route.path.split("/")[2]


EVERY_ENTITY = pytest.mark.parametrize(
    "routes", [pytest.param([*each], id=name) for name, each in groupby(sorted(ROUTES, key=entity_of), entity_of)]
)


def path_with_id(route: Any, record_id: Any, sample: SampleStore) -> str:
    """Return the address of the route for a record; other ids are those of the store's records."""
    path = route.path.replace("{product_id}", str(sample.mug)).replace("{area_id}", str(sample.delivery_area))
    for segment in ("{group_id}", "{usergroup_id}"):
        path = path.replace(segment, str(sample.wholesale))
    if "{product_id}" in route.path:
        record_id = getattr(record_id, "number", record_id)  # not the hash
    return path.replace("{id}", str(record_id))


def deletes_record(route: Any) -> bool:
    """Return whether the route deletes the record itself, not a nested one."""
    return route.method == "DELETE" and route.path.endswith("/{id}")


def path_to(route: Any, sample: SampleStore, base: str = "/api") -> str:
    """Return the address of the route with the ids of the store's records."""
    return path_with_id(route, record_of(sample, resource_of(entity_of(route))), sample).replace("/api", base, 1)


def body_for(route: Any, sample: SampleStore) -> Any:
    if route.method not in ("POST", "PUT"):
        return None
    resource = resource_of(entity_of(route))
    body = update_body_of(sample, resource) if route.method == "PUT" else body_of(sample, resource)
    if route.path.endswith("/user_groups"):
        body |= {"usergroup_id": sample.team.number}
    if route.path.endswith("/delivery_areas"):
        body |= {"area_name": "x"}
    return body | ({"status": "A"} if "usergroups/" in route.path else {})


async def call_route(sample: SampleStore, route: Any, **kwargs: Any) -> Any:
    return await sample.request(
        route.method, path_to(route, sample), body_for(route, kwargs.get("at") or sample), **kwargs
    )


# --- Credentials -------------------------------------------------------------------------------------------------------------


@EVERY_ENTITY
async def test_a_missing_credential_is_401_with_instructions(shared_sample, routes):
    for route in routes:
        answer = await call_route(shared_sample, route, auth=None)
        assert (answer.status, answer.body) == (401, {"status": 401, "message": MISSING}), route
        assert answer.headers["WWW-Authenticate"].startswith("Basic "), route


@EVERY_ENTITY
async def test_an_invalid_credential_is_401(shared_sample, routes):
    wrong_key = base64.b64encode(f"{shared_sample.owner.email}:x".encode()).decode()
    for route in routes:
        for header in (f"Basic {wrong_key}", "Basic ???", "Bearer x", "Digest x", "Basic", "Bearer "):
            answer = await call_route(shared_sample, route, auth=None, headers={"Authorization": header})
            assert (answer.status, answer.body) == (401, {"status": 401, "message": "Invalid credentials"}), route


async def test_basic_bearer_and_legacy_tokens_authenticate(sample):
    assert (await sample.get("/api/products")).status == 200
    assert (await sample.get("/api/products", auth="bearer")).status == 200
    credentials = {"email": sample.owner.email, "password": sample.owner.password}
    token = (await sample.post("/api/auth_tokens", credentials, auth=None)).body["token"]
    answer = await sample.get("/api/products", auth=None, headers={"Authorization": f"Bearer {token}"})
    assert answer.status == 200


@EVERY_ENTITY
async def test_customers_and_vendors_are_forbidden(shared_sample, routes):
    for route in routes:
        for person in (shared_sample.vendor_user, shared_sample.caio):
            answer = await call_route(shared_sample, route, auth="bearer", by=person)
            assert (answer.status, answer.body) == (403, {"status": 403, "message": ADMIN_ONLY}), route


@EVERY_ENTITY
async def test_a_credential_of_another_store_is_rejected(shared_sample, other_shared_sample, routes):
    for route in routes:
        answer = await shared_sample.request(
            route.method, path_to(route, shared_sample), body_for(route, shared_sample), at=other_shared_sample
        )
        assert (answer.status, answer.body) == (401, {"status": 401, "message": "Invalid credentials"}), route
        answer = await shared_sample.request(
            route.method,
            path_to(route, shared_sample),
            body_for(route, shared_sample),
            at=other_shared_sample,
            auth="bearer",
        )
        assert (answer.status, answer.body) == (403, {"status": 403, "message": ADMIN_ONLY}), route


@EVERY_ENTITY
async def test_an_unknown_store_is_not_found(shared_sample, routes):
    for route in routes:
        answer = await call_route(shared_sample, route, headers={"X-Tenant-ID": UNKNOWN_ID})
        assert (answer.status, answer.body) == (404, {"status": 404, "message": "tenant not found"}), route


@pytest.fixture(scope="module")
async def suspended_sample(new_sample: NewSampleStore) -> SampleStore:
    """Return a suspended store with sample data."""
    sample = await new_sample(combination=True)
    async with database.cross_store_connection() as connection:
        await connection.execute("update tenants set status = 'S' where id = $1", sample.store.id)
    return sample


@EVERY_ENTITY
async def test_a_suspended_store_is_503(suspended_sample, routes):
    for route in routes:
        answer = await call_route(suspended_sample, route)
        assert answer.status == 503, route
        assert answer.body["message"] == "tenant_suspended", route
        assert answer.body["status"] == 503, route


# --- Privileges --------------------------------------------------------------------------------------------------------------


@EVERY_ENTITY
async def test_a_missing_privilege_is_403_and_named(shared_sample, routes):
    person = await shared_sample.add_user("view_apps")
    for route in routes:
        action = "view" if route.method == "GET" else "manage"
        privilege = f"{action}_{AREAS[entity_of(route)]}"
        for data in (None, b"{broken"):  # privileges are checked before the body is parsed
            answer = await shared_sample.request(route.method, path_to(route, shared_sample), by=person, data=data)
            body = {"status": 403, "message": f"Forbidden: privilege {privilege} required"}
            assert (answer.status, answer.body) == (403, body), route


@EVERY_ENTITY
async def test_view_privileges_do_not_allow_changes(shared_sample, routes):
    viewer = await shared_sample.add_user(*(f"view_{area}" for area in AREAS.values()))
    for route in routes:
        answer = await call_route(shared_sample, route, by=viewer)
        assert answer.status == (200 if route.method == "GET" else 403), (route, answer.raw)


@EVERY_ROUTE
async def test_the_manage_privilege_of_the_area_suffices(sample, route):
    area = AREAS[entity_of(route)]
    # The products of a category need the privilege of products.
    extra = ["view_products"] if route.path == "/api/categories/{id}/products" else []
    manager = await sample.add_user(f"manage_{area}", *extra)
    path = path_to(route, sample)
    if deletes_record(route):  # a record without dependents
        path = path_with_id(route, await create(sample, resource_of(entity_of(route)), 1), sample)
    answer = await sample.request(route.method, path, body_for(route, sample), by=manager)
    assert answer.status in (200, 201, 204), answer.raw


async def test_staff_with_view_orders_read_orders_only(sample):
    for route in ROUTES:
        answer = await call_route(sample, route, by=sample.staff)
        allowed = AREAS[entity_of(route)] == "orders" and route.method == "GET"
        assert answer.status == (200 if allowed else 403), (route, answer.raw)
    order = (await sample.get(f"/api/orders/{sample.order}", by=sample.staff)).body
    assert order["details"] == ""
    assert "processor_type" not in order["payment_method"]  # needs a privilege of payments


# --- Ids ---------------------------------------------------------------------------------------------------------------------

SINGLE = [route for route in ROUTES if "{id}" in route.path]
SINGLE_ROUTES = pytest.mark.parametrize("route", SINGLE, ids=[f"{r.method} {r.path}" for r in SINGLE])
INVALID_IDS = [
    "0",
    "-1",
    "abc",
    "1.5",
    "9" * 19,
    "9" * 40,
    UNKNOWN_ID,
    UNKNOWN_ID[:-1],
    "é",
    "%20",
    "1%2F2",
    "+1",
    "1e3",
    "null",
]


@SINGLE_ROUTES
async def test_an_unknown_id_is_not_found(shared_sample, route):
    for record_id in INVALID_IDS:
        path = path_with_id(route, record_id, shared_sample)
        answer = await shared_sample.request(route.method, path, body_for(route, shared_sample))
        message = f"{ENTITY_NAMES[entity_of(route)]} not found"
        assert (answer.status, answer.body) == (404, {"status": 404, "message": message}), record_id


def internal_table(resource: Any) -> str:
    """Return the table of an entity's records."""
    operation = load_legacy_operations()[f"{resource.operations}Show"]
    root: Any = operation.prepared.operation(operation.name)
    name = root.selection_set.selections[0].name.value
    query_type = internal_schema().query_type
    assert query_type is not None
    entity = entity_of_type(get_named_type(query_type.fields[name].type))
    assert entity is not None
    return entity.table


@SINGLE_ROUTES
async def test_a_record_is_addressed_by_uuid(sample, route):
    resource = resource_of(entity_of(route))
    record = record_of(sample, resource).id
    if deletes_record(route) and resource.display_name != "combination":
        number = int(await create(sample, resource, 1))
        table = internal_table(resource)
        record = str(await sample.value(f"select public_id from {table} where id = $1", number))
    path = path_with_id(route, record.upper(), sample)
    answer = await sample.request(route.method, path, body_for(route, sample))
    assert answer.status in (200, 201, 204), answer.raw


@SINGLE_ROUTES
async def test_another_stores_record_is_not_found(shared_sample, distant_shared_sample, route):
    theirs = record_of(distant_shared_sample, resource_of(entity_of(route)))
    for record_id in (str(theirs), theirs.id):
        path = path_with_id(route, record_id, shared_sample)
        answer = await shared_sample.request(route.method, path, body_for(route, shared_sample))
        message = f"{ENTITY_NAMES[entity_of(route)]} not found"
        assert (answer.status, answer.body) == (404, {"status": 404, "message": message}), record_id
    resource = resource_of(entity_of(route))
    if resource.path == product_combinations.COMBINATIONS.path or supports(resource, "show"):
        untouched = await distant_shared_sample.get(f"/api/{resource.name}/{theirs}")
        assert untouched.status == 200


async def test_another_stores_records_cannot_be_referred_to(sample, distant_sample):
    for path, body in (
        ("products", {"product": "x", "price": 1, "company_id": distant_sample.vendor.number}),
        ("products", {"product": "x", "price": 1, "category_ids": [distant_sample.home.id]}),
        ("products", {"product": "x", "price": 1, "product_features": {str(distant_sample.material): "x"}}),
        ("categories", {"category": "x", "parent_id": distant_sample.home.number}),
        (
            "users",
            {"email": "n@example.com", "password": "a long password", "company_id": distant_sample.vendor.id},
        ),
        ("orders", {"user_id": distant_sample.caio.number, "products": {str(sample.ebook): {"amount": 1}}}),
        ("orders", {"user_id": sample.caio.number, "products": {str(distant_sample.ebook): {"amount": 1}}}),
        (
            "orders",
            {
                "user_id": sample.caio.number,
                "payment_id": distant_sample.pix.number,
                "products": {str(sample.ebook): {"amount": 1}},
            },
        ),
    ):
        answer = await sample.post(f"/api/{path}", body)
        assert answer.status == 400, (path, body, answer.raw)
    answer = await sample.put(f"/api/users/{sample.bia}/usergroups/{distant_sample.wholesale}", {"status": "A"})
    assert answer.status == 404


async def test_lists_contain_the_stores_own_records_only(sample, distant_sample):
    for resource in LISTED:
        key = resource.key
        mine, theirs = (str(record_of(store, resource)) for store in (sample, distant_sample))
        rows = rows_in(resource, (await sample.get(f"/api/{resource.path}?items_per_page=250")).body)
        assert mine in [row[key] for row in rows], resource
        assert theirs not in [row[key] for row in rows], resource
        filtered = await sample.get(f"/api/{resource.path}?{key}={theirs}")
        assert filtered.body[resource.name] == {}


# --- Vendors with API keys ---------------------------------------------------------------------------------------------------


@pytest.fixture
async def vendor_enabled_store(new_sample) -> SampleStore:
    return await new_sample(combination=True, legacy_vendor_keys="Y")


async def test_vendors_see_their_own_products_and_orders(vendor_enabled_store):
    sample = vendor_enabled_store
    mine = (await sample.get("/api/products", by=sample.vendor_user)).body
    assert {row["product_id"] for row in mine["products"]} == {
        str(sample.mug),
        str(sample.ebook),
        str(sample.secret),
    }
    assert mine["params"]["total_items"] == 3
    theirs = (await sample.get("/api/products", by=sample.rival_vendor_user)).body
    assert {row["product_id"] for row in theirs["products"]} == {str(sample.plate)}
    orders = (await sample.get("/api/orders", by=sample.rival_vendor_user)).body["orders"]
    assert [row["order_id"] for row in orders] == [str(sample.shared_order)]
    assert orders[0]["total"] == "75.00"  # its own lines
    assert [line["product_id"] for line in orders[0]["products"].values()] == [str(sample.plate)]
    order = (await sample.get(f"/api/orders/{sample.shared_order}", by=sample.rival_vendor_user)).body
    assert not {"details", "ip_address"} & set(order)
    assert [group["company_id"] for group in order["product_groups"]] == [str(sample.rival)]


async def test_another_vendors_records_are_not_found(vendor_enabled_store):
    sample = vendor_enabled_store
    for method, path, body, entity in (
        ("GET", f"products/{sample.plate}", None, "Product"),
        ("PUT", f"products/{sample.plate}", {"price": 1}, "Product"),
        ("DELETE", f"products/{sample.plate}", None, "Product"),
        ("GET", f"products/{sample.plate}/features", None, "Product"),
        ("GET", f"products/{sample.plate}/discussions", None, "Product"),
        ("PUT", f"orders/{sample.order}", {"notes": "x"}, "Order"),
        ("GET", f"orders/{sample.order}", None, "Order"),
        ("GET", f"stores/{sample.vendor}", None, "Vendor"),
        ("PUT", f"vendors/{sample.vendor}", {"company": "x"}, "Vendor"),
    ):
        by = sample.vendor_user if "products" in path else sample.rival_vendor_user
        answer = await sample.request(method, f"/api/{path}", body, by=by)
        assert (answer.status, answer.body) == (404, {"status": 404, "message": f"{entity} not found"}), path


async def test_other_routes_are_forbidden_for_vendors(vendor_enabled_store):
    sample = vendor_enabled_store
    for route in ROUTES:
        resource = resource_of(entity_of(route))
        if not resource.open_to_vendors:
            answer = await call_route(sample, route, by=sample.vendor_user)
            assert (answer.status, answer.body) == (403, {"status": 403, "message": ADMIN_ONLY}), route
        if (resource.path, route.method) in (("orders", "POST"), ("stores", "POST"), ("stores", "DELETE")):
            assert (await call_route(sample, route, by=sample.vendor_user)).status == 403
    shared = await sample.put(f"/api/orders/{sample.shared_order}", {"status": "P"}, by=sample.vendor_user)
    assert shared.status == 403
    customer = await sample.get("/api/products", by=sample.caio, auth="bearer")
    assert (customer.status, customer.body["message"]) == (403, ADMIN_ONLY)


async def test_fields_reserved_for_staff_are_ignored_for_vendors(vendor_enabled_store):
    sample = vendor_enabled_store
    answer = await sample.put(
        f"/api/products/{sample.mug}",
        {"company_id": sample.rival.number, "price": "1.00"},
        by=sample.vendor_user,
    )
    assert answer.status == 200
    product = (await sample.get(f"/api/products/{sample.mug}")).body
    assert (product["company_id"], product["price"]) == (str(sample.vendor), "1.00")
    created = await sample.post(
        "/api/products",
        {"product": "x", "price": 1, "company_id": sample.rival.number},
        by=sample.vendor_user,
    )
    assert (await sample.get(f"/api/products/{created.body['product_id']}")).body["company_id"] == str(sample.vendor)


async def test_a_vendor_follows_the_status_transitions_and_gets_the_allowed_ones(vendor_enabled_store):
    sample = vendor_enabled_store
    assert (await sample.put(f"/api/orders/{sample.order}", {"status": "P"}, by=sample.vendor_user)).status == 200
    answer = await sample.put(f"/api/orders/{sample.order}", {"status": "I"}, by=sample.vendor_user)
    assert answer.status == 422
    assert set(answer.body) == {"status", "message", "allowed"}
    assert answer.body["allowed"] == ["C", "B"]


async def test_vendors_learn_neither_the_authors_of_reviews_nor_who_changed_a_status(vendor_enabled_store):
    sample = vendor_enabled_store
    reviews, order = f"/api/products/{sample.mug}/discussions", f"/api/orders/{sample.order}"
    assert (await sample.put(order, {"status": "C"})).status == 200
    orders = {True: (order,), False: (order, f"/api/vendor_order/{sample.order}")}
    for by, sees in ((sample.owner, True), (sample.vendor_user, False)):
        shown = (await sample.get(reviews, by=by)).body["discussions"]
        assert ["user_id" in review for review in shown] == [sees] * len(shown), by
        filtered = (await sample.get(f"{reviews}?user_id=999999", by=by)).body
        assert (len(filtered["discussions"]) < len(shown)) is sees, by
        for path in orders[sees]:
            history = (await sample.get(path, by=by)).body["status_history"]
            assert history, path
            assert ["user_id" in step for step in history] == [sees] * len(history), (by, path)


async def test_vendors_cannot_filter_by_hidden_fields(vendor_enabled_store):
    sample = vendor_enabled_store
    await sample.put(f"/api/orders/{sample.order}", {"details": "secret"})
    answer = await sample.get("/api/orders?details=guess", by=sample.vendor_user)
    assert isinstance(answer.body["orders"], list)  # ignored like an unknown filter
    assert "details" not in answer.body["params"]


# --- Addresses ---------------------------------------------------------------------------------------------------------------


@EVERY_ENTITY
async def test_a_route_is_served_under_every_base_with_and_without_a_slash(shared_sample, routes):
    for route in routes:
        for base in BASES:
            for slash in ("", "/"):
                answer = await shared_sample.request(
                    route.method, path_to(route, shared_sample, base) + slash, auth=None
                )
                assert (answer.status, answer.body["message"]) == (401, MISSING), (route, base, slash)


async def test_the_current_and_app_families_keep_their_addresses(sample):
    for path in (
        "/api/v1/products",
        "/api/v1/auth_tokens",
        "/api/admin/orders",
        "/api/storefront/products",
    ):
        answer = await sample.get(path, auth=None)
        assert "message" not in answer.body or "error" in answer.body, path


async def test_a_wrong_method_is_405_with_the_allowed_methods(sample):
    for path, allowed in (
        ("/api/products", "GET, HEAD, POST"),
        ("/api/2.0/products/", "GET, HEAD, POST"),
        (f"/api/v1.0/products/{sample.mug}", "DELETE, GET, HEAD, PUT"),
        (f"/api/products/{sample.mug}/features", "GET, HEAD"),
        (f"/api/users/{sample.caio}/usergroups/{sample.wholesale}", "DELETE, GET, HEAD, PUT"),
    ):
        answer = await sample.request("PATCH", path)
        assert (answer.status, answer.body) == (405, {"status": 405, "message": "Method not allowed"}), (path, allowed)
        assert answer.headers["Allow"] == allowed


async def test_an_unknown_route_is_404_in_the_legacy_error_format(sample):
    for path in ("/api/nothing", "/api/2.0/nothing/1", "/api/products/1/nothing", "/api/", "/api/v1.0"):
        answer = await sample.get(path)
        assert (answer.status, answer.body) == (404, {"status": 404, "message": "Route not found"}), path


async def test_head_answers_like_get_without_a_body(sample):
    answer = await sample.request("HEAD", "/api/products")
    assert (answer.status, answer.raw) == (200, b"")
