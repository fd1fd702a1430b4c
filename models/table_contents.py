"""Describe the tables of the database and their contents: for backups, and for moving and deleting a store.

    read_tables     every table with its columns, referenced tables first
    digest_sql      the statement for the number of rows of a table and a checksum over all their values

A checksum is the sum of a 64-bit hash of each row, so it needs no order and can be compared between servers and major versions.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any, NamedTuple

import asyncpg

from models.quoting import quoted

OF_STORE = "tenant_id"
STORES = "tenants"

DIGEST_SETTINGS = {
    "timezone": "UTC",
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
}
"""The session settings on which the text of a value, and so its checksum, depends."""

_TABLES = """
    select c.relname::text as name, quote_ident(n.nspname) as schema,
        array(
            select a.attname::text from pg_catalog.pg_attribute a
            where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum
        ) as columns,
        array(
            select a.attname::text
            from pg_catalog.pg_index i cross join unnest(i.indkey::int2[]) with ordinality as k (attnum, position)
            join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
            where i.indrelid = c.oid and i.indisprimary order by k.position
        ) as key,
        array(
            select distinct r.relname::text from pg_catalog.pg_constraint f join pg_catalog.pg_class r on r.oid = f.confrelid
            where f.conrelid = c.oid and f.contype = 'f' and f.confrelid <> c.oid order by 1
        ) as referenced,
        (
            select s.oid::regclass::text
            from pg_catalog.pg_depend d join pg_catalog.pg_class s on s.oid = d.objid and s.relkind = 'S'
            where d.refobjid = c.oid and d.deptype in ('a', 'i') limit 1
        ) as sequence
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relkind = 'r' and n.nspname = current_schema()
    order by 1
"""


class Digest(NamedTuple):
    """The number of rows and the checksum of a table, or of a part of it."""

    rows: int
    checksum: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its stored columns (no generated ones), its primary key, and the sequence of its ids, if it has one."""

    schema: str
    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    sequence: str | None = None

    @property
    def qualified_name(self) -> str:
        """Return the name with its schema, quoted."""
        return f"{self.schema}.{quoted(self.name)}"

    @property
    def is_of_store(self) -> bool:
        """Return whether each row belongs to a store."""
        return OF_STORE in self.columns


async def read_tables(connection: asyncpg.Connection) -> tuple[Table, ...]:
    """Return the tables of the current schema, each after those that its foreign keys reference.

    Stores come first; their reference to their owner is the only one that leads back.
    """
    rows = {row["name"]: row for row in await connection.fetch(_TABLES)}
    order = TopologicalSorter({name: () if name == STORES else row["referenced"] for name, row in rows.items()})
    return tuple(
        Table(row["schema"], row["name"], tuple(row["columns"]), tuple(row["key"]), row["sequence"])
        for row in (rows[name] for name in order.static_order())
    )


def columns_sql(columns: Sequence[str]) -> str:
    """Return the columns, quoted and separated by commas."""
    return ", ".join(quoted(column) for column in columns)


@asynccontextmanager
async def connect_unlimited(url: str, application: str, **settings: str) -> AsyncIterator[asyncpg.Connection]:
    """Yield a connection with `DIGEST_SETTINGS` and without time limits: a transaction may wait, idle, for another program."""
    unlimited = dict.fromkeys(("statement_timeout", "idle_in_transaction_session_timeout"), "0")
    connection = await asyncpg.connect(
        url, timeout=30, server_settings={"application_name": application, **unlimited, **DIGEST_SETTINGS, **settings}
    )
    try:
        yield connection
    finally:
        await connection.close()


def digest_sql(relation: str, columns: Sequence[str], condition: str = "true") -> str:
    """Return the statement for the `Digest` of a relation's rows (a name as SQL), under `DIGEST_SETTINGS`."""
    row = f"ROW({', '.join(f't.{quoted(column)}' for column in columns)})"
    return (
        f"SELECT count(*) AS rows, coalesce(sum(('x' || left(md5({row}::text), 16))::bit(64)::bigint::numeric), 0)::text AS checksum"
        f" FROM {relation} t WHERE {condition}"
    )


async def digest(
    connection: asyncpg.Connection, relation: str, columns: Sequence[str], condition: str = "true", *args: Any
) -> Digest:
    """Return the digest of a relation's rows, on a connection with `DIGEST_SETTINGS`."""
    row = await connection.fetchrow(digest_sql(relation, columns, condition), *args)
    assert row is not None  # an aggregate
    return Digest(row["rows"], row["checksum"])
