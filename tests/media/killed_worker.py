"""A worker of media files in its own process, to be killed: `… -m tests.media.killed_worker DATABASE_URL STORAGE_URL`."""

from __future__ import annotations

import asyncio
import sys

from domain import storage
from models.connection import database
from server.media.child_pool import image_renderer
from server.outgoing import outgoing_client
from server.workers.media import MediaWorker


async def main(url: str, storage_url: str) -> None:
    await database.connect(database.DatabaseSettings(url))
    storage.configure(storage.open_storage(storage_url))
    async with outgoing_client(allows_private=True), image_renderer():
        await MediaWorker().run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
