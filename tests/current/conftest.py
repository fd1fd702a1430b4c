"""Call the current API as its clients do, in empty stores."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest
from aiohttp.test_utils import TestClient

from auth.privileges import ALL
from kernel.scope import Store
from tests.current import kit
from tests.current.kit import Caller
from tests.current.storefront_client import StorefrontClient, open_storefront
from tests.shop import Shop, new_shop, other_shop, shop, shop_client, some_address

__all__ = ["new_shop", "other_shop", "shop", "shop_client"]

NewCaller: TypeAlias = Callable[..., Awaitable[Caller]]


@pytest.fixture
async def visitor(shop_client: TestClient, store: Store) -> Caller:
    """Return a caller without credentials in the fresh store."""
    return Caller(shop_client, store, address=some_address())


@pytest.fixture
def caller(visitor: Caller) -> NewCaller:
    """Return a function that adds a user and signs them in: `await caller("view_orders")`, `await caller(user_type="C")`."""

    async def create(*privileges: str, store: Store | None = None, **columns) -> Caller:
        at = store or visitor.store
        user = await kit.add_user(at, *privileges, **columns)
        tokens = await kit.sign_in(at, user)
        return Caller(
            visitor.client,
            at,
            tokens.access_token,
            some_address(),
            user,
            refresh_token=tokens.refresh_token,
        )

    return create


@pytest.fixture
async def admin(caller: NewCaller) -> Caller:
    """Return an administrator of the fresh store with every privilege."""
    return await caller(*sorted(ALL))


@pytest.fixture
async def other_admin(caller: NewCaller, other_store: Store) -> Caller:
    """Return an administrator of the other store with every privilege."""
    return await caller(*sorted(ALL), store=other_store)


@pytest.fixture
async def storefront(shop: Shop) -> StorefrontClient:
    """Return a client of the fresh store's storefront whose key has all scopes."""
    return await open_storefront(shop)
