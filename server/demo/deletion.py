"""Delete the data of a demo store so that it can be created again; the store with its id and hosts stays."""

from __future__ import annotations

from auth.credential_cache import CHANNEL as CREDENTIALS
from auth.store_resolution import CHANNEL as STORES
from kernel.scope import Store
from models.table_contents import OF_STORE, read_tables
from server.operations.store_transfer import connect_owner

_EMPTY = "update tenants set owner_id = null, status = 'S', settings = '{}', status_letters = '{}' where id = $1"


async def delete_store_rows(owner_url: str, store: Store) -> None:
    """Delete all rows of the store in one transaction, as the tables' owner: no other role may change the audit log.

    Row-level security binds the owner too, so only this store's rows are deleted. Entries of the ledger can be deleted of a suspended
    store without an owner only, which this one is meanwhile.
    """
    async with connect_owner(owner_url, store.id) as connection, connection.transaction():
        status = await connection.fetchval("select status from tenants where id = $1", store.id)
        await connection.execute(_EMPTY, store.id)
        for table in reversed(await read_tables(connection)):
            if table.is_of_store:
                await connection.execute(f"delete from {table.qualified_name} where {OF_STORE} = $1", store.id)
        await connection.execute("update tenants set status = $2 where id = $1", store.id, status)
        await connection.execute("select vitrine_furnish_store($1)", store.id)
        await connection.execute("select pg_notify($1, $2)", STORES, str(store.id))
        await connection.execute("select pg_notify($1, $2)", CREDENTIALS, f"{store.id}:")
