"""Read-only transactions that see one state of the database, and their statements' rows part by part."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from kernel.scope import Scope
from models.connection.database import transaction
from models.connection.database_errors import translate_errors
from models.connection.transactions import open_transaction


@asynccontextmanager
async def snapshot(scope: Scope) -> AsyncIterator[None]:
    """Open a transaction that only reads, all of it what was committed when its first statement ran; not inside of another."""
    if open_transaction() is not None:
        raise RuntimeError("a snapshot begins outside of a transaction")
    async with transaction(scope):
        current = open_transaction()
        assert current is not None
        with translate_errors():
            connection = await current.acquire()
            try:
                await connection.restart_as_snapshot()
            finally:
                current.release()
        yield


async def stream(sql: str, *args: Any, size: Callable[[], int]) -> AsyncIterator[list[asyncpg.Record]]:
    """Run a statement in the open transaction and yield its rows by a cursor, at most `size()` at a time.

    Between two parts the transaction runs other statements.
    """
    current = open_transaction()
    if current is None:
        raise RuntimeError("no transaction is open")
    with translate_errors():
        connection = await current.acquire()
        try:
            cursor = await connection.open_cursor(sql, args)
        finally:
            current.release()
        while True:
            wanted = size()
            await current.acquire()
            try:
                records = await cursor.fetch(wanted)
            finally:
                current.release()
            if records:
                yield records
            if len(records) < wanted:
                return
