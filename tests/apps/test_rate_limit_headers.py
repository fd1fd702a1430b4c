"""Every response of the app family and of `/graphql` has rate limit headers; `/graphql` errors have both error formats."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from kernel.settings import Settings
from tests.harness import scopes
from tests.harness.clients import NewApp
from tests.harness.http import Client, HttpClient, Response, ServeApplication, bearer
from tests.harness.oauth import graphql_result
from tests.harness.records import UNKNOWN_ID
from tests.harness.scopes import unused_ip

PRODUCTS, ORDERS = "/api/storefront/products", "/api/admin/orders"
IP_RATE, APP_RATE, KEY_RATE = 6_000, 120, 600


@pytest.fixture(scope="module")
async def rate_limited_client(serve_application: ServeApplication) -> HttpClient:
    """A client of an application with the default rate limits."""
    return await serve_application(Settings())


@pytest.fixture
def rate_limited_app(app: Client, rate_limited_client: HttpClient) -> Client:
    """The app as a caller of the rate-limited server."""
    return replace(app, http=rate_limited_client, ip=unused_ip())


def rate_limit_of(answer: Response) -> tuple[int, int]:
    """Return the limit and remaining requests, after checking the reset header."""
    reset = int(answer.headers["X-RateLimit-Reset"])
    assert time.time() - 1 <= reset <= time.time() + 61
    return int(answer.headers["X-RateLimit-Limit"]), int(answer.headers["X-RateLimit-Remaining"])


async def test_responses_to_an_app_carry_its_own_limit(rate_limited_app: Client) -> None:
    remaining = APP_RATE
    for method, path, body, status in (
        ("GET", PRODUCTS, None, 200),
        ("HEAD", PRODUCTS, None, 200),
        ("GET", f"{PRODUCTS}?page=0", None, 400),
        ("GET", f"{ORDERS}/{UNKNOWN_ID}", None, 404),
        ("POST", "/api/admin/products", {"name": "x", "price_cents": 1}, 201),
        ("POST", "/api/admin/products", {}, 400),
        ("POST", "/api/admin/products", {"name": "x" * (2 * 1024 * 1024)}, 413),
        ("PUT", f"{ORDERS}/{UNKNOWN_ID}/status", {"status": "P"}, 404),
    ):
        answer = await rate_limited_app.request(method, path, body)
        remaining -= 1
        assert (answer.status, *rate_limit_of(answer)) == (status, APP_RATE, remaining), (method, path)


async def test_unauthenticated_responses_carry_the_limit_of_the_ip_address(rate_limited_app: Client) -> None:
    remaining = IP_RATE
    anonymous = rate_limited_app.with_token(None)
    for method, path, headers, status in (
        ("GET", PRODUCTS, {}, 401),
        ("GET", PRODUCTS, {"Authorization": "Basic x"}, 401),
        ("GET", PRODUCTS, {"Authorization": "Bearer vat_live_x"}, 401),
        ("GET", PRODUCTS, {"X-Tenant-ID": UNKNOWN_ID}, 404),
        ("GET", "/api/admin/nothing", {}, 404),
        ("GET", "/api/storefront", {}, 404),
        ("GET", "/api/admin", {}, 404),
        ("DELETE", PRODUCTS, {}, 405),
        ("OPTIONS", PRODUCTS, {}, 204),
    ):
        answer = await anonymous.request(method, path, headers=headers)
        remaining -= 1
        assert (answer.status, *rate_limit_of(answer)) == (status, IP_RATE, remaining), (method, path, answer)


async def test_an_unsupported_method_is_405_without_a_body(app: Client) -> None:
    for path, methods in (
        (PRODUCTS, "GET, HEAD"),
        (f"{PRODUCTS}/{UNKNOWN_ID}", "GET, HEAD"),
        ("/api/admin/products", "POST"),
        (f"/api/admin/products/{UNKNOWN_ID}", "PUT"),
        (ORDERS, "GET, HEAD"),
        (f"{ORDERS}/{UNKNOWN_ID}/status", "PUT"),
    ):
        answer = await app.request("DELETE", path)
        assert (answer.status, answer.raw, answer.headers["Allow"]) == (405, b"", methods)


async def test_an_unknown_route_has_the_error_format_of_the_family(app: Client) -> None:
    for path in (
        "/api/admin/nothing",
        "/api/storefront/nothing",
        "/api/admin/orders/x/y/z",
        "/api/admin/%00",
    ):
        answer = await app.request("GET", path)
        assert (answer.status, answer.body) == (
            404,
            {"error": "not_found", "message": "route not found", "status": 404},
        ), path


async def test_an_app_over_its_limit_is_429_until_the_window_ends(
    new_app: NewApp, rate_limited_client: HttpClient
) -> None:
    limited_app = replace(await new_app(rate=2), http=rate_limited_client)
    assert [rate_limit_of(await limited_app.get(path)) for path in (PRODUCTS, ORDERS)] == [(2, 1), (2, 0)]
    for path in (PRODUCTS, ORDERS, f"{PRODUCTS}/x"):
        response = await limited_app.get(path)
        assert (response.status, *rate_limit_of(response)) == (429, 2, 0), path
        assert response.headers["Retry-After"] == "60", path
        assert response.body == {
            "error": "rate_limit_exceeded",
            "message": "rate limit exceeded",
            "status": 429,
            "detail": "more than 2 requests a minute of this app",
        }, path
    # The limit covers all calls of this app, and no other app's.
    graphql = await limited_app.post("/graphql", {"query": "{ store { name } }"})
    assert (graphql.status, graphql.body["error"], graphql.body["status"]) == (
        429,
        "rate limit exceeded",
        429,
    )
    assert rate_limit_of(graphql) == (2, 0)
    other = replace(await new_app(), http=rate_limited_client)
    assert (await other.get(PRODUCTS)).status == 200


async def test_closed_stores_have_the_error_format_of_each_family(rate_limited_app: Client) -> None:
    for status, code in (("S", "tenant_suspended"), ("M", "tenant_maintenance")):
        await _set_store_status(rate_limited_app, status)
        answer = await rate_limited_app.get(PRODUCTS)
        assert (answer.status, answer.body["error"], answer.body["status"]) == (503, code, 503)
        assert rate_limit_of(answer)[0] == IP_RATE, (status, code)
        graphql = await rate_limited_app.post("/graphql", {"query": "{ store { name } }"})
        assert (graphql.status, graphql.body["error"], graphql.body["status"]) == (503, code, 503)
        assert graphql.body["message"] == answer.body["message"], (status, code)
        assert rate_limit_of(graphql)[0] == IP_RATE, (status, code)


async def test_graphql_credential_and_store_errors_have_both_formats(
    rate_limited_app: Client, other_admin: Client, new_app: NewApp
) -> None:
    foreign_app = replace(await new_app(at=other_admin), http=rate_limited_app.http).at(rate_limited_app.store)
    query = {"query": "{ store { name } }"}
    for caller, headers, status, error in (
        (rate_limited_app, {"Authorization": None}, 401, "missing authorization header"),
        (rate_limited_app, {"Authorization": "Bearer"}, 401, "invalid authorization format"),
        (rate_limited_app, {"Authorization": "Bearer x"}, 401, "invalid or expired token"),
        (rate_limited_app, {"Authorization": "Bearer sfk_x"}, 401, "invalid_api_key"),
        (rate_limited_app, {"X-Tenant-ID": UNKNOWN_ID}, 404, "tenant not found"),
        (foreign_app, {}, 403, "token not valid for this storefront"),
    ):
        answer = await caller.post("/graphql", query, headers=headers)
        body = {"error": error, "message": error, "status": status}
        if status == 401:
            body["errors"] = [{"message": error, "extensions": {"code": "UNAUTHENTICATED"}}]
        assert (answer.status, answer.body) == (status, body)
        assert rate_limit_of(answer)[0] == IP_RATE, (caller, headers, status, error)


async def test_graphql_responses_carry_the_limit_of_the_caller(
    rate_limited_app: Client, admin: Client, rate_limited_client: HttpClient
) -> None:
    query = {"query": "{ products { id } }"}
    created = await graphql_result(
        admin,
        'mutation { storefront_key_create(input: {scopes: ["storefront:read"], rate_limit: 7}) { key } }',
    )
    key = replace(rate_limited_app, credentials=bearer(created["key"]), ip=unused_ip())
    user = replace(admin, http=rate_limited_client, ip=unused_ip())
    for caller, limit in ((rate_limited_app, APP_RATE), (key, 7), (user, IP_RATE)):
        answer = await caller.http.post(
            "/graphql",
            json=query,
            headers={
                "X-Tenant-ID": str(caller.store.public_id),
                "X-Forwarded-For": caller.ip,
                "Authorization": f"Bearer {caller.token}",
            },
        )
        assert answer.status == 200, (caller, limit)
        response = Response(answer.status, answer.headers, b"")
        assert rate_limit_of(response) == (limit, limit - 1)


async def test_rate_limit_headers_are_present_without_an_ip_limit(app: Client) -> None:
    answer = await app.with_token(None).get(PRODUCTS)
    assert (answer.status, *rate_limit_of(answer)) == (401, APP_RATE, APP_RATE)


async def _set_store_status(caller: Client, status: str) -> None:
    from auth.store_resolution import invalidate_store
    from kernel.scope import active_scope
    from models.connection import database

    async with database.cross_store_connection() as everywhere:
        await everywhere.execute("update tenants set status = $2 where id = $1", caller.store.id, status)
    with active_scope(scopes.system_scope(caller.store)):
        await invalidate_store(caller.store.id)
