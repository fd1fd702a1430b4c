"""Connections for work on all stores; `models.connection.database.cross_store_connection` opens them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from models.connection.connections import StoreConnection, affected_rows
from models.connection.database_errors import translate_errors


class CrossStoreConnection:
    """A connection of the worker role, which sees the tables it has policies for in every store."""

    __slots__ = ("_connection",)

    def __init__(self, connection: StoreConnection) -> None:
        self._connection = connection

    async def fetch(self, sql: str, *args: Any) -> list[asyncpg.Record]:
        """Run a statement and return its rows."""
        with translate_errors():
            records: list[asyncpg.Record] = await self._connection.fetch(sql, *args)
            return records

    async def fetchrow(self, sql: str, *args: Any) -> asyncpg.Record | None:
        """Run a statement and return its first row, or None."""
        with translate_errors():
            return await self._connection.fetchrow(sql, *args)

    async def fetchval(self, sql: str, *args: Any) -> Any:
        """Run a statement and return the first column of its first row, or None."""
        with translate_errors():
            return await self._connection.fetchval(sql, *args)

    async def execute(self, sql: str, *args: Any) -> int:
        """Run a statement and return the number of rows it affected."""
        with translate_errors():
            # Not Connection.execute, which does not prepare statements without arguments.
            return affected_rows(await self._connection.run(sql, args, return_status=True))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Open a transaction: commit at the end, roll back on an error."""
        await self.execute("begin")
        try:
            yield
        except Exception:
            await self.execute("rollback")
            raise
        # A cancellation leaves the transaction open: releasing the connection rolls it back.
        await self.execute("commit")
