"""Clone a furnished store in one round trip, as a superuser: building the same records through the domain takes forty times as long.

The first store is furnished normally and written down as a script of INSERT statements. In a clone, UUIDs are replaced by new ones, and
times move with the clock. Ids stay: the records of all sample stores have equal numbers, and each store goes on with the next, because
its counters are cloned as well. Ids of tables that are not numbered by store are equal too, which is stricter than production. A clone
with an offset has none of these numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
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
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

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


@dataclass(frozen=True)
class StoreScript:
    """The rows of a store as SQL, cut where a clone differs."""

    parts: list[str | Callable[[_Clone], str]]
    public_ids: list[str]
    written_at: datetime


@dataclass(frozen=True)
class _Clone:
    tenant: int
    offset: int
    public_ids: Mapping[str, str]
    age: float
    texts: Mapping[str, str]


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
    ) -> tuple[int, Mapping[str, str]]:
        """Create a store that is a clone, its ids moved by the offset; `texts` replace others. Return its internal id and the new UUIDs."""
        if self._connection is None:
            self._connection = await asyncpg.connect(self._url)
            self._script = await _write_script(self._connection, self._store, self._secrets)
            # Without triggers, which would create the default statuses and languages.
            await self._connection.execute("SET session_replication_role = replica; SET synchronous_commit = off")
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
        clone = _Clone(
            tenant,
            offset,
            {public_id: str(uuid7()) for public_id in script.public_ids},
            (datetime.now(UTC) - script.written_at).total_seconds(),
            texts,
        )
        await self._connection.execute("".join(part if isinstance(part, str) else part(clone) for part in script.parts))
        return tenant, clone.public_ids

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
    clone = _Clone(tenant, 0, {public_id: public_id for public_id in script.public_ids}, 0.0, {})
    target = await asyncpg.connect(target_url)
    try:
        await target.execute("SET session_replication_role = replica")
        await target.execute("INSERT INTO tenants (id, public_id, name) OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3)",
                             tenant, store.public_id, store.name)  # fmt: skip
        await target.execute("".join(part if isinstance(part, str) else part(clone) for part in script.parts))
        for (sequence,) in await target.fetch("SELECT quote_ident(sequencename) FROM pg_sequences"):
            await target.execute(f"SELECT setval('{sequence}', 1000000)")
    finally:
        await target.close()


async def _write_script(connection: Any, store: Store, secrets: Iterable[str]) -> StoreScript:
    references = {(row["table"], row["column"]) for row in await connection.fetch(_REFERENCES)} | _LOOSE_IDS
    tables = await connection.fetch(_COLUMNS)
    statements: list[str] = []
    public_ids: set[str] = set()
    for table in tables:
        columns: list[str] = table["columns"]
        selected = ", ".join(f"{column}::text" for column in columns)
        order = "id" if "id" in columns else "1"
        rows = await connection.fetch(
            f"SELECT {selected} FROM {table['table']} WHERE tenant_id = $1 ORDER BY {order}", store.id
        )
        if not rows:
            continue
        literals = []
        for row in rows:
            if "public_id" in columns:
                public_ids.add(row["public_id"])
            cells = [
                _literal(table["table"], column, kind, row[column], references)
                for column, kind in zip(columns, table["types"], strict=True)
            ]
            literals.append(f"({', '.join(cells)})")
        names = ", ".join(columns)
        statements.append(
            f"INSERT INTO {table['table']} ({names}) OVERRIDING SYSTEM VALUE VALUES {', '.join(literals)};\n"
        )
    parts = _cut("".join(statements), public_ids, secrets)
    return StoreScript(parts, sorted(public_ids), datetime.now(UTC))


def _literal(table: str, column: str, kind: str, value: str | None, references: set[tuple[str, str]]) -> str:
    """Write a cell; what differs in a clone stands between NULs."""
    if value is None:
        return "NULL"
    if column == "tenant_id":
        return "\0tenant\0"
    if column == "id" or (table, column) in references:
        return f"\0id:{value}\0"
    quoted = "'" + value.replace("'", "''") + "'"
    if (table, column) in _ID_TEXTS:
        return re.sub(r"\d+", lambda match: f"\0id:{match.group()}\0", quoted)
    if kind == "timestamp with time zone" and datetime.fromisoformat(value) > datetime.now(UTC) - _RECENT:
        return f"{quoted}::timestamptz + interval '\0age\0 s'"
    return quoted


def _cut(text: str, public_ids: set[str], secrets: Iterable[str]) -> list[str | Callable[[_Clone], str]]:
    text = _UUID.sub(lambda match: f"\0uuid:{match.group()}\0" if match.group() in public_ids else match.group(), text)
    for secret in secrets:
        text = text.replace(secret, f"\0text:{secret}\0")
    parts: list[str | Callable[[_Clone], str]] = []
    for index, piece in enumerate(text.split("\0")):
        parts.append(piece if index % 2 == 0 else _differing(piece))
    return parts


def _differing(piece: str) -> Callable[[_Clone], str]:
    name, _, value = piece.partition(":")
    if name == "tenant":
        return lambda clone: str(clone.tenant)
    if name == "id":
        number = int(value)
        return lambda clone: str(number + clone.offset)
    if name == "uuid":
        return lambda clone: clone.public_ids[value]
    if name == "age":
        return lambda clone: f"{clone.age:.3f}"
    return lambda clone: clone.texts[value]
