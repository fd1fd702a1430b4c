"""Subscribe installed apps to events, and deliver to a receiver that is really there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

import pytest

from resolvers.event_queries import selected
from server.delivery import Deliverer
from server.outgoing import calling
from tests.apps.conftest import admin, app, new_app, other_admin
from tests.deliveries.receiver import Receiver
from tests.shop import new_shop, other_shop, shop, shop_client

__all__ = ["admin", "app", "new_app", "new_shop", "other_admin", "other_shop", "shop", "shop_client"]

Delivering: TypeAlias = Callable[..., AbstractAsyncContextManager[Deliverer]]


@pytest.fixture(autouse=True)
async def way_out() -> AsyncIterator[None]:
    """Let this process call its own machine."""
    async with calling(allows_private=True):
        yield


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """Give a receiver that takes everything."""
    made = Receiver()
    await made.start()
    yield made
    await made.close()


@pytest.fixture
def delivering() -> Delivering:
    """Give a function that delivers meanwhile: `async with delivering():`."""

    @asynccontextmanager
    async def deliver(count: int = 1, **how: Any) -> AsyncIterator[Deliverer]:
        deliverers = [Deliverer(selected, **how) for _ in range(count)]
        tasks = [asyncio.create_task(each.run()) for each in deliverers]
        try:
            yield deliverers[0]
        finally:
            for each in deliverers:
                each.stop()
            async with asyncio.timeout(20):
                await asyncio.gather(*tasks)

    return deliver
