"""Write records that keep the numbers of their source, in batches: all rows of a batch in one transaction.

A record is its own row and the rows of its parts. What it replaces are the rows of an earlier import of the same record; a number that
another record of the store has is refused (`NumberTaken`). Nothing else happens: no event, no mail, no change of stock.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

import orjson

from domain.imports.references import REFERENCE_KEY, find_imported_ids, lock_import, reference_row
from kernel.ids import uuid7
from kernel.scope import Scope
from models.connection.database import execute, fetch, fetchval, transaction
from models.numbers import raise_numbers
from models.rows import insert_rows, insert_sql, json_text
from models.tables.base import StoreModel

Row = dict[str, Any]
Rows = dict[str, list[Row]]


class NumberTaken(Exception):
    """A number of the source belongs to another record of the store."""


class PartNumbers(Enum):
    """What becomes of the numbers of parts: none are shown, they are kept, or kept unless another record's part has them."""

    NONE = "none"
    KEPT = "kept"
    PREFERRED = "preferred"


@dataclass(frozen=True)
class ImportTable:
    """The columns of a table that an import writes: all besides the id and those in `without`; of those that a row lacks, the defaults.

    `owner` is the column with the record's number, empty for the record's own table. Rows of a `shared` table belong to several records:
    they are inserted where they are missing, by the columns in `shared`. An update leaves the columns in `only_new`, and sets those in
    `on_update` to an expression. `natural_key` identifies rows that every store has: they get the numbers of the source. Rows with an
    `external_id` keep the number they got once (`PREFERRED`), as references of `reference_kind`. `insert` replaces the generated statement;
    `before_update` runs before the parts of changed records are written; rows that `cascades` deletes need no statement for that.
    `complete` sets columns that the source doesn't have. Of a table that `keeps` its rows none is deleted, but by
    `before_update` of changed records that have such rows, and none is changed: the missing ones are added.
    """

    model: type[StoreModel]
    without: tuple[str, ...] = ()
    owner: str = ""
    numbers: PartNumbers = PartNumbers.NONE
    shared: tuple[str, ...] = ()
    only_new: frozenset[str] = frozenset({"created_at"})
    on_update: Mapping[str, str] = field(default_factory=dict)
    natural_key: tuple[str, ...] = ()
    reference_kind: str = ""
    insert: str = ""
    before_update: str = ""
    cascades: bool = False
    keeps: bool = False
    complete: Callable[[Scope, list[Row]], Awaitable[None]] | None = None

    @property
    def name(self) -> str:
        """Return the table's name."""
        return str(self.model._meta.db_table)

    @property
    def has_numbers(self) -> bool:
        """Return whether the rows have numbers of the store."""
        return not self.owner or self.numbers is not PartNumbers.NONE

    @cached_property
    def written(self) -> tuple[str, ...]:
        """Return the columns that are written."""
        return tuple(name for name in self.model.column_defaults() if name not in self.without)

    @cached_property
    def defaults(self) -> Row:
        """Return the values of columns that a row does not name."""
        defaults = self.model.column_defaults()
        return {name: defaults[name] for name in self.written}

    @cached_property
    def insert_sql(self) -> str:
        """Return the statement that inserts rows without a number."""
        return self.insert or insert_sql(self.name, self.written)

    @cached_property
    def upsert_sql(self) -> str:
        """Return the statement that inserts rows with their numbers, or updates those of the same owner."""
        updated = [name for name in self.written if name not in self.only_new]
        changes = ", ".join(f"{name} = {self.on_update.get(name, f'excluded.{name}')}" for name in updated)
        same_owner = f" WHERE {self.name}.{self.owner} = excluded.{self.owner}" if self.owner else ""
        return f"{insert_sql(self.name, ('id', *self.written))} ON CONFLICT (tenant_id, id) DO UPDATE SET {changes}{same_owner}"


class ImportKind:
    """A kind of records: its name in references, and its tables in the order in which rows are written."""

    def __init__(self, name: str, *tables: ImportTable) -> None:
        self.name, self.tables = name, tables

    @property
    def own(self) -> ImportTable:
        """Return the records' own table."""
        return next(table for table in self.tables if not table.owner and not table.shared)


Reference = tuple[str, int]
"""A table and the number of one of its rows."""


@dataclass(frozen=True, slots=True)
class ImportedRecord:
    """A record to write: its number here, its id and digest at the source, and its rows by table.

    Of a table of parts that `rows` doesn't name, the record keeps what it has. `missing` is what it refers to at the source and its rows
    don't, because it is not here.
    """

    number: int
    external_id: str
    digest: bytes
    rows: Rows
    missing: frozenset[Reference] = frozenset()


@dataclass(frozen=True, slots=True)
class ImportedBefore:
    """A record that was imported before: its number here, its digest then, and what it refers to that was not here."""

    number: int
    digest: bytes
    missing: frozenset[Reference]


_DELETE_PARTS = "DELETE FROM {table} WHERE tenant_id = $1 AND {owner} = ANY($2::bigint[])"
_DELETE_MISSING = _DELETE_PARTS + " AND id <> ALL($3::bigint[])"
_OWNERS = "SELECT id, {owner} AS owner FROM {table} WHERE tenant_id = $1 AND id = ANY($2::bigint[])"
_EXISTING = "SELECT id FROM {table} WHERE tenant_id = $1 AND id = ANY($2::bigint[]) ORDER BY id"
_USED = """
SELECT t.{column} AS value FROM {table} t JOIN unnest($2::bigint[], $3::text[]) AS r (id, value) ON t.{column} = r.value AND t.id <> r.id
WHERE t.tenant_id = $1 AND t.deleted_at IS NULL
"""
_IMPORTED = """
SELECT t.id FROM {table} t
JOIN external_references r ON r.tenant_id = t.tenant_id AND r.source = $2 AND r.kind = $3 AND r.local_id = t.{owner}
WHERE t.tenant_id = $1"""
_REFERENCES = """
SELECT external_id, local_id, digest, missing::text FROM external_references WHERE tenant_id = $1 AND source = $2 AND kind = $3
"""


async def load_references(scope: Scope, source: str, kind: str) -> dict[str, ImportedBefore]:
    """Return all records of a kind that were imported before, by their ids at the source."""
    rows = await fetch(_REFERENCES, scope.store.id, source, kind)
    return {
        row["external_id"]: ImportedBefore(row["local_id"], row["digest"] or b"", _references(row["missing"]))
        for row in rows
    }


def _references(stored: str | None) -> frozenset[Reference]:
    return frozenset((table, number) for table, number in orjson.loads(stored)) if stored else frozenset()


async def load_numbers(scope: Scope, source: str, kind: ImportKind, table: ImportTable) -> set[int]:
    """Return the numbers of a table's rows that belong to imported records of a kind, deleted ones excepted."""
    alive = " AND t.deleted_at IS NULL" if "deleted_at" in table.model._meta.fields_map else ""
    statement = _IMPORTED.format(table=table.name, owner=table.owner or "id") + alive
    return {row["id"] for row in await fetch(statement, scope.store.id, source, kind.name)}


async def write_records(scope: Scope, source: str, kind: ImportKind, records: Sequence[ImportedRecord]) -> None:
    """Write a batch of records in one transaction, in a constant number of statements.

    Raises NumberTaken, and ConstraintViolation for rows that the database refuses; then nothing is written.
    """
    await raise_numbers(scope, _highest(kind, records))
    async with transaction(scope):
        await lock_import(scope, source)
        imported = await find_imported_ids(scope, source, kind.name, (record.external_id for record in records))
        if kind.own.natural_key:
            await _adopt(scope, kind.own, [row for record in records for row in record.rows[kind.own.name]])
        else:
            await _reject_taken(scope, kind, [record for record in records if record.external_id not in imported])
        for table in kind.tables:
            updated = [
                record.number for record in records if record.external_id in imported and table.name in record.rows
            ]
            rows = [_complete(table, row) for record in records for row in record.rows.get(table.name, ())]
            if table.complete is not None:
                await table.complete(scope, rows)
            await _write_table(scope, source, table, rows, updated)
        await store_references(scope, source, kind, records)


async def store_references(scope: Scope, source: str, kind: ImportKind, records: Sequence[ImportedRecord]) -> None:
    """Store the ids and digests of records at the source, and what they still refer to in vain."""
    rows = [
        {
            **reference_row(source, kind.name, record.external_id, record.number),
            "digest": rf"\x{record.digest.hex()}",
            "missing": sorted(record.missing) or None,
        }
        for record in records
    ]
    await insert_rows(scope, "external_references", rows, unique=REFERENCE_KEY)


async def add_missing_rows(scope: Scope, table: ImportTable, rows: Sequence[Row]) -> None:
    """Insert those of a table's rows without numbers that are not there."""
    complete = [_complete(table, row) for row in rows]
    await execute(f"{table.insert_sql} ON CONFLICT DO NOTHING", scope.store.id, json_text(complete))


def _highest(kind: ImportKind, records: Sequence[ImportedRecord]) -> dict[str, int]:
    """Return the highest number of each table: without raising the counters first, the transaction would keep them locked.

    Numbers below zero are temporary (`results.temporary_numbers`).
    """
    highest: dict[str, int] = {}
    for table in kind.tables:
        numbers = [
            row["id"] for record in records for row in record.rows.get(table.name, ()) if (row.get("id") or 0) > 0
        ]
        if numbers and table.has_numbers:
            highest[table.name] = max(numbers)
    return highest


def _complete(table: ImportTable, row: Row) -> Row:
    return {**table.defaults, **row, "public_id": uuid7()}


async def find_taken(scope: Scope, kind: ImportKind, new: Sequence[ImportedRecord]) -> list[int]:
    """Return the numbers of new records that other records of the store have."""
    if kind.own.natural_key:
        return []
    statement = _EXISTING.format(table=kind.own.name)
    return [row["id"] for row in await fetch(statement, scope.store.id, [record.number for record in new])]


async def find_used(scope: Scope, table: str, column: str, records: Sequence[ImportedRecord]) -> set[str]:
    """Return the values of a column that other records of the store have and the records would get."""
    values = [(record.number, str(row[column])) for record in records for row in record.rows[table]]
    statement = _USED.format(table=table, column=column)
    numbers, texts = [number for number, _ in values], [value for _, value in values]
    return {row["value"] for row in await fetch(statement, scope.store.id, numbers, texts)}


def taken_message(number: int) -> str:
    """Return why a record with a number that is taken can't be brought."""
    return f"another record of the store has the number {number}"


async def _reject_taken(scope: Scope, kind: ImportKind, new: Sequence[ImportedRecord]) -> None:
    taken = await find_taken(scope, kind, new)
    if taken:
        raise NumberTaken(taken_message(taken[0]))


async def _write_table(scope: Scope, source: str, table: ImportTable, rows: list[Row], updated: Sequence[int]) -> None:
    """Write the rows of one table; parts replace those of the `updated` records."""
    if table.keeps:
        owners = sorted({row[table.owner] for row in rows} & set(updated))
        if table.before_update and owners:
            await execute(table.before_update, scope.store.id, owners)
        await add_missing_rows(scope, table, rows)
        return
    if table.shared:
        await _add_shared(scope, table, rows)
        return
    if table.numbers is PartNumbers.PREFERRED:
        await choose_numbers(scope, source, table, rows)
    if table.owner and updated and not table.cascades:
        await _delete_parts(scope, table, rows, updated)
    numbered = [row for row in rows if row.get("id")] if table.has_numbers else []
    others = [row for row in rows if not row.get("id")] if table.has_numbers else rows
    if numbered and await execute(table.upsert_sql, scope.store.id, json_text(numbered)) < len(numbered):
        raise NumberTaken(f"another record of the store has a number of {table.name}")
    if others:
        inserted = await fetch(table.insert_sql + " RETURNING id, public_id", scope.store.id, json_text(others))
        if table.reference_kind:
            await _store_part_references(scope, source, table, others, inserted)


async def _delete_parts(scope: Scope, table: ImportTable, rows: Sequence[Row], updated: Sequence[int]) -> None:
    names = {"table": table.name, "owner": table.owner}
    if not table.has_numbers:
        await execute(_DELETE_PARTS.format(**names), scope.store.id, updated)
        return
    kept = [row["id"] for row in rows if row.get("id")]
    await execute(_DELETE_MISSING.format(**names), scope.store.id, updated, kept)
    if table.before_update:
        await execute(table.before_update, scope.store.id, updated)


async def _add_shared(scope: Scope, table: ImportTable, rows: Sequence[Row]) -> None:
    """Insert the rows that are missing; a row with a number must then be the one that has it."""
    distinct = {tuple(row[name] for name in table.shared): row for row in rows}
    if not distinct:
        return
    statement = table.upsert_sql.partition(" ON CONFLICT")[0] if table.has_numbers else table.insert_sql
    await execute(f"{statement} ON CONFLICT DO NOTHING", scope.store.id, json_text(list(distinct.values())))
    if table.has_numbers:
        names = ", ".join(("id", *table.shared))
        count = await fetchval(
            f"SELECT count(*) FROM {table.name} WHERE tenant_id = $1 AND ({names}) IN"
            f" (SELECT {names} FROM jsonb_populate_recordset(NULL::{table.name}, $2::text::jsonb))",
            scope.store.id,
            json_text(list(distinct.values())),
        )
        if count < len(distinct):
            raise NumberTaken(f"another record of the store has a number of {table.name}")


# --- Numbers of parts ------------------------------------------------------------------------------------------------------------


async def choose_numbers(scope: Scope, source: str, table: ImportTable, rows: Sequence[Row]) -> None:
    """Remove the numbers that parts of other records have: these rows get the store's next ones, or those they got before."""
    known: Mapping[str, int] = {}
    if table.reference_kind:
        external_ids = [row["external_id"] for row in rows]
        known = await find_imported_ids(scope, source, table.reference_kind, external_ids)
    for row in rows:
        row["id"] = known.get(row.get("external_id", ""), row["id"])
    statement = _OWNERS.format(table=table.name, owner=table.owner)
    numbers = [row["id"] for row in rows if row["id"]]
    owners = {row["id"]: row["owner"] for row in await fetch(statement, scope.store.id, numbers)}
    for row in rows:
        if row["id"] and owners.setdefault(row["id"], row[table.owner]) != row[table.owner]:
            row["id"] = None


async def _store_part_references(
    scope: Scope, source: str, table: ImportTable, rows: Sequence[Row], inserted: Iterable[Mapping[str, Any]]
) -> None:
    numbers = {row["public_id"]: row["id"] for row in inserted}
    kind = table.reference_kind
    references = [reference_row(source, kind, row["external_id"], numbers[row["public_id"]]) for row in rows]
    await insert_rows(scope, "external_references", references, unique=REFERENCE_KEY)


# --- Rows that every store has ---------------------------------------------------------------------------------------------------

_ALL = "SELECT id, {key}, deleted_at IS NULL AS is_alive FROM {table} WHERE tenant_id = $1 FOR UPDATE"
# In two steps, since the primary key is checked row by row: out of the way first.
_MOVE = """
UPDATE {table} t SET id = -g.number FROM unnest($2::bigint[], $3::bigint[]) AS g (id, number) WHERE t.tenant_id = $1 AND t.id = g.id
"""
_MOVED = "UPDATE {table} SET id = -id WHERE tenant_id = $1 AND id < 0"


async def _adopt(scope: Scope, table: ImportTable, rows: Sequence[Row]) -> None:
    """Give the store's rows the numbers that the source has for them, and rows that the source doesn't have free ones."""
    wanted = {tuple(row[name] for name in table.natural_key): row["id"] for row in rows}
    existing = await fetch(_ALL.format(key=", ".join(table.natural_key), table=table.name), scope.store.id)
    free = max([0, *wanted.values(), *(row["id"] for row in existing)])
    moves: dict[int, int] = {}
    for row in existing:
        number = wanted.get(tuple(row[name] for name in table.natural_key)) if row["is_alive"] else None
        if number is None and row["id"] in wanted.values():
            number = free = free + 1
        if number is not None and number != row["id"]:
            moves[row["id"]] = number
    if moves:
        statement = _MOVE.format(table=table.name)
        await execute(statement, scope.store.id, list(moves), list(moves.values()))
        await execute(_MOVED.format(table=table.name), scope.store.id)
        await raise_numbers(scope, {table.name: max(moves.values())})
