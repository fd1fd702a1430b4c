"""The connection limit of the database, from which the pool sizes of all processes are calculated."""

from __future__ import annotations

import asyncpg

from models.connection.database_errors import translate_errors

# Without the slots reserved for superusers and (from PostgreSQL 16 on) for pg_use_reserved_connections; a role and a database may have
# their own limit (-1: none).
_ALLOWED = """
SELECT least(
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true), '0')::int,
    (SELECT nullif(rolconnlimit, -1) FROM pg_catalog.pg_roles WHERE rolname = session_user),
    (SELECT nullif(datconnlimit, -1) FROM pg_catalog.pg_database WHERE datname = current_database()))
"""


_TIMEOUT_SECONDS = 10.0


async def connections_allowed(url: str) -> int:
    """Return the number of connections the login role may open; raise Unavailable when the server can't be reached."""
    with translate_errors():
        connection = await asyncpg.connect(url, timeout=_TIMEOUT_SECONDS)
        try:
            allowed: int = await connection.fetchval(_ALLOWED)
        finally:
            await connection.close()
    return allowed
