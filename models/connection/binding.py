"""Tenant isolation: what binds a transaction to a store; `models.connection.connections` sends it together with a statement.

Row-level security shows the rows of the store in the setting `vitrine.tenant`. It is set for one transaction at a time, as is everything
else that a connection through a pooler can't set when it starts (its role, time-outs): nothing is remembered of a session, because in
transaction mode a pooler gives each transaction another one. From a transaction without a binding row-level security hides all rows.

    outside of a transaction   Bind and Execute of `StoreBinding.sql`, then those of the statement, whose Sync ends both: one implicit
                               transaction, one round trip
    begins a transaction       the same with a BEGIN before the statement: the implicit transaction becomes the explicit one, with its
                               settings, and a transaction that runs nothing sends nothing
    in a transaction           nothing: it has its binding

All are written in one piece, or neither is (where an argument can't be encoded), so that no binding is sent without a Sync.
`tests/models/test_store_binding.py` runs generated interleavings of tasks, cancellations,
time-outs and errors and checks the store of every result, directly and through PgBouncer.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from kernel.shares import NO_STORE as NO_STORE


class Plans(StrEnum):
    """How PostgreSQL plans the statements of a transaction (`plan_cache_mode`).

    `REUSED`: once per connection, for rows that the same indexes find whatever the keys are. By itself it plans `= ANY($n)` at each
    execution, which takes longer than that: it expects more rows of ten unknown keys. `FOR_VALUES`: at each execution, because the best
    plan for one value reads the whole table for another.
    """

    AUTOMATIC = "auto"
    REUSED = "force_generic_plan"
    FOR_VALUES = "force_custom_plan"


class BindingTarget(NamedTuple):
    """What a transaction is bound to: the store, how its statements are planned, and for replicas (`models.connection.replicas`) a
    position.

    `begins`: it stays open after its first statement.
    """

    store: int = NO_STORE
    plans: Plans = Plans.AUTOMATIC
    position: int = 0
    begins: bool = False


NO_TARGET = BindingTarget()

binding_target = lru_cache(maxsize=4_096)(BindingTarget)
"""Return a target; most are those of a few stores."""


class StoreBinding:
    """The settings of each transaction on the connections of a pool: those of its target, and `settings` for all of them."""

    __slots__ = ("_values", "sql")

    def __init__(self, settings: Mapping[str, str]) -> None:
        names = ("vitrine.tenant", "plan_cache_mode", *settings)
        calls = [f"set_config('{name}', ${number}, true) is null" for number, name in enumerate(names, 1)]
        # No result row: asyncpg reads the rows of the statement that follows as if this one weren't there.
        self.sql = f"select 1 where {' or '.join(calls)}"
        self._values = tuple(settings.values())

    def values(self, target: BindingTarget) -> tuple[str, ...]:
        """Return the parameters of `sql` for a target; the store `NO_STORE` shows no rows."""
        return (str(target.store) if target.store else "", target.plans.value, *self._values)
