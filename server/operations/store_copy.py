"""Copy a store into another database in rounds: each what has changed since the last one, in one snapshot here and one transaction there.

What has changed are the rows whose `xmin` isn't older than the oldest transaction of the last round's snapshot: inserts and updates of
every interface, without a trigger or a setting, some of them twice. Deletions are seen by numbers of rows. Rows are written without
triggers, with their ids; only `tenant_id` and `app_id` are those of the other database.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import asyncpg

from auth.store_resolution import CHANNEL
from domain.storage import Storage
from models.quoting import quoted
from models.table_contents import OF_STORE, STORES, Digest, columns_sql, digest
from server.operations.app_copies import OF_MOVED_STORE, write_apps
from server.operations.archives import ArchiveError
from server.operations.store_transfer import APPS, HOSTS, Part, move_parts, raise_sequence

COPYING = "copying"
"""The state of the copy (`tenants.move`), which is suspended and read-only: workers leave it alone."""
# What the row of the store has of its own in each database.
_OWN_COLUMNS = {"id", "status", "is_read_only", "move"}

_FIND = "SELECT id, status, is_read_only, move::text FROM tenants WHERE public_id = $1"
_SET = """
UPDATE tenants SET status = coalesce($2, status), is_read_only = $3, move = $4::text::jsonb WHERE id = $1 RETURNING status
"""
_APPLIED = "SELECT array_agg(name) FROM tortoise_migrations"
_SNAPSHOT = "SELECT pg_snapshot_xmin(s)::text, pg_snapshot_xmax(s)::text FROM pg_current_snapshot() s"
# What the installation there counted itself may refer to rows that are gone.
_FORGET_USES = "DELETE FROM schema_usage WHERE tenant_id = $1"
_NOTIFY = "SELECT pg_notify($1, $2)"


@dataclass(slots=True)
class Side:
    """One of the two databases: its connection as the owner, bound to the store, and the store's row there (id 0: none)."""

    connection: asyncpg.Connection
    url: str
    files: Storage
    store_id: int = 0
    status: str = ""
    is_read_only: bool = False
    move: dict[str, Any] = field(default_factory=dict)

    @property
    def state(self) -> str | None:
        """Return how far a move is, None without one."""
        return self.move.get("state")

    async def read(self, public_id: UUID) -> None:
        """Read the store's row, and show the connection the rows of the store."""
        row = await self.connection.fetchrow(_FIND, public_id)
        self.store_id, self.status, self.is_read_only, move = row or (0, "", False, None)
        self.move = json.loads(move or "{}")
        await self.bind()

    async def bind(self) -> None:
        """Show the connection the rows of the store."""
        await self.connection.execute("SELECT set_config('vitrine.tenant', $1, false)", str(self.store_id))

    async def set(self, status: str | None, is_read_only: bool, move: dict[str, Any], connection: Any = None) -> None:
        """Set the state of the store, None: its status stays; every process knows within a second. Its former ids stay.

        Raises ArchiveError when the store is gone.
        """
        connection = connection or self.connection
        move = {"former_ids": self.move.get("former_ids", []), **move}
        new_status = await connection.fetchval(_SET, self.store_id, status, is_read_only, json.dumps(move))
        if new_status is None:
            raise ArchiveError("the store was deleted meanwhile: repeat this")
        self.status = new_status
        await connection.execute(_NOTIFY, CHANNEL, str(self.store_id))
        self.is_read_only, self.move = is_read_only, move


class StoreCopy:
    """The copy of a store; `since` is the oldest transaction of the last round, `newest` the one after the last that it saw."""

    def __init__(self, source: Side, target: Side, since: str | None, *, returns: bool = False) -> None:
        """Copy into what the store left behind if it `returns`: what was written late there is replaced."""
        self._source = source
        self._target = target
        self._returns = returns
        self._parts: dict[str, Part] = {}
        self.since = since
        self.newest = "0"
        self.rows = self.rounds = 0

    async def read_tables(self) -> None:
        """Read the tables of both; raises ArchiveError when they, or the migrations that made them, differ."""
        applied = [await side.connection.fetchval(_APPLIED) for side in (self._source, self._target)]
        if missing := set(applied[0]) ^ set(applied[1]):
            raise ArchiveError(
                f"one of the databases lacks the migration {min(missing)}: migrate both to the same version"
            )
        here, there = await move_parts(self._source.connection), await move_parts(self._target.connection)
        if [(part.table.name, part.columns) for part in here] != [(part.table.name, part.columns) for part in there]:
            raise ArchiveError("the databases differ in their tables: migrate both to the same version")
        self._parts = {part.table.name: part for part in here}

    async def count_later(self) -> dict[str, int]:
        """Count the rows here, by table, that were written after the last round's snapshot."""
        counts = await self._source.connection.fetch(self._counts(self._source.store_id, self.newest))
        return {row["name"]: row["changed"] for row in counts if row["changed"]}

    async def copy_changes(self, ticket: str, *, compares_all: bool = False) -> None:
        """Copy what has changed since the last round, in one snapshot here and one transaction there, and compare.

        Raises ArchiveError when a table that was written, or with `compares_all` any, is not the same.
        """
        source, target = self._source, self._target
        async with source.connection.transaction(isolation="repeatable_read"), target.connection.transaction():
            await self._disable_triggers()
            since, newest = await source.connection.fetchrow(_SNAPSHOT)
            await self._write_store(self._parts[STORES])
            await self._write_apps(self._parts[APPS])
            different = await self._different()
            for part, changed, count in different:
                await self._write(part, changed, count, self.since)
            compared = self._of_store() if compares_all else [part for part, *_ in different]
            for part in compared if self.since is not None else ():
                await self._compare(part)
            await target.connection.execute(_FORGET_USES, target.store_id)
            move = {"state": COPYING, "ticket": ticket, "since": since, "returns": self._returns}
            await target.set("S", True, move)
        self.since, self.newest = since, newest
        self.rounds += 1

    def _of_store(self) -> list[Part]:
        return [part for name, part in self._parts.items() if name not in (STORES, APPS, HOSTS)]

    async def _disable_triggers(self) -> None:
        """Write rows as they are: triggers have written here what follows from them, and foreign keys hold in a snapshot."""
        connection = self._target.connection
        try:
            await connection.execute("SET LOCAL session_replication_role = replica")
        except asyncpg.InsufficientPrivilegeError as error:
            owner = await self._source.connection.fetchval("SELECT quote_ident(current_user)")
            raise ArchiveError(
                "the owner of the other database may not write rows without triggers; expected, from a superuser there:"
                f" GRANT SET ON PARAMETER session_replication_role TO {owner}"
            ) from error

    def _counts(self, store_id: int, since: str | None) -> str:
        return " UNION ALL ".join(
            f"SELECT '{part.table.name}' AS name, count(*) FILTER (WHERE {_changed(since)}) AS changed, count(*) AS rows"
            f" FROM {part.table.qualified_name} t WHERE {part.where(store_id)}"
            for part in self._of_store()
        )

    async def _different(self) -> list[tuple[Part, int, int]]:
        """Return the tables of which rows were changed or deleted, with the numbers of changed and of all rows."""
        here, there = await asyncio.gather(
            self._source.connection.fetch(self._counts(self._source.store_id, self.since)),
            self._target.connection.fetch(self._counts(self._target.store_id, None)),
        )
        present = {row["name"]: row["rows"] for row in there}
        return [
            (self._parts[row["name"]], row["changed"], row["rows"])
            for row in here
            if row["changed"] or row["rows"] != present[row["name"]]
        ]

    async def _load(self, part: Part, condition: str, columns: tuple[str, ...] = ()) -> None:
        """Copy rows of the store into a temporary table there."""
        columns = columns or part.columns
        name, table = part.copy_name, part.table.qualified_name
        await self._target.connection.execute(
            f"CREATE TEMPORARY TABLE {name} ON COMMIT DROP AS SELECT {columns_sql(columns)} FROM {table} WITH NO DATA"
        )
        rows = f"SELECT {columns_sql(columns)} FROM {table} t WHERE {part.where(self._source.store_id)} AND {condition}"
        chunks: asyncio.Queue[bytes | None] = asyncio.Queue(16)

        async def read() -> None:
            await self._source.connection.copy_from_query(rows, output=chunks.put)
            await chunks.put(None)

        async def received() -> AsyncIterator[bytes]:
            while (chunk := await chunks.get()) is not None:
                yield chunk

        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(read())
                tasks.create_task(self._target.connection.copy_to_table(name, source=received(), columns=columns))
        except* (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as group:
            raise group.exceptions[0] from None

    async def _write_store(self, part: Part) -> None:
        """Insert the store's row there, or update what may have changed."""
        target = self._target
        await self._load(part, "true")
        names = [column for column in part.columns if column not in _OWN_COLUMNS]
        if not target.store_id:
            target.store_id = await target.connection.fetchval(
                f"INSERT INTO tenants ({columns_sql(names)}, status, is_read_only)"
                f" SELECT {columns_sql(names)}, 'S', true FROM {part.copy_name} RETURNING id"
            )
            await target.bind()
        values = ", ".join(f"{quoted(name)} = m.{quoted(name)}" for name in names)
        await target.connection.execute(
            f"UPDATE tenants t SET {values} FROM {part.copy_name} m WHERE t.id = $1", target.store_id
        )

    async def _write_apps(self, part: Part) -> None:
        await self._load(part, "true")
        stores = (self._source.store_id, self._target.store_id)
        await write_apps(self._target.connection, part.copy_name, part.columns, OF_MOVED_STORE, stores)

    async def _write(self, part: Part, changed: int, count: int, since: str | None) -> None:
        """Replace the rows of a table there that changed, and delete those that aren't here any more."""
        target, store_id = self._target.connection, self._target.store_id
        table, copy = part.table.qualified_name, part.copy_name
        await self._load(part, _changed(since))
        if "app_id" in part.columns:
            await target.execute(
                f"UPDATE {copy} c SET app_id = (SELECT a.id FROM moving_apps m JOIN apps a ON a.public_id = m.public_id"
                " WHERE m.id = c.app_id) WHERE app_id IS NOT NULL"
            )
        await target.execute(f"DELETE FROM {table} t USING {copy} m WHERE t.{OF_STORE} = $1{_same_key(part)}", store_id)
        left = await target.fetchval(f"SELECT count(*) FROM {table} t WHERE t.{OF_STORE} = $1", store_id)
        if left + changed != count:
            await self._delete_gone(part)
        columns = columns_sql(part.columns)
        await target.execute(
            f"INSERT INTO {table} ({OF_STORE}, {columns}) OVERRIDING SYSTEM VALUE SELECT $1::bigint, {columns} FROM {copy}",
            store_id,
        )
        await raise_sequence(target, part)
        await target.execute(f"DROP TABLE {copy}")
        self.rows += changed

    async def _delete_gone(self, part: Part) -> None:
        """Delete the rows there whose keys aren't here."""
        target, copy = self._target.connection, part.copy_name
        await target.execute(f"ALTER TABLE {copy} RENAME TO {copy}_rows")
        await self._load(part, "true", tuple(key for key in part.table.key if key != OF_STORE) or part.columns[:1])
        await target.execute(
            f"DELETE FROM {part.table.qualified_name} t WHERE t.{OF_STORE} = $1"
            f" AND NOT EXISTS (SELECT FROM {copy} m WHERE true{_same_key(part)})", self._target.store_id,
        )  # fmt: skip
        await target.execute(f"DROP TABLE {copy}")
        await target.execute(f"ALTER TABLE {copy}_rows RENAME TO {copy}")

    async def _compare(self, part: Part) -> None:
        here, there = await self._digests(part)
        if here != there and self._returns:
            await self._write(part, here.rows, here.rows, None)
            here, there = await self._digests(part)
        if here != there:
            raise ArchiveError(f"the rows of {part.table.name} differ: {there.rows} there, {here.rows} here")

    async def _digests(self, part: Part) -> tuple[Digest, Digest]:
        source, target = self._source, self._target
        return await asyncio.gather(
            digest(source.connection, part.table.qualified_name, part.compared, part.where(source.store_id)),
            digest(target.connection, part.table.qualified_name, part.compared, part.where(target.store_id)),
        )


def _changed(since: str | None) -> str:
    """Return the condition on rows that were inserted or updated by a transaction not older than `since`."""
    return "true" if since is None else f"age(t.xmin) <= age('{int(since) % 2**32}'::xid)"


def _same_key(part: Part) -> str:
    return "".join(f" AND t.{quoted(key)} = m.{quoted(key)}" for key in part.table.key if key != OF_STORE)
