"""Remember what a caller's rights make of a statement, for the callers seen last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakSet, WeakValueDictionary

from kernel.scope import Actor, Scope, Store

T = TypeVar("T")

# How many callers one statement is remembered for, so that a thousand stores can take turns; and how many all statements together
# are, at some 150 bytes each, before all of it is forgotten.
MOST_CALLERS = 2_048
MOST_KEPT = 200_000


class _Budget:
    """Count what all of them keep."""

    def __init__(self) -> None:
        self.spent = 0
        self.all: WeakSet[PerCaller[Any]] = WeakSet()

    def spend(self) -> None:
        if self.spent >= MOST_KEPT:
            for each in list(self.all):
                each.forget()
            self.spent = 0
        self.spent += 1


_budget = _Budget()


class PerCaller(Generic[T]):
    """Make something of a scope's store and caller, once for both.

    `make` looks at nothing else of the scope. Store and caller are cached values (`auth.credential_cache`, `auth.tenancy`): the same
    object serves request after request until anything it rests on changes, and then there is another. So identity is all there is to compare.
    What `make` raises is not kept.
    """

    __slots__ = ("__weakref__", "_kept", "_make")

    def __init__(self, make: Callable[[Scope], T]) -> None:
        self._make = make
        self._kept: dict[int, tuple[Actor, Store, T]] = {}
        _budget.all.add(self)

    def __del__(self) -> None:
        _budget.spent -= len(self._kept)

    def forget(self) -> None:
        """Forget every caller."""
        self._kept.clear()

    def __call__(self, scope: Scope) -> T:
        """Give what was made for the scope's store and caller."""
        actor = scope.actor
        # The caller is kept with what was made, so its id can't become another's meanwhile.
        kept = self._kept.get(id(actor))
        if kept is not None and kept[0] is actor and kept[1] is scope.store:
            return kept[2]
        made = self._make(scope)
        if kept is not None or len(self._kept) >= MOST_CALLERS:
            del self._kept[id(actor) if kept is not None else next(iter(self._kept))]
        else:
            _budget.spend()
        self._kept[id(actor)] = (actor, scope.store, made)
        return made


class Rights:
    """Hold the conditions that a caller's rights put into a statement, and the statements written for it so far."""

    __slots__ = ("__weakref__", "params", "texts", "written")

    def __init__(self, texts: list[str], params: list[Any]) -> None:
        self.texts = tuple(texts)
        self.params = tuple(params)
        self.written: dict[Any, Any] = {}


class Interned:
    """Give callers of equal rights the same `Rights`, so that what is kept for each of them is little more than its name."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: WeakValueDictionary[tuple[Any, ...], Rights] = WeakValueDictionary()

    def __call__(self, texts: list[str], params: list[Any]) -> Rights:
        """Give the rights of these conditions."""
        key = (*texts, *params)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Rights(texts, params)
        return found
