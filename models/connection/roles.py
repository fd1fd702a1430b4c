"""The database roles, which the first migration creates; `models/granting.py` grants each its exact privileges.

    the owner         migrates, and switches to the others by SET ROLE; FORCE ROW LEVEL SECURITY applies to it too
    vitrine_app       serves requests: only the rows of the store in the connection's setting
    vitrine_worker    finds due rows of all stores in the tables listed in `models/role_privileges.py`; manages the platform's own tables
    vitrine_search    owns the search functions: `@@` is not leakproof, so under a row-level security policy the search index is not used
    vitrine_backup    reads every row, for `vitrine backup` and `doctor`; never used by a server

None can log in, none has BYPASSRLS. Roles belong to the cluster, not to the database: several databases, as in the tests, create them
concurrently. Where the login role may not create roles, the owner serves, and policies check a setting instead.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

import asyncpg

from models.connection.pool import DatabaseSettings

APP_ROLE = "vitrine_app"
WORKER_ROLE = "vitrine_worker"
SEARCH_ROLE = "vitrine_search"
BACKUP_ROLE = "vitrine_backup"
ROLES = (APP_ROLE, WORKER_ROLE, SEARCH_ROLE)

MIN_POSTGRESQL_VERSION = 15  # for ON DELETE SET NULL with a column list
# From 16 on a membership may be granted WITH INHERIT FALSE, and SET is a separate option.
_INHERIT_OPTION_VERSION = 160_000
SET_ROLE_PRIVILEGE = (
    f"CASE WHEN current_setting('server_version_num')::int >= {_INHERIT_OPTION_VERSION} THEN 'SET' ELSE 'MEMBER' END"
)
MAX_ATTEMPTS = 20

logger = logging.getLogger("vitrine.database")


async def ensure_roles(connection: asyncpg.Connection, roles: tuple[str, ...] = ROLES) -> bool:
    """Create missing roles and grant them to the owner; return False when it may not."""
    for role in roles:
        for attempt in range(MAX_ATTEMPTS):
            try:
                if not await _ensure_role(connection, role):
                    return False
                break
            except (asyncpg.DuplicateObjectError, asyncpg.UniqueViolationError, asyncpg.InternalServerError):
                # The migration of another database creates the same role: duplicate, or "tuple concurrently updated".
                await asyncio.sleep(0.02 * (attempt + 1))
            except asyncpg.InsufficientPrivilegeError as error:
                logger.warning("no role %s (%s): the owner of the tables acts in its place", role, error)
                return False
        else:
            logger.warning("the role %s could not be created: the owner of the tables acts in its place", role)
            return False
    return True


async def _ensure_role(connection: asyncpg.Connection, role: str) -> bool:
    existing = await connection.fetchrow(
        f"select pg_has_role(oid, {SET_ROLE_PRIVILEGE}) as usable from pg_catalog.pg_roles where rolname = $1", role
    )
    if existing is None:
        may_create = await connection.fetchval(
            "select rolsuper or rolcreaterole from pg_catalog.pg_roles where rolname = current_user"
        )
        if not may_create:
            logger.warning("%s may not create roles: the owner of the tables acts in its place", role)
            return False
        await connection.execute(f"CREATE ROLE {role} NOLOGIN NOSUPERUSER NOBYPASSRLS")
    if existing is None or not existing["usable"]:
        # Without INHERIT where possible: else the policies of the roles apply to the owner too (`owner_inherits_roles`).
        version = await connection.fetchval("select current_setting('server_version_num')::int")
        options = " WITH INHERIT FALSE, SET TRUE" if version >= _INHERIT_OPTION_VERSION else ""
        await connection.execute(f"GRANT {role} TO CURRENT_USER{options}")
    return True


@dataclass(frozen=True, slots=True)
class RoleSet:
    """Which roles a database has: without them the owner acts in their place, without `with_backup` `vitrine backup` needs another login.

    `owner_inherits`: the policies of the roles apply to the owner too, on PostgreSQL 15 and after an upgrade from it.
    """

    owner: str
    exist: bool
    owner_inherits: bool
    with_backup: bool


async def find_roles(connection: asyncpg.Connection) -> RoleSet:
    """Return which roles the owner, who is connected, may act as."""
    row = await connection.fetchrow(_FIND_ROLES, [*ROLES], BACKUP_ROLE)
    assert row is not None
    return RoleSet(**row)


_FIND_ROLES = f"""
    with roles as (
        select rolname, pg_has_role(oid, {SET_ROLE_PRIVILEGE}) as usable, pg_has_role(oid, 'USAGE') as inherited
        from pg_catalog.pg_roles where rolname = any($1::text[]) or rolname = $2
    ), found as (select coalesce(array_agg(rolname::text) filter (where usable), '{{}}') as names from roles)
    select current_user::text as owner, names @> $1::text[] as exist, names @> $1::text[] and $2 = any(names) as with_backup,
        names @> $1::text[] and exists (select from roles where inherited and rolname <> '{APP_ROLE}') as owner_inherits
    from found
"""


async def act_as_app(connection: asyncpg.Connection) -> None:
    """Take on the role that serves, where the login role may: one with NOINHERIT has none of its privileges before."""
    if await connection.fetchval(
        f"select pg_has_role(oid, {SET_ROLE_PRIVILEGE}) from pg_catalog.pg_roles where rolname = $1", APP_ROLE
    ):
        await connection.execute(f"set role {APP_ROLE}")


async def usable_roles(settings: DatabaseSettings) -> set[str]:
    """Return which of the roles of the settings exist and may be taken by the login role."""
    wanted = [role for role in (settings.role, settings.worker_role) if role is not None]
    connection = await asyncpg.connect(
        settings.pooler_url or settings.url, timeout=settings.acquire_seconds, statement_cache_size=0
    )
    try:
        records = await connection.fetch(
            f"select rolname from pg_roles where rolname = any($1::text[]) and pg_has_role(oid, {SET_ROLE_PRIVILEGE})",
            wanted,
        )
    finally:
        await connection.close()
    return {record["rolname"] for record in records}
