"""Let one process at a time do a work of the installation, by a lock that ends with its connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from kernel.errors import OperatorError

_TRY = "SELECT pg_try_advisory_lock(hashtextextended($1, 0))"
_WAIT = "SELECT pg_advisory_lock(hashtextextended($1, 0))"


class RunsElsewhere(Exception):
    """Another process does the work."""


@asynccontextmanager
async def exclusive(url: str, work: str, *, waits: bool = True) -> AsyncIterator[None]:
    """Hold the lock of a work, for example `demo`; `url` leads to PostgreSQL itself, not to a pooler.

    Raises RunsElsewhere if another process holds it and this one doesn't wait. When the connection is lost, and with it the lock, the work
    is cancelled and an OperatorError raised.
    """
    connection = await asyncpg.connect(url)
    task = asyncio.current_task()
    assert task is not None
    lost = False

    def cancel(_: object) -> None:
        nonlocal lost
        lost = True
        task.cancel()

    try:
        if waits:
            await connection.execute(_WAIT, work)
        elif not await connection.fetchval(_TRY, work):
            raise RunsElsewhere(work)
        connection.add_termination_listener(cancel)
        yield
    except asyncio.CancelledError:
        if not lost:
            raise
        task.uncancel()
        raise OperatorError("the connection to the database was lost: run the command again") from None
    finally:
        connection.remove_termination_listener(cancel)
        await connection.close()
