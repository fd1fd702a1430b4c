"""Delete a store with every row that belongs to it: `vitrine tenant delete` (docs/security.md#deleting-a-store).

The store is suspended first, so that nothing writes any more. Its rows are deleted in batches, each committed, the referencing tables
first; the store's own row goes last, which the foreign keys of all tables of stores allow only when none has a row of it. An interrupted
deletion leaves a suspended store and is continued by the next one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from auth.store_resolution import CHANNEL
from domain import stores
from domain.store_files import delete_store_files
from kernel.clock import format_rfc3339, now
from kernel.scope import Store
from models.table_contents import OF_STORE, Digest, Table, digest, read_tables
from server.operations.archives import ArchiveError
from server.operations.store_move import lock_store
from server.operations.store_transfer import APPS, HOSTS, connect_owner, wait_for_transactions

BATCH_ROWS = 5_000
# From here on the store isn't whole: it can't be resumed, moved or exported any more.
_BEGIN = """
UPDATE tenants SET owner_id = NULL, move = coalesce(move, '{}') || '{"deleting": true}' WHERE id = $1
"""


@dataclass(frozen=True, slots=True)
class Receipt:
    """The proof of a deletion: rows and checksum of each table just before, files, and apps that stay, installed in other stores."""

    public_id: UUID
    name: str
    hosts: tuple[str, ...]
    deleted_at: datetime
    tables: Mapping[str, Digest]
    files: tuple[str, ...]
    remaining_apps: tuple[str, ...]

    @property
    def rows(self) -> int:
        """Return the number of deleted rows."""
        return sum(table.rows for table in self.tables.values())

    def as_json(self) -> dict[str, Any]:
        """Return the receipt with the SHA-256 of its other members, as JSON with sorted keys and without spaces."""
        receipt = {
            "tenant_id": str(self.public_id),
            "name": self.name,
            "hosts": list(self.hosts),
            "deleted_at": format_rfc3339(self.deleted_at),
            "tables": {name: table._asdict() for name, table in self.tables.items() if table.rows},
            "rows": self.rows,
            "files": list(self.files),
            "remaining_apps": list(self.remaining_apps),
        }
        text = json.dumps(receipt, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return {**receipt, "sha256": hashlib.sha256(text.encode()).hexdigest()}


async def delete_store(url: str, store: Store, hosts: tuple[str, ...]) -> Receipt:
    """Delete the store at the owner's URL, with its files.

    Raises ArchiveError while a transaction stays open, a move goes on, or when the store isn't as it was read, `Unavailable` when the
    storage of files doesn't answer: then nothing is deleted yet.
    """
    async with connect_owner(url, store.id) as connection:
        await lock_store(connection, store.public_id)
        now_is = await stores.find_store(store.id)
        if (now_is.status, now_is.is_read_only) != (store.status, store.is_read_only):
            raise ArchiveError("the status of the store has changed meanwhile: repeat this")
        return await delete_locked(connection, store, hosts)


async def delete_locked(connection: asyncpg.Connection, store: Store, hosts: tuple[str, ...]) -> Receipt:
    """Delete the store by a connection of the owner that is bound to it and keeps moves away."""
    if store.status != stores.SUSPENDED:
        await stores.suspend(store.id)
    await wait_for_transactions(connection)
    files = await delete_store_files(store.public_id)
    tables = [table for table in await read_tables(connection) if table.is_of_store]
    of_store = f"t.{OF_STORE} = $1"
    before = {
        table.name: await digest(connection, table.qualified_name, table.columns, of_store, store.id)
        for table in tables
    }
    await connection.execute(_BEGIN, store.id)
    for table in reversed(tables):
        while await _delete_batch(connection, table, store.id):
            pass
    remaining_apps = await _delete_apps(connection, store.id)
    await _delete_last_rows(connection, tables, store.id)
    # What a worker or a client was still writing; a file that appears later is deleted by the worker.
    files += await delete_store_files(store.public_id)
    before[HOSTS] = Digest(len(hosts), "")
    return Receipt(store.public_id, store.name, hosts, now(), before, tuple(sorted(set(files))), remaining_apps)


async def _delete_batch(connection: asyncpg.Connection, table: Table, store_id: int) -> int:
    deleted: int = await connection.fetchval(
        f"WITH gone AS (DELETE FROM {table.qualified_name} WHERE ctid = ANY(ARRAY("
        f"SELECT ctid FROM {table.qualified_name} WHERE {OF_STORE} = $1 LIMIT {BATCH_ROWS}"
        ")) RETURNING 1) SELECT count(*) FROM gone",
        store_id,
    )
    return deleted


async def _delete_apps(connection: asyncpg.Connection, store_id: int) -> tuple[str, ...]:
    """Delete the apps that were registered in the store; return the client ids of those that other stores have installed."""
    remaining = []
    for app in await connection.fetch(
        f"SELECT id, client_id FROM {APPS} WHERE registered_in = $1 ORDER BY id", store_id
    ):
        try:
            await connection.execute(f"DELETE FROM {APPS} WHERE id = $1", app["id"])
        except asyncpg.ForeignKeyViolationError:
            remaining.append(app["client_id"])
    return tuple(remaining)


async def _delete_last_rows(connection: asyncpg.Connection, tables: list[Table], store_id: int) -> None:
    """Delete the store itself and what triggers wrote meanwhile, in one transaction."""
    async with connection.transaction():
        for table in reversed(tables):
            await connection.execute(f"DELETE FROM {table.qualified_name} WHERE {OF_STORE} = $1", store_id)
        await connection.execute(f"DELETE FROM {HOSTS} WHERE store_id = $1", store_id)
        await connection.execute("DELETE FROM tenants WHERE id = $1", store_id)
        await connection.execute("SELECT pg_notify($1, $2)", CHANNEL, str(store_id))
