"""Keep of a connection which store it is bound to, bind it, and count what is sent.

It uses private parts of asyncpg (its statement cache, its protocol, its transport), so the version is pinned.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import asyncpg
from asyncpg.connection import Connection
from asyncpg.prepared_stmt import PreparedStatement

PINNED_ASYNCPG = "0.32.0"
NO_STORE = 0
_BIND = "select set_config('vitrine.tenant', $1, false)"
# The same without a row in the answer: it goes ahead of another statement, whose rows follow.
_BIND_AHEAD = "select 1 where set_config('vitrine.tenant', $1, false) is null"
_OVERHEAD = ("begin", "commit", "rollback", "savepoint", "release", "select set_config('vitrine.tenant'")

if asyncpg.__version__ != PINNED_ASYNCPG:
    raise ImportError(
        f"models/connections.py knows the inside of asyncpg {PINNED_ASYNCPG}; found {asyncpg.__version__}"
    )


@dataclass(slots=True)
class StatementCount:
    """Count what was sent: the work in `count` and `statements`, BEGIN, COMMIT and the binding to a store in `overhead`.

    `arguments` holds the parameters of each of the `statements`.
    """

    count: int = 0
    overhead: int = 0
    statements: list[str] = field(default_factory=list)
    arguments: list[Sequence[Any]] = field(default_factory=list)


_counting: ContextVar[StatementCount | None] = ContextVar("vitrine_counting", default=None)


@contextmanager
def counting() -> Iterator[StatementCount]:
    """Count the statements sent inside, by this task and by those it starts, Tortoise's included."""
    outer = _counting.get()
    counted = StatementCount()
    token = _counting.set(counted)
    try:
        yield counted
    finally:
        _counting.reset(token)
        if outer is not None:
            outer.count += counted.count
            outer.overhead += counted.overhead
            outer.statements += counted.statements
            outer.arguments += counted.arguments


def _count(sql: str, args: Sequence[Any] = ()) -> None:
    counted = _counting.get()
    if counted is None:
        return
    if sql[:48].lstrip().lower().startswith(_OVERHEAD):
        counted.overhead += 1
    else:
        counted.count += 1
        counted.statements.append(sql)
        counted.arguments.append(args)


class StoreConnection(Connection):  # type: ignore[misc]  # asyncpg's metaclass
    """A connection that remembers which store the server has bound it to; `store` is None while nobody knows.

    `due` is the store that the next statement has to be bound to, where it is not yet.
    """

    __slots__ = ("_ahead", "due", "store")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.store: int | None = NO_STORE
        self.due: int | None = None
        # With its name, which asyncpg doesn't tell once the connection was given back.
        self._ahead: tuple[PreparedStatement[asyncpg.Record], bytes] | None = None

    async def bind(self, store: int) -> None:
        """Let row-level security show this store's rows only (`NO_STORE`: none)."""
        # Forgotten before and remembered after the server's answer: a cancelled statement may have taken effect or not.
        self.store = self.due = None
        await self.fetchval(_BIND, str(store) if store else "")
        self.store = store

    async def execute(self, query: str, *args: Any, timeout: float | None = None) -> str:
        """Run a statement and give its command tag."""
        if not args:  # with arguments it comes by `_execute` below
            if self.due is not None:
                await self.bind(self.due)
            _count(query)
        try:
            tag: str = await super().execute(query, *args, timeout=timeout)
        except asyncpg.InternalClientError:
            self.terminate()
            raise
        return tag

    async def run(
        self, query: str, args: Sequence[Any], limit: int = 0, *, return_status: bool = False
    ) -> Any:
        """Run a statement and give its rows, at most `limit` (0: all); with `return_status` also its command tag."""
        self._check_open()
        return await self._execute(query, args, limit, None, return_status=return_status)

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
            known = None
            if timeout is None and not ignore_custom_codec and not self._query_loggers:
                known = self._stmt_cache.get((query, record_class or asyncpg.Record, False))
            due = self.due
            if due is not None:
                await self._settle(due, is_known=known is not None)
            _count(query, args)
            if known is not None:
                return await self._execute_known(query, known, args, limit, return_status)
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
            # The protocol has lost its place, as when the server ends the session between two answers. Nobody may use it again,
            # though for a moment it looks idle.
            self.terminate()
            raise

    async def _settle(self, due: int, *, is_known: bool) -> None:
        """Bind what is due, unless the statement can take the binding along."""
        if is_known and self._ahead is not None:
            return
        await self.bind(due)
        if is_known:
            # Under a name that asyncpg makes: if this is cut off, the next attempt has another.
            prepared = await self.prepare(_BIND_AHEAD)
            self._ahead = (prepared, prepared.get_name().encode())

    async def _execute_known(
        self, query: str, statement: Any, args: Sequence[Any], limit: int, return_status: bool
    ) -> Any:
        """Execute what is prepared already: asyncpg's own way there costs as much again as the statement itself."""
        protocol, due = self._protocol, self.due
        try:
            with self._stmt_exclusive_section:
                if due is not None:
                    self._bind_ahead(due)
                found = await protocol.bind_execute(
                    state=statement,
                    args=args,
                    portal_name="",
                    limit=limit,
                    return_extra=return_status,
                    timeout=protocol._get_timeout(None),
                )
            if due is not None:
                self.store = due
            return found
        except asyncpg.OutdatedSchemaCacheError:
            # A type has changed under the statement: it was executed, its answer can't be read.
            await self.reload_schema_state()
            raise
        except asyncpg.InvalidCachedStatementError:
            # A table has changed; nothing was executed, and outside a transaction nothing is spoilt.
            self._drop_global_statement_cache()
            if protocol.is_in_transaction():
                raise
        except BaseException as error:
            if due is not None and getattr(error, "severity", None) is None:
                # The server said nothing, so nobody knows whether the statement was sent (an argument may have been of no use). If it
                # was not, the binding waits there for an end that never comes.
                self.terminate()
            raise
        if due is not None:
            await self.bind(due)
        return await super()._execute(query, args, limit, None, return_status=return_status)

    def _bind_ahead(self, store: int) -> None:
        """Send the binding without waiting for its answer, which comes before that of the statement that must follow at once.

        Both are one implicit transaction: if the statement fails, the binding is undone with it.
        """
        assert self._ahead is not None
        _count(_BIND)
        self.store = self.due = None
        value = str(store).encode() if store else b""
        bound = b"\0%s\0" % self._ahead[1] + struct.pack(f"!hhi{len(value)}sh", 0, 1, len(value), value, 0)
        execute = b"\0" + struct.pack("!i", 0)
        self._transport.write(
            b"B"
            + struct.pack("!i", len(bound) + 4)
            + bound
            + b"E"
            + struct.pack("!i", len(execute) + 4)
            + execute
        )

    async def _executemany(self, query: str, *args: Any, **kwargs: Any) -> Any:
        if self.due is not None:
            await self.bind(self.due)
        _count(query)
        return await super()._executemany(query, *args, **kwargs)


def touched(answer: tuple[Any, bytes, Any]) -> int:
    """Say how many rows a statement touched, from what `run` gives with its command tag."""
    count = answer[1].decode().rpartition(" ")[2]
    return int(count) if count.isdigit() else 0
