"""Caches per caller, for the most recent callers: access conditions and the statements with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakSet, WeakValueDictionary

from kernel.scope import Actor, Scope, Store

T = TypeVar("T")

# Callers cached per statement, enough for a thousand stores in turn; and entries of all caches together (some 150 bytes each), after
# which all caches are cleared.
MAX_CALLERS = 2_048
MAX_ENTRIES = 200_000


class _EntryCounter:
    """Counts the entries of all caches."""

    def __init__(self) -> None:
        self.entries = 0
        self.caches: WeakSet[CallerCache[Any]] = WeakSet()

    def add(self) -> None:
        if self.entries >= MAX_ENTRIES:
            for cache in list(self.caches):
                cache.clear()
            self.entries = 0
        self.entries += 1


_counter = _EntryCounter()


class CallerCache(Generic[T]):
    """Cache of values computed from a scope's store and caller.

    `compute` must not use anything else of the scope. Store and caller are cached objects themselves (`auth.store_resolution`,
    `auth.credential_cache`) that are replaced when anything they depend on changes, so comparing identities is enough.
    """

    __slots__ = ("__weakref__", "_compute", "_counter", "_entries")

    def __init__(self, compute: Callable[[Scope], T]) -> None:
        self._compute = compute
        self._entries: dict[int, tuple[Actor, Store, T]] = {}
        self._counter = _counter
        self._counter.caches.add(self)

    def __del__(self) -> None:
        self._counter.entries -= len(self._entries)

    def clear(self) -> None:
        """Remove all entries."""
        self._entries.clear()

    def __call__(self, scope: Scope) -> T:
        """Return the value for the scope's store and caller."""
        actor = scope.actor
        # The entry references the caller, so its id() can't be reused.
        entry = self._entries.get(id(actor))
        if entry is not None and entry[0] is actor and entry[1] is scope.store:
            return entry[2]
        value = self._compute(scope)
        if entry is not None or len(self._entries) >= MAX_CALLERS:
            del self._entries[id(actor) if entry is not None else next(iter(self._entries))]
        else:
            self._counter.add()
        self._entries[id(actor)] = (actor, scope.store, value)
        return value


class AccessConditions:
    """The SQL conditions that follow from a caller's access, and the statements built with them."""

    __slots__ = ("__weakref__", "params", "statements", "texts")

    def __init__(self, texts: list[str], params: list[Any]) -> None:
        self.texts = tuple(texts)
        self.params = tuple(params)
        self.statements: dict[Any, Any] = {}


class AccessConditionsPool:
    """Interns `AccessConditions`, so that callers with equal access share one object and its statements."""

    __slots__ = ("_interned",)

    def __init__(self) -> None:
        self._interned: WeakValueDictionary[tuple[Any, ...], AccessConditions] = WeakValueDictionary()

    def __call__(self, texts: list[str], params: list[Any]) -> AccessConditions:
        """Return the shared object for these conditions."""
        # The filter of a connection may have a list.
        key = (*texts, *[tuple(value) if isinstance(value, list) else value for value in params])
        conditions = self._interned.get(key)
        if conditions is None:
            conditions = self._interned[key] = AccessConditions(texts, params)
        return conditions
