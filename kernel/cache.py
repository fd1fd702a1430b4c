"""The bounded cache that every cache of a process uses: the entry used least recently makes place for a new one."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """At most `max_entries` values, and `max_weight` units of `weigh(value)`, such as bytes; a heavier value isn't kept at all.

    `on_drop` is called with each entry that is evicted, replaced or dropped, not with those that `clear` removes. A value is never None.
    """

    __slots__ = ("_entries", "_max_entries", "_max_weight", "_on_drop", "_weigh", "weight")

    def __init__(
        self,
        max_entries: float = math.inf,
        *,
        max_weight: float = math.inf,
        weigh: Callable[[V], int] | None = None,
        on_drop: Callable[[K, V], object] | None = None,
    ) -> None:
        self._max_entries, self._max_weight = max_entries, max_weight
        self._weigh, self._on_drop = weigh, on_drop
        self._entries: OrderedDict[K, V] = OrderedDict()
        self.weight = 0
        """The weight of all values."""

    def find(self, key: K) -> V | None:
        """Return the value of a key, which counts as a use; None for an unknown one."""
        value = self._entries.get(key)
        if value is not None:
            self._entries.move_to_end(key)
        return value

    def keep(self, key: K, value: V) -> None:
        """Keep a value in place of the key's earlier one, and evict others while a limit is exceeded."""
        self.drop(key)
        weight = 0 if self._weigh is None else self._weigh(value)
        if weight > self._max_weight:
            return
        self._entries[key] = value
        self.weight += weight
        while len(self._entries) > self._max_entries or self.weight > self._max_weight:
            self.drop(next(iter(self._entries)))

    def drop(self, key: K) -> None:
        """Drop a key, if it is known."""
        value = self._entries.pop(key, None)
        if value is None:
            return
        if self._weigh is not None:
            self.weight -= self._weigh(value)
        if self._on_drop is not None:
            self._on_drop(key, value)

    def clear(self) -> None:
        """Drop everything."""
        self._entries.clear()
        self.weight = 0

    def items(self) -> list[tuple[K, V]]:
        """Return all entries, the least recently used first."""
        return list(self._entries.items())

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[K]:
        return iter(list(self._entries))
