"""Store what this process counted, once a minute and at its end: what the stores used goes to the table `store_usage`."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import Context

from domain.store_usage import add_usage
from kernel import logging
from kernel.store_usage import put_back, take_usage

SECONDS = 60.0
# Less than the parent waits for its processes beyond their requests (`server.processes`).
_LAST_SECONDS = 4.0


@asynccontextmanager
async def storing(store: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Call the function once a minute meanwhile, and at the end; pools have to be open."""

    async def repeat() -> None:
        # Processes that were started together don't store together.
        await asyncio.sleep(random.uniform(0, SECONDS))
        while True:
            await store()
            await asyncio.sleep(SECONDS)

    task = asyncio.get_running_loop().create_task(repeat(), context=Context())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
        try:
            async with asyncio.timeout(_LAST_SECONDS):
                await store()
        except TimeoutError:
            logging.event("what was counted last was not all stored in time", level="warning")


def storing_usage() -> AbstractAsyncContextManager[None]:
    """Store what the stores use in this process meanwhile."""
    return storing(store_usage)


async def store_usage() -> None:
    """Store what was counted since the last time; what can't be stored is kept for the next."""
    usage = take_usage()
    try:
        await add_usage(usage)
    except Exception as error:
        put_back(usage)
        logging.failure("what the stores use was not stored", error, stores=len(usage))
    except asyncio.CancelledError:
        put_back(usage)
        raise
