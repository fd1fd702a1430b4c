"""Limit the objects and bytes of a client's answer while it is read (docs/reference/shared.md#graphql-limits).

The static cost of a document counts a relation without a size argument as ten records, whatever it holds. Operations of the facades have
no limit here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from asyncpg import Record

from kernel.errors import TooComplex

_SCALARS = frozenset({int, bool, float, type(None)})
_TEXT_OR_NULL = {str, type(None)}
# A larger answer is serialized in parts.
LARGE_OBJECTS, LARGE_BYTES = 500, 256 * 1024


class AnswerTooLarge(TooComplex):
    """Reject a document whose answer is over a limit, while it is executed."""


@dataclass(frozen=True, slots=True, eq=False)
class AnswerLimits:
    """The maximum number of objects and bytes of an answer; hashed by identity, because statements are cached by it."""

    max_objects: int
    max_bytes: int


class LargeAnswer(dict[str, Any]):
    """The data of an answer that takes long to serialize."""

    __slots__ = ()


class AnswerSize:
    """The objects and bytes of one answer so far: those it will hold, counted before it is built."""

    __slots__ = ("_bytes", "_objects", "_rows", "limits")

    def __init__(self, limits: AnswerLimits) -> None:
        self.limits = limits
        self._objects = 0
        self._rows = 0
        self._bytes = 0

    def mark(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the data, as a `LargeAnswer` if it is one."""
        if self._objects > LARGE_OBJECTS or self._rows > LARGE_OBJECTS or self._bytes > LARGE_BYTES:
            return LargeAnswer(data)
        return data

    def add(self, objects: int, size: int) -> None:
        """Count objects and bytes; raise `AnswerTooLarge` over a limit."""
        self._objects += objects
        self._bytes += size
        if self._objects > self.limits.max_objects:
            raise self._too_many_objects()
        if self._bytes > self.limits.max_bytes:
            raise too_many_bytes(self.limits)

    def add_rows(self, rows: int) -> None:
        """Count rows that the executor has still to turn into objects; raise `AnswerTooLarge` over the limit of objects."""
        self._rows += rows
        if self._rows > self.limits.max_objects:
            raise self._too_many_objects()

    def _too_many_objects(self) -> AnswerTooLarge:
        return AnswerTooLarge(f"the answer has more than {self.limits.max_objects} objects")


def too_many_bytes(limits: AnswerLimits) -> AnswerTooLarge:
    """Return the error of an answer over the limit of bytes."""
    return AnswerTooLarge(f"the answer has more than {limits.max_bytes} bytes")


_current: ContextVar[AnswerSize | None] = ContextVar("vitrine_answer_size", default=None)


current_answer: Callable[[], AnswerSize | None] = _current.get
"""Return the size of the answer that is being read; None without limits."""


class limited_answer:  # noqa: N801  # used like a function; a class is faster than a generator
    """Limit the answer that is read in a `with` block, and return its size."""

    __slots__ = ("_answer", "_token")

    def __init__(self, limits: AnswerLimits | None) -> None:
        self._answer = AnswerSize(limits) if limits is not None else None

    def __enter__(self) -> AnswerSize | None:
        self._token = _current.set(self._answer)
        return self._answer

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)


def count_nested(value: Any) -> int:
    """Return the number of objects in a value of the answer, itself included."""
    if isinstance(value, list):
        return sum([count_nested(item) for item in value])
    return 1 + sum([count_nested(item) for item in value.values()]) if isinstance(value, dict) else 0


def add_values(answer: AnswerSize, values: Iterable[Any]) -> None:
    """Count the objects in values of the answer and at most the number of their bytes, as `count_nested` and `value_size` do."""
    objects = size = 0
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            objects += 1
            size += len("".join(value))
            value = value.values()
        elif not isinstance(value, list):
            size += len(value) if isinstance(value, str) else 1
            continue
        for item in value:
            kind = type(item)
            if kind is str:
                size += len(item)
            elif kind in _SCALARS:
                size += 1
            else:
                waiting.append(item)
    answer.add(objects, size)


def total_size(values: list[Any]) -> int:
    """Return the sum of `value_size`; nearly all values are texts or null, whose lengths are added without code for each."""
    if set(map(type, values)) <= _TEXT_OR_NULL:
        return sum(map(len, filter(None, values))) + values.count(None)
    return sum([value_size(value) for value in values])


def value_size(value: Any) -> int:
    """Return at most the number of bytes that a value takes in the answer: its characters, for text."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list | Record):
        return sum([value_size(item) for item in value])
    if isinstance(value, dict):
        return sum([len(key) + value_size(item) for key, item in value.items()])
    return 1
