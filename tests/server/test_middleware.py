"""The steps before and after each handler, tested with requests to a real server."""

from __future__ import annotations

import asyncio
import re

import pytest
from aiohttp import web

from kernel.errors import InsufficientPrivileges, NotFound, RuleViolation, Unavailable
from kernel.scope import ActorKind, current_scope
from kernel.settings import Settings
from models.connection.database_errors import UniqueViolation
from rest_facade.bodies import read_json_object
from rest_facade.responses import json_response
from rest_facade.routing import CLIENT_IP, REQUEST_ID, SCOPE, Credential, Route
from server.http import connections
from tests.server.middleware_server import (
    DEMO,
    IN_MAINTENANCE,
    MAINTENANCE,
    OTHER,
    SUSPENDED,
    FakeStoreResolver,
    run_server,
)

UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
UNKNOWN_ID = "01900000-0000-7000-8000-0000000000ff"


async def shown(request: web.Request) -> web.Response:
    scope = request[SCOPE]
    assert current_scope() is scope
    return json_response(
        {
            "store": scope.store.name,
            "actor": scope.actor.credential,
            "kind": scope.actor.kind,
            "family": scope.family,
            "ip": scope.client_ip,
            "request_id": scope.request_id,
            "user_agent": scope.user_agent,
        }
    )


async def echoed(request: web.Request) -> web.Response:
    return json_response(await read_json_object(request), status=201)


async def free(request: web.Request) -> web.Response:
    return json_response({"request_id": request[REQUEST_ID], "ip": request[CLIENT_IP]})


def raising(error: BaseException):
    async def handler(request: web.Request) -> web.Response:
        raise error

    return handler


CURRENT = Route("GET", "/api/v1/admin/things/{id}", shown, Credential.ADMIN)
APPS = Route("GET", "/api/admin/things/{id}", shown, Credential.APP)
LEGACY = Route("GET", "/api/things/{id}", shown, Credential.LEGACY_ADMIN)
PUBLIC = Route("POST", "/api/v1/auth/login", shown, Credential.STORE)
FREE = Route("GET", "/api/v1/free", free, Credential.NONE)
GATEWAY = Route("POST", "/api/v1/webhooks/gateway", shown, Credential.SIGNATURE, allow_maintenance=True)
WRITE = Route("POST", "/api/v1/admin/things", echoed, Credential.ADMIN)
ROUTES = (CURRENT, APPS, LEGACY, PUBLIC, FREE, GATEWAY, WRITE)


# --- Request id ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inbound", ["a", "Job_7.retry-2", "x" * 128])
async def test_a_valid_request_id_is_kept(inbound):
    async with run_server(*ROUTES) as server:
        response = await server.get("/api/v1/free", X_Request_Id=inbound)
        assert response.headers["X-Request-Id"] == inbound == response.json["request_id"]


@pytest.mark.parametrize("inbound", ["", "x" * 129, "a b", "é", "a/b", "{}", "a\tb"])
async def test_any_other_request_id_is_replaced_by_a_uuid_of_version_7(inbound):
    async with run_server(*ROUTES) as server:
        response = await server.get("/api/v1/free", X_Request_Id=inbound)
        assert UUID7.fullmatch(response.headers["X-Request-Id"])


async def test_every_response_carries_the_request_id_and_one_line_is_logged():
    async def moved(request):
        raise web.HTTPFound("/elsewhere")

    async def streamed(request):
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"part")
        return response

    routes = (
        *ROUTES,
        Route("GET", "/api/v1/broken", raising(RuntimeError("broken")), Credential.NONE),
        Route("GET", "/api/v1/moved", moved, Credential.NONE),
        Route("GET", "/api/v1/streamed", streamed, Credential.NONE),
        Route("GET", "/api/v1/storefront/products", shown, Credential.STOREFRONT_KEY),
    )
    preflight = {"Origin": "https://shop.example", "Access-Control-Request-Method": "GET"}
    async with run_server(*routes) as server:
        for number, (method, path, status, headers) in enumerate(
            [
                ("GET", "/api/v1/free", 200, {}),
                ("HEAD", "/api/v1/free", 200, {}),
                ("GET", "/api/v1/moved", 302, {}),
                ("GET", "/api/v1/streamed", 200, {}),
                ("GET", "/api/v1/admin/things/1", 401, {}),
                ("GET", "/api/v1/nowhere", 404, {}),
                ("PATCH", "/api/v1/free", 405, {}),
                ("GET", "/api/v1/broken", 500, {}),
                ("OPTIONS", "/api/v1/storefront/products", 200, preflight),
                ("OPTIONS", "/api/v1/storefront/products", 204, {}),
            ]
        ):
            response = await server.call(method, path, headers={**headers, "X-Request-Id": f"call-{number}"})
            assert (path, response.status) == (path, status)
            assert response.headers["X-Request-Id"] == f"call-{number}"
            (line,) = [line for line in server.lines.requests if line["request_id"] == f"call-{number}"]
            assert (line["method"], line["path"], line["status"]) == (method, path, status)


# --- Order of checks -------------------------------------------------------------------------------------------------


async def test_a_valid_request_reaches_its_handler_with_its_scope():
    async with run_server(*ROUTES) as server:
        response = await server.get(
            "/api/v1/admin/things/7", "Bearer admin", X_Tenant_ID=str(OTHER.public_id), User_Agent="Ünïcode/1"
        )
        assert response.status == 200
        assert response.json == {
            "store": "Other",
            "actor": "user:1",
            "kind": "admin",
            "family": "current",
            "ip": "127.0.0.1",
            "request_id": response.headers["X-Request-Id"],
            "user_agent": "Ünïcode/1",
        }
        (seen,) = server.credentials.calls
        assert (seen["needs"], seen["family"], seen["client_ip"]) == ("admin", "current", "127.0.0.1")


async def test_the_store_is_checked_before_the_credential_and_the_privilege():
    async with run_server(*ROUTES) as server:
        path = "/api/v1/admin/things/7"
        absent = await server.get(path, X_Tenant_ID=UNKNOWN_ID)
        assert absent.status_and_json == (404, {"error": "tenant not found"})
        closed = await server.get(path, X_Tenant_ID=str(SUSPENDED.public_id))
        assert closed.status == 503
        assert closed.json["error"] == "tenant_suspended"
        anonymous = await server.get(path)
        assert anonymous.status_and_json == (401, {"error": "missing authorization header"})
        wrong = await server.get(path, "Bearer forged")
        assert wrong.status_and_json == (401, {"error": "invalid or expired token"})
        customer = await server.get(path, "Bearer customer")
        assert customer.status_and_json == (403, {"error": "insufficient permissions"})


async def test_unknown_routes_and_methods_are_rejected_before_the_store_lookup():
    async with run_server(*ROUTES) as server:
        nobodys = {"X-Tenant-ID": UNKNOWN_ID}
        assert (await server.call("GET", "/api/v1/nowhere", headers=nobodys)).status_and_json == (
            404,
            {"error": "route not found"},
        )
        assert (await server.call("GET", "/api/admin/nowhere", headers=nobodys)).status_and_json == (
            404,
            {"error": "not_found", "message": "route not found", "status": 404},
        )
        assert (await server.call("GET", "/api/nowhere", headers=nobodys)).status_and_json == (
            404,
            {"status": 404, "message": "Route not found"},
        )
        assert (await server.call("GET", "/graphql/nowhere", headers=nobodys)).status_and_json == (
            404,
            {"error": "route not found", "message": "route not found", "status": 404},
        )
        wrong = await server.call("DELETE", "/api/v1/admin/things/1", headers=nobodys)
        assert (wrong.status, wrong.headers["Allow"], wrong.body) == (405, "GET, HEAD", b"")
        legacy = await server.call("DELETE", "/api/things/1", headers=nobodys)
        assert (legacy.headers["Allow"], legacy.json) == (
            "GET, HEAD",
            {"status": 405, "message": "Method not allowed"},
        )
        assert server.store_resolver.hosts == []
        # A page of the shop may have moved: its redirects are looked up.
        assert (await server.call("GET", "/nowhere", headers=nobodys)).status_and_json == (
            404,
            {"error": "route not found"},
        )


async def test_a_public_route_needs_a_store_and_no_credential():
    async with run_server(*ROUTES) as server:
        response = await server.call("POST", "/api/v1/auth/login", headers={"Authorization": "Bearer forged"})
        assert (response.json["actor"], response.json["kind"]) == ("ip:127.0.0.1", ActorKind.ANONYMOUS)
        mismatch = {"Host": "demo.localhost", "X-Tenant-ID": str(OTHER.public_id)}
        public = await server.call("POST", "/api/v1/auth/login", headers=mismatch)
        assert public.status_and_json == (404, {"error": "tenant not found"})
        protected = await server.call("GET", "/api/v1/admin/things/1", headers=mismatch)
        assert protected.status_and_json == (403, {"error": "token not valid for this storefront"})


async def test_a_route_without_credential_works_without_a_store():
    async with run_server(*ROUTES) as server:
        assert (await server.get("/api/v1/free", X_Tenant_ID=UNKNOWN_ID)).status == 200


async def test_a_store_in_maintenance_accepts_gateway_notifications_only():
    async with run_server(*ROUTES) as server:
        named = {"X-Tenant-ID": str(MAINTENANCE.public_id)}
        assert (await server.call("POST", "/api/v1/webhooks/gateway", headers=named)).status == 200
        login = await server.call("POST", "/api/v1/auth/login", headers=named)
        assert login.status_and_json == (503, {"error": "tenant_maintenance", "message": IN_MAINTENANCE})
        legacy = await server.get("/api/things/1", X_Tenant_ID=str(MAINTENANCE.public_id))
        assert legacy.status_and_json == (
            503,
            {"status": 503, "message": "tenant_maintenance", "detail": IN_MAINTENANCE},
        )
        suspended = {"X-Tenant-ID": str(SUSPENDED.public_id)}
        assert (await server.call("POST", "/api/v1/webhooks/gateway", headers=suspended)).status == 503


async def test_the_scope_of_a_request_does_not_outlive_it():
    async with run_server(*ROUTES) as server:
        for path, caller in (("/api/v1/admin/things/1", "Bearer admin"), ("/api/v1/admin/things/1", None)):
            await server.get(path, caller)
            assert current_scope() is None, (path, caller)


# --- Errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error,status_and_json",
    [
        (NotFound("product"), (404, {"status": 404, "message": "Product not found"})),
        (
            InsufficientPrivileges("manage_products"),
            (403, {"status": 403, "message": "Forbidden: privilege manage_products required"}),
        ),
        (
            RuleViolation("final", details={"allowed": ["P"]}),
            (422, {"status": 422, "message": "final", "allowed": ["P"]}),
        ),
        (RuntimeError("secret"), (500, {"status": 500, "message": "an unexpected error occurred"})),
        (
            UniqueViolation("products_slug", "Key (slug)=(secret) exists"),
            (500, {"status": 500, "message": "a database error occurred"}),
        ),
        (Unavailable(), (503, {"status": 503, "message": "request timeout"})),
        (TimeoutError("secret"), (503, {"status": 503, "message": "request timeout"})),
        (FileNotFoundError("secret"), (500, {"status": 500, "message": "an unexpected error occurred"})),
        (web.HTTPNotFound(), (404, {"status": 404, "message": "Route not found"})),
        (web.HTTPConflict(), (400, {"status": 400, "message": "Conflict"})),
        (web.HTTPBadGateway(), (500, {"status": 500, "message": "an unexpected error occurred"})),
    ],
)
async def test_handler_exceptions_are_rendered_in_the_familys_format_without_details(error, status_and_json):
    async with run_server(Route("GET", "/api/boom", raising(error), Credential.LEGACY_ADMIN)) as server:
        response = await server.get("/api/boom", "Basic admin")
        assert response.status_and_json == status_and_json
        assert not any(b"secret" in line for line in server.lines.raw)


async def test_an_unexpected_error_is_logged_with_traceback_and_request_id():
    async with run_server(Route("GET", "/api/v1/boom", raising(RuntimeError("x")), Credential.NONE)) as server:
        response = await server.get("/api/v1/boom")
        (line,) = server.lines.all("unexpected error")
        assert line["request_id"] == response.headers["X-Request-Id"]
        assert line["error"]["type"] == "RuntimeError"
        assert "test_middleware.py" in line["error"]["where"][-1]


async def test_an_error_is_logged_in_one_line_with_its_code():
    route = Route("GET", "/api/v1/boom", raising(NotFound("product")), Credential.NONE)
    async with run_server(route) as server:
        await server.get("/api/v1/boom")
        assert [(line["status"], line["refused"]) for line in server.lines.all()] == [(404, "NOT_FOUND")]


# --- Access log ------------------------------------------------------------------------------------------------------


async def test_the_access_log_contains_store_and_caller_but_no_request_data():
    async with run_server(*ROUTES) as server:
        await server.call(
            "POST",
            "/api/v1/admin/things?token=hidden",
            headers={"Authorization": "Bearer admin", "Cookie": "hidden"},
            json={"password": "hidden"},
        )
        (line,) = server.lines.requests
        assert line.keys() == {
            "time", "level", "event", "request_id", "method", "path", "status", "ms", "store", "actor"
        }  # fmt: skip
        assert (line["path"], line["status"]) == ("/api/v1/admin/things", 201)
        assert (line["store"], line["actor"]) == (str(DEMO.public_id), "user:1")
        assert not any(b"hidden" in raw for raw in server.lines.raw)


# --- Time-out --------------------------------------------------------------------------------------------------------

HURRY = Settings(request_timeout=0.2)


async def test_a_slow_handler_is_cancelled_with_503():
    ended: list[str] = []

    async def slow(request):
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    routes = [
        Route("GET", path, slow, needs)
        for path, needs in (
            ("/api/v1/slow", Credential.NONE),
            ("/api/admin/slow", Credential.APP),
            ("/api/slow", Credential.LEGACY_ADMIN),
        )
    ]
    async with run_server(*routes, settings=HURRY) as server:
        responses = await asyncio.gather(
            server.get("/api/v1/slow"),
            server.get("/api/admin/slow", "Bearer vat_live_app"),
            server.get("/api/slow", "Basic admin"),
        )
        assert [response.status_and_json for response in responses] == [
            (503, {"error": "request timeout"}),
            (503, {"error": "request_timeout", "message": "request timeout", "status": 503}),
            (503, {"status": 503, "message": "request timeout"}),
        ]
        assert ended == ["cancelled"] * 3


async def test_fast_requests_are_not_cancelled_with_a_slow_one():
    async def waiting(request):
        await asyncio.sleep(float(request.query["seconds"]))
        return json_response({})

    async with run_server(Route("GET", "/api/v1/wait", waiting, Credential.NONE), settings=HURRY) as server:
        slow = asyncio.create_task(server.get("/api/v1/wait?seconds=30"))
        quick = [(await server.get("/api/v1/wait?seconds=0.05")).status for _ in range(8)]
        assert quick == [200] * 8
        assert (await slow).status == 503
        assert (await server.get("/api/v1/wait?seconds=30")).status == 503


async def test_a_handler_that_ignores_cancellation_can_respond():
    async def stubborn(request):
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            pass
        await asyncio.sleep(0)
        return json_response({"kept": True})

    async with run_server(Route("GET", "/api/v1/x", stubborn, Credential.NONE), settings=HURRY) as server:
        assert (await server.get("/api/v1/x")).status_and_json == (200, {"kept": True})
        assert (await server.get("/api/v1/x")).status_and_json == (200, {"kept": True})


async def test_a_body_that_never_arrives_times_out(monkeypatch):
    monkeypatch.setitem(connections.OPTIONS, "lingering_time", 0.1)
    async with run_server(*ROUTES, settings=HURRY) as server:
        head = (
            "POST /api/v1/admin/things HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer admin\r\n"
            "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n"
        )
        response = await server.send_raw(head.encode() + b'{"name":')
        assert response.startswith(b"HTTP/1.1 503 ")
        assert b'{"error":"request timeout"}' in response


async def test_the_store_lookup_counts_towards_the_timeout():
    class Sleepy(FakeStoreResolver):
        async def resolve(self, *_, **__):
            await asyncio.sleep(30)

    async with run_server(*ROUTES, settings=HURRY, store_resolver=Sleepy()) as server:
        assert (await server.get("/api/v1/admin/things/1")).status_and_json == (
            503,
            {"error": "request timeout"},
        )


async def test_a_target_that_names_another_host_than_the_header_is_400():
    async with run_server(*ROUTES) as server:
        for path in ("/api/v1/admin/things", "/graphql", "/nowhere", "/health/live"):
            for target, host in (
                ("http://other.example", "demo.localhost"),
                ("http://demo.localhost@other.example", "demo.localhost"),
                ("http://demo.localhost", "other.example"),
                ("http://demo.localhost", "demo.localhost:x"),
                ("http://demo.localhost", ""),
            ):
                raw = f"GET {target}{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
                answer = await server.send_raw(raw.encode())
                assert answer.startswith(b"HTTP/1.1 400 "), (target, host, path, answer)
        assert server.store_resolver.hosts == []
        for target, host in (
            ("http://demo.localhost:80", "demo.localhost"),
            ("http://DEMO.localhost", "demo.localhost:80"),
        ):
            raw = f"GET {target}/health/live HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
            assert (await server.send_raw(raw.encode())).startswith(b"HTTP/1.1 200 "), (target, host)
