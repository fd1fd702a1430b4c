"""The middleware with the real store resolver, authentication and database."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from auth.configuration import configure
from auth.schemes import authenticate
from auth.store_resolution import CachedStoreResolver
from kernel.settings import Settings
from models.connection import database as db
from rest_facade.responses import json_response
from rest_facade.routing import SCOPE, Credential, Route
from tests.server.middleware_server import run_server


async def reading(request: web.Request) -> web.Response:
    bound = await db.fetchval("select current_setting('vitrine.tenant', true)")
    return json_response({"bound": int(bound) == request[SCOPE].store.id})


async def sleeping(request: web.Request) -> web.Response:
    await db.fetchval("select pg_sleep(30) /* asked by the test of the time-out */")
    return json_response({})


async def failing(request: web.Request) -> web.Response:
    await db.fetchval("select 1 / 0")
    return json_response({})


async def shown_bytes(request: web.Request) -> web.Response:
    return json_response({"user_agent": await db.fetchval("select $1::text", request[SCOPE].user_agent)})


ROUTES = (
    Route("GET", "/api/v1/reading", reading, Credential.STORE),
    Route("GET", "/api/v1/sleeping", sleeping, Credential.STORE),
    Route("GET", "/api/v1/failing", failing, Credential.STORE),
    Route("GET", "/api/v1/bytes", shown_bytes, Credential.STORE),
    Route("GET", "/api/v1/admin/things", reading, Credential.ADMIN),
    Route("GET", "/api/admin/things", reading, Credential.APP),
    Route("GET", "/api/v1/storefront/things", reading, Credential.STOREFRONT_KEY),
    Route("GET", "/api/things", reading, Credential.LEGACY_ADMIN),
)


def run_real_server(settings: Settings | None = None, *further: Route):
    configure(b"the secret of the tests, 32 bytes")
    settings = settings or Settings()
    store_resolver = CachedStoreResolver(settings.shared_hosts)
    return run_server(*ROUTES, *further, settings=settings, store_resolver=store_resolver, authenticate=authenticate)


async def test_a_handler_runs_in_the_requested_store(store):
    async with run_real_server() as server:
        response = await server.get("/api/v1/reading", X_Tenant_ID=str(store.public_id))
        assert response.status_and_json == (200, {"bound": True})


async def test_a_timed_out_request_cancels_its_statement(store):
    async with run_real_server(Settings(request_timeout=0.3)) as server:
        tenant = str(store.public_id)
        responses = await asyncio.gather(*(server.get("/api/v1/sleeping", X_Tenant_ID=tenant) for _ in range(20)))
        assert {response.status for response in responses} == {503}
        assert responses[0].json == {"error": "request timeout"}
        async with asyncio.timeout(10):  # the connection is back in the pool, and its statement cancelled
            after = await server.get("/api/v1/reading", X_Tenant_ID=tenant)
            while await db.fetchval(
                "select count(*) from pg_stat_activity where state = 'active' and query like "
                "'%asked by the test of the time-out%' and pid <> pg_backend_pid()"
            ):
                await asyncio.sleep(0.05)
        assert after.status == 200


async def test_a_database_error_reveals_no_details(store):
    async with run_real_server() as server:
        response = await server.get("/api/v1/failing", X_Tenant_ID=str(store.public_id))
        assert response.status_and_json == (500, {"error": "a database error occurred"})
        (line,) = server.lines.all("unexpected error")
        assert line["error"]["sqlstate"] == "22012"


async def test_a_lost_connection_is_503_and_the_next_request_works(store, kill_backend):
    async def losing(request: web.Request) -> web.Response:
        async with db.transaction(request[SCOPE]):
            await kill_backend(await db.fetchval("select pg_backend_pid()"))
            return json_response(await db.fetchval("select 1"))

    async with run_real_server(None, Route("GET", "/api/v1/losing", losing, Credential.STORE)) as server:
        tenant = str(store.public_id)
        lost = await server.get("/api/v1/losing", X_Tenant_ID=tenant)
        assert lost.status_and_json == (503, {"error": "the database is not available; try again"})
        assert lost.headers["Retry-After"] == "1"
        assert (await server.get("/api/v1/reading", X_Tenant_ID=tenant)).status == 200


@pytest.mark.parametrize(
    "path,header,status,status_and_json",
    [
        ("/api/v1/admin/things", b"Authorization: Bearer \xff\xfe", 401, b'"invalid or expired token"'),
        ("/api/v1/admin/things", b"Authorization: \xff", 401, b'"invalid authorization format"'),
        ("/api/admin/things", b"Authorization: Bearer vat_live_\xff", 401, b'"invalid_token"'),
        ("/api/v1/storefront/things", b"X-API-Key: sfk_\xff", 401, b'"invalid_api_key"'),
        ("/api/things", b"Authorization: Basic \xff\xff", 401, b'"Invalid credentials"'),
        ("/api/things", b"Authorization: Bearer \xff", 401, b'"Invalid credentials"'),
        ("/graphql?query={x}", b"Authorization: Bearer \xff", 401, b'"invalid or expired token"'),
        ("/api/v1/bytes", b"User-Agent: a\xffb", 200, "a\ufffdb".encode()),
        ("/api/v1/bytes", b"Authorization: Bearer \xff", 200, b"user_agent"),
    ],
)
async def test_a_non_text_header_is_an_invalid_credential(store, path, header, status, status_and_json):
    async with run_real_server() as server:
        response = await server.send_raw(
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n".encode()
            + f"X-Tenant-ID: {store.public_id}\r\n".encode()
            + header
            + b"\r\n\r\n"
        )
        assert int(response.split(b" ", 2)[1]) == status
        assert status_and_json in response


@pytest.mark.parametrize(
    "host", ["", "a b", "nobody.example", "localhost:1:2", "[::1", "x" * 300, "\udcff", "absent.localhost"]
)
async def test_an_unknown_host_is_404(store, host):
    async with run_real_server() as server:
        raw = f"GET /api/v1/reading HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        response = await server.send_raw(raw.encode("utf-8", "surrogateescape"))
        assert int(response.split(b" ", 2)[1]) in (400, 404)
