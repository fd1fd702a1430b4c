"""Empty a demo store, so that it can be filled anew; the store itself, its id and its addresses stay."""

from __future__ import annotations

from graphlib import TopologicalSorter

import asyncpg

from auth.credential_cache import CHANNEL as CREDENTIALS
from auth.tenancy import CHANNEL as STORES
from kernel.scope import Store

_TABLES = """
    select relname from pg_catalog.pg_class join pg_catalog.pg_attribute on attrelid = pg_class.oid
    where attname = 'tenant_id' and relkind = 'r' and relnamespace = current_schema()::regnamespace order by relname
"""
_POINTS_AT = """
    select c.relname as source, t.relname as target
    from pg_catalog.pg_constraint k
    join pg_catalog.pg_class c on c.oid = k.conrelid join pg_catalog.pg_class t on t.oid = k.confrelid
    where k.contype = 'f' and k.connamespace = current_schema()::regnamespace and k.conrelid <> k.confrelid
"""


async def clear(owner_url: str, store: Store) -> None:
    """Delete every row of the store in one transaction, as the tables' owner: nobody else may touch the audit log.

    Row-level security binds the owner too, so only this store's rows can go.
    """
    connection = await asyncpg.connect(owner_url)
    try:
        async with connection.transaction():
            await connection.execute("select set_config('vitrine.tenant', $1, true)", str(store.id))
            await connection.execute(
                "update tenants set owner_id = null, settings = '{}', status_letters = '{}' where id = $1",
                store.id,
            )
            for table in await _in_order(connection):
                # Names of tables, from the catalogue.
                await connection.execute(f'delete from "{table}" where tenant_id = $1', store.id)
            await connection.execute("select vitrine_furnish_store($1)", store.id)
            await connection.execute("select pg_notify($1, $2)", STORES, str(store.id))
            await connection.execute("select pg_notify($1, $2)", CREDENTIALS, f"{store.id}:")
    finally:
        await connection.close()


async def _in_order(connection: asyncpg.Connection) -> list[str]:
    """List the tables of stores so that each comes before those it points at."""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    tables = {record["relname"] for record in await connection.fetch(_TABLES)}
    for table in sorted(tables):
        sorter.add(table)
    for link in await connection.fetch(_POINTS_AT):
        if link["source"] in tables and link["target"] in tables:
            sorter.add(link["target"], link["source"])
    return list(sorter.static_order())
