"""Copy what belongs to no store from the first cell to the others: `vitrine cells sync` (docs/scaling.md#cells).

    signing_keys    the first cell's: all cells sign with it, and verify what any of them has signed; keys of others are retired
    hash_keys       added: hashes of a moved store may have been made under any of them
    platform_users  the first cell's
    apps            of the first cell, except those that a store of another cell has registered: these are that cell's, and copied from it

What else has no `tenant_id` is each cell's own: stores and hosts, what jobs and sign-in counters wrote down, migrations.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg

from models.table_contents import columns_sql, connect_unlimited, read_tables
from server.operations.app_copies import OF_OTHER_CELLS, write_apps
from server.operations.cells import Cell, CellError

OWN = frozenset({"tenants", "store_hosts", "job_runs", "signin_counts", "tortoise_migrations"})
"""Tables without `tenant_id` that are each cell's own."""
_APPS = "apps"
_KEYS = {"signing_keys": ("kid",), "hash_keys": ("purpose", "key_id"), "platform_users": ("public_id",)}
COMMON = frozenset({_APPS, *_KEYS})
"""Tables that are common to all cells."""

_RETIRE = "UPDATE signing_keys SET retired_at = now() WHERE retired_at IS NULL AND kid <> ALL($1::text[])"
_DISMISS = "DELETE FROM platform_users WHERE public_id <> ALL($1::uuid[])"
_OWN_APPS = f"""
SELECT a.*, a.registered_in IS NOT NULL AS is_of_store_here FROM apps a
WHERE a.registered_in IS NULL OR NOT ({OF_OTHER_CELLS}) ORDER BY a.id
"""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CellChanges:
    """How many rows of each common table were written, retired or deleted in a cell."""

    cell: str
    tables: dict[str, int]


async def sync_cells(cells: Sequence[Cell]) -> list[CellChanges]:
    """Copy what is common, one transaction a cell; raises CellError when the cells differ in their version."""
    async with AsyncExitStack() as stack:
        connections = {
            cell.name: await stack.enter_async_context(connect_unlimited(cell.url, "vitrine cells")) for cell in cells
        }
        first = cells[0].name
        columns = await _common_columns(connections)
        rows = {name: await _rows(connections[first], f"SELECT * FROM {name}") for name in _KEYS}
        apps = await _masters(connections)
        changes = []
        for name, connection in connections.items():
            async with connection.transaction():
                tables = {} if name == first else await _write_keys(connection, columns, rows)
                foreign = [row for cell, row in apps.values() if cell != name]
                tables[_APPS] = await _write_apps(connection, columns[_APPS], foreign)
            changes.append(CellChanges(name, tables))
    return changes


async def _common_columns(connections: dict[str, asyncpg.Connection]) -> dict[str, tuple[str, ...]]:
    columns: dict[str, tuple[str, ...]] = {}
    for name, connection in connections.items():
        here = {table.name: table.columns for table in await read_tables(connection) if table.name in COMMON}
        columns = columns or here
        if here != columns:
            raise CellError(f"the cell {name} differs in its tables: migrate all cells to the same version")
    return columns


async def _rows(connection: asyncpg.Connection, sql: str) -> list[Row]:
    return [dict(row) for row in await connection.fetch(sql)]


async def _masters(connections: dict[str, asyncpg.Connection]) -> dict[UUID, tuple[str, Row]]:
    """Return each app with the cell whose row is right: that of the store that has registered it, else the first."""
    masters: dict[UUID, tuple[str, Row]] = {}
    for index, (name, connection) in enumerate(connections.items()):
        for row in await _rows(connection, _OWN_APPS):
            if row.pop("is_of_store_here") or index == 0:
                masters[row["public_id"]] = (name, row)
    return masters


async def _write_keys(
    connection: asyncpg.Connection, columns: dict[str, tuple[str, ...]], rows: dict[str, list[Row]]
) -> dict[str, int]:
    dismissed = await connection.execute(_DISMISS, [row["public_id"] for row in rows["platform_users"]])
    changed = {name: await _write(connection, name, columns[name], rows[name]) for name in _KEYS}
    changed["platform_users"] += _count(dismissed)
    if any(row["retired_at"] is None for row in rows["signing_keys"]):
        retired = await connection.execute(_RETIRE, [row["kid"] for row in rows["signing_keys"]])
        changed["signing_keys"] += _count(retired)
    return changed


async def _write(connection: asyncpg.Connection, name: str, columns: Sequence[str], rows: list[Row]) -> int:
    """Insert the rows that are missing, and replace those that differ; hash keys never change."""
    names = [column for column in columns if column != "id"]
    new = columns_sql(names)
    each = new.split(", ")
    await _load(connection, name, names, rows)
    replace = (
        "NOTHING"
        if name == "hash_keys"
        else f"UPDATE SET ({new}) = ROW({', '.join(f'excluded.{column}' for column in each)})"
        f" WHERE ROW({', '.join(f't.{column}' for column in each)})"
        f" IS DISTINCT FROM ROW({', '.join(f'excluded.{column}' for column in each)})"
    )
    done = await connection.execute(
        f"INSERT INTO {name} AS t ({new}) SELECT {new} FROM common_{name}"
        f" ON CONFLICT ({columns_sql(_KEYS[name])}) DO {replace}"
    )
    return _count(done)


async def _write_apps(connection: asyncpg.Connection, columns: Sequence[str], rows: list[Row]) -> int:
    await _load(connection, _APPS, columns, rows)
    await connection.execute(f"UPDATE common_{_APPS} SET registered_in = NULL")
    return await write_apps(connection, f"common_{_APPS}", columns, OF_OTHER_CELLS)


async def _load(connection: asyncpg.Connection, name: str, columns: Sequence[str], rows: list[Row]) -> None:
    copy = f"common_{name}"
    await connection.execute(f"CREATE TEMPORARY TABLE {copy} ON COMMIT DROP AS SELECT * FROM {name} WITH NO DATA")
    await connection.copy_records_to_table(
        copy, records=[[row[column] for column in columns] for row in rows], columns=columns
    )


def _count(status: str) -> int:
    return int(status.rpartition(" ")[2])
