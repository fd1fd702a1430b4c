"""Write apps that another database has into the registry of this one: for moves, imports and cells."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from models.table_contents import columns_sql
from server.operations.cells import SERVES

# What each database has of its own in the row of an app.
_OWN_COLUMNS = {"id", "registered_in"}

NONE = "false"
"""No app that exists is replaced: what an archive says of who registered it proves nothing."""
OF_MOVED_STORE = (
    "excluded.registered_in IS NOT NULL AND coalesce(a.registered_in, excluded.registered_in) = excluded.registered_in"
)
"""An app that exists is replaced where the store that moves has registered it, and no other store here: only there was it changed."""
OF_OTHER_CELLS = f"NOT EXISTS (SELECT FROM tenants t WHERE t.id = a.registered_in AND {SERVES})"
"""An app that exists is replaced unless a store that is served here has registered it."""


async def write_apps(
    connection: asyncpg.Connection, name: str, columns: Sequence[str], replaced: str, store: tuple[int, int] = (0, 0)
) -> int:
    """Insert the apps of a temporary table, and replace those that differ and fulfil the condition; return how many were written.

    `store` are the ids, there and here, of the store that moves.
    """
    common = [column for column in columns if column not in _OWN_COLUMNS]
    new = columns_sql(common)
    values = ", ".join(f"excluded.{each}" for each in new.split(", "))
    done = await connection.execute(
        f"INSERT INTO apps AS a ({new}, registered_in)"
        f" SELECT {new}, CASE WHEN registered_in = $1 THEN $2::bigint END FROM {name} m ORDER BY id"
        f" ON CONFLICT (public_id) DO UPDATE SET ({new}, registered_in) = ROW({values}, coalesce(excluded.registered_in, a.registered_in))"
        f" WHERE {replaced} AND ROW({', '.join(f'a.{each}' for each in new.split(', '))}, a.registered_in)"
        f" IS DISTINCT FROM ROW({values}, coalesce(excluded.registered_in, a.registered_in))",
        *store,
    )
    return int(done.rpartition(" ")[2])
