"""Spans of requests, operations, statements and deliveries, where tracing is configured (docs/tracing.md).

`active` is None without tracing: then nothing is created, and each place costs one comparison. `server/tracing.py` sets it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Span(Protocol):
    """A span that has begun."""

    def set(self, name: str, value: str | int) -> None:
        """Set an attribute."""
        ...

    def fail(self, reason: str) -> None:
        """Mark the span as failed; the reason is a type or a status, no text that may quote data."""
        ...

    def end(self) -> None:
        """End the span."""
        ...


class Tracing(Protocol):
    """Create spans, each a child of the current one of its task."""

    def request(self, name: str, headers: Mapping[str, str]) -> AbstractContextManager[Span]:
        """Begin the span of a request; its parent is that of the header `traceparent`, if there is one."""
        ...

    def operation(self, kind: str, name: str, run: Awaitable[T]) -> Awaitable[T]:
        """Await an operation of the schema in a span of its own."""
        ...

    def statement(self, sql: str) -> Span:
        """Begin the span of a statement, whose text contains no values; the caller ends it."""
        ...

    def delivery(
        self, event: str, traceparent: str | None, attributes: Mapping[str, Any]
    ) -> AbstractContextManager[Span]:
        """Begin the span of an attempt to deliver an event, as a child of the span that emitted it."""
        ...

    def traceparent(self) -> str | None:
        """Return the current span as a W3C `traceparent`; None outside of a span."""
        ...


active: Tracing | None = None


def configure(tracing: Tracing | None) -> None:
    """Use this from now on."""
    global active
    active = tracing
