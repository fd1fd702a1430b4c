"""Count what each store uses in this process; `server.usage` adds it to the table `store_usage` once a minute.

Plain attributes of one object a store, because every statement and every request adds to them.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from time import perf_counter
from typing import Any, Generic, TypeVar

T = TypeVar("T")

COUNTED = ("requests", "cpu_seconds", "statements", "statement_seconds", "rows_read", "webhooks", "mails")
"""What is added up over hours."""
STORED = ("stored_rows", "table_bytes", "media_bytes", "file_bytes")
"""What is measured; the last measurement counts."""
MEASURES = (*COUNTED, *STORED)


class Usage:
    """What a store used: `cpu_seconds` are those of the event loop and of threads, `statement_seconds` include the way to PostgreSQL."""

    __slots__ = COUNTED

    def __init__(self) -> None:
        self.requests = self.statements = self.rows_read = self.webhooks = self.mails = 0
        self.cpu_seconds = self.statement_seconds = 0.0

    def add(self, other: Usage) -> None:
        """Add what another object counted."""
        for name in COUNTED:
            setattr(self, name, getattr(self, name) + getattr(other, name))


_by_store: dict[int, Usage] = {}


def usage_of(store: int) -> Usage:
    """Return the counts of a store, for the current step only: they may be taken meanwhile."""
    usage = _by_store.get(store)
    if usage is None:
        usage = _by_store[store] = Usage()
    return usage


def take_usage() -> dict[int, Usage]:
    """Return the counts by store, and begin again."""
    taken = _by_store.copy()
    _by_store.clear()
    return taken


def put_back(usage: dict[int, Usage]) -> None:
    """Add counts that could not be stored."""
    for store, counts in usage.items():
        usage_of(store).add(counts)


class Measured(Generic[T]):
    """Await a coroutine and add up, in `seconds`, the time of its steps: between them other tasks run.

    It is the time of the event loop and not that of the processor, which takes a microsecond to read: they differ where cores are short.
    """

    __slots__ = ("_coroutine", "seconds")

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self.seconds = 0.0

    def __await__(self) -> Generator[Any, Any, T]:
        """Run the coroutine; in local variables, because every request does."""
        coroutine = self._coroutine
        step: Any = coroutine.send
        value: Any = None
        seconds, began = 0.0, perf_counter()
        try:
            while True:
                waits_for = step(value)
                seconds += perf_counter() - began
                try:
                    value = yield waits_for
                    step = coroutine.send
                except BaseException as error:  # a cancellation
                    step, value = coroutine.throw, error
                began = perf_counter()
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            self.seconds = seconds + perf_counter() - began


async def measured(store: int, coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine of a store and count the time of its steps."""
    work = Measured(coroutine)
    try:
        return await work
    finally:
        usage_of(store).cpu_seconds += work.seconds
