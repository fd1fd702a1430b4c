"""Serve the routes of the current API, and GraphQL, over a fresh store for each test."""

from collections.abc import AsyncIterator, Awaitable, Callable
from ipaddress import ip_network
from typing import TypeAlias

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

import rest_facade.current
from auth.configuration import configure
from auth.privileges import ALL
from auth.schemes import authenticate
from auth.tenancy import StoreDirectory
from kernel.scope import Store
from kernel.settings import Settings
from models import database
from server.app import create_app
from tests.current import kit
from tests.current.kit import Caller

NewCaller: TypeAlias = Callable[..., Awaitable[Caller]]


@web.middleware
async def count_statements(request, handler):
    """Tell with each answer how many statements its handler took."""
    with database.counting() as counted:
        response = await handler(request)
    response.headers[kit.STATEMENTS] = str(counted.count)
    return response


@pytest.fixture(scope="session")
async def client(database: object) -> AsyncIterator[TestClient]:
    """Give a client over the application as it is served; X-Forwarded-For is believed."""
    configure(b"the secret of the tests, 32 bytes")
    settings = Settings(trusted_proxies=(ip_network("127.0.0.0/8"),), ip_rate=0, failed_auth_rate=0)
    directory = StoreDirectory(settings.shared_hosts)
    app = create_app(
        settings, directory=directory, authenticate=authenticate, routes=rest_facade.current.routes()
    )
    app.middlewares.append(count_statements)
    async with TestClient(TestServer(app)) as client:
        yield client


@pytest.fixture
async def visitor(client: TestClient, store: Store) -> Caller:
    """Give somebody without a credential, at the fresh store."""
    return Caller(client, store, address=kit.some_address())


@pytest.fixture
def caller(visitor: Caller) -> NewCaller:
    """Give a function that signs somebody in: `await caller("view_orders")`, `await caller(user_type="C")`."""

    async def make(*privileges: str, store: Store | None = None, **columns) -> Caller:
        at = store or visitor.store
        user = await kit.add_user(at, *privileges, **columns)
        tokens = await kit.signed_in(at, user)
        return Caller(
            visitor.client,
            at,
            tokens.access_token,
            kit.some_address(),
            user,
            refresh_token=tokens.refresh_token,
        )

    return make


@pytest.fixture
async def admin(caller: NewCaller) -> Caller:
    """Give an administrator of the fresh store who may do everything."""
    return await caller(*sorted(ALL))


@pytest.fixture
async def other_admin(caller: NewCaller, other_store: Store) -> Caller:
    """Give an administrator of the other store who may do everything there."""
    return await caller(*sorted(ALL), store=other_store)
