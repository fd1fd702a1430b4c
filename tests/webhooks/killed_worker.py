"""A webhook worker in its own process, to be killed: `… -m tests.webhooks.killed_worker URL SECRET`; starts after a line on stdin."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from typing import Any

from auth.configuration import configure
from models.connection import database
from server.outgoing import outgoing_client
from server.workers.webhooks import WebhookWorker

LEASE = timedelta(seconds=1.5)


async def _no_queries(_: Any) -> Any:
    raise AssertionError("no endpoint of this test has a query")


async def main(url: str, secret: str) -> None:
    configure(secret.encode())
    await database.connect(database.DatabaseSettings(url))
    async with outgoing_client(allows_private=True):
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.readline)
        await WebhookWorker(_no_queries, lease=LEASE).run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
