"""Cursors of keyset pagination: the position of a row in a sorted list, opaque to clients.

They contain the row's id. Ids that are unique in the installation would reveal to a store how many rows all stores have, so cursors of such
tables are encrypted; those of numbered tables needn't be, and are only encoded, because that costs less.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import orjson

from auth.secrets import DecryptionError, decrypt_deterministic, encrypt_deterministic
from kernel.errors import ValidationFailed
from kernel.scope import Scope
from models.numbers import NUMBERED_TABLES
from models.queries import Condition, Entity, sort_of

_PURPOSE = "cursors"


def encode_cursor(entity: Entity, sort: str, key: Any, number: int) -> str:
    """Encode the position of a row in a list, its sort key and id; the cursor contains its sort order."""
    if isinstance(key, datetime):
        key = key.isoformat()
    position = orjson.dumps([sort, key, number])
    if entity.table not in NUMBERED_TABLES:
        position = encrypt_deterministic(_PURPOSE, position)
    return base64.urlsafe_b64encode(position).rstrip(b"=").decode()


def encode_cursors(entity: Entity, sort: str | None, keys: Iterable[tuple[Any, int]]) -> list[str]:
    """Encode the positions of a list's rows, from their sort keys and ids."""
    name = sort or entity.default_sort
    return [encode_cursor(entity, name, key, number) for key, number in keys]


def after_cursor(scope: Scope, entity: Entity, sort: str | None, cursor: str) -> Condition:
    """Return the condition for rows after the cursor; raise `ValidationFailed` when it is invalid or has another sort order."""
    order, descending = sort_of(entity, sort)
    comparison = "<" if descending else ">"
    # With types: an integer column would reject a key that only a bigint can hold.
    expression = order.expression(scope)
    return Condition(
        f"({expression.sql}, t.id) {comparison} ({{}}::{order.cast}, {{}}::bigint)",
        (*expression.params, *cursor_position(entity, sort, cursor)),
    )


def cursor_position(entity: Entity, sort: str | None, cursor: str, argument: str = "after") -> tuple[Any, int]:
    """Return the sort key and the id of a cursor; raise `ValidationFailed` when it is invalid or has another sort order."""
    name = sort or entity.default_sort
    try:
        position = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        if entity.table not in NUMBERED_TABLES:
            position = decrypt_deterministic(_PURPOSE, position)
        cursor_sort, key, row_id = orjson.loads(position)
        if (
            cursor_sort != name
            or not isinstance(row_id, int)
            or isinstance(row_id, bool)
            or not -(2**63) <= row_id < 2**63
        ):
            raise ValueError
        order, _ = sort_of(entity, sort)
        if order.cast == "timestamptz":
            key = datetime.fromisoformat(key)
            if key.tzinfo is None:
                raise ValueError
            key = key.astimezone(UTC)  # may overflow the calendar
        elif order.cast == "bigint":
            if not isinstance(key, int) or isinstance(key, bool) or not -(2**63) <= key < 2**63:
                raise ValueError
        elif not isinstance(key, str) or "\x00" in key:
            raise ValueError
    except (DecryptionError, ValueError, TypeError, OverflowError) as error:
        message = f"{argument} is not a cursor of this list"
        raise ValidationFailed(message, field=argument, code="invalid") from error
    return key, row_id
