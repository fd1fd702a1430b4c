"""Every answer of the app family tells how the caller stands, whatever it says; so does `/graphql`, with errors in both forms."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from ipaddress import ip_network

import pytest
from aiohttp.test_utils import TestClient, TestServer

from auth.configuration import configure
from auth.schemes import authenticate
from auth.tenancy import StoreDirectory
from kernel.settings import Settings
from server.app import create_app
from tests.apps.conftest import NewApp
from tests.current import kit
from tests.current.kit import Caller
from tests.current.oauth import done
from tests.shop import NOBODY, SECRET, Answer, some_address

PRODUCTS, ORDERS = "/api/storefront/products", "/api/admin/orders"
IP_RATE, APP_RATE, KEY_RATE = 6_000, 120, 600


@pytest.fixture(scope="module")
async def counted(database: object) -> AsyncIterator[TestClient]:
    """Serve the application with the limits it has by default."""
    configure(SECRET)
    settings = Settings(trusted_proxies=(ip_network("127.0.0.0/8"),))
    app = create_app(settings, directory=StoreDirectory(settings.shared_hosts), authenticate=authenticate)
    async with TestClient(TestServer(app)) as client:
        yield client


@pytest.fixture
def app_there(app: Caller, counted: TestClient) -> Caller:
    """Give the app as a caller of the server that counts."""
    return replace(app, client=counted, address=some_address())


def standing(answer: Answer) -> tuple[int, int]:
    """Give limit and what is left, after looking at the third header."""
    reset = int(answer.headers["X-RateLimit-Reset"])
    assert time.time() - 1 <= reset <= time.time() + 61
    return int(answer.headers["X-RateLimit-Limit"]), int(answer.headers["X-RateLimit-Remaining"])


async def test_answers_to_an_app_tell_its_own_limit(app_there: Caller) -> None:
    left = APP_RATE
    for method, path, body, status in (
        ("GET", PRODUCTS, None, 200),
        ("HEAD", PRODUCTS, None, 200),
        ("GET", f"{PRODUCTS}?page=0", None, 400),
        ("GET", f"{ORDERS}/{NOBODY}", None, 404),
        ("POST", "/api/admin/products", {"name": "x", "price_cents": 1}, 201),
        ("POST", "/api/admin/products", {}, 400),
        ("POST", "/api/admin/products", {"name": "x" * (2 * 1024 * 1024)}, 413),
        ("PUT", f"{ORDERS}/{NOBODY}/status", {"status": "P"}, 404),
    ):
        answer = await app_there.ask(method, path, body)
        left -= 1
        assert (answer.status, *standing(answer)) == (status, APP_RATE, left), (method, path)


async def test_answers_where_no_app_is_known_tell_the_rate_of_the_address(app_there: Caller) -> None:
    left = IP_RATE
    nobody = app_there.with_token(None)
    for method, path, headers, status in (
        ("GET", PRODUCTS, {}, 401),
        ("GET", PRODUCTS, {"Authorization": "Basic x"}, 401),
        ("GET", PRODUCTS, {"Authorization": "Bearer vat_live_x"}, 401),
        ("GET", PRODUCTS, {"X-Tenant-ID": NOBODY}, 404),
        ("GET", "/api/admin/nothing", {}, 404),
        ("GET", "/api/storefront", {}, 404),
        ("GET", "/api/admin", {}, 404),
        ("DELETE", PRODUCTS, {}, 405),
        ("OPTIONS", PRODUCTS, {}, 405),
    ):
        answer = await nobody.ask(method, path, headers=headers)
        left -= 1
        assert (answer.status, *standing(answer)) == (status, IP_RATE, left), (method, path, answer)


async def test_a_method_that_an_address_does_not_take_is_405_without_a_body(app: Caller) -> None:
    for path, methods in (
        (PRODUCTS, "GET, HEAD"),
        (f"{PRODUCTS}/{NOBODY}", "GET, HEAD"),
        ("/api/admin/products", "POST"),
        (f"/api/admin/products/{NOBODY}", "PUT"),
        (ORDERS, "GET, HEAD"),
        (f"{ORDERS}/{NOBODY}/status", "PUT"),
    ):
        answer = await app.ask("DELETE", path)
        assert (answer.status, answer.raw, answer.headers["Allow"]) == (405, b"", methods)


async def test_an_unknown_route_has_the_form_of_the_family(app: Caller) -> None:
    for path in (
        "/api/admin/nothing",
        "/api/storefront/nothing",
        "/api/admin/orders/x/y/z",
        "/api/admin/%00",
    ):
        answer = await app.ask("GET", path)
        assert (answer.status, answer.body) == (
            404,
            {"error": "not_found", "message": "route not found", "status": 404},
        )


async def test_an_app_over_its_limit_is_429_until_the_window_ends(
    new_app: NewApp, counted: TestClient
) -> None:
    slow = replace(await new_app(rate=2), client=counted)
    assert [standing(await slow.get(path)) for path in (PRODUCTS, ORDERS)] == [(2, 1), (2, 0)]
    for path in (PRODUCTS, ORDERS, f"{PRODUCTS}/x"):
        refused = await slow.get(path)
        assert (refused.status, *standing(refused)) == (429, 2, 0)
        assert refused.headers["Retry-After"] == "60"
        assert refused.body == {
            "error": "rate_limit_exceeded",
            "message": "rate limit exceeded",
            "status": 429,
            "detail": "more than 2 requests a minute of this app",
        }
    # The same limit holds for all the app's calls, and no other app's.
    over = await slow.post("/graphql", {"query": "{ store { name } }"})
    assert (over.status, over.body["error"], over.body["status"]) == (429, "rate limit exceeded", 429)
    assert standing(over) == (2, 0)
    other = replace(await new_app(), client=counted)
    assert (await other.get(PRODUCTS)).status == 200


async def test_closed_stores_are_told_in_the_form_of_each_family(app_there: Caller) -> None:
    for letter, code in (("S", "tenant_suspended"), ("M", "tenant_maintenance")):
        await _set_state(app_there, letter)
        answer = await app_there.get(PRODUCTS)
        assert (answer.status, answer.body["error"], answer.body["status"]) == (503, code, 503)
        assert standing(answer)[0] == IP_RATE
        graphql = await app_there.post("/graphql", {"query": "{ store { name } }"})
        assert (graphql.status, graphql.body["error"], graphql.body["status"]) == (503, code, 503)
        assert graphql.body["message"] == answer.body["message"]
        assert standing(graphql)[0] == IP_RATE


async def test_graphql_tells_credential_and_store_errors_in_both_forms(
    app_there: Caller, other_admin: Caller, new_app: NewApp
) -> None:
    abroad = replace(await new_app(at=other_admin), client=app_there.client).at(app_there.store)
    query = {"query": "{ store { name } }"}
    for caller, headers, status, error in (
        (app_there, {"Authorization": None}, 401, "missing authorization header"),
        (app_there, {"Authorization": "Bearer"}, 401, "invalid authorization format"),
        (app_there, {"Authorization": "Bearer x"}, 401, "invalid or expired token"),
        (app_there, {"Authorization": "Bearer sfk_x"}, 401, "invalid_api_key"),
        (app_there, {"X-Tenant-ID": NOBODY}, 404, "tenant not found"),
        (abroad, {}, 403, "token not valid for this storefront"),
    ):
        answer = await caller.post("/graphql", query, headers=headers)
        assert (answer.status, answer.body) == (
            status,
            {"error": error, "message": error, "status": status},
        )
        assert standing(answer)[0] == IP_RATE


async def test_graphql_tells_each_kind_of_caller_its_own_limit(
    app_there: Caller, admin: Caller, counted: TestClient
) -> None:
    query = {"query": "{ products { id } }"}
    made = await done(
        admin,
        'mutation { storefront_key_create(input: {scopes: ["storefront:read"], rate_limit: 7}) { key } }',
    )
    key = replace(app_there, token=made["key"], address=some_address())
    user = replace(admin, client=counted, address=some_address())
    for caller, limit in ((app_there, APP_RATE), (key, 7), (user, IP_RATE)):
        answer = await caller.client.post(
            "/graphql",
            json=query,
            headers={
                "X-Tenant-ID": str(caller.store.public_id),
                "X-Forwarded-For": caller.address,
                "Authorization": f"Bearer {caller.token}",
            },
        )
        assert answer.status == 200
        told = Answer(answer.status, answer.headers, b"")
        assert standing(told) == (limit, limit - 1)


async def test_without_a_rate_for_addresses_the_headers_stand_all_the_same(app: Caller) -> None:
    answer = await app.with_token(None).get(PRODUCTS)
    assert (answer.status, *standing(answer)) == (401, APP_RATE, APP_RATE)


async def _set_state(caller: Caller, letter: str) -> None:
    from auth.tenancy import store_changed
    from kernel.scope import entered
    from models import database

    async with database.across_stores() as everywhere:
        await everywhere.execute("update tenants set status = $2 where id = $1", caller.store.id, letter)
    with entered(kit.system(caller.store)):
        await store_changed(caller.store.id)
