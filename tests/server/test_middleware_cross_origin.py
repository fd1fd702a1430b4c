"""Pages of other origins may call GraphQL and the storefront, and nothing else."""

from __future__ import annotations

import pytest
from aiohttp import web

from kernel.settings import Settings
from rest_facade.responses import json_response
from rest_facade.routing import Needs, Route
from tests.server.serving import serving

SHOP = "https://shop.example"
PREFLIGHT = {
    "Origin": SHOP,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "content-type, x-api-key, x-tenant-id",
}


async def fine(request: web.Request) -> web.Response:
    return json_response({})


ROUTES = (
    Route("GET", "/api/v1/storefront/products", fine, Needs.STOREFRONT_KEY),
    Route("POST", "/api/v1/storefront/carts/{id}/items", fine, Needs.STOREFRONT_KEY),
    Route("GET", "/api/v1/admin/things", fine, Needs.ADMIN),
)


@pytest.mark.parametrize("path", ["/graphql", "/api/v1/storefront/carts/1/items"])
async def test_a_preflight_passes_without_store_or_credential(path):
    async with serving(*ROUTES) as server:
        answer = await server.call("OPTIONS", path, headers={**PREFLIGHT, "X-Tenant-ID": "nobody"})
        assert answer.status == 200
        assert answer.headers["Access-Control-Allow-Origin"] == SHOP
        assert answer.headers["Access-Control-Allow-Methods"] == "POST"
        allowed = answer.headers["Access-Control-Allow-Headers"].lower().split(",")
        assert sorted(allowed) == ["content-type", "x-api-key", "x-tenant-id"]
        assert answer.headers["Vary"] == "Origin"
        assert server.directory.asked == []


@pytest.mark.parametrize("key,status", [("sfk_shop", 200), ("sfk_wrong", 401)])
async def test_answers_and_refusals_can_be_read_by_the_page(key, status):
    async with serving(*ROUTES) as server:
        answer = await server.get("/api/v1/storefront/products", Origin=SHOP, X_API_Key=key)
        assert answer.status == status
        assert answer.headers["Access-Control-Allow-Origin"] == SHOP
        assert "Access-Control-Allow-Credentials" not in answer.headers
        exposed = answer.headers["Access-Control-Expose-Headers"].split(",")
        assert {"X-Request-Id", "X-RateLimit-Remaining", "Retry-After"} <= set(exposed)
        assert answer.headers["Vary"] == "Origin"


async def test_an_answer_without_an_origin_tells_caches_that_it_depends_on_one():
    async with serving(*ROUTES) as server:
        answer = await server.get("/api/v1/storefront/products", X_API_Key="sfk_shop")
        assert "Access-Control-Allow-Origin" not in answer.headers
        assert answer.headers["Vary"] == "Origin"


async def test_other_families_are_closed_to_pages_of_other_origins():
    async with serving(*ROUTES) as server:
        assert (await server.call("OPTIONS", "/api/v1/admin/things", headers=PREFLIGHT)).status == 405
        answer = await server.get("/api/v1/admin/things", "Bearer admin", Origin=SHOP)
        assert "Access-Control-Allow-Origin" not in answer.headers


async def test_the_setting_narrows_the_origins():
    async with serving(*ROUTES, settings=Settings(cors_origins=(SHOP,))) as server:
        path = "/api/v1/storefront/products"
        ours = await server.get(path, Origin=SHOP, X_API_Key="sfk_shop")
        other = await server.get(path, Origin="https://evil.example", X_API_Key="sfk_shop")
        assert ours.headers["Access-Control-Allow-Origin"] == SHOP
        assert "Access-Control-Allow-Origin" not in other.headers
        refused = await server.call("OPTIONS", path, headers={**PREFLIGHT, "Origin": "https://evil.example"})
        assert refused.status == 403
        assert refused.json["error"].startswith("CORS preflight request failed")
