"""Call the app integration routes as installed apps, in empty stores."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest
from aiohttp.test_utils import TestClient

from auth.privileges import ALL
from kernel.scope import Store
from tests.current import kit
from tests.current.kit import Caller
from tests.current.oauth import graphql, graphql_result, issue_tokens, register_app
from tests.shop import new_shop, other_shop, shop, shop_client, some_address

__all__ = ["graphql", "new_shop", "other_shop", "shop", "shop_client"]

SCOPES = [
    f"write_{part}"
    for part in ("products", "orders", "users", "categories", "inventory", "content", "shipping")
]
NewApp: TypeAlias = Callable[..., Awaitable[Caller]]

_SET_RATE_LIMIT = (
    "mutation ($id: ID!, $rate: Int!) { installed_app_update(id: $id, input: {rate_limit: $rate}) { id } }"
)
INSTALLED_APPS = "{ installed_apps { id } }"


@pytest.fixture
async def admin(shop_client: TestClient, store: Store) -> Caller:
    """An administrator of the test store with all privileges."""
    return await _administrator(shop_client, store)


@pytest.fixture
async def other_admin(shop_client: TestClient, other_store: Store) -> Caller:
    """An administrator of the other store with all privileges."""
    return await _administrator(shop_client, other_store)


@pytest.fixture
def new_app(admin: Caller) -> NewApp:
    """A function that installs an app: `await new_app("read_orders")`; without scopes, the app has all of them."""

    async def make(*scopes: str, at: Caller | None = None, rate: int | None = None) -> Caller:
        installer = at or admin
        granted = list(scopes) or SCOPES
        app = await register_app(installer, scopes=granted)
        tokens = await issue_tokens(installer, app, granted)
        if rate is not None:
            installed = (await graphql_result(installer, INSTALLED_APPS))[0]
            await graphql_result(installer, _SET_RATE_LIMIT, id=installed["id"], rate=rate)
        return Caller(installer.client, installer.store, tokens["access_token"], some_address(), user=app)

    return make


@pytest.fixture
async def app(new_app: NewApp) -> Caller:
    """An app with all scopes."""
    return await new_app()


async def _administrator(client: TestClient, store: Store) -> Caller:
    user = await kit.add_user(store, *sorted(ALL))
    tokens = await kit.sign_in(store, user)
    return Caller(client, store, tokens.access_token, some_address(), user)
