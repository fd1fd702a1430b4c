"""Read the rows of all stores, as the role `vitrine_backup`: for backups and for the checks of `vitrine doctor`."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg

from models.connection.roles import BACKUP_ROLE, SET_ROLE_PRIVILEGE
from models.table_contents import connect_unlimited
from server.operations.archives import ArchiveError

_READER = f"""
    select rolsuper or rolbypassrls as sees_all, exists (
        select from pg_catalog.pg_roles b where b.rolname = $1 and pg_has_role(b.oid, {SET_ROLE_PRIVILEGE})
    ) as may_switch
    from pg_catalog.pg_roles where rolname = current_user
"""


async def reading_role(connection: asyncpg.Connection) -> str | None:
    """Return the role that reads all stores; None where the login itself does."""
    login = await connection.fetchrow(_READER, BACKUP_ROLE)
    assert login is not None  # of the current role
    if login["sees_all"]:
        return None
    if not login["may_switch"]:
        raise ArchiveError(
            f"the login of DATABASE_URL may not act as {BACKUP_ROLE}, so it sees no store's rows: run vitrine migrate as a role that"
            " may create roles, or set DATABASE_URL for this command to a login with BYPASSRLS"
        )
    return BACKUP_ROLE


async def readers(url: str) -> AsyncIterator[asyncpg.Connection]:
    """Yield the owner's connection in a transaction: once, seeing all stores, or where there is no such role, once for each store."""
    async with connect_unlimited(url, "vitrine doctor") as connection, connection.transaction(readonly=True):
        try:
            role = await reading_role(connection)
        except ArchiveError:
            for store in await connection.fetch("select id from tenants order by id"):
                await connection.execute("select set_config('vitrine.tenant', $1, true)", str(store["id"]))
                yield connection
            return
        if role is not None:
            await connection.execute(f"set local role {role}")
        yield connection
