"""Add to imported records what they refer to at their source and was not here when they were written.

What differs between the rows without and with the records that arrived is applied, and only where the store still has what the import
wrote: whatever was changed here since stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from domain.imports.numbered import (
    ImportedRecord,
    ImportKind,
    ImportTable,
    PartNumbers,
    Row,
    Rows,
    add_missing_rows,
    choose_numbers,
    store_references,
)
from domain.imports.references import lock_import
from kernel.scope import Scope
from models.connection.database import execute, fetch, transaction
from models.rows import json_text

_SET = """
UPDATE {table} t SET {column} = n.{column}
FROM jsonb_populate_recordset(NULL::{table}, $2::text::jsonb) AS o
JOIN jsonb_populate_recordset(NULL::{table}, $3::text::jsonb) AS n ON n.id = o.id
WHERE t.tenant_id = $1 AND t.id = n.id AND t.{column} IS NOT DISTINCT FROM o.{column}
"""
_IDS = "SELECT id, {owner} AS owner FROM {table} WHERE tenant_id = $1 AND {owner} = ANY($2::bigint[]) ORDER BY id DESC"
# A row that was left out may belong before others.
_MOVE = """
UPDATE {table} t SET position = r.position
FROM jsonb_to_recordset($2::text::jsonb) AS r ({references}, old integer, position integer)
WHERE t.tenant_id = $1 AND {is_same} AND t.position = r.old
"""


@dataclass(frozen=True, slots=True)
class Repair:
    """A record with its rows of now, and those that it has without what arrived since it was written."""

    record: ImportedRecord
    before: Rows


async def repair_records(scope: Scope, source: str, kind: ImportKind, repairs: Sequence[Repair]) -> None:
    """Apply the repairs of a batch in one transaction, in a constant number of statements."""
    async with transaction(scope):
        await lock_import(scope, source)
        for table in kind.tables:
            pairs = [
                (repair.before.get(table.name, []), repair.record.rows.get(table.name, []))
                for repair in repairs
                if repair.before.get(table.name) != repair.record.rows.get(table.name)
            ]
            if pairs:
                await _repair_table(scope, source, table, pairs)
        await store_references(scope, source, kind, [repair.record for repair in repairs])


async def _repair_table(
    scope: Scope, source: str, table: ImportTable, pairs: Sequence[tuple[list[Row], list[Row]]]
) -> None:
    """Set references of rows that were there without them, and insert the rows that were left out: one side has fewer of them then."""
    if table.keeps:
        await add_missing_rows(scope, table, [row for _, now in pairs for row in now])
        return
    grown = [pair for pair in pairs if len(pair[0]) < len(pair[1])]
    if grown:
        await add_missing_rows(scope, table, [row for before, now in grown for row in now if row not in before])
        await _move_rows(scope, table, grown)
    changed = [pair for pair in pairs if len(pair[0]) == len(pair[1])]
    if changed:
        before = [row for pair in changed for row in pair[0]]
        await _set_columns(scope, source, table, before, [row for pair in changed for row in pair[1]])


async def _set_columns(scope: Scope, source: str, table: ImportTable, before: list[Row], now: list[Row]) -> None:
    """Set the columns that differ; the rows of both sides correspond."""
    if table.complete is not None:
        await table.complete(scope, before)
        await table.complete(scope, now)
    if table.numbers is PartNumbers.PREFERRED:
        await choose_numbers(scope, source, table, now)
    if not table.has_numbers:
        await _find_ids(scope, table, now)
    for old, new in zip(before, now, strict=True):
        old["id"] = new["id"]
    for column in table.written:
        different = [(old, new) for old, new in zip(before, now, strict=True) if old.get(column) != new.get(column)]
        if different:
            olds, news = zip(*different, strict=True)
            statement = _SET.format(table=table.name, column=column)
            await execute(statement, scope.store.id, json_text(olds), json_text(news))


async def _find_ids(scope: Scope, table: ImportTable, rows: Sequence[Row]) -> None:
    """Set the ids of rows without numbers, which were inserted in their order; None for one that is gone."""
    owners = sorted({row[table.owner] for row in rows})
    stored: dict[int, list[int]] = {}
    for row in await fetch(_IDS.format(table=table.name, owner=table.owner), scope.store.id, owners):
        stored.setdefault(row["owner"], []).append(row["id"])
    for row in rows:
        ids = stored.get(row[table.owner])
        row["id"] = ids.pop() if ids else None


async def _move_rows(scope: Scope, table: ImportTable, pairs: Sequence[tuple[list[Row], list[Row]]]) -> None:
    """Set the positions of rows that were there, by what they refer to."""
    names = [f"{name}_id" for name in table.model._meta.fk_fields]
    moves = []
    for before, now in pairs:
        places = {tuple(row.get(name) for name in names): row.get("position") for row in before}
        for row in now:
            old = places.get(tuple(row.get(name) for name in names))
            if old is not None and old != row["position"]:
                moves.append({**row, "old": old})
    if moves:
        references = ", ".join(f"{name} bigint" for name in names)
        is_same = " AND ".join(f"t.{name} = r.{name}" for name in names)
        statement = _MOVE.format(table=table.name, references=references, is_same=is_same)
        await execute(statement, scope.store.id, json_text(moves))
