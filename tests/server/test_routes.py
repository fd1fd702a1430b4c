"""The family of a path, and the paths of a declared route."""

from __future__ import annotations

import pytest
from aiohttp import web

import server.app
from rest_facade.responses import json_response
from rest_facade.routing import Credential, Route
from server.http.families import family_of
from server.http.routes import add_routes, route_policies
from tests.server.middleware_server import run_server


async def echo(request: web.Request) -> web.Response:
    return json_response({"id": request.match_info.get("id")})


@pytest.mark.parametrize(
    "path,name,prefix",
    [
        ("/graphql", "graphql", "/graphql"),
        ("/graphql/schema", "graphql", "/graphql/schema"),
        ("/graphql/schema.graphql", "graphql", "/graphql/schema.graphql"),
        ("/graphqlx", "plain", ""),
        ("/api/v1/auth/login", "current", "/api/v1/auth"),
        ("/api/v1/storefront/carts", "current", "/api/v1/storefront"),
        ("/api/v1.0/notifications", "legacy", "/api"),
        ("/api/2.0/warehouses", "legacy", "/api"),
        ("/api/admin/products", "apps", "/api/admin"),
        ("/api/administrators", "legacy", "/api"),
        ("/api/storefront/products", "apps", "/api/storefront"),
        ("/api/2/auth_tokens", "legacy", "/api/2/auth_tokens"),
        ("/api/docs", "plain", "/api/docs"),
        ("/api", "legacy", "/api"),
        ("/.well-known/jwks.json", "plain", ""),
        ("/health/live", "plain", "/health"),
        ("/", "plain", ""),
    ],
)
def test_the_first_matching_prefix_determines_the_family(path, name, prefix):
    family = family_of(path)
    assert (family.name, family.prefix) == (name, prefix)


@pytest.mark.parametrize("base", ["/api", "/api/v1.0", "/api/2.0", "/api/2"])
@pytest.mark.parametrize("end", ["", "/"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_legacy_route_is_served_under_every_base_with_and_without_a_slash(base, end, method):
    route = Route("GET", "/api/things/{id}", echo, Credential.LEGACY_ADMIN)
    async with run_server(route) as server:
        response = await server.call(method, f"{base}/things/7{end}", headers={"Authorization": "Basic admin"})
        assert response.status == 200
        assert response.body == (b'{"id":"7"}' if method == "GET" else b"")


async def test_a_legacy_route_never_shadows_another_family():
    route = Route("GET", "/api/things/{id}", echo, Credential.LEGACY_ADMIN)
    async with run_server(route) as server:
        for path in ("/api/v1/things/7", "/api/admin/things/7", "/api/storefront/things/7"):
            assert (await server.get(path, "Basic admin")).status == 404


async def test_a_legacy_route_with_an_explicit_base_is_served_there_only():
    route = Route("GET", "/api/2.0/things", echo, Credential.LEGACY_ADMIN)
    async with run_server(route) as server:
        assert (await server.get("/api/2.0/things/", "Basic admin")).status == 200
        assert (await server.get("/api/things", "Basic admin")).status == 404


async def test_a_declared_route_wins_over_an_implied_one():
    async def special(request):
        return json_response({"special": True})

    routes = (
        Route("GET", "/api/things", echo, Credential.LEGACY_ADMIN),
        Route("GET", "/api/2.0/things", special, Credential.LEGACY_ADMIN),
    )
    async with run_server(*routes) as server:
        assert (await server.get("/api/2.0/things", "Basic admin")).json == {"special": True}
        assert (await server.get("/api/v1.0/things", "Basic admin")).json == {"id": None}


async def test_other_families_are_served_at_the_declared_path_only():
    route = Route("GET", "/api/v1/admin/things", echo, Credential.ADMIN)
    async with run_server(route) as server:
        assert (await server.get("/api/v1/admin/things", "Bearer admin")).status == 200
        assert (await server.get("/api/v1/admin/things/", "Bearer admin")).status == 404


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD"])
async def test_a_fixed_segment_is_no_record_to_the_methods_that_its_path_does_not_have(method):
    routes = (
        Route("POST", "/api/v1/admin/things/rotate", echo, Credential.ADMIN),
        *(Route(each, "/api/v1/admin/things/{id}", echo, Credential.ADMIN) for each in ("GET", "PUT", "DELETE")),
    )
    async with run_server(*routes) as server:
        refused = await server.call(method, "/api/v1/admin/things/rotate", headers={"Authorization": "Bearer admin"})
        assert (refused.status, refused.headers["Allow"], refused.body) == (405, "POST", b"")
        assert (await server.call("OPTIONS", "/api/v1/admin/things/rotate")).headers["Allow"] == "OPTIONS, POST"
        for record in ("rotated", "rotat", "rotate.d"):
            assert (await server.get(f"/api/v1/admin/things/{record}", "Bearer admin")).json == {"id": record}


def test_a_route_declared_twice_is_rejected_at_start():
    route = Route("GET", "/api/v1/admin/things", echo, Credential.ADMIN)
    with pytest.raises(ValueError, match="GET /api/v1/admin/things is declared twice"):
        add_routes(web.Application(), [route, route])


def test_a_route_without_a_credential_policy_is_rejected_at_start():
    app = web.Application()
    app.router.add_get("/api/v1/admin/forgotten", echo)
    with pytest.raises(ValueError, match="/api/v1/admin/forgotten was added without a Route"):
        route_policies(app)


def test_every_facade_route_starts_with_fixed_segments_and_declares_its_credential():
    for route in server.app.facade_routes():
        assert not route.path.split("/")[2].startswith("{"), route
        assert isinstance(route.credential, Credential)
        assert family_of(route.path).name in ("current", "apps", "legacy", "plain"), route
