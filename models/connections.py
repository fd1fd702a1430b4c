"""Connections bound to a store (`models.store_binding`), and the statement counter.

It uses private parts of asyncpg (its statement cache, its protocol, its transport), so the version is pinned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import asyncpg
from asyncpg.connection import Connection
from asyncpg.cursor import Cursor
from asyncpg.prepared_stmt import PreparedStatement

from models.store_binding import BIND, BIND_PIPELINED, StoreBinding, binding_message, setting_value
from models.store_binding import NO_STORE as NO_STORE

ASYNCPG_VERSION = "0.32.0"
_OVERHEAD = ("begin", "commit", "rollback", "savepoint", "release", "select set_config('vitrine.tenant'")

if asyncpg.__version__ != ASYNCPG_VERSION:
    raise ImportError(
        f"models/connections.py uses private parts of asyncpg {ASYNCPG_VERSION}; installed is {asyncpg.__version__}"
    )


@dataclass(slots=True)
class StatementCount:
    """Counter of statements; `overhead` counts BEGIN, COMMIT and store bindings. `arguments` are the parameters of each statement."""

    count: int = 0
    overhead: int = 0
    statements: list[str] = field(default_factory=list)
    arguments: list[Sequence[Any]] = field(default_factory=list)


_statement_count: ContextVar[StatementCount | None] = ContextVar("vitrine_counting", default=None)


@contextmanager
def count_statements() -> Iterator[StatementCount]:
    """Count the statements that this task and its child tasks send inside the block, including Tortoise's."""
    outer = _statement_count.get()
    counter = StatementCount()
    token = _statement_count.set(counter)
    try:
        yield counter
    finally:
        _statement_count.reset(token)
        if outer is not None:
            outer.count += counter.count
            outer.overhead += counter.overhead
            outer.statements += counter.statements
            outer.arguments += counter.arguments


def _count(sql: str, args: Sequence[Any] = ()) -> None:
    counter = _statement_count.get()
    if counter is None:
        return
    if sql[:48].lstrip().lower().startswith(_OVERHEAD):
        counter.overhead += 1
    else:
        counter.count += 1
        counter.statements.append(sql)
        counter.arguments.append(args)


class StoreConnection(Connection):  # type: ignore[misc]  # asyncpg's metaclass
    """A connection and the binding of its store, sent with a statement where that is prepared."""

    __slots__ = ("_pipelined_bind", "binding")

    pipelines_binding = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.binding = StoreBinding()
        # With its name, which asyncpg does not return after the connection was released.
        self._pipelined_bind: tuple[PreparedStatement[asyncpg.Record], bytes] | None = None

    async def bind(self, store: int) -> None:
        """Bind the connection: row-level security then shows the rows of this store only (`NO_STORE`: none)."""
        # Unknown until the server has responded: a cancelled statement may have taken effect or not.
        self.binding.begin()
        await self.fetchval(BIND, setting_value(store))
        self.binding.confirm(store)

    async def execute(self, query: str, *args: Any, timeout: float | None = None) -> str:
        """Run a statement and return its command tag."""
        if not args:  # with arguments `_execute` below is called
            if self.binding.pending is not None:
                await self.bind(self.binding.pending)
            _count(query)
        try:
            tag: str = await super().execute(query, *args, timeout=timeout)
        except asyncpg.InternalClientError:
            self.terminate()
            raise
        return tag

    async def run(self, query: str, args: Sequence[Any], limit: int = 0, *, return_status: bool = False) -> Any:
        """Run a statement and return its rows, at most `limit` (0: all); with `return_status` also its command tag."""
        self._check_open()
        return await self._execute(query, args, limit, None, return_status=return_status)

    async def open_cursor(self, query: str, args: Sequence[Any]) -> Cursor[asyncpg.Record]:
        """Open a cursor on a statement, in a transaction, whose store is bound."""
        self._check_open()
        _count(query, args)
        cursor: Cursor[asyncpg.Record] = await self.cursor(query, *args)
        return cursor

    async def _execute(
        self,
        query: str,
        args: Sequence[Any],
        limit: int,
        timeout: float | None,
        *,
        return_status: bool = False,
        ignore_custom_codec: bool = False,
        record_class: Any = None,
    ) -> Any:
        try:
            cached = None
            if timeout is None and not ignore_custom_codec and not self._query_loggers:
                cached = self._stmt_cache.get((query, record_class or asyncpg.Record, False))
            store = self.binding.pending
            if store is not None:
                await self._bind_pending(store, is_cached=cached is not None)
            _count(query, args)
            if cached is not None:
                return await self._execute_prepared(query, cached, args, limit, return_status)
            return await super()._execute(
                query,
                args,
                limit,
                timeout,
                return_status=return_status,
                ignore_custom_codec=ignore_custom_codec,
                record_class=record_class,
            )
        except asyncpg.InternalClientError:
            # The protocol state is lost, for example when the server closed the session between two responses. The connection must not
            # be reused, although it looks idle for a moment.
            self.terminate()
            raise

    async def _bind_pending(self, store: int, *, is_cached: bool) -> None:
        """Bind the store now, unless the binding can be pipelined with the statement."""
        if is_cached and self._pipelined_bind is not None:
            return
        await self.bind(store)
        if is_cached and self.pipelines_binding:
            # asyncpg generates the name: if this is interrupted, the next attempt has another.
            prepared = await self.prepare(BIND_PIPELINED)
            self._pipelined_bind = (prepared, prepared.get_name().encode())

    async def _execute_prepared(
        self, query: str, statement: Any, args: Sequence[Any], limit: int, return_status: bool
    ) -> Any:
        """Execute a prepared statement: asyncpg's own code path costs as much as the statement itself."""
        protocol, store = self._protocol, self.binding.pending
        try:
            with self._stmt_exclusive_section:
                if store is not None:
                    self._send_bind(store)
                result = await protocol.bind_execute(
                    state=statement,
                    args=args,
                    portal_name="",
                    limit=limit,
                    return_extra=return_status,
                    timeout=protocol._get_timeout(None),
                )
            if store is not None:
                self.binding.confirm(store)
            return result
        except asyncpg.OutdatedSchemaCacheError:
            # A type has changed: the statement was executed, but its response can't be decoded.
            await self.reload_schema_state()
            raise
        except asyncpg.InvalidCachedStatementError:
            # A table has changed; nothing was executed, so outside a transaction it can be retried.
            self._drop_global_statement_cache()
            if protocol.is_in_transaction():
                raise
        except BaseException as error:
            if store is not None and getattr(error, "severity", None) is None:
                # Not a server error, so it is unknown whether the statement was sent (an argument may have been invalid). If it was not,
                # the pipelined binding still waits for its Sync message.
                self.terminate()
            raise
        if store is not None:
            await self.bind(store)
        return await super()._execute(query, args, limit, None, return_status=return_status)

    def _send_bind(self, store: int) -> None:
        """Send the binding without waiting for its response; the statement must follow at once."""
        assert self._pipelined_bind is not None
        _count(BIND)
        self.binding.begin()
        self._transport.write(binding_message(self._pipelined_bind[1], store))

    async def _executemany(self, query: str, *args: Any, **kwargs: Any) -> Any:
        if self.binding.pending is not None:
            await self.bind(self.binding.pending)
        _count(query)
        return await super()._executemany(query, *args, **kwargs)


class SeparatelyBoundConnection(StoreConnection):
    """A connection that binds its store by a statement of its own: nothing is written past asyncpg (`VITRINE_PIPELINED_BINDING=0`)."""

    __slots__ = ()

    pipelines_binding = False


def affected_rows(result: tuple[Any, bytes, Any]) -> int:
    """Return the number of rows a statement affected, from the result of `run` with `return_status`."""
    count = result[1].decode().rpartition(" ")[2]
    return int(count) if count.isdigit() else 0
