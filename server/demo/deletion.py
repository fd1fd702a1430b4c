"""Delete the data of a demo store so that it can be created again; the store with its id and hosts stays."""

from __future__ import annotations

from graphlib import TopologicalSorter

import asyncpg

from auth.credential_cache import CHANNEL as CREDENTIALS
from auth.store_resolution import CHANNEL as STORES
from kernel.scope import Store

_TABLES = """
    select relname from pg_catalog.pg_class join pg_catalog.pg_attribute on attrelid = pg_class.oid
    where attname = 'tenant_id' and relkind = 'r' and relnamespace = current_schema()::regnamespace order by relname
"""
_FOREIGN_KEYS = """
    select c.relname as source, t.relname as target
    from pg_catalog.pg_constraint k
    join pg_catalog.pg_class c on c.oid = k.conrelid join pg_catalog.pg_class t on t.oid = k.confrelid
    where k.contype = 'f' and k.connamespace = current_schema()::regnamespace and k.conrelid <> k.confrelid
"""


async def delete_store_rows(owner_url: str, store: Store) -> None:
    """Delete all rows of the store in one transaction, as the tables' owner: no other role may change the audit log.

    Row-level security binds the owner too, so only this store's rows are deleted.
    """
    connection = await asyncpg.connect(owner_url)
    try:
        async with connection.transaction():
            await connection.execute("select set_config('vitrine.tenant', $1, true)", str(store.id))
            await connection.execute(
                "update tenants set owner_id = null, settings = '{}', status_letters = '{}' where id = $1",
                store.id,
            )
            for table in await _tables_by_dependency(connection):
                # Table names from the catalog, not user input.
                await connection.execute(f'delete from "{table}" where tenant_id = $1', store.id)
            await connection.execute("select vitrine_furnish_store($1)", store.id)
            await connection.execute("select pg_notify($1, $2)", STORES, str(store.id))
            await connection.execute("select pg_notify($1, $2)", CREDENTIALS, f"{store.id}:")
    finally:
        await connection.close()


async def _tables_by_dependency(connection: asyncpg.Connection) -> list[str]:
    """Sort the store tables so that referencing tables come before referenced ones."""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    tables = {record["relname"] for record in await connection.fetch(_TABLES)}
    for table in sorted(tables):
        sorter.add(table)
    for foreign_key in await connection.fetch(_FOREIGN_KEYS):
        if foreign_key["source"] in tables and foreign_key["target"] in tables:
            sorter.add(foreign_key["target"], foreign_key["source"])
    return list(sorter.static_order())
