"""Ask the database how many connections it allows, so that processes can share them out before the first request fails."""

from __future__ import annotations

import asyncpg

from models.failures import translated

# What superusers and, from PostgreSQL 16 on, roles with a right of their own keep for themselves is not for us; a log-in and a database
# may have a limit of their own (-1: none).
_ALLOWED = """
SELECT least(
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true), '0')::int,
    (SELECT nullif(rolconnlimit, -1) FROM pg_catalog.pg_roles WHERE rolname = session_user),
    (SELECT nullif(datconnlimit, -1) FROM pg_catalog.pg_database WHERE datname = current_database()))
"""


async def connections_allowed(url: str, *, timeout: float = 10.0) -> int:
    """Give how many connections the log-in of the address may have at once; raises Unavailable where it can't be reached."""
    with translated():
        connection = await asyncpg.connect(url, timeout=timeout)
        try:
            allowed: int = await connection.fetchval(_ALLOWED)
        finally:
            await connection.close()
    return allowed
