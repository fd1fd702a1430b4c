"""Call the app integration routes as installed apps do, in stores that hold nothing yet."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest
from aiohttp.test_utils import TestClient

from auth.privileges import ALL
from kernel.scope import Store
from tests.current import kit
from tests.current.kit import Caller
from tests.current.oauth import done, graphql, register, tokens_of
from tests.shop import new_shop, other_shop, shop, shop_client, some_address

__all__ = ["graphql", "new_shop", "other_shop", "shop", "shop_client"]

SCOPES = [
    f"write_{part}"
    for part in ("products", "orders", "users", "categories", "inventory", "content", "shipping")
]
NewApp: TypeAlias = Callable[..., Awaitable[Caller]]

_SLOWER = (
    "mutation ($id: ID!, $rate: Int!) { installed_app_update(id: $id, input: {rate_limit: $rate}) { id } }"
)
_INSTALLED = "{ installed_apps { id } }"


@pytest.fixture
async def admin(shop_client: TestClient, store: Store) -> Caller:
    """Give an administrator of the fresh store who may do everything."""
    return await _administrator(shop_client, store)


@pytest.fixture
async def other_admin(shop_client: TestClient, other_store: Store) -> Caller:
    """Give the same for the other store."""
    return await _administrator(shop_client, other_store)


@pytest.fixture
def new_app(admin: Caller) -> NewApp:
    """Give a function that installs an app: `await new_app("read_orders")`; without scopes, one that may do everything."""

    async def make(*scopes: str, at: Caller | None = None, rate: int | None = None) -> Caller:
        installer = at or admin
        wanted = list(scopes) or SCOPES
        app = await register(installer, scopes=wanted)
        tokens = await tokens_of(installer, app, wanted)
        if rate is not None:
            installed = (await done(installer, _INSTALLED))[0]
            await done(installer, _SLOWER, id=installed["id"], rate=rate)
        return Caller(installer.client, installer.store, tokens["access_token"], some_address(), user=app)

    return make


@pytest.fixture
async def app(new_app: NewApp) -> Caller:
    """Give an app that may do everything."""
    return await new_app()


async def _administrator(client: TestClient, store: Store) -> Caller:
    user = await kit.add_user(store, *sorted(ALL))
    tokens = await kit.signed_in(store, user)
    return Caller(client, store, tokens.access_token, some_address(), user)
