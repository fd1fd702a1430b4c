"""Clients of the current API, storefronts and installed apps, in empty stores."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest

from auth.privileges import ALL
from kernel.scope import Store
from tests.harness.http import Client, HttpClient, bearer
from tests.harness.oauth import APP_SCOPES, graphql_result, issue_tokens, register_app
from tests.harness.records import add_user, sign_in
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import StorefrontClient, open_storefront

NewClient: TypeAlias = Callable[..., Awaitable[Client]]
NewApp: TypeAlias = Callable[..., Awaitable[Client]]
INSTALLED_APPS = "{ installed_apps { id } }"
_SET_RATE_LIMIT = (
    "mutation ($id: ID!, $rate: Int!) { installed_app_update(id: $id, input: {rate_limit: $rate}) { id } }"
)


@pytest.fixture
async def visitor(http: HttpClient, store: Store) -> Client:
    """Return a client without credentials of the new store."""
    return Client(http, store)


@pytest.fixture
def new_client(http: HttpClient, store: Store) -> NewClient:
    """Return a function that adds a user and signs them in: `await new_client("view_orders")`, `await new_client(user_type="C")`."""
    default = store

    async def create(*privileges: str, store: Store | None = None, **columns: Any) -> Client:
        at = store or default
        user = await add_user(at, *privileges, **columns)
        tokens = await sign_in(at, user)
        return Client(http, at, bearer(tokens.access_token), user=user, refresh_token=tokens.refresh_token)

    return create


@pytest.fixture
async def admin(new_client: NewClient) -> Client:
    """Return an administrator of the new store with all privileges."""
    return await new_client(*sorted(ALL))


@pytest.fixture
async def other_admin(new_client: NewClient, other_store: Store) -> Client:
    """Return an administrator of the other store with all privileges."""
    return await new_client(*sorted(ALL), store=other_store)


@pytest.fixture
def new_app(admin: Client) -> NewApp:
    """Return a function that installs an app: `await new_app("read_orders")`; by default, it has all scopes."""

    async def create(*scopes: str, at: Client | None = None, rate: int | None = None) -> Client:
        installer = at or admin
        granted = list(scopes) or APP_SCOPES
        app = await register_app(installer, scopes=granted)
        tokens = await issue_tokens(installer, app, granted)
        if rate is not None:
            installed = (await graphql_result(installer, INSTALLED_APPS))[0]
            await graphql_result(installer, _SET_RATE_LIMIT, id=installed["id"], rate=rate)
        return Client(installer.http, installer.store, bearer(tokens["access_token"]), user=app)

    return create


@pytest.fixture
async def app(new_app: NewApp) -> Client:
    """Return an app with all scopes."""
    return await new_app()


@pytest.fixture
async def storefront(sample: SampleStore) -> StorefrontClient:
    """Return a client of the sample store's storefront whose key has all scopes."""
    return await open_storefront(sample)
