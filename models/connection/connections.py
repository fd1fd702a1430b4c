"""Connections whose statements are bound to a store (`models.connection.binding`), and the statement counter.

It uses private parts of asyncpg (its statement cache, its protocol), so the version is pinned.
"""

from __future__ import annotations

import struct
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from time import perf_counter
from typing import Any, TypeAlias
from uuid import UUID

import asyncpg
from asyncpg.connection import Connection
from asyncpg.cursor import Cursor

from kernel import tracing
from kernel.request_parts import record_database
from kernel.store_usage import usage_of
from models.connection.binding import NO_TARGET, BindingTarget, Plans, StoreBinding

ASYNCPG_VERSION = "0.32.0"
_OVERHEAD = ("begin", "commit", "rollback", "savepoint", "release", "select 1 where set_config('vitrine.tenant'")

if asyncpg.__version__ != ASYNCPG_VERSION:
    raise ImportError(
        f"models/connection/connections.py uses private parts of asyncpg {ASYNCPG_VERSION}; installed is {asyncpg.__version__}"
    )


@dataclass(slots=True)
class StatementCount:
    """Counter of statements; `overhead` counts BEGIN, COMMIT and savepoints.

    `arguments` are the parameters of each statement, `plans` how PostgreSQL plans each text.
    """

    count: int = 0
    overhead: int = 0
    statements: list[str] = field(default_factory=list)
    arguments: list[Sequence[Any]] = field(default_factory=list)
    plans: dict[str, Plans] = field(default_factory=dict)


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
            outer.plans |= counter.plans


def _count(sql: str, args: Sequence[Any] = (), plans: Plans = Plans.AUTOMATIC) -> None:
    counter = _statement_count.get()
    if counter is None:
        return
    if sql[:48].lstrip().lower().startswith(_OVERHEAD):
        counter.overhead += 1
    else:
        counter.count += 1
        counter.statements.append(sql)
        counter.arguments.append(args)
        counter.plans[sql] = plans


# --- Messages of PostgreSQL's protocol (its documentation, section 54.7) that are sent before those of asyncpg ---------------------

# They have no Sync of their own: a statement in them and asyncpg's, which follows, are answered together, and if the first fails, the
# second isn't executed. asyncpg takes no notice of statements that return no rows.
FLUSH = b"H\0\0\0\4"

_AS_THEY_ARE = (str, int, UUID)
_LENGTH = struct.Struct("!i").pack
_COUNTS = struct.Struct("!hh").pack
_NULL = _LENGTH(-1)


def parse(prepared_name: str, sql: str) -> bytes:
    """Return Parse, for the unnamed statement with an empty name."""
    return _message(b"P", b"%s\0%s\0\0\0" % (prepared_name.encode(), sql.encode()))


def bind_and_execute(prepared_name: str, parameters: Sequence[str | None]) -> bytes:
    """Return Bind and Execute of a prepared statement: the unnamed portal, parameters in text format, no limit of rows."""
    parts = [b"\0%s\0%s" % (prepared_name.encode(), _COUNTS(0, len(parameters)))]
    for parameter in parameters:
        if parameter is None:
            parts.append(_NULL)
        else:
            value = parameter.encode()
            parts += (_LENGTH(len(value)), value)
    parts.append(b"\0\0")
    return _message(b"B", b"".join(parts)) + _EXECUTE


def parameter_text(value: object) -> str | None:
    """Return a parameter in PostgreSQL's text format, an array of such values as well; None is NULL. Raise TypeError for other types."""
    if value is None or type(value) is str:
        return value
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, _AS_THEY_ARE):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    if isinstance(value, list):
        return f"{{{','.join(map(_element, value))}}}"
    raise TypeError(f"no text format for {type(value).__name__}")


def _element(value: object) -> str:
    text = parameter_text(value)
    if text is None:
        return "NULL"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _message(kind: bytes, content: bytes) -> bytes:
    return kind + _LENGTH(len(content) + 4) + content


_EXECUTE = _message(b"E", b"\0\0\0\0\0")
BEGIN = parse("", "begin") + bind_and_execute("", ())


def binding_message(prepared_name: str, binding: StoreBinding, target: BindingTarget) -> bytes:
    """Return Bind and Execute of the prepared statement of a binding, and BEGIN for a transaction that stays open."""
    return bind_and_execute(prepared_name, binding.values(target)) + (BEGIN if target.begins else b"")


# --- Connections ----------------------------------------------------------------------------------------------------

MAX_MESSAGES = 1_000
# The server does not know what this connection believes: a pooler stopped keeping track of prepared statements, or the protocol state is
# lost, for example when the server closed the session between two responses.
_LOST_STATE = (
    asyncpg.InternalClientError,
    asyncpg.InvalidSQLStatementNameError,
    asyncpg.DuplicatePreparedStatementError,
)
_UNBOUND = StoreBinding({})
# Of asyncpg's cache of prepared statements: the text, the class of its records, whether codecs are ignored.
_StatementKey: TypeAlias = tuple[str, Any, bool]


class _Output:
    """The transport of a connection, which sends a binding in one piece with what follows: two writes would be two system calls."""

    __slots__ = (
        "_transport",
        "_write",
        "abort",
        "awaits_sync",
        "get_extra_info",
        "is_closing",
        "pause_reading",
        "prefix",
        "resume_reading",
    )

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._write = transport.write
        self.abort, self.is_closing, self.get_extra_info = (
            transport.abort,
            transport.is_closing,
            transport.get_extra_info,
        )
        self.pause_reading, self.resume_reading = transport.pause_reading, transport.resume_reading
        self.prefix = b""
        """What to send before the next message: deferred statements, after the binding where none was sent."""
        self.awaits_sync = False
        """Whether the last messages only prepared a statement: until a Sync follows, the server is in an implicit transaction."""

    def write(self, data: memoryview) -> None:
        self.awaits_sync = data[-len(FLUSH) :] == FLUSH
        prefix, self.prefix = self.prefix, b""
        self._write(prefix + data if prefix else data)

    def writelines(self, buffers: list[Any]) -> None:
        self.write(memoryview(b"".join(buffers)))


class _Protocol(asyncpg.protocol.Protocol):  # type: ignore[misc]  # asyncpg is not typed
    """asyncpg's protocol, with the output above."""

    def connection_made(self, transport: Any) -> None:
        self.output = _Output(transport)
        super().connection_made(self.output)


# asyncpg has no parameter for it. The connections of others have the same output and nothing to put first.
asyncpg.protocol.Protocol = _Protocol


class StoreConnection(Connection):  # type: ignore[misc]  # asyncpg's metaclass
    """A connection that binds each transaction to `target`, with the settings of `binding`."""

    __slots__ = ("_bind_name", "_messages", "_sent_name", "binding", "names_statements", "target")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.target = NO_TARGET
        self.binding = _UNBOUND
        # Whether statements stay prepared under a name: not where a pooler in transaction mode does not keep track of them.
        self.names_statements = True
        self._bind_name = ""  # of the prepared binding, once the server has it
        self._sent_name = ""
        self._messages: dict[BindingTarget, bytes] = {}

    async def execute(self, query: str, *args: Any, timeout: float | None = None) -> str:
        """Run a statement and return its command tag; in a transaction, without arguments, also several."""
        self._check_open()
        if query.startswith("rollback"):
            self.drop_deferred()
        if args or not self._protocol.is_in_transaction() or self.has_deferred:
            tag: bytes | None = (await self._execute(query, args, 0, timeout, return_status=True))[1]
            return (tag or b"").decode()
        _count(query)
        try:
            status: str = await super().execute(query, timeout=timeout)
        except asyncpg.InternalClientError:
            self.terminate()
            raise
        return status

    def run(
        self, query: str, args: Sequence[Any], limit: int = 0, *, return_status: bool = False
    ) -> Coroutine[Any, Any, Any]:
        """Run a statement and return its rows, at most `limit` (0: all); with `return_status` also its command tag."""
        return self._execute(query, args, limit, None, return_status=return_status)

    def defer(self, query: str, args: Sequence[Any]) -> bool:
        """Send a statement, which returns no rows, together with the next one; return False where it has to be executed at once.

        The next one raises its errors. Only a statement that is prepared already can be deferred, in a transaction that stays open.
        """
        statement = self._stmt_cache.get((query, asyncpg.Record, False))
        if statement is None or not self.names_statements or not self.target.begins or tracing.active:
            return False
        try:
            message = bind_and_execute(statement.name, [parameter_text(argument) for argument in args])
        except (TypeError, UnicodeEncodeError):
            return False
        _count(query, args, self.target.plans)
        self._protocol.output.prefix += message
        return True

    @property
    def has_deferred(self) -> bool:
        """Return whether statements wait for the next one."""
        return bool(self._protocol.output.prefix)

    def drop_deferred(self) -> None:
        """Don't send the deferred statements: the transaction is rolled back."""
        self._protocol.output.prefix = b""

    async def restart_as_snapshot(self) -> None:
        """Begin the open transaction again, which has run nothing yet: read-only, and of one state of the database.

        That has to be said before the first query of a transaction, and the binding is one.
        """
        self._check_open()
        await self._protocol.query("rollback; begin isolation level repeatable read, read only", None)
        await self._execute(self.binding.sql, self.binding.values(self.target), 0, None)

    async def open_cursor(self, query: str, args: Sequence[Any]) -> Cursor[asyncpg.Record]:
        """Open a cursor on a statement, in a transaction, whose store is bound."""
        self._check_open()
        if not self.is_in_transaction() or self.has_deferred:
            # asyncpg opens none before BEGIN, and would take the answers of deferred statements for those of the cursor.
            await self._execute("select 1", (), 0, None)
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
        """Execute a statement, outside a transaction a second time when it was prepared before a table changed."""
        self._check_open()
        _count(query, args, self.target.plans)
        key = (query, record_class or asyncpg.Record, ignore_custom_codec)
        span = None if tracing.active is None else tracing.active.statement(query)
        rows, started = 0, perf_counter()
        try:
            with self._stmt_exclusive_section:
                try:
                    result = await self._execute_prepared(key, args, limit, timeout, return_status)
                except Exception as error:
                    await self._recover(error)
                    raise
            rows = len(result[0] if return_status else result)
            return result
        finally:
            record_database(seconds := perf_counter() - started)
            if self.target.store:
                usage = usage_of(self.target.store)
                usage.statements += 1
                usage.statement_seconds += seconds
                usage.rows_read += rows
            if span is not None:
                span.end()

    async def _execute_prepared(
        self, key: _StatementKey, args: Sequence[Any], limit: int, timeout: float | None, return_status: bool
    ) -> Any:
        """Prepare the statement if necessary and execute it: asyncpg's own code path costs as much as the statement itself."""
        protocol, is_repeated = self._protocol, False
        while True:
            statement = self._stmt_cache.get(key)
            deferred: bytes | None = None
            try:
                if statement is None or protocol._is_cancelling():
                    statement = await self._prepare(key, timeout)
                if protocol.is_in_transaction():
                    return await protocol.bind_execute(statement, args, "", limit, return_status, timeout)
                deferred = self._bind_next()
                result = await protocol.bind_execute(statement, args, "", limit, return_status, timeout)
            except asyncpg.InvalidCachedStatementError:
                # A table has changed; nothing was executed, so outside a transaction it can be repeated.
                self._drop_global_statement_cache()
                if protocol.is_in_transaction() or is_repeated:
                    raise
                is_repeated = True
            else:
                if not self._bind_name:
                    self._bind_name = self._sent_name
                return result
            finally:
                if deferred is not None:
                    self._keep_unsent(deferred)

    def _drop_global_statement_cache(self) -> None:
        # Not asyncpg's way, which asks for the proxy that `Pool.acquire` returns.
        holder = self._pool_holder and self._pool_holder()
        drop = self._drop_local_statement_cache if holder is None else holder._pool._drop_statement_cache
        drop()

    async def _prepare(self, key: _StatementKey, timeout: float | None) -> Any:
        """Return the prepared statement, once a cancellation under way has ended."""
        protocol = self._protocol
        if protocol._is_cancelling():
            await protocol._wait_for_cancellation(protocol._get_timeout(timeout))
        query, record_class, ignore_custom_codec = key
        return await self._get_statement(
            query,
            protocol._get_timeout(timeout),
            record_class=record_class,
            ignore_custom_codec=ignore_custom_codec,
        )

    async def _recover(self, error: Exception) -> None:
        """Make the connection usable after an error, or close it."""
        if isinstance(error, asyncpg.OutdatedSchemaCacheError):
            # A type has changed: the statement was executed, but its response can't be decoded.
            await self.reload_schema_state()
        elif isinstance(error, _LOST_STATE):
            self.terminate()  # it looks idle for a moment

    async def _get_statement(self, query: str, timeout: float | None, **options: Any) -> Any:
        """Prepare a statement in a transaction that has the binding: names are looked up in the schemas that the role may use."""
        key = (query, options.get("record_class") or asyncpg.Record, options.get("ignore_custom_codec", False))
        if options.get("use_cache", True) and (cached := self._stmt_cache.get(key)) is not None:
            return cached
        protocol = self._protocol
        if protocol._is_cancelling():
            await protocol._wait_for_cancellation(timeout)
        is_named = self.names_statements and len(query) <= self._config.max_cacheable_statement_size
        deferred = b"" if (is_bound := protocol.is_in_transaction()) else self._bind_next()
        try:
            statement = await super()._get_statement(
                query, timeout, **options | {"named": self._statement_name(query) if is_named else ""}
            )
        finally:
            if not is_bound:
                self._keep_unsent(deferred)
        if not is_named:
            statement.mark_unprepared()  # parsed again with each execution, because a binding or another server process comes between
        return statement

    def _statement_name(self, query: str) -> str:
        """Return a new name that contains a digest of the text: whatever a pooler confuses, no name stands for another statement."""
        return f"{blake2b(query.encode(), digest_size=12).hexdigest()}{self._get_unique_id('')}"

    def _bind_next(self) -> bytes:
        """Send the binding together with the next message, which must be that of a statement; return the deferred statements."""
        output = self._protocol.output
        deferred: bytes = output.prefix
        output.prefix = (self._messages.get(self.target) or self._message(self.target)) + deferred
        return deferred

    def _keep_unsent(self, deferred: bytes) -> None:
        """Keep the deferred statements, not the binding, where nothing was sent because an argument can't be encoded."""
        if self._protocol is not None and self.has_deferred:  # it may have been terminated meanwhile
            self._protocol.output.prefix = deferred

    def _message(self, target: BindingTarget) -> bytes:
        """Return the binding to a target."""
        if self.names_statements and not self._bind_name:
            # Another name each time until the server is known to have it.
            name = self._sent_name = self._statement_name(self.binding.sql)
            return parse(name, self.binding.sql) + binding_message(name, self.binding, target)
        message = binding_message(self._bind_name, self.binding, target)
        if not self._bind_name:
            message = parse("", self.binding.sql) + message
        if len(self._messages) >= MAX_MESSAGES:
            self._messages.clear()
        self._messages[target] = message
        return message

    def bind_with(self, binding: StoreBinding) -> None:
        """Use the binding from the next transaction on."""
        if binding is not self.binding:
            self.binding = binding
            self._bind_name, self._messages = "", {}


def affected_rows(result: tuple[Any, bytes, Any]) -> int:
    """Return the number of rows a statement affected, from the result of `run` with `return_status`."""
    count = result[1].decode().rpartition(" ")[2]
    return int(count) if count.isdigit() else 0
