"""Cursors of keyset pagination: the position of a row in a sorted list, opaque to clients.

They contain the row's id. Ids that are unique in the installation would reveal to a store how many rows all stores have, so cursors of such
tables are encrypted; those of numbered tables needn't be, and are only encoded, because that costs less.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from auth.secrets import DecryptionError, decrypt_deterministic, encrypt_deterministic
from kernel.errors import ValidationFailed
from kernel.scope import Scope
from models.numbers import NUMBERED_TABLES
from models.reading.queries import Condition, Entity, Sort, sort_of

_PURPOSE = "cursors"


@dataclass(frozen=True, slots=True)
class KeysetOrder:
    """The order of a connection's rows: a sort key, then the id. `name`, descending with a leading `-`, is part of its cursors."""

    table: str
    name: str
    sort: Sort

    @classmethod
    def of(cls, entity: Entity, sort: str | None) -> KeysetOrder:
        """Return the order of an entity's sort, by default its own."""
        return cls(entity.table, sort or entity.default_sort, sort_of(entity, sort)[0])

    @property
    def is_descending(self) -> bool:
        """Return whether the highest key comes first."""
        return self.name.startswith("-")

    def reversed_name(self) -> str:
        """Return the name of the opposite order."""
        return self.name[1:] if self.is_descending else f"-{self.name}"

    def encode(self, key: Any, number: int) -> str:
        """Encode the position of a row: its sort key and id."""
        if isinstance(key, datetime):
            key = key.isoformat()
        position = orjson.dumps([self.name, key, number])
        if self.table not in NUMBERED_TABLES:
            position = encrypt_deterministic(_PURPOSE, position)
        return base64.urlsafe_b64encode(position).rstrip(b"=").decode()

    def position(self, argument: str, cursor: str) -> tuple[Any, int]:
        """Return the sort key and id of a cursor; raise `ValidationFailed` when it is invalid or has another order."""
        try:
            return self._decode(cursor)
        except (DecryptionError, ValueError, TypeError, OverflowError) as error:
            raise ValidationFailed(
                f"{argument} is not a cursor of this list", field=argument, code="invalid"
            ) from error

    def beyond(self, scope: Scope, argument: str, cursor: str) -> Condition:
        """Return the condition for rows after or before (the `argument`) the cursor; raise as `position`."""
        key, row_id = self.position(argument, cursor)
        comparison = "<" if self.is_descending is (argument == "after") else ">"
        # With types: an integer column would reject a key that only a bigint can hold.
        expression = self.sort.expression(scope)
        return Condition(
            f"({expression.sql}, t.id) {comparison} ({{}}::{self.sort.cast}, {{}}::bigint)",
            (*expression.params, key, row_id),
        )

    def _decode(self, cursor: str) -> tuple[Any, int]:
        position = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        if self.table not in NUMBERED_TABLES:
            position = decrypt_deterministic(_PURPOSE, position)
        name, key, row_id = orjson.loads(position)
        if name != self.name or not _is_int64(row_id):
            raise ValueError
        if self.sort.cast == "timestamptz":
            key = datetime.fromisoformat(key)
            if key.tzinfo is None:
                raise ValueError
            key = key.astimezone(UTC)  # may overflow the calendar
        elif self.sort.cast == "bigint":
            if not _is_int64(key):
                raise ValueError
        elif not isinstance(key, str) or "\x00" in key:
            raise ValueError
        return key, row_id


def _is_int64(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63
