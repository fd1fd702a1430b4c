"""Add what the stores used in this process to the table `store_usage`, once a minute and at the end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from domain.store_usage import add_usage
from kernel import logging
from kernel.store_usage import put_back, take_usage

SECONDS = 60.0
_LAST_SECONDS = 2.0


@asynccontextmanager
async def storing_usage() -> AsyncIterator[None]:
    """Store the counts of this process meanwhile; pools have to be open."""
    task = asyncio.create_task(_store_repeatedly())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_SECONDS):
                await store_usage()


async def _store_repeatedly() -> None:
    # Processes that were started together don't store together.
    await asyncio.sleep(random.uniform(0, SECONDS))
    while True:
        await store_usage()
        await asyncio.sleep(SECONDS)


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
