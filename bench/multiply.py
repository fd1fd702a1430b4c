"""Multiply the rows that a sample of work has left in a database, by SQL: as if the same work had gone on for months.

Whatever a sample has inserted is copied, table by table, with ids, references to ids, positions and public ids moved on by the same
distance in each copy, and times by a period: so the copies refer to each other as the sample's rows do. Row counters are raised at the end.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import asyncpg

from kernel.ids import uuid7

# Copies in one statement and transaction.
_BATCH = 50

_COLUMNS = """
    select c.relname::text as table, a.attname::text as column, format_type(a.atttypid, null) as type,
        (select f.confrelid::regclass::text from pg_constraint f
            join pg_attribute k on k.attrelid = f.confrelid and k.attnum = f.confkey[array_position(f.conkey, a.attnum)]
            where f.contype = 'f' and f.conrelid = c.oid and a.attnum = any(f.conkey) and k.attname = 'id' limit 1) as target
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' order by c.relname, a.attnum
"""
_UNIQUE = """
    select i.indrelid::regclass::text as table, array_agg(a.attname::text order by a.attnum) as columns
    from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
    where i.indisunique group by i.indexrelid, i.indrelid
"""

_INDEXES = """
    select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition from pg_index i
    where i.indrelid = $1::text::regclass and not exists (select from pg_constraint c where c.conindid = i.indexrelid)
"""


@dataclass(frozen=True, slots=True)
class Copies:
    """The number of copies of a sample, and the time between two of them."""

    count: int
    apart: timedelta

    def newest(self, age: timedelta) -> int:
        """Return the first copy that is not older than this at the end."""
        return max(1, self.count - int(age / self.apart) + 1)


class SampleOfWork:
    """What the work since `begin` has inserted: rows of tables with an `id`, above the highest of before."""

    def __init__(self, highest: Mapping[str, int], first_id: str) -> None:
        self._highest = highest
        self._first_id = first_id

    @classmethod
    async def begin(cls, connection: asyncpg.Connection) -> SampleOfWork:
        """Note the tables before the work."""
        return cls(await _highest_ids(connection), str(uuid7()))

    async def multiply(
        self, connection: asyncpg.Connection, copies: Copies, kept: Mapping[str, timedelta]
    ) -> dict[str, int]:
        """Copy the sample, of the tables in `kept` only what is not older; return the numbers of inserted rows by table.

        The connection is a superuser's: triggers and checks of foreign keys are off, the copies satisfy them as the sample does.
        """
        spans = {
            table: highest - self._highest[table]
            for table, highest in (await _highest_ids(connection)).items()
            if highest > self._highest[table]
        }
        moved = await self._moved_columns(connection, spans, copies)
        inserted = {}
        await connection.execute("set session_replication_role = replica; set maintenance_work_mem = '512MB'")
        for table in spans:
            first = copies.newest(kept[table]) if table in kept else 1
            async with _without_indexes(connection, table):
                inserted[table] = await self._copy(connection, table, moved[table], range(first, copies.count + 1))
        await connection.execute("set session_replication_role = origin")
        await _raise_counters(connection, spans)
        return inserted

    async def _copy(self, connection: asyncpg.Connection, table: str, moved: Mapping[str, str], copies: range) -> int:
        await connection.execute(f"create temp table sample as select * from {table} where id > {self._highest[table]}")
        columns, values = ", ".join(moved), ", ".join(moved.values())
        rows = 0
        for first in copies[::_BATCH]:
            status = await connection.execute(
                f"insert into {table} ({columns}) overriding system value"
                f" select {values} from sample s, generate_series({first}::bigint, {min(first + _BATCH, copies.stop) - 1}) k"
                # A counter of events about a record of before has been there since the first copy.
                " order by k, s.id on conflict do nothing",
                timeout=600,
            )
            rows += int(status.rpartition(" ")[2])
        await connection.execute("drop table sample")
        return rows

    async def _moved_columns(
        self, connection: asyncpg.Connection, spans: Mapping[str, int], copies: Copies
    ) -> dict[str, dict[str, str]]:
        """Return the expression of each column of the tables for copy `k` of a row `s`."""
        seconds, first, last = copies.apart.total_seconds(), self._first_id, str(uuid7())
        moved: dict[str, dict[str, str]] = {table: {} for table in spans}
        for row in await connection.fetch(_COLUMNS):
            table, name = row["table"], f's."{row["column"]}"'
            if table not in spans:
                continue
            target = table if row["column"] == "id" else row["target"]
            expression = name
            if target in spans:
                expression = (
                    f"case when {name} > {self._highest[target]} then {name} + k * {spans[target]} else {name} end"
                )
            elif row["type"] == "uuid":
                expression = _moved_uuid(name, f"{name} between '{first}' and '{last}'", seconds)
            elif row["type"] == "text":
                new = f"length({name}) = 36 and {name} collate \"C\" between '{first}' and '{last}'"
                expression = _moved_uuid(f"{name}::uuid", new, seconds, f"{name}", "::text")
            elif row["type"] == "timestamp with time zone":
                expression = f"{name} + k * interval '{seconds} seconds'"
            moved[table][f'"{row["column"]}"'] = expression
        for row in await connection.fetch(_UNIQUE):
            if row["table"] in spans:
                await self._separate(connection, row["table"], row["columns"], moved[row["table"]])
        return moved

    async def _separate(
        self, connection: asyncpg.Connection, table: str, columns: list[str], moved: dict[str, str]
    ) -> None:
        """Make the values of a unique index differ where no column of it does yet: a position, a hash, or the key of another program."""
        quoted = [f'"{column}"' for column in columns]
        if any("case" in moved[column] and "length" not in moved[column] for column in quoted):
            return
        for column in quoted[1:] or quoted:
            type_ = await connection.fetchval(f"select pg_typeof({column})::text from {table} limit 1")
            if type_ == "bigint":
                span = await connection.fetchval(f"select coalesce(max({column}), 0) from {table}")
                moved[column] = f"s.{column} + k * {max(span, 1)}"
                return
            if type_ in ("text", "bytea"):
                text = f"s.{column} || '-' || k"
                moved[column] = text if type_ == "text" else f"sha256(s.{column} || k::text::bytea)"
                return
        raise ValueError(f"the copies of {table} would have the same {columns}")


def _moved_uuid(uuid: str, condition: str, seconds: float, otherwise: str | None = None, cast: str = "") -> str:
    """Return the SQL of a UUIDv7 of a later time with the same random part."""
    digits = f"replace(({uuid})::text, '-', '')"
    time = f"('x0000' || left({digits}, 12))::bit(64)::bigint + k * {int(seconds * 1_000)}"
    return (
        f"case when {condition} then (lpad(to_hex({time}), 12, '0') || substr({digits}, 13))::uuid{cast}"
        f" else {otherwise or uuid} end"
    )


@asynccontextmanager
async def _without_indexes(connection: asyncpg.Connection, table: str) -> AsyncIterator[None]:
    """Drop the indexes that belong to no constraint, and build them again afterwards, which takes a third of the time."""
    indexes = await connection.fetch(_INDEXES, table)
    for index in indexes:
        await connection.execute(f"drop index {index['name']}")
    yield
    for index in indexes:
        await connection.execute(index["definition"], timeout=3_600)


async def _highest_ids(connection: asyncpg.Connection) -> dict[str, int]:
    tables = [
        row["table"] for row in await connection.fetch(_COLUMNS) if row["column"] == "id" and row["type"] == "bigint"
    ]
    highest = " union all ".join(
        f"select '{table}' as name, coalesce(max(id), 0) as id from {table}" for table in tables
    )
    return {row["name"]: row["id"] for row in await connection.fetch(highest)}


async def _raise_counters(connection: asyncpg.Connection, spans: Mapping[str, int]) -> None:
    """Let the next rows get ids and positions above those of the copies."""
    for table in spans:
        await connection.execute(
            f"update number_counters c set last = greatest(last, (select max(id) from {table} t where t.tenant_id = c.tenant_id))"
            " where entity = $1",
            table,
        )
        if sequence := await connection.fetchval("select pg_get_serial_sequence($1, 'id')", table):
            await connection.execute(f"select setval('{sequence}', (select max(id) from {table}))")
    await connection.execute("""
        update event_feeds f set latest = p.latest
        from (select tenant_id, max(position) as latest from outbox_events group by 1) p
        where p.tenant_id = f.tenant_id and p.latest > f.latest
    """)
