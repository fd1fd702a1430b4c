"""Rate limits by address, wrong credential, app, storefront key and legacy credential."""

from __future__ import annotations

import time

import pytest
from aiohttp import web

from kernel.errors import Unauthenticated
from kernel.ip_addresses import parse_network
from kernel.scope import Actor, ActorKind
from kernel.settings import Settings
from rest_facade.responses import json_response
from rest_facade.routing import CLIENT_IP, Credential, Route
from server.http.limits import ProcessCounters
from tests.server.middleware_server import KEYS, OTHER, run_server


async def fine(request: web.Request) -> web.Response:
    return json_response({"ip": request[CLIENT_IP]})


async def wrong_signature(request: web.Request) -> web.Response:
    raise Unauthenticated("invalid signature")


ROUTES = (
    Route("GET", "/api/v1/admin/things", fine, Credential.ADMIN),
    Route("GET", "/api/admin/things", fine, Credential.APP),
    Route("GET", "/api/things", fine, Credential.LEGACY_ADMIN),
    Route("GET", "/api/v1/storefront/things", fine, Credential.STOREFRONT_KEY),
    Route("POST", "/api/v1/auth/login", fine, Credential.STORE),
    Route("POST", "/api/v1/webhooks/gateway", wrong_signature, Credential.SIGNATURE),
)
PROXIED = {"trusted_proxies": (parse_network("127.0.0.0/8"),)}
IP = "more than 3 requests a minute from this address"


def limits(response):
    return tuple(int(response.headers[f"X-RateLimit-{name}"]) for name in ("Limit", "Remaining"))


@pytest.mark.parametrize(
    "path,body",
    [
        ("/api/v1/admin/things", {"error": "rate limit exceeded", "detail": IP}),
        (
            "/api/admin/things",
            {"error": "rate_limit_exceeded", "message": "rate limit exceeded", "status": 429, "detail": IP},
        ),
        ("/api/things", {"status": 429, "message": "rate limit exceeded", "detail": IP}),
        (
            "/graphql",
            {"error": "rate limit exceeded", "message": "rate limit exceeded", "status": 429, "detail": IP},
        ),
        ("/nowhere", {"error": "rate limit exceeded", "detail": IP}),
    ],
)
async def test_an_address_over_its_rate_limit_is_429_before_all_else_in_the_familys_format(path, body):
    async with run_server(*ROUTES, settings=Settings(ip_rate=3)) as server:
        for repetition in range(3):
            assert (await server.get(path)).status in (401, 404), repetition
        response = await server.get(path, "Bearer admin")
        assert response.status_and_json == (429, body)
        assert response.headers["Retry-After"] == "60"
        assert server.lines.requests[-1]["refused"] == "RATE_LIMITED"


async def test_a_rate_limit_of_zero_disables_it():
    async with run_server(*ROUTES, settings=Settings(ip_rate=0)) as server:
        assert {(await server.get("/api/v1/admin/things", "Bearer admin")).status for _ in range(20)} == {200}


async def test_health_checks_are_not_rate_limited():
    async with run_server(*ROUTES, settings=Settings(ip_rate=1)) as server:
        assert {(await server.get("/health/live")).status for _ in range(5)} == {200}
        assert (await server.get("/api/v1/admin/things", "Bearer admin")).status == 200


async def test_addresses_are_counted_separately_and_a_64_bit_ipv6_network_together():
    async with run_server(*ROUTES, settings=Settings(ip_rate=1, **PROXIED)) as server:
        statuses = [
            (await server.get("/api/v1/admin/things", "Bearer admin", X_Forwarded_For=address)).status
            for address in ("192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:1::1")
        ]
        assert statuses == [200, 200, 200, 429, 200]


async def test_an_untrusted_proxys_header_is_ignored():
    async with run_server(*ROUTES) as server:
        response = await server.get("/api/v1/admin/things", "Bearer admin", X_Forwarded_For="192.0.2.1")
        assert response.json == {"ip": "127.0.0.1"}


async def test_too_many_wrong_credentials_are_429_and_valid_ones_of_the_same_address_go_on():
    settings = Settings(failed_auth_rate=2)
    async with run_server(*ROUTES, settings=settings) as server:
        right = await server.get("/api/v1/admin/things", "Bearer admin")
        guesses = [(await server.get("/api/v1/admin/things", "Bearer guess")).status for _ in range(3)]
        after = await server.get("/api/v1/admin/things", "Bearer admin")
        assert (right.status, guesses, after.status) == (200, [401, 401, 429], 200)
        legacy = await server.get("/api/things", "Basic guess")
        assert legacy.json["status"] == 429
        assert legacy.headers["Retry-After"] == "60"
        signing_in = await server.call("POST", "/api/v1/auth/login")
        assert signing_in.status == 200  # carries no credential and has its own limit


async def test_a_missing_credential_is_not_counted_as_wrong():
    async with run_server(*ROUTES, settings=Settings(failed_auth_rate=2)) as server:
        assert {(await server.get("/api/v1/admin/things")).status for _ in range(5)} == {401}
        assert (await server.get("/api/v1/admin/things", "Bearer admin")).status == 200


async def test_a_wrong_gateway_signature_is_counted():
    async with run_server(*ROUTES, settings=Settings(failed_auth_rate=2)) as server:
        signed = {"X-Hub-Signature-256": "sha256=00"}
        statuses = [(await server.call("POST", "/api/v1/webhooks/gateway", headers=signed)).status for _ in range(3)]
        assert statuses == [401, 401, 429]


async def test_a_missing_gateway_signature_is_counted():
    async with run_server(*ROUTES, settings=Settings(failed_auth_rate=2)) as server:
        statuses = [(await server.call("POST", "/api/v1/webhooks/gateway")).status for _ in range(3)]
        assert statuses == [401, 401, 429]


async def test_an_app_has_its_own_limit_in_each_store_and_every_response_reports_it():
    async with run_server(*ROUTES, limit_of=lambda actor: 2) as server:
        before = int(time.time())
        first, second, third = [await server.get("/api/admin/things", "Bearer vat_live_app") for _ in range(3)]
        assert [first.status, second.status, third.status] == [200, 200, 429]
        assert [limits(first), limits(second), limits(third)] == [(2, 1), (2, 0), (2, 0)]
        assert before + 59 <= int(third.headers["X-RateLimit-Reset"]) <= before + 62
        assert third.json["error"] == "rate_limit_exceeded"
        assert (await server.get("/api/admin/things", "Bearer vat_live_other")).status == 200
        elsewhere = await server.get("/api/admin/things", "Bearer vat_live_app", X_Tenant_ID=str(OTHER.public_id))
        assert elsewhere.status == 200


async def test_without_an_app_the_rate_limit_of_the_address_is_reported():
    async with run_server(*ROUTES) as server:
        unknown = await server.get("/api/admin/things")
        no_store = await server.get("/api/admin/things", X_Tenant_ID="x")
        no_route = await server.get("/api/admin/nowhere")
        graphql = await server.get("/graphql")
        assert [unknown.status, no_store.status, no_route.status, graphql.status] == [401, 404, 404, 401]
        assert [limits(each) for each in (unknown, no_store, no_route, graphql)] == [
            (6000, 5999),
            (6000, 5998),
            (6000, 5997),
            (6000, 5996),
        ]
        assert "X-RateLimit-Limit" not in (await server.get("/api/v1/admin/things")).headers
        assert "X-RateLimit-Limit" not in (await server.get("/api/things")).headers


async def test_the_defaults_are_120_for_an_app_and_60000_for_a_storefront_key():
    async with run_server(*ROUTES) as server:
        assert limits(await server.get("/api/admin/things", "Bearer vat_live_app")) == (120, 119)
        key = await server.get("/api/v1/storefront/things", X_API_Key="sfk_shop")
        assert limits(key) == (60_000, 59_999)


async def test_a_storefront_key_over_its_limit_gets_its_own_error_text():
    async with run_server(*ROUTES, limit_of=lambda actor: 1) as server:
        await server.get("/api/v1/storefront/things", X_API_Key="sfk_shop")
        response = await server.get("/api/v1/storefront/things", X_API_Key="sfk_shop")
        assert response.status_and_json == (
            429,
            {"error": "rate_limit_exceeded", "detail": "more than 1 requests a minute with this key"},
        )


async def test_each_address_has_its_own_share_of_a_storefront_key(monkeypatch):
    key = Actor(ActorKind.STOREFRONT, rate_limit=5, rate_limit_per_address=2, credential="key:8")
    monkeypatch.setitem(KEYS, "sfk_browser", key)

    async def call(server, address):
        return await server.get("/api/v1/storefront/things", X_API_Key="sfk_browser", X_Forwarded_For=address)

    async with run_server(*ROUTES, settings=Settings(**PROXIED)) as server:
        assert [(await call(server, "203.0.113.1")).status for _ in range(2)] == [200, 200]
        refused = await call(server, "203.0.113.1")
        assert refused.status_and_json == (
            429,
            {
                "error": "rate_limit_exceeded",
                "detail": "more than 2 requests a minute with this key from this address",
            },
        )
        assert limits(refused) == (5, 2)
        # What was refused did not count against the key, and the key's own limit counts all addresses.
        assert limits(await call(server, "2001:db8::1")) == (5, 2)
        assert limits(await call(server, "2001:db8::2")) == (5, 1)
        assert (await call(server, "2001:db8::3")).status == 429
        assert limits(await call(server, "203.0.113.2")) == (5, 0)
        over = await call(server, "203.0.113.3")
        assert (over.status, over.json["detail"]) == (429, "more than 5 requests a minute with this key")


async def test_the_legacy_rate_limit_applies_only_when_configured():
    async with run_server(*ROUTES, settings=Settings(legacy_rate=1)) as server:
        assert (await server.get("/api/things", "Basic admin")).status == 200
        response = await server.get("/api/things", "Basic admin")
        assert (response.status, response.json["status"], response.headers["Retry-After"]) == (429, 429, "60")
        assert (await server.get("/api/v1/admin/things", "Bearer admin")).status == 200
    async with run_server(*ROUTES) as server:
        assert {(await server.get("/api/things", "Basic admin")).status for _ in range(5)} == {200}


# --- Counting --------------------------------------------------------------------------------------------------------


async def test_a_window_starts_with_its_first_hit_and_resets_when_it_ends():
    now = 100.0
    counters = ProcessCounters(clock=lambda: now)
    assert [(await counters.hit("a", 2)).allowed for _ in range(3)] == [True, True, False]
    now = 159.9
    assert not (await counters.hit("a", 2)).allowed
    now = 160.0
    again = await counters.hit("a", 2)
    assert (again.allowed, again.remaining) == (True, 1)


async def test_peeking_does_not_count():
    counters = ProcessCounters()
    for repetition in range(5):
        assert (await counters.peek("a", 1)).allowed, repetition
    await counters.hit("a", 1)
    assert not (await counters.peek("a", 1)).allowed


async def test_the_number_of_keys_is_bounded(monkeypatch):
    monkeypatch.setattr("server.http.limits.MAX_KEYS", 50)
    counters = ProcessCounters()
    for number in range(500):
        await counters.hit(f"ip:{number}", 10)
    window = next(iter(counters._windows.values()))
    assert len(window) <= 50
    assert "ip:499" in window
