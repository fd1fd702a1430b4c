"""What became of the records of a batch, and the numbers of new ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from kernel.scope import Scope

TakeNumbers: TypeAlias = Callable[[Scope, Mapping[str, int]], Awaitable[dict[str, range]]]
"""`models.numbers.take_numbers`, or `temporary_numbers` for what is rolled back."""


@dataclass(frozen=True, slots=True)
class RecordProblem:
    """What is wrong with a field of a record, `<part>.<field>` for one of a part; `item` is the place of the part in its list."""

    field: str
    message: str
    item: int | None = None


@dataclass(frozen=True, slots=True)
class RecordResult:
    """What became of a record."""

    state: Literal["created", "updated", "unchanged", "refused"]
    problems: Sequence[RecordProblem] = ()


async def temporary_numbers(scope: Scope, counts: Mapping[str, int]) -> dict[str, range]:
    """Return numbers that no record has, for rows that are rolled back: the store's next numbers stay as they are."""
    return {table: range(-count, 0) for table, count in counts.items()}
