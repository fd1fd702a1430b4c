"""The middleware over the real directory, the real credentials and the database."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from auth.configuration import configure
from auth.schemes import authenticate
from auth.tenancy import StoreDirectory
from kernel.settings import Settings
from models import database as db
from rest_facade.responses import json_response
from rest_facade.routing import Needs, Route, scope_of
from tests.server.serving import serving


async def reading(request: web.Request) -> web.Response:
    bound = await db.value("select current_setting('vitrine.tenant', true)")
    return json_response({"bound": int(bound) == scope_of(request).store.id})


async def sleeping(request: web.Request) -> web.Response:
    await db.value("select pg_sleep(30) /* asked by the test of the time-out */")
    return json_response({})


async def failing(request: web.Request) -> web.Response:
    await db.value("select 1 / 0")
    return json_response({})


async def shown_bytes(request: web.Request) -> web.Response:
    return json_response({"user_agent": await db.value("select $1::text", scope_of(request).user_agent)})


ROUTES = (
    Route("GET", "/api/v1/reading", reading, Needs.STORE),
    Route("GET", "/api/v1/sleeping", sleeping, Needs.STORE),
    Route("GET", "/api/v1/failing", failing, Needs.STORE),
    Route("GET", "/api/v1/bytes", shown_bytes, Needs.STORE),
    Route("GET", "/api/v1/admin/things", reading, Needs.ADMIN),
    Route("GET", "/api/admin/things", reading, Needs.APP),
    Route("GET", "/api/v1/storefront/things", reading, Needs.STOREFRONT_KEY),
    Route("GET", "/api/things", reading, Needs.LEGACY_ADMIN),
)


def behind(settings: Settings | None = None, *further: Route):
    configure(b"the secret of the tests, 32 bytes")
    settings = settings or Settings()
    directory = StoreDirectory(settings.shared_hosts)
    return serving(*ROUTES, *further, settings=settings, directory=directory, authenticate=authenticate)


async def test_a_handler_works_in_the_store_that_was_asked_for(store):
    async with behind() as server:
        answer = await server.get("/api/v1/reading", X_Tenant_ID=str(store.public_id))
        assert answer.said == (200, {"bound": True})


async def test_a_cut_off_request_stops_its_work_in_the_database(store):
    async with behind(Settings(request_timeout=0.3)) as server:
        tenant = str(store.public_id)
        answers = await asyncio.gather(
            *(server.get("/api/v1/sleeping", X_Tenant_ID=tenant) for _ in range(20))
        )
        assert {answer.status for answer in answers} == {503}
        assert answers[0].json == {"error": "request timeout"}
        async with asyncio.timeout(10):  # the pool is whole again, and nobody sleeps
            after = await server.get("/api/v1/reading", X_Tenant_ID=tenant)
            while await db.value(
                "select count(*) from pg_stat_activity where state = 'active' and query like "
                "'%asked by the test of the time-out%' and pid <> pg_backend_pid()"
            ):
                await asyncio.sleep(0.05)
        assert after.status == 200


async def test_an_error_of_the_database_says_only_that_it_was_one(store):
    async with behind() as server:
        answer = await server.get("/api/v1/failing", X_Tenant_ID=str(store.public_id))
        assert answer.said == (500, {"error": "a database error occurred"})
        (line,) = server.lines.all("accident")
        assert line["error"]["sqlstate"] == "22012"


async def test_a_lost_connection_is_503_and_the_next_request_works(store, kill_backend):
    async def losing(request: web.Request) -> web.Response:
        async with db.transaction(scope_of(request)):
            await kill_backend(await db.value("select pg_backend_pid()"))
            return json_response(await db.value("select 1"))

    async with behind(None, Route("GET", "/api/v1/losing", losing, Needs.STORE)) as server:
        tenant = str(store.public_id)
        lost = await server.get("/api/v1/losing", X_Tenant_ID=tenant)
        assert lost.said == (503, {"error": "the database is not available; try again"})
        assert (await server.get("/api/v1/reading", X_Tenant_ID=tenant)).status == 200


@pytest.mark.parametrize(
    "path,header,status,said",
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
async def test_a_header_that_is_no_text_is_merely_wrong(store, path, header, status, said):
    async with behind() as server:
        answer = await server.speak(
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n".encode()
            + f"X-Tenant-ID: {store.public_id}\r\n".encode()
            + header
            + b"\r\n\r\n"
        )
        assert int(answer.split(b" ", 2)[1]) == status
        assert said in answer


@pytest.mark.parametrize(
    "host", ["", "a b", "nobody.example", "localhost:1:2", "[::1", "x" * 300, "\udcff", "absent.localhost"]
)
async def test_a_host_that_no_store_has_is_404(store, host):
    async with behind() as server:
        raw = f"GET /api/v1/reading HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        answer = await server.speak(raw.encode("utf-8", "surrogateescape"))
        assert int(answer.split(b" ", 2)[1]) in (400, 404)
