"""Remember what a caller's rights make of a statement, for the callers seen last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from kernel.scope import Actor, Scope, Store

T = TypeVar("T")

MOST_CALLERS = 16


class PerCaller(Generic[T]):
    """Make something of a scope's store and caller, once for both.

    `make` looks at nothing else of the scope. Store and caller are remembered values (`auth.memory`, `auth.tenancy`): the same object
    serves request after request until anything it rests on changes, and then there is another. So identity is all there is to compare.
    What `make` raises is not kept.
    """

    __slots__ = ("_kept", "_make")

    def __init__(self, make: Callable[[Scope], T]) -> None:
        self._make = make
        self._kept: dict[int, tuple[Actor, Store, T]] = {}

    def __call__(self, scope: Scope) -> T:
        """Give what was made for the scope's store and caller."""
        actor = scope.actor
        # The caller is kept with what was made, so its id can't become another's meanwhile.
        kept = self._kept.get(id(actor))
        if kept is not None and kept[0] is actor and kept[1] is scope.store:
            return kept[2]
        made = self._make(scope)
        if len(self._kept) >= MOST_CALLERS:
            del self._kept[next(iter(self._kept))]
        self._kept[id(actor)] = (actor, scope.store, made)
        return made


class Rights:
    """Hold the conditions that a caller's rights put into a statement, and the statements written for it so far."""

    __slots__ = ("params", "texts", "written")

    def __init__(self, texts: list[str], params: list[Any]) -> None:
        self.texts = tuple(texts)
        self.params = tuple(params)
        self.written: dict[Any, Any] = {}
