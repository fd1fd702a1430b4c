"""Cursors of keyset pagination: the position of a row in a sorted list, opaque to clients."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from kernel.errors import ValidationFailed
from kernel.scope import Scope
from models.queries import Condition, Entity, sort_of


def key_columns(scope: Scope, entity: Entity, sort: str | None) -> Condition:
    """Return the columns of a cursor: the sort key and the id."""
    order, _ = sort_of(entity, sort)
    key = order.expression(scope)
    return Condition(f"{key.sql}, t.id", key.params)


def encode_cursor(sort: str, row: Mapping[str, Any]) -> str:
    """Encode the position of a row in a list, its sort key `@key` and its id `@id`; the cursor contains its sort order."""
    key = row["@key"]
    if isinstance(key, datetime):
        key = key.isoformat()
    return base64.urlsafe_b64encode(orjson.dumps([sort, key, row["@id"]])).rstrip(b"=").decode()


def encode_cursors(entity: Entity, sort: str | None, keys: Iterable[tuple[Any, int]]) -> list[str]:
    """Encode the positions of a list's rows, from their sort keys and ids."""
    name = sort or entity.default_sort
    return [encode_cursor(name, {"@key": key, "@id": number}) for key, number in keys]


def after_cursor(scope: Scope, entity: Entity, sort: str | None, cursor: str) -> Condition:
    """Return the condition for rows after the cursor; raise `ValidationFailed` when it is invalid or has another sort order."""
    name = sort or entity.default_sort
    try:
        decoded = orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        cursor_sort, key, row_id = decoded
        if (
            cursor_sort != name
            or not isinstance(row_id, int)
            or isinstance(row_id, bool)
            or not -(2**63) <= row_id < 2**63
        ):
            raise ValueError
        order, descending = sort_of(entity, sort)
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
    except (ValueError, TypeError, OverflowError) as error:
        raise ValidationFailed("after is not a cursor of this list", field="after", code="invalid") from error
    comparison = "<" if descending else ">"
    # With types: an integer column would reject a key that only a bigint can hold.
    expression = order.expression(scope)
    return Condition(
        f"({expression.sql}, t.id) {comparison} ({{}}::{order.cast}, {{}}::bigint)",
        (*expression.params, key, row_id),
    )
