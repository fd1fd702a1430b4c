"""Write rows of one table of the store: one row, or a statement for many, which then name the same columns.

Columns are named without `tenant_id` and `public_id`. Tables and columns are constants of the callers, and become part of the statement;
the values of many rows are sent as one JSON array.

What a row has already is not written again: functions that change rows compare in the statement, with the row as it is then (also after
waiting for another writer), and return what they changed, so that the caller emits, records and counts nothing for a write that changes
nothing (docs/reference/shared.md#writes-that-change-nothing). `updated_at` is set with other columns and never compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import orjson

from kernel.ids import uuid7
from kernel.scope import Scope
from models.connection.database import execute, execute_later, fetch, fetchval

T = TypeVar("T")

_TIME = "updated_at"


def from_row(cls: type[T], row: Mapping[str, Any], **values: Any) -> T:
    """Make an object of a data class with these values, and for the other fields the row's columns of the same names."""
    columns = {field.name: row[field.name] for field in fields(cls) if field.name not in values}  # type: ignore[arg-type]
    return cls(**columns, **values)


def json_text(value: object) -> str:
    """Return a value as JSON, for a parameter that PostgreSQL reads as `text::jsonb`."""
    return orjson.dumps(value).decode()


def rows_json(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as a JSON array, each with a new `public_id` unless it has one, for a parameter of `rows_sql`."""
    return json_text([{"public_id": uuid7(), **row} for row in rows])


def rows_sql(table: str, parameter: int = 2) -> str:
    """Return the source of the rows `r` of a table in a parameter that is a JSON array."""
    return f"jsonb_populate_recordset(NULL::{table}, ${parameter}::text::jsonb) AS r"


def insert_sql(table: str, columns: Iterable[str], source: str = "") -> str:
    """Return the statement that inserts the rows `r` of a source, by default those in `$2`: their `public_id` and these columns."""
    names = dict.fromkeys(("public_id", *columns))
    values = ", ".join(f"r.{name}" for name in names)
    return f"INSERT INTO {table} (tenant_id, {', '.join(names)}) SELECT $1, {values} FROM {source or rows_sql(table)}"


async def insert_rows(
    scope: Scope, table: str, rows: Sequence[Mapping[str, Any]], *, unique: Sequence[str] = ()
) -> set[Any]:
    """Insert rows; of those that are there by the columns `unique`, the other columns are set.

    Return which values of the first column of `unique`, the owner, have a new or changed row.
    """
    if not rows:
        return set()
    statement = insert_sql(table, rows[0])
    if not unique:
        await execute(statement, scope.store.id, rows_json(rows))
        return set()
    statement += (
        f" WHERE NOT {_is_stored(table, rows[0], unique)}{_on_conflict(rows[0], unique)} RETURNING {unique[0]} AS owner"
    )
    return {row["owner"] for row in await fetch(statement, scope.store.id, rows_json(rows))}


async def insert_numbered_rows(scope: Scope, table: str, rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """Insert rows, with a new `public_id` unless they have one, and return their ids in order."""
    if not rows:
        return []
    complete = [{"public_id": uuid7(), **row} for row in rows]
    statement = insert_sql(table, rows[0]) + " RETURNING public_id, id"
    inserted = await fetch(statement, scope.store.id, rows_json(complete))
    ids = {row["public_id"]: row["id"] for row in inserted}
    return [ids[row["public_id"]] for row in complete]


async def insert_row(scope: Scope, table: str, *, conflict: str = "", **columns: Any) -> Any:
    """Insert a row, with a new `public_id` unless `columns` have one, and return its id.

    `conflict` is an `ON CONFLICT` clause; the id is None where it leaves the existing row as it is.
    """
    statement, values = _insert_one(table, columns)
    return await fetchval(f"{statement} {conflict} RETURNING id", scope.store.id, *values)


async def insert_row_later(scope: Scope, table: str, **columns: Any) -> None:
    """Insert a row as `insert_row`, with the next statement (`execute_later`): for a row that violates no constraint."""
    statement, values = _insert_one(table, columns)
    await execute_later(statement, scope.store.id, *values)


def _insert_one(table: str, columns: Mapping[str, Any]) -> tuple[str, Sequence[Any]]:
    """Return the statement that inserts a row, and its parameters after the store."""
    values = {"public_id": uuid7(), **columns}
    places = ", ".join(f"${place}" for place in range(2, len(values) + 2))
    return f"INSERT INTO {table} (tenant_id, {', '.join(values)}) VALUES ($1, {places})", [*values.values()]


async def update_row(scope: Scope, table: str, row_id: int, *, touch: bool = False, **columns: Any) -> bool:
    """Set columns of the row with the id where one differs, and return whether it changed; with `touch` in any case, for `updated_at`."""
    places = {name: f"${place}" for place, name in enumerate(columns, 3)}
    changes = ", ".join(f"{name} = {place}" for name, place in places.items())
    statement = (
        f"UPDATE {table} x SET {changes} WHERE x.tenant_id = $1 AND x.id = $2{'' if touch else _differs(places)}"
    )
    is_needed = columns.keys() - ({} if touch else {_TIME})
    return bool(is_needed) and await execute(statement, scope.store.id, row_id, *columns.values()) > 0


async def mark_deleted(scope: Scope, table: str, row_id: int) -> bool:
    """Delete the row with the id softly, and return whether it was there."""
    statement = (
        f"UPDATE {table} SET deleted_at = $3, updated_at = $3 WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL"
    )
    return await execute(statement, scope.store.id, row_id, scope.now) > 0


async def delete_rows(scope: Scope, table: str, **columns: Any) -> int:
    """Delete the rows with these values, of at least one column, and return how many there were."""
    condition = " AND ".join(f"{name} = ${place}" for place, name in enumerate(columns, 2))
    statement = f"DELETE FROM {table} WHERE tenant_id = $1 AND {condition}"
    return await execute(statement, scope.store.id, *columns.values())


async def update_rows(scope: Scope, table: str, rows: Sequence[Mapping[str, Any]], *, touch: bool = False) -> set[int]:
    """Set the columns of rows by their `id` where one differs (with `touch`: all), and return the ids of the changed ones."""
    if not rows:
        return set()
    values = {name: f"r.{name}" for name in rows[0] if name != "id"}
    changes = ", ".join(f"{name} = {value}" for name, value in values.items())
    statement = f"""
UPDATE {table} x SET {changes} FROM {rows_sql(table)}
WHERE x.tenant_id = $1 AND x.id = r.id{"" if touch else _differs(values)} RETURNING x.id
"""
    return {row["id"] for row in await fetch(statement, scope.store.id, json_text(rows))}


async def replace_rows(
    scope: Scope, table: str, owner: str, owner_ids: Sequence[int], rows: Sequence[Mapping[str, Any]], *, key: str = ""
) -> set[int]:
    """Replace the rows whose column `owner` is one of these ids, and return the owners for which a row was added, changed or deleted.

    With a `key`, unique for each owner, rows that stay keep their ids; without one, rows that are equal in all columns.
    """
    dropped = f"DELETE FROM {table} x WHERE x.tenant_id = $1 AND x.{owner} = ANY($2::bigint[])"
    if not rows:
        deleted = await fetch(f"{dropped} RETURNING x.{owner} AS owner", scope.store.id, list(owner_ids))
        return {row["owner"] for row in deleted}
    unique = (owner, key) if key else ()
    source = f"r WHERE NOT {_is_stored(table, rows[0], unique or (owner,))}"
    statement = f"""
WITH r AS (SELECT * FROM {rows_sql(table, 3)}),
dropped AS ({dropped} AND NOT EXISTS (SELECT FROM r WHERE {_same(unique or rows[0])}) RETURNING x.{owner} AS owner),
written AS ({insert_sql(table, rows[0], source)}{_on_conflict(rows[0], unique)} RETURNING {owner} AS owner)
SELECT owner FROM dropped UNION SELECT owner FROM written
"""
    return {row["owner"] for row in await fetch(statement, scope.store.id, list(owner_ids), rows_json(rows))}


def _is_stored(table: str, row: Mapping[str, Any], unique: Iterable[str]) -> str:
    """Return the condition that the table has a row equal to `r`; the index on the columns `unique` finds it."""
    matching = " AND ".join(f"x.{name} = r.{name}" for name in unique)
    return f"EXISTS (SELECT FROM {table} x WHERE x.tenant_id = $1 AND {matching} AND {_same(row)})"


def _same(names: Iterable[str]) -> str:
    return f"NOT {_distinct({name: f'r.{name}' for name in names})}"


def _differs(values: Mapping[str, str]) -> str:
    """Return the condition that a column of the row `x`, besides the time of its update, isn't as the expression of its value."""
    return f" AND {_distinct({name: value for name, value in values.items() if name != _TIME})}"


def _distinct(values: Mapping[str, str]) -> str:
    return f"(({', '.join(f'x.{name}' for name in values)}) IS DISTINCT FROM ({', '.join(values.values())}))"


def _on_conflict(row: Mapping[str, Any], unique: Sequence[str]) -> str:
    if not unique:
        return ""
    changes = ", ".join(f"{name} = excluded.{name}" for name in row if name not in unique)
    return f" ON CONFLICT (tenant_id, {', '.join(unique)}) DO {f'UPDATE SET {changes}' if changes else 'NOTHING'}"
