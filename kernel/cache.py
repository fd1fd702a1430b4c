"""The bounded cache that every cache of a process uses: the entry used least recently makes place, and callers share it fairly."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterator
from typing import Generic, TypeVar

from kernel.scope import current_scope
from kernel.shares import shares_of

_MAX_PART = 1 / 8
"""The part of a full cache that an address may fill at the cost of others."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """At most `max_entries` values, and `max_weight` units of `weigh(value)`, such as bytes; a heavier value isn't kept at all.

    When the cache is full, the value used least recently makes place for a new one. An entry counts for the client address of the
    request that added it; an address with more than an eighth of the cache loses one of its own instead, so that one caller can't empty
    it by adding many.

    `on_drop` is called with each entry that is evicted, replaced or dropped, not with those that `clear` removes. A value is never None.
    """

    __slots__ = ("_entries", "_max_entries", "_max_weight", "_on_drop", "_pending", "_shares", "_weigh", "weight")

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
        self._entries: OrderedDict[K, tuple[V, _Share[K]]] = OrderedDict()
        self._shares: dict[str, _Share[K]] = {}
        self._pending: dict[K, asyncio.Future[None]] = {}
        self.weight = 0
        """The weight of all values."""

    def find(self, key: K) -> V | None:
        """Return the value of a key, which counts as a use; None for an unknown one."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        value, share = entry
        self._entries.move_to_end(key)
        share.keys.move_to_end(key)
        return value

    def keep(self, key: K, value: V, address: str | None = None) -> None:
        """Keep a value in place of the key's earlier one, and evict others while a limit is exceeded.

        It counts for an address of `kernel.shares`, by default that of the running request.
        """
        self.drop(key)
        weight = self._weight(value)
        if weight > self._max_weight:
            return
        name = shares_of(current_scope())[0] if address is None else address
        share = self._shares.setdefault(name, _Share(name))
        self._entries[key] = value, share
        share.keys[key] = None
        share.weight += weight
        self.weight += weight
        while len(self._entries) > self._max_entries or self.weight > self._max_weight:
            self.drop(next(iter(share.keys if self._is_large(share) else self._entries)))

    async def find_or_make(self, key: K, make: Callable[[], Awaitable[V]]) -> V:
        """Return the value of a key, or what `make` returns, which keeps it; who looks for the same meanwhile waits for it."""
        while (value := self.find(key)) is None and (pending := self._pending.get(key)) is not None:
            await asyncio.wait([pending])
        if value is not None:
            return value
        self._pending[key] = asyncio.get_running_loop().create_future()
        try:
            return await make()
        finally:
            self._pending.pop(key).set_result(None)

    def drop(self, key: K) -> None:
        """Drop a key, if it is known."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        value, share = entry
        weight = self._weight(value)
        self.weight -= weight
        share.weight -= weight
        del share.keys[key]
        if not share.keys:
            del self._shares[share.address]
        if self._on_drop is not None:
            self._on_drop(key, value)

    def clear(self) -> None:
        """Drop everything."""
        self._entries.clear()
        self._shares.clear()
        self.weight = 0

    def items(self) -> list[tuple[K, V]]:
        """Return all entries, the least recently used first."""
        return [(key, value) for key, (value, _) in self._entries.items()]

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[K]:
        return iter(list(self._entries))

    def _weight(self, value: V) -> int:
        return 0 if self._weigh is None else self._weigh(value)

    def _is_large(self, share: _Share[K]) -> bool:
        part = max(len(share.keys) / self._max_entries, share.weight / self._max_weight)
        return part > _MAX_PART and len(share.keys) > 1


class _Share(Generic[K]):
    """The keys of one address, the one used least recently first."""

    __slots__ = ("address", "keys", "weight")

    def __init__(self, address: str) -> None:
        self.address = address
        self.keys: OrderedDict[K, None] = OrderedDict()
        self.weight = 0
