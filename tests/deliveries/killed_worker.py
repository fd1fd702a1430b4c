"""A worker of its own process, to be killed: `python -m tests.deliveries.killed_worker URL`; says when it begins."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from typing import Any

from auth.configuration import configure
from models import database
from server.delivery import Deliverer
from server.outgoing import calling
from tests.shop import SECRET

LEASE = timedelta(seconds=1.5)


async def _no_queries(_: Any) -> Any:
    raise AssertionError("no endpoint of this test has a query")


async def main(url: str) -> None:
    configure(SECRET)
    await database.connect(database.DatabaseSettings(url))
    async with calling(allows_private=True):
        sys.stdout.write("working\n")
        sys.stdout.flush()
        await Deliverer(_no_queries, lease=LEASE).run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
