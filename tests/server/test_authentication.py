"""Requests with the same headers reuse the cached store and caller while they are valid."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from auth.credential_cache import process_cache
from kernel import clock
from kernel.scope import Actor
from rest_facade.responses import json_response
from rest_facade.routing import SCOPE, Credential, Route
from tests.server.middleware_server import (
    CALLERS,
    DEMO,
    OTHER,
    FakeAuthenticator,
    FakeStoreResolver,
    run_server,
)


async def whoami(request):
    scope = request[SCOPE]
    return json_response({"store": scope.store.name, "actor": scope.actor.credential})


ROUTES = (
    Route("GET", "/api/v1/admin/who", whoami, Credential.ADMIN),
    Route("GET", "/api/v1/me/who", whoami, Credential.USER),
)
ADMIN = {"Authorization": "Bearer admin"}


class ExpiringAuthenticator(FakeAuthenticator):
    """Set an expiry like the real authenticator."""

    valid_seconds = 60.0

    async def __call__(self, *args, **context) -> Actor:
        actor = await super().__call__(*args, **context)
        return replace(actor, verified_until=clock.now() + timedelta(seconds=self.valid_seconds))


@pytest.fixture
async def server():
    store_resolver, credentials = FakeStoreResolver(), ExpiringAuthenticator()
    async with run_server(*ROUTES, store_resolver=store_resolver, authenticate=credentials) as running_server:
        running_server.store_resolver, running_server.credentials = store_resolver, credentials
        yield running_server


async def count_lookups(server, **headers) -> int:
    """Return the number of credential lookups of two requests."""
    for repetition in range(2):
        response = await server.get("/api/v1/admin/who", Authorization="Bearer admin", **headers)
        assert response.status == 200, repetition
    return len(server.credentials.calls)


async def test_the_second_request_uses_the_cache(server):
    assert await count_lookups(server) == 1
    assert len(server.store_resolver.hosts) == 1


async def test_a_store_change_invalidates_the_cache(server):
    await count_lookups(server)
    server.store_resolver.generation += 1
    assert await count_lookups(server) == 2


async def test_a_credential_change_invalidates_the_cache(server):
    await count_lookups(server)
    process_cache().invalidate(DEMO.id, 12_345)
    assert await count_lookups(server) == 2


async def test_an_expired_cache_entry_is_not_used(server):
    server.credentials.valid_seconds = -1
    assert await count_lookups(server) == 2


async def test_a_caller_without_expiry_is_not_cached(server, monkeypatch):
    async def without_expiry(*args, **context):
        return await FakeAuthenticator.__call__(server.credentials, *args, **context)

    monkeypatch.setattr(
        ExpiringAuthenticator, "__call__", lambda self, *args, **context: without_expiry(*args, **context)
    )
    assert await count_lookups(server) == 2


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer customer"},
        {"Authorization": "Bearer admin", "X_Tenant_ID": str(OTHER.public_id)},
        {"Authorization": "Bearer admin", "X_API_Key": "sfk_shop"},
        {"Authorization": "Bearer admin", "Host": "demo.localhost"},
    ],
)
async def test_different_headers_are_cached_separately(server, headers):
    await count_lookups(server)
    await server.get("/api/v1/me/who", **headers)
    assert len(server.credentials.calls) == 2


async def test_routes_with_different_credentials_are_cached_separately(server):
    await count_lookups(server)
    await server.get("/api/v1/me/who", **ADMIN)
    assert len(server.credentials.calls) == 2


async def test_an_authentication_error_is_not_cached(server):
    for repetition in range(2):
        response = await server.get("/api/v1/admin/who", Authorization="Bearer customer")
        assert response.status == 403, repetition
    assert len(server.credentials.calls) == 2
    assert "Bearer customer" in CALLERS
