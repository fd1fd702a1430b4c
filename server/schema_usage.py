"""Store what a process counted of the use of the schema, every minute and at its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from contextvars import Context

from aiohttp import web

from server.http.graphql_view import USAGE

FLUSH_SECONDS = 60.0


async def flush_regularly(app: web.Application) -> AsyncIterator[None]:
    """Flush the application's counter while it serves."""

    async def run() -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            await app[USAGE].flush()

    task = asyncio.get_running_loop().create_task(run(), context=Context())
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    await app[USAGE].flush()
