"""Poolers in transaction mode, such as PgBouncer: what a connection finds out about the server behind it.

The process id that a server process reports is compared over several statements, so this works with any pooler.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from typing import Any

import asyncpg

from kernel.errors import OperatorError
from models.connection.connections import StoreConnection

PROBE_SECONDS = 10.0
_ALTERNATIONS = 5
# Its own entry: a pooler that keeps track of prepared statements has given it another name than the client did.
_OWN_NAME = "select name from pg_catalog.pg_prepared_statements where statement like '%{mark}%'"
OWN_PRIVILEGES = """
select session_user as name, rolsuper or rolbypassrls or exists (
    select from pg_catalog.pg_class where relname = 'tenants' and relkind = 'r'
        and pg_catalog.has_any_column_privilege(session_user, oid, 'select')
) as has_privileges
from pg_catalog.pg_roles where rolname = session_user"""
_SERVER = """
select pg_catalog.pg_postmaster_start_time() as started_at, oid from pg_catalog.pg_database where datname = current_database()"""


class UnsafePooler(OperatorError):
    """A pooler, or the lack of one, with which rows could be lost or shown to the wrong store."""


async def choose_statement_names(connection: StoreConnection) -> None:
    """Use named prepared statements only if the pooler keeps track of them (PgBouncer since 1.21, `max_prepared_statements`).

    Else a statement is parsed and planned at each execution, with the same round trip.
    """
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            connection.names_statements = False
            pid = await connection.fetchval("select pg_catalog.pg_backend_pid()")
            connection.names_statements = True
            if connection.get_server_pid() != pid:
                connection.names_statements = await _keeps_track_of_statements(connection)
    except BaseException:
        connection.terminate()  # asyncpg would wait for the response to a cancellation, which the pooler may have dropped
        raise


async def _keeps_track_of_statements(connection: StoreConnection) -> bool:
    protocol, mark = connection._protocol, secrets.token_hex(12)
    await protocol.query("begin", PROBE_SECONDS)  # one server process for all of it
    statement = await connection._get_statement(_OWN_NAME.format(mark=mark), PROBE_SECONDS, use_cache=False)
    records = await protocol.bind_execute(
        state=statement, args=(), portal_name="", limit=0, return_extra=False, timeout=PROBE_SECONDS
    )
    await protocol.close_statement(statement, PROBE_SECONDS)
    await protocol.query("rollback", PROBE_SECONDS)
    return statement.name not in {record["name"] for record in records}


async def check_pooling(url: str, pooler_url: str | None) -> None:
    """Raise `UnsafePooler` for a configuration that could lose or mix rows; driver errors pass.

    `url` must keep a session between statements, for LISTEN and advisory locks. `pooler_url` must reach the same database, allow
    transactions, and sign in with a role that has no privileges of its own, so that a statement without a binding fails.
    """
    if await _changes_session(url):
        raise UnsafePooler(
            "the database URL leads to a connection pooler in transaction mode: set VITRINE_POOLER_URL to it, and DATABASE_URL "
            "(VITRINE_APP_DATABASE_URL) to PostgreSQL itself, which notifications and migrations need"
        )
    if pooler_url is not None:
        await _check_pooler(url, pooler_url)


async def check_serving_database(owner_url: str, url: str) -> None:
    """Raise `UnsafePooler` when the login that serves is one of another database: migrations and backups would be of the owner's alone."""
    if await _read_server(url) != await _read_server(owner_url):
        raise UnsafePooler("VITRINE_APP_DATABASE_URL leads to another database than DATABASE_URL")


async def _read_server(url: str) -> asyncpg.Record | None:
    connection = await asyncpg.connect(url, timeout=PROBE_SECONDS, statement_cache_size=0)
    try:
        return await connection.fetchrow(_SERVER)
    finally:
        await connection.close()


async def _changes_session(url: str) -> bool:
    """Return whether statements of one connection run in several server processes, or those of two in the same."""
    one = await asyncpg.connect(url, timeout=PROBE_SECONDS, statement_cache_size=0)
    try:
        if one.get_server_pid() == await one.fetchval("select pg_catalog.pg_backend_pid()"):
            return False
        two = await asyncpg.connect(url, timeout=PROBE_SECONDS, statement_cache_size=0)
        try:
            seen: tuple[set[int], set[int]] = (set(), set())
            for _ in range(_ALTERNATIONS):
                for connection, processes in zip((one, two), seen, strict=True):
                    processes.add(await connection.fetchval("select pg_catalog.pg_backend_pid()"))
        finally:
            await two.close()
    finally:
        await one.close()
    return any(len(processes) > 1 for processes in seen) or bool(seen[0] & seen[1])


async def _check_pooler(url: str, pooler_url: str) -> None:
    expected = await _read_server(url)
    try:
        pooled = await asyncpg.connect(pooler_url, timeout=PROBE_SECONDS, statement_cache_size=0)
    except TimeoutError as error:
        # PgBouncer lets clients wait while it can't connect to PostgreSQL itself.
        raise TimeoutError(
            f"no answer from VITRINE_POOLER_URL within {PROBE_SECONDS:g} s: can it reach PostgreSQL and sign in there?"
        ) from error
    try:
        try:
            await pooled.execute("begin")
            server = await pooled.fetchrow(_SERVER)
            login = await pooled.fetchrow(OWN_PRIVILEGES)
            await pooled.execute("rollback")
        except asyncpg.PostgresConnectionError as error:
            if "transaction" not in str(error):
                raise
            raise UnsafePooler(
                f"VITRINE_POOLER_URL refuses a transaction: use pool_mode = transaction ({error})"
            ) from error
    finally:
        await pooled.close()
    if server != expected:
        raise UnsafePooler("VITRINE_POOLER_URL leads to another database than DATABASE_URL")
    check_login(login)


def check_login(login: Mapping[str, Any] | None) -> None:
    """Raise `UnsafePooler` if the login role of a pooler, a row of `OWN_PRIVILEGES`, has privileges of its own."""
    if login is None or login["has_privileges"]:
        name = login["name"] if login is not None else "(unknown)"
        raise UnsafePooler(
            f"the role {name} of VITRINE_POOLER_URL has privileges of its own, so a statement without a store would not be refused: "
            "use one created WITH LOGIN NOINHERIT that only has GRANT vitrine_app, vitrine_worker"
        )
