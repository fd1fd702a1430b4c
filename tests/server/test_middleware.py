"""What happens to every request before and after its handler, by requests against a real server."""

from __future__ import annotations

import asyncio
import re

import pytest
from aiohttp import web

from kernel.errors import InsufficientPrivileges, NotFound, RuleViolation, Unavailable
from kernel.scope import ActorKind, current_scope
from kernel.settings import Settings
from models.failures import UniqueViolation
from rest_facade.bodies import read_json_object
from rest_facade.responses import json_response
from rest_facade.routing import Needs, Route, client_ip_of, request_id_of, scope_of
from tests.server.serving import DEMO, IN_MAINTENANCE, MAINTAINED, OTHER, SUSPENDED, serving

UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
NOBODY = "01900000-0000-7000-8000-0000000000ff"


async def shown(request: web.Request) -> web.Response:
    scope = scope_of(request)
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
    return json_response({"request_id": request_id_of(request), "ip": client_ip_of(request)})


def raising(error: BaseException):
    async def handler(request: web.Request) -> web.Response:
        raise error

    return handler


CURRENT = Route("GET", "/api/v1/admin/things/{id}", shown, Needs.ADMIN)
APPS = Route("GET", "/api/admin/things/{id}", shown, Needs.APP)
LEGACY = Route("GET", "/api/things/{id}", shown, Needs.LEGACY_ADMIN)
PUBLIC = Route("POST", "/api/v1/auth/login", shown, Needs.STORE)
FREE = Route("GET", "/api/v1/free", free, Needs.NOTHING)
GATEWAY = Route("POST", "/api/v1/webhooks/gateway", shown, Needs.SIGNATURE, allow_maintenance=True)
WRITE = Route("POST", "/api/v1/admin/things", echoed, Needs.ADMIN)
ROUTES = (CURRENT, APPS, LEGACY, PUBLIC, FREE, GATEWAY, WRITE)


# --- Request id ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inbound", ["a", "Job_7.retry-2", "x" * 128])
async def test_a_well_formed_request_id_is_kept(inbound):
    async with serving(*ROUTES) as server:
        answer = await server.get("/api/v1/free", X_Request_Id=inbound)
        assert answer.headers["X-Request-Id"] == inbound == answer.json["request_id"]


@pytest.mark.parametrize("inbound", ["", "x" * 129, "a b", "é", "a/b", "{}", "a\tb"])
async def test_any_other_request_id_is_replaced_by_a_uuid_of_version_7(inbound):
    async with serving(*ROUTES) as server:
        answer = await server.get("/api/v1/free", X_Request_Id=inbound)
        assert UUID7.fullmatch(answer.headers["X-Request-Id"])


async def test_every_kind_of_answer_carries_the_request_id_and_one_line_is_logged():
    async def moved(request):
        raise web.HTTPFound("/elsewhere")

    async def streamed(request):
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"part")
        return response

    routes = (
        *ROUTES,
        Route("GET", "/api/v1/broken", raising(RuntimeError("broken")), Needs.NOTHING),
        Route("GET", "/api/v1/moved", moved, Needs.NOTHING),
        Route("GET", "/api/v1/streamed", streamed, Needs.NOTHING),
        Route("GET", "/api/v1/storefront/products", shown, Needs.STOREFRONT_KEY),
    )
    preflight = {"Origin": "https://shop.example", "Access-Control-Request-Method": "GET"}
    async with serving(*routes) as server:
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
                ("OPTIONS", "/api/v1/storefront/products", 403, {}),
            ]
        ):
            answer = await server.call(method, path, headers={**headers, "X-Request-Id": f"call-{number}"})
            assert (path, answer.status) == (path, status)
            assert answer.headers["X-Request-Id"] == f"call-{number}"
            (line,) = [line for line in server.lines.requests if line["request_id"] == f"call-{number}"]
            assert (line["method"], line["path"], line["status"]) == (method, path, status)


# --- Order of checks -------------------------------------------------------------------------------------------------


async def test_a_good_request_reaches_its_handler_in_its_scope():
    async with serving(*ROUTES) as server:
        answer = await server.get(
            "/api/v1/admin/things/7", "Bearer admin", X_Tenant_ID=str(OTHER.public_id), User_Agent="Ünïcode/1"
        )
        assert answer.status == 200
        assert answer.json == {
            "store": "Other",
            "actor": "user:1",
            "kind": "admin",
            "family": "current",
            "ip": "127.0.0.1",
            "request_id": answer.headers["X-Request-Id"],
            "user_agent": "Ünïcode/1",
        }
        (seen,) = server.credentials.seen
        assert (seen["needs"], seen["family"], seen["client_ip"]) == ("admin", "current", "127.0.0.1")


async def test_the_store_comes_before_the_credential_and_the_credential_before_the_right():
    async with serving(*ROUTES) as server:
        path = "/api/v1/admin/things/7"
        absent = await server.get(path, X_Tenant_ID=NOBODY)
        assert absent.said == (404, {"error": "tenant not found"})
        closed = await server.get(path, X_Tenant_ID=str(SUSPENDED.public_id))
        assert closed.status == 503
        assert closed.json["error"] == "tenant_suspended"
        anonymous = await server.get(path)
        assert anonymous.said == (401, {"error": "missing authorization header"})
        wrong = await server.get(path, "Bearer forged")
        assert wrong.said == (401, {"error": "invalid or expired token"})
        customer = await server.get(path, "Bearer customer")
        assert customer.said == (403, {"error": "insufficient permissions"})


async def test_unknown_routes_and_methods_are_answered_before_the_store_is_looked_up():
    async with serving(*ROUTES) as server:
        nobodys = {"X-Tenant-ID": NOBODY}
        assert (await server.call("GET", "/api/v1/nowhere", headers=nobodys)).said == (
            404,
            {"error": "route not found"},
        )
        assert (await server.call("GET", "/api/admin/nowhere", headers=nobodys)).said == (
            404,
            {"error": "not_found", "message": "route not found", "status": 404},
        )
        assert (await server.call("GET", "/api/nowhere", headers=nobodys)).said == (
            404,
            {"status": 404, "message": "Route not found"},
        )
        assert (await server.call("GET", "/graphql/nowhere", headers=nobodys)).said == (
            404,
            {"error": "route not found", "message": "route not found", "status": 404},
        )
        assert (await server.call("GET", "/nowhere", headers=nobodys)).said == (
            404,
            {"error": "route not found"},
        )
        wrong = await server.call("DELETE", "/api/v1/admin/things/1", headers=nobodys)
        assert (wrong.status, wrong.headers["Allow"], wrong.body) == (405, "GET, HEAD", b"")
        legacy = await server.call("DELETE", "/api/things/1", headers=nobodys)
        assert (legacy.headers["Allow"], legacy.json) == (
            "GET, HEAD",
            {"status": 405, "message": "Method not allowed"},
        )
        assert server.directory.asked == []


async def test_a_public_route_needs_a_store_and_no_credential():
    async with serving(*ROUTES) as server:
        answer = await server.call("POST", "/api/v1/auth/login", headers={"Authorization": "Bearer forged"})
        assert (answer.json["actor"], answer.json["kind"]) == ("ip:127.0.0.1", ActorKind.ANONYMOUS)
        mismatch = {"Host": "demo.localhost", "X-Tenant-ID": str(OTHER.public_id)}
        public = await server.call("POST", "/api/v1/auth/login", headers=mismatch)
        assert public.said == (404, {"error": "tenant not found"})
        protected = await server.call("GET", "/api/v1/admin/things/1", headers=mismatch)
        assert protected.said == (403, {"error": "token not valid for this storefront"})


async def test_a_route_that_needs_nothing_works_without_a_store():
    async with serving(*ROUTES) as server:
        assert (await server.get("/api/v1/free", X_Tenant_ID=NOBODY)).status == 200


async def test_a_store_in_maintenance_takes_gateway_notifications_only():
    async with serving(*ROUTES) as server:
        named = {"X-Tenant-ID": str(MAINTAINED.public_id)}
        assert (await server.call("POST", "/api/v1/webhooks/gateway", headers=named)).status == 200
        login = await server.call("POST", "/api/v1/auth/login", headers=named)
        assert login.said == (503, {"error": "tenant_maintenance", "message": IN_MAINTENANCE})
        legacy = await server.get("/api/things/1", X_Tenant_ID=str(MAINTAINED.public_id))
        assert legacy.said == (
            503,
            {"status": 503, "message": "tenant_maintenance", "detail": IN_MAINTENANCE},
        )
        suspended = {"X-Tenant-ID": str(SUSPENDED.public_id)}
        assert (await server.call("POST", "/api/v1/webhooks/gateway", headers=suspended)).status == 503


async def test_the_scope_of_a_request_does_not_outlive_it():
    async with serving(*ROUTES) as server:
        for path, caller in (("/api/v1/admin/things/1", "Bearer admin"), ("/api/v1/admin/things/1", None)):
            await server.get(path, caller)
            assert current_scope() is None


# --- Errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error,said",
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
async def test_what_a_handler_raises_is_answered_in_its_familys_form_and_says_no_more(error, said):
    async with serving(Route("GET", "/api/boom", raising(error), Needs.LEGACY_ADMIN)) as server:
        answer = await server.get("/api/boom", "Basic admin")
        assert answer.said == said
        assert not any(b"secret" in line for line in server.lines.raw)


async def test_an_accident_is_logged_with_its_place_and_the_request_id():
    async with serving(Route("GET", "/api/v1/boom", raising(RuntimeError("x")), Needs.NOTHING)) as server:
        answer = await server.get("/api/v1/boom")
        (line,) = server.lines.all("accident")
        assert line["request_id"] == answer.headers["X-Request-Id"]
        assert line["error"]["type"] == "RuntimeError"
        assert "test_middleware.py" in line["error"]["where"][-1]


async def test_a_refusal_is_one_line_with_its_code():
    route = Route("GET", "/api/v1/boom", raising(NotFound("product")), Needs.NOTHING)
    async with serving(route) as server:
        await server.get("/api/v1/boom")
        assert [(line["status"], line["refused"]) for line in server.lines.all()] == [(404, "NOT_FOUND")]


# --- Access log ------------------------------------------------------------------------------------------------------


async def test_the_access_line_names_store_and_caller_and_nothing_that_was_sent():
    async with serving(*ROUTES) as server:
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


async def test_a_handler_that_takes_too_long_is_cancelled_and_answered_503():
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
            ("/api/v1/slow", Needs.NOTHING),
            ("/api/admin/slow", Needs.APP),
            ("/api/slow", Needs.LEGACY_ADMIN),
        )
    ]
    async with serving(*routes, settings=HURRY) as server:
        answers = await asyncio.gather(
            server.get("/api/v1/slow"),
            server.get("/api/admin/slow", "Bearer vat_live_app"),
            server.get("/api/slow", "Basic admin"),
        )
        assert [answer.said for answer in answers] == [
            (503, {"error": "request timeout"}),
            (503, {"error": "request_timeout", "message": "request timeout", "status": 503}),
            (503, {"status": 503, "message": "request timeout"}),
        ]
        assert ended == ["cancelled"] * 3


async def test_quick_requests_beside_a_slow_one_are_not_cut_off():
    async def waiting(request):
        await asyncio.sleep(float(request.query["seconds"]))
        return json_response({})

    async with serving(Route("GET", "/api/v1/wait", waiting, Needs.NOTHING), settings=HURRY) as server:
        slow = asyncio.create_task(server.get("/api/v1/wait?seconds=30"))
        quick = [(await server.get("/api/v1/wait?seconds=0.05")).status for _ in range(8)]
        assert quick == [200] * 8
        assert (await slow).status == 503
        assert (await server.get("/api/v1/wait?seconds=30")).status == 503


async def test_a_handler_that_finishes_although_it_was_cut_off_is_heard():
    async def stubborn(request):
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            pass
        await asyncio.sleep(0)
        return json_response({"kept": True})

    async with serving(Route("GET", "/api/v1/x", stubborn, Needs.NOTHING), settings=HURRY) as server:
        assert (await server.get("/api/v1/x")).said == (200, {"kept": True})
        assert (await server.get("/api/v1/x")).said == (200, {"kept": True})


async def test_a_body_that_does_not_arrive_is_cut_off_too():
    async with serving(*ROUTES, settings=HURRY) as server:
        head = (
            "POST /api/v1/admin/things HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer admin\r\n"
            "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n"
        )
        answer = await server.speak(head.encode() + b'{"name":')
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b'{"error":"request timeout"}' in answer


async def test_finding_the_store_counts_into_the_time():
    class Sleepy:
        async def resolve(self, *_, **__):
            await asyncio.sleep(30)

    async with serving(*ROUTES, settings=HURRY, directory=Sleepy()) as server:
        assert (await server.get("/api/v1/admin/things/1")).said == (503, {"error": "request timeout"})
