"""Clone a furnished store in one round trip, as a superuser: building the same records through the domain takes forty times as long.

The first store is furnished normally and written down as a function of INSERT statements. In a clone, UUIDs are replaced by new ones, and
times move with the clock. Ids stay: the records of all sample stores have equal numbers, and each store goes on with the next, because
its counters are cloned as well. Ids of tables that are not numbered by store are equal too, which is stricter than production. A clone
with an offset has none of these numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg

from kernel.ids import uuid7
from kernel.scope import Store

# Times of the first store that are this near to its creation move with the clock; others are fixed.
_RECENT = timedelta(hours=1)
# Columns that hold ids of the store's records without a foreign key.
_LOOSE_IDS = {("discussion_threads", "object_id"), ("number_counters", "last")}
# Texts whose numbers are ids.
_ID_TEXTS = {
    ("categories", "id_path"),
    ("combinations", "hash"),
    ("option_exceptions", "hash"),
    ("notifications", "title"),
    ("notifications", "message"),
}
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

_COLUMNS = """
SELECT c.relname AS table, array_agg(a.attname::text ORDER BY a.attnum) AS columns,
    array_agg(format_type(a.atttypid, NULL) ORDER BY a.attnum) AS types
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
    AND EXISTS (SELECT 1 FROM pg_attribute t WHERE t.attrelid = c.oid AND t.attname = 'tenant_id')
GROUP BY c.relname ORDER BY c.relname
"""
_REFERENCES = """
SELECT c.conrelid::regclass::text AS table, a.attname::text AS column
FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)
WHERE c.contype = 'f' AND a.attname <> 'tenant_id'
    AND EXISTS (SELECT 1 FROM pg_attribute t WHERE t.attrelid = c.confrelid AND t.attname = 'tenant_id')
"""


# What a store's clone has in place of the constants of its rows.
_PARAMETERS = "tenant bigint, shift bigint, age interval, public_ids uuid[], texts text[]"
_CALL = "SELECT pg_temp.clone_store($1, $2, $3, $4, $5)"


@dataclass(frozen=True)
class StoreScript:
    """The rows of a store as a function that inserts them into another store."""

    function: str
    public_ids: list[str]
    texts: list[str]
    written_at: datetime


class Cloner:
    """Clone one furnished store again and again."""

    def __init__(self, url: str, store: Store, secrets: Iterable[str]) -> None:
        self._url = url
        self._store = store
        self._secrets = tuple(secrets)
        self._script: StoreScript | None = None
        self._connection: asyncpg.Connection[Any] | None = None

    async def clone(
        self,
        public_id: UUID,
        host: str,
        owner: int,
        settings: Mapping[str, Any],
        texts: Mapping[str, str],
        offset: int = 0,
    ) -> tuple[int, Mapping[str, UUID]]:
        """Create a store that is a clone, its ids moved by the offset; `texts` replace others. Return its internal id and the new UUIDs."""
        if self._connection is None:
            self._connection = await asyncpg.connect(self._url)
            self._script = await _write_script(self._connection, self._store, self._secrets)
            # Without triggers, which would create the default statuses and languages.
            await self._connection.execute("SET session_replication_role = replica; SET synchronous_commit = off")
            await self._connection.execute("SET plan_cache_mode = force_generic_plan")
            await self._connection.execute(self._script.function)
        script = self._script
        assert script is not None
        tenant = await self._connection.fetchval(
            """
            WITH created AS (
                INSERT INTO tenants (public_id, name, settings, owner_id) VALUES ($1, $2, $3::text::jsonb, $4) RETURNING id
            ), named AS (INSERT INTO store_hosts (host, store_id) SELECT $5, id FROM created)
            SELECT id FROM created
            """,
            public_id,
            self._store.name,
            json.dumps(settings),
            owner,
            host,
        )
        public_ids = [uuid7() for _ in script.public_ids]
        age = datetime.now(UTC) - script.written_at
        await self._connection.execute(_CALL, tenant, offset, age, public_ids, [texts[text] for text in script.texts])
        return tenant, dict(zip(script.public_ids, public_ids, strict=True))

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()


async def copy_store(store: Store, source_url: str, target_url: str, tenant: int) -> None:
    """Copy a store into another database, where it gets the internal id and keeps its UUIDs; later ids there are above its own."""
    source = await asyncpg.connect(source_url, statement_cache_size=0)
    try:
        script = await _write_script(source, store, ())
    finally:
        await source.close()
    target = await asyncpg.connect(target_url)
    try:
        await target.execute("SET session_replication_role = replica")
        await target.execute("INSERT INTO tenants (id, public_id, name) OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3)",
                             tenant, store.public_id, store.name)  # fmt: skip
        await target.execute(script.function)
        await target.execute(_CALL, tenant, 0, timedelta(), script.public_ids, [])
        for (sequence,) in await target.fetch("SELECT quote_ident(sequencename) FROM pg_sequences"):
            await target.execute(f"SELECT setval('{sequence}', 1000000)")
    finally:
        await target.close()


async def _write_script(connection: Any, store: Store, secrets: Iterable[str]) -> StoreScript:
    references = {(row["table"], row["column"]) for row in await connection.fetch(_REFERENCES)} | _LOOSE_IDS
    rows_of: dict[str, tuple[dict[str, str], list[Any]]] = {}
    for table, columns, types in await connection.fetch(_COLUMNS):
        selected = ", ".join(f"{column}::text" for column in columns)
        order = "id" if "id" in columns else "1"
        rows = await connection.fetch(f"SELECT {selected} FROM {table} WHERE tenant_id = $1 ORDER BY {order}", store.id)
        if rows:
            rows_of[table] = dict(zip(columns, types, strict=True)), rows
    cells = _CellExpressions(rows_of, secrets, references)
    statements = []
    for table, (kinds, rows) in rows_of.items():
        values = (
            f"({', '.join(cells.cell(table, column, kind, row[column]) for column, kind in kinds.items())})"
            for row in rows
        )
        statements.append(
            f"INSERT INTO {table} ({', '.join(kinds)}) OVERRIDING SYSTEM VALUE VALUES {', '.join(values)};"
        )
    body = "\n".join(statements)
    function = (
        f"CREATE FUNCTION pg_temp.clone_store({_PARAMETERS}) RETURNS void LANGUAGE plpgsql"
        f" AS $clone$ BEGIN\n{body}\nEND $clone$"
    )
    return StoreScript(function, [*cells.public_ids], [*cells.texts], datetime.now(UTC))


class _CellExpressions:
    """Write the cells of a store's rows as expressions of `_PARAMETERS`."""

    def __init__(
        self,
        rows_of: Mapping[str, tuple[Mapping[str, str], Sequence[Mapping[str, Any]]]],
        secrets: Iterable[str],
        references: set[tuple[str, str]],
    ) -> None:
        ids = {row["public_id"] for kinds, rows in rows_of.values() if "public_id" in kinds for row in rows}
        self.public_ids = {public_id: number for number, public_id in enumerate(sorted(ids), 1)}
        self.texts = {secret: number for number, secret in enumerate(secrets, 1)}
        self._references = references
        self._pattern = re.compile("|".join([_UUID, *map(re.escape, self.texts)]))
        self._pattern_with_ids = re.compile(rf"{self._pattern.pattern}|\d+")

    def cell(self, table: str, column: str, kind: str, value: str | None) -> str:
        """Return the expression of a cell whose text is `value`."""
        if value is None:
            return "NULL"
        if column == "tenant_id":
            return "tenant"
        if column == "id" or (table, column) in self._references:
            return f"({value} + shift)::{kind}"
        if kind == "timestamp with time zone" and datetime.fromisoformat(value) > datetime.now(UTC) - _RECENT:
            return f"{_quote(value)}::timestamptz + age"
        pattern = self._pattern_with_ids if (table, column) in _ID_TEXTS else self._pattern
        pieces, end = [], 0
        for match in pattern.finditer(value):
            if piece := self._piece(match.group()):
                pieces += [_quote(value[end : match.start()]), piece]
                end = match.end()
        if not pieces:
            return _quote(value)
        if kind == "uuid":
            return pieces[1]
        return f"concat({', '.join([*pieces, _quote(value[end:])])})::{kind}"

    def _piece(self, text: str) -> str | None:
        if text in self.texts:
            return f"texts[{self.texts[text]}]"
        if text in self.public_ids:
            return f"public_ids[{self.public_ids[text]}]"
        return f"{text} + shift" if text.isdecimal() else None


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
