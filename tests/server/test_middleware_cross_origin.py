"""CORS is enabled for GraphQL and the storefront only."""

from __future__ import annotations

import re

import pytest
from aiohttp import web

from kernel.settings import Settings
from rest_facade.responses import json_response
from rest_facade.routing import Credential, Route
from server.app import facade_routes
from server.http.families import family_of
from tests.server.middleware_server import run_server

SHOP = "https://shop.example"
PREFLIGHT = {
    "Origin": SHOP,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "content-type, x-api-key, x-tenant-id",
}


async def fine(request: web.Request) -> web.Response:
    return json_response({})


ROUTES = (
    Route("GET", "/api/v1/storefront/products", fine, Credential.STOREFRONT_KEY),
    Route("POST", "/api/v1/storefront/carts/{id}/items", fine, Credential.STOREFRONT_KEY),
    Route("GET", "/api/v1/admin/things", fine, Credential.ADMIN),
)


@pytest.mark.parametrize("path", ["/graphql", "/api/v1/storefront/carts/1/items"])
async def test_a_preflight_passes_without_store_or_credential(path):
    async with run_server(*ROUTES) as server:
        response = await server.call("OPTIONS", path, headers={**PREFLIGHT, "X-Tenant-ID": "unknown"})
        assert response.status == 200
        assert response.headers["Access-Control-Allow-Origin"] == SHOP
        assert response.headers["Access-Control-Allow-Methods"] == "POST"
        allowed = response.headers["Access-Control-Allow-Headers"].lower().split(",")
        assert sorted(allowed) == ["content-type", "x-api-key", "x-tenant-id"]
        assert response.headers["Vary"] == "Origin"
        assert server.store_resolver.hosts == []


@pytest.mark.parametrize("path", ["/graphql/nothing", "/api/v1/storefront/nothing", "/api/v1/auth/nothing"])
async def test_a_page_sees_that_a_path_is_unknown(path):
    async with run_server(*ROUTES) as server:
        preflight = await server.call("OPTIONS", path, headers=PREFLIGHT)
        assert (preflight.status, preflight.headers["Access-Control-Allow-Origin"]) == (200, SHOP)
        assert preflight.headers["Access-Control-Allow-Methods"] == "POST"
        assert preflight.headers["Access-Control-Allow-Headers"] == PREFLIGHT["Access-Control-Request-Headers"]
        response = await server.call("POST", path, headers={"Origin": SHOP, "X-API-Key": "sfk_shop"})
        assert (response.status, response.headers["Access-Control-Allow-Origin"]) == (404, SHOP)


async def test_a_preflight_of_another_origin_or_family_gets_no_permission_for_an_unknown_path():
    async with run_server(*ROUTES, settings=Settings(cors_origins=(SHOP,))) as server:
        headers = {**PREFLIGHT, "Origin": "https://evil.example"}
        for path, status in (("/api/v1/storefront/nothing", 200), ("/api/v1/admin/nothing", 404)):
            response = await server.call("OPTIONS", path, headers=headers)
            assert response.status == status
            assert not [name for name in response.headers if name.startswith("Access-Control")], (path, status)


@pytest.mark.parametrize("key,status", [("sfk_shop", 200), ("sfk_wrong", 401)])
async def test_responses_and_errors_have_cors_headers(key, status):
    async with run_server(*ROUTES) as server:
        response = await server.get("/api/v1/storefront/products", Origin=SHOP, X_API_Key=key)
        assert response.status == status
        assert response.headers["Access-Control-Allow-Origin"] == SHOP
        assert "Access-Control-Allow-FakeAuthenticator" not in response.headers
        exposed = response.headers["Access-Control-Expose-Headers"].split(",")
        assert {"ETag", "Link", "X-Request-Id", "X-RateLimit-Remaining", "Retry-After"} <= set(exposed)
        assert response.headers["Vary"] == "Origin"


@pytest.mark.parametrize(
    "path,methods",
    [
        ("/graphql", "GET, HEAD, OPTIONS, POST"),
        ("/graphql/schema", "GET, HEAD, OPTIONS"),
        ("/graphql/schema.graphql", "GET, HEAD, OPTIONS"),
        ("/api/v1/storefront/products", "GET, HEAD, OPTIONS"),
        ("/api/v1/storefront/carts/1/items", "OPTIONS, POST"),
        ("/api/v1/admin/things", "GET, HEAD, OPTIONS"),
        ("/health/live", "GET, HEAD, OPTIONS"),
    ],
)
@pytest.mark.parametrize("headers", [{}, {"Origin": SHOP}], ids=["own", "cross-origin"])
async def test_options_lists_the_methods_of_a_path(path, methods, headers):
    async with run_server(*ROUTES) as server:
        response = await server.call("OPTIONS", path, headers=headers)
        assert (response.status, response.body, response.headers["Allow"]) == (204, b"", methods)
        assert server.store_resolver.hosts == []


async def test_options_lists_the_method_of_every_route():
    routes = [route for route in facade_routes() if family_of(route.path).name != "legacy"]
    assert len(routes) > 100
    async with run_server(*routes, settings=Settings(ip_rate=100_000)) as server:
        for route in routes:
            response = await server.call("OPTIONS", re.sub(r"{\w+}", "1", route.path))
            assert response.status == 204, route.path
            allowed = set(response.headers["Allow"].split(", "))
            assert {route.method, "OPTIONS"} <= allowed
            assert ("GET" in allowed) == ("HEAD" in allowed), route


async def test_options_of_an_unknown_path_is_404():
    async with run_server(*ROUTES) as server:
        for path in ("/nothing", "/api/v1/storefront/nothing", "/graphql/nothing"):
            assert (await server.call("OPTIONS", path)).status == 404


async def test_a_response_without_origin_has_vary_origin():
    async with run_server(*ROUTES) as server:
        response = await server.get("/api/v1/storefront/products", X_API_Key="sfk_shop")
        assert "Access-Control-Allow-Origin" not in response.headers
        assert response.headers["Vary"] == "Origin"


async def test_other_families_have_no_cors_headers():
    async with run_server(*ROUTES) as server:
        preflight = await server.call("OPTIONS", "/api/v1/admin/things", headers=PREFLIGHT)
        assert preflight.status == 204
        assert not [name for name in preflight.headers if name.startswith("Access-Control")]
        response = await server.get("/api/v1/admin/things", "Bearer admin", Origin=SHOP)
        assert "Access-Control-Allow-Origin" not in response.headers


async def test_the_setting_restricts_the_origins():
    async with run_server(*ROUTES, settings=Settings(cors_origins=(SHOP,))) as server:
        path = "/api/v1/storefront/products"
        ours = await server.get(path, Origin=SHOP, X_API_Key="sfk_shop")
        other = await server.get(path, Origin="https://evil.example", X_API_Key="sfk_shop")
        assert ours.headers["Access-Control-Allow-Origin"] == SHOP
        assert "Access-Control-Allow-Origin" not in other.headers
        refused = await server.call("OPTIONS", path, headers={**PREFLIGHT, "Origin": "https://evil.example"})
        assert refused.status == 403
        assert refused.json["error"].startswith("CORS preflight request failed")
