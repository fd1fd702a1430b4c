"""What binds a transaction to a store, and the messages that send it together with a statement.

Row-level security shows the rows of the store in the setting `vitrine.tenant`. It is set for one transaction at a time, as is everything
else that a connection through a pooler can't set when it starts (its role, time-outs): nothing is remembered of a session, because in
transaction mode a pooler gives each transaction another one, and a transaction without a binding sees no rows.

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

import struct
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

NO_STORE = 0


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

    def message(self, prepared_name: str, target: BindingTarget) -> bytes:
        """Return Bind and Execute of the prepared statement, and BEGIN for a transaction that stays open."""
        return bind_and_execute(prepared_name, self.values(target)) + (BEGIN if target.begins else b"")


# --- Messages of PostgreSQL's protocol (its documentation, section 54.7) that are sent before those of asyncpg ---------------------

# They have no Sync of their own: a statement in them and asyncpg's, which follows, are answered together, and if the first fails, the
# second isn't executed. asyncpg takes no notice of statements that return no rows.
FLUSH = b"H\0\0\0\4"

_AS_THEY_ARE = (str, int, UUID)
_LENGTH = struct.Struct("!i").pack
_COUNTS = struct.Struct("!hh").pack
_NULL = _LENGTH(-1)


def parse(prepared_name: str, sql: str) -> bytes:
    """Return Parse, for the unnamed statement with an empty name."""
    return _message(b"P", b"%s\0%s\0\0\0" % (prepared_name.encode(), sql.encode()))


def bind_and_execute(prepared_name: str, parameters: Sequence[str | None]) -> bytes:
    """Return Bind and Execute of a prepared statement: the unnamed portal, parameters in text format, no limit of rows."""
    parts = [b"\0%s\0%s" % (prepared_name.encode(), _COUNTS(0, len(parameters)))]
    for parameter in parameters:
        if parameter is None:
            parts.append(_NULL)
        else:
            value = parameter.encode()
            parts += (_LENGTH(len(value)), value)
    parts.append(b"\0\0")
    return _message(b"B", b"".join(parts)) + _EXECUTE


def parameter_text(value: object) -> str | None:
    """Return a parameter in PostgreSQL's text format, an array of such values as well; None is NULL. Raise TypeError for other types."""
    if value is None or type(value) is str:
        return value
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, _AS_THEY_ARE):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    if isinstance(value, list):
        return f"{{{','.join(map(_element, value))}}}"
    raise TypeError(f"no text format for {type(value).__name__}")


def _element(value: object) -> str:
    text = parameter_text(value)
    if text is None:
        return "NULL"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _message(kind: bytes, content: bytes) -> bytes:
    return kind + _LENGTH(len(content) + 4) + content


_EXECUTE = _message(b"E", b"\0\0\0\0\0")
BEGIN = parse("", "begin") + bind_and_execute("", ())
