"""Which family owns an address, and at which addresses a declared route answers."""

from __future__ import annotations

import pytest
from aiohttp import web

import server.app
from rest_facade.responses import json_response
from rest_facade.routing import Needs, Route
from server.families import family_of
from server.mounting import mount, settle
from tests.server.serving import serving


async def shown(request: web.Request) -> web.Response:
    return json_response({"id": request.match_info.get("id")})


@pytest.mark.parametrize(
    "path,name,prefix",
    [
        ("/graphql", "graphql", "/graphql"),
        ("/graphql/schema", "graphql", "/graphql/schema"),
        ("/graphqlx", "plain", ""),
        ("/api/v1/auth/login", "current", "/api/v1"),
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
def test_the_first_prefix_of_whole_segments_owns_the_address(path, name, prefix):
    family = family_of(path)
    assert (family.name, family.prefix) == (name, prefix)


@pytest.mark.parametrize("base", ["/api", "/api/v1.0", "/api/2.0", "/api/2"])
@pytest.mark.parametrize("end", ["", "/"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_legacy_route_answers_under_every_base_with_and_without_a_slash(base, end, method):
    route = Route("GET", "/api/things/{id}", shown, Needs.LEGACY_ADMIN)
    async with serving(route) as server:
        answer = await server.call(method, f"{base}/things/7{end}", headers={"Authorization": "Basic admin"})
        assert answer.status == 200
        assert answer.body == (b'{"id":"7"}' if method == "GET" else b"")


async def test_a_legacy_address_never_takes_one_of_another_family():
    route = Route("GET", "/api/things/{id}", shown, Needs.LEGACY_ADMIN)
    async with serving(route) as server:
        for path in ("/api/v1/things/7", "/api/admin/things/7", "/api/storefront/things/7"):
            assert (await server.get(path, "Basic admin")).status == 404


async def test_a_legacy_route_that_names_its_base_stays_there():
    route = Route("GET", "/api/2.0/things", shown, Needs.LEGACY_ADMIN)
    async with serving(route) as server:
        assert (await server.get("/api/2.0/things/", "Basic admin")).status == 200
        assert (await server.get("/api/things", "Basic admin")).status == 404


async def test_a_route_somebody_declared_wins_over_one_derived_from_another():
    async def special(request):
        return json_response({"special": True})

    routes = (
        Route("GET", "/api/things", shown, Needs.LEGACY_ADMIN),
        Route("GET", "/api/2.0/things", special, Needs.LEGACY_ADMIN),
    )
    async with serving(*routes) as server:
        assert (await server.get("/api/2.0/things", "Basic admin")).json == {"special": True}
        assert (await server.get("/api/v1.0/things", "Basic admin")).json == {"id": None}


async def test_other_families_answer_at_the_declared_address_only():
    route = Route("GET", "/api/v1/admin/things", shown, Needs.ADMIN)
    async with serving(route) as server:
        assert (await server.get("/api/v1/admin/things", "Bearer admin")).status == 200
        assert (await server.get("/api/v1/admin/things/", "Bearer admin")).status == 404


def test_a_route_declared_twice_is_refused_at_start():
    route = Route("GET", "/api/v1/admin/things", shown, Needs.ADMIN)
    with pytest.raises(ValueError, match="GET /api/v1/admin/things is declared twice"):
        mount(web.Application(), [route, route])


def test_an_address_added_without_saying_what_it_needs_is_refused_at_start():
    app = web.Application()
    app.router.add_get("/api/v1/admin/forgotten", shown)
    with pytest.raises(ValueError, match="/api/v1/admin/forgotten was added without a Route"):
        settle(app)


def test_every_route_of_the_facades_begins_with_fixed_segments_and_says_what_it_needs():
    for route in server.app.facade_routes():
        assert not route.path.split("/")[2].startswith("{"), route
        assert isinstance(route.needs, Needs)
        assert family_of(route.path).name in ("current", "apps", "legacy", "plain"), route
