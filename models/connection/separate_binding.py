"""Connections that bind the store by a statement of its own: Vitrine writes nothing past asyncpg (`VITRINE_PIPELINED_BINDING=0`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import asyncpg

from models.connection.connections import StoreConnection

RECOVERY_SECONDS = 5.0


class SeparatelyBoundConnection(StoreConnection):
    """A connection that binds its store by a statement of its own: nothing is written past asyncpg (`VITRINE_PIPELINED_BINDING=0`)."""

    __slots__ = ()

    async def _execute(self, query: str, args: Sequence[Any], limit: int, timeout: float | None, **options: Any) -> Any:
        if self._protocol.is_in_transaction():
            return await super()._execute(query, args, limit, timeout, **options)
        if query == "begin":
            await self._begin()
            return [], b"BEGIN", True
        if self.target.begins:
            await self._begin()
            return await super()._execute(query, args, limit, timeout, **options)
        try:
            return await self._in_transaction(super()._execute, query, args, limit, timeout, **options)
        except asyncpg.InvalidCachedStatementError:
            return await self._in_transaction(super()._execute, query, args, limit, timeout, **options)

    async def _in_transaction(self, run: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any) -> Any:
        await self._begin()
        try:
            result = await run(*args, **kwargs)
        except Exception:
            if not self.is_closed():
                await self._protocol.query("rollback", RECOVERY_SECONDS)
            raise
        await self._protocol.query("commit", None)
        return result

    async def _begin(self) -> None:
        self._check_open()
        await self._protocol.query("begin", None)
        await super()._execute(self.binding.sql, self.binding.values(self.target), 0, None)

    def defer(self, query: str, args: Sequence[Any]) -> bool:
        """Defer nothing."""
        return False

    def _bind_next(self) -> bytes:
        """Send nothing: statements are prepared and executed in a transaction with its binding."""
        return b""
