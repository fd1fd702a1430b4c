"""Call the current API as its clients do, in stores that hold nothing yet."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest
from aiohttp.test_utils import TestClient

from auth.privileges import ALL
from kernel.scope import Store
from tests.current import kit
from tests.current.fronts import Front, open_front
from tests.current.kit import Caller
from tests.shop import Shop, new_shop, other_shop, shop, shop_client, some_address

__all__ = ["new_shop", "other_shop", "shop", "shop_client"]

NewCaller: TypeAlias = Callable[..., Awaitable[Caller]]


@pytest.fixture
async def visitor(shop_client: TestClient, store: Store) -> Caller:
    """Give somebody without a credential, at the fresh store."""
    return Caller(shop_client, store, address=some_address())


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
            some_address(),
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


@pytest.fixture
async def front(shop: Shop) -> Front:
    """Give a storefront of the fresh shop, whose key has all scopes."""
    return await open_front(shop)
