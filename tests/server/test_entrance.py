"""Who comes again with the same headers is let in without a look-up, and for no longer than the look-up would let it in."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from auth.credential_cache import process_memory
from kernel import clock
from kernel.scope import Actor
from rest_facade.responses import json_response
from rest_facade.routing import Needs, Route, scope_of
from tests.server.serving import CALLERS, DEMO, OTHER, Credentials, Directory, serving


async def who(request):
    scope = scope_of(request)
    return json_response({"store": scope.store.name, "actor": scope.actor.credential})


ROUTES = (
    Route("GET", "/api/v1/admin/who", who, Needs.ADMIN),
    Route("GET", "/api/v1/me/who", who, Needs.USER),
)
ADMIN = {"Authorization": "Bearer admin"}


class Changing(Directory):
    generation = 0


class Proving(Credentials):
    """Say until when a caller is proven, as the real one does."""

    for_seconds = 60.0

    async def __call__(self, *asked, **about) -> Actor:
        actor = await super().__call__(*asked, **about)
        return replace(actor, proven_until=clock.now() + timedelta(seconds=self.for_seconds))


@pytest.fixture
async def server():
    directory, credentials = Changing(), Proving()
    async with serving(*ROUTES, directory=directory, authenticate=credentials) as serving_:
        serving_.directory, serving_.credentials = directory, credentials
        yield serving_


async def asked_twice(server, **between) -> int:
    """Give how often the credential was looked up for two requests."""
    for _ in range(2):
        answer = await server.get("/api/v1/admin/who", Authorization="Bearer admin", **between)
        assert answer.status == 200
    return len(server.credentials.seen)


async def test_the_second_request_asks_nobody(server):
    assert await asked_twice(server) == 1
    assert len(server.directory.asked) == 1


async def test_a_change_of_a_store_makes_it_ask_again(server):
    await asked_twice(server)
    server.directory.generation += 1
    assert await asked_twice(server) == 2


async def test_a_change_of_any_credential_makes_it_ask_again(server):
    await asked_twice(server)
    process_memory().forget(DEMO.id, 12_345)
    assert await asked_twice(server) == 2


async def test_what_is_proven_no_longer_is_asked_again(server):
    server.credentials.for_seconds = -1
    assert await asked_twice(server) == 2


async def test_what_is_never_proven_is_asked_every_time(server, monkeypatch):
    async def unproven(*asked, **about):
        return await Credentials.__call__(server.credentials, *asked, **about)

    monkeypatch.setattr(Proving, "__call__", lambda self, *asked, **about: unproven(*asked, **about))
    assert await asked_twice(server) == 2


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer customer"},
        {"Authorization": "Bearer admin", "X_Tenant_ID": str(OTHER.public_id)},
        {"Authorization": "Bearer admin", "X_API_Key": "sfk_shop"},
        {"Authorization": "Bearer admin", "Host": "demo.localhost"},
    ],
)
async def test_other_headers_are_another_caller(server, headers):
    await asked_twice(server)
    await server.get("/api/v1/me/who", **headers)
    assert len(server.credentials.seen) == 2


async def test_a_route_that_needs_something_else_asks_for_itself(server):
    await asked_twice(server)
    await server.get("/api/v1/me/who", **ADMIN)
    assert len(server.credentials.seen) == 2


async def test_a_refusal_is_never_remembered(server):
    for _ in range(2):
        answer = await server.get("/api/v1/admin/who", Authorization="Bearer customer")
        assert answer.status == 403
    assert len(server.credentials.seen) == 2
    assert "Bearer customer" in CALLERS
