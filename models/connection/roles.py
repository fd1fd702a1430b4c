"""Create the database roles and grant each its exact privileges, after each migration.

    the owner         migrates, and switches to the others by SET ROLE; FORCE ROW LEVEL SECURITY applies to it too
    vitrine_app       serves requests: only the rows of the store in the connection's setting
    vitrine_worker    finds due rows of all stores in the tables listed here; manages the platform's own tables
    vitrine_search    owns the search functions: `@@` is not leakproof, so under a row-level security policy the search index is not used
    vitrine_backup    reads every row, for `vitrine backup`; never used by a server

None can log in, none has BYPASSRLS. Roles belong to the cluster, not to the database: several databases, as in the tests, create them
concurrently. Where the login role may not create roles, the owner serves, and policies check a setting instead.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging

import asyncpg

from models.connection.pool import DatabaseSettings

APP_ROLE = "vitrine_app"
WORKER_ROLE = "vitrine_worker"
SEARCH_ROLE = "vitrine_search"
BACKUP_ROLE = "vitrine_backup"
ROLES = (APP_ROLE, WORKER_ROLE, SEARCH_ROLE)
MANAGED_POLICIES = ("across_stores", "searched", "owner_own_store", "backup")
"""The policies that `grant_privileges` creates; all others belong to the tables."""

MIN_POSTGRESQL_VERSION = 15  # for ON DELETE SET NULL with a column list
# From 16 on a membership may be granted WITH INHERIT FALSE, and SET is a separate option.
_INHERIT_OPTION_VERSION = 160_000
SET_ROLE_PRIVILEGE = (
    f"CASE WHEN current_setting('server_version_num')::int >= {_INHERIT_OPTION_VERSION} THEN 'SET' ELSE 'MEMBER' END"
)
MAX_ATTEMPTS = 20

logger = logging.getLogger("vitrine.database")

_STORE = "nullif(current_setting('vitrine.tenant', true), '')::bigint"
_READ_WRITE = "SELECT, INSERT, UPDATE, DELETE"

# Insert-only for the serving role.
_APPEND_ONLY = {"audit_entries"}
# The columns of its own row that a store may change; the status and the others are the platform's.
_OWN_TENANT_COLUMNS = "name, currency, maintenance_message, owner_id, settings, status_letters, gateway_secret"
_PLATFORM_GRANTS: tuple[tuple[str, str, str], ...] = (
    (APP_ROLE, "SELECT", "tenants, store_hosts, platform_users, signing_keys, hash_keys, tortoise_migrations"),
    (APP_ROLE, f"UPDATE ({_OWN_TENANT_COLUMNS})", "tenants"),
    (APP_ROLE, _READ_WRITE, "signin_counts, job_runs"),
    (APP_ROLE, "SELECT, INSERT", "apps"),
    (
        WORKER_ROLE,
        _READ_WRITE,
        "tenants, store_hosts, platform_users, signing_keys, hash_keys, signin_counts, job_runs, apps",
    ),
    (WORKER_ROLE, "SELECT", "tortoise_migrations"),
)
# The platform's own tables with row-level security.
_PLATFORM_RLS_TABLES = ("tenants", "apps")
# The worker's privileges on the rows of all stores; each row is then processed in its store's scope.
_CROSS_STORE_GRANTS: dict[str, str] = {
    "outbox_events": "SELECT, UPDATE (dispatched_at), DELETE",
    "app_installations": "SELECT (tenant_id, id, app_id, scopes, removed_at)",
    "event_endpoints": "SELECT, UPDATE (last_success_at, last_failure_at, failing_since, failures, paused_until, claimed_at)",
    "event_deliveries": (
        "SELECT, INSERT, UPDATE (state, tries, due_at, claim, last_status, last_error, attempts, updated_at, delivered_at)"
    ),
    "orders": "SELECT (tenant_id, id, status, payment_status, hold_until, deleted_at)",
    "gateway_notifications": "SELECT (tenant_id, id, processed, due_at)",
    "carts": "SELECT (tenant_id, id, status, expires_at, is_untold, told_at, updated_at, abandoned_at)",
    "stock_changes": "SELECT",
    "sessions": "SELECT (tenant_id, id, expires_at, ended_at), DELETE",
    "refresh_tokens": "SELECT (tenant_id, id, expires_at, used_at), DELETE",
    "legacy_tokens": "SELECT (tenant_id, id, expires_at, ended_at), DELETE",
    "wrong_attempts": "SELECT (tenant_id, id, at), DELETE",
    "lockouts": "SELECT (tenant_id, id, until), DELETE",
    "mails": "SELECT (tenant_id, id, status, created_at, due_at)",
    # The only role that deletes entries (domain/retention.py).
    "audit_entries": "SELECT (tenant_id, id, at), DELETE",
    "bulk_operations": (
        "SELECT (tenant_id, id, public_id, kind, state, credential, user_id, installation_id, scopes, document, upload, is_atomic,"
        " due_at, claim, tries, started_at), UPDATE (state, due_at, claim, tries, started_at)"
    ),
}
_SEARCH_TABLES = {"search_products": "products", "search_users": "users"}


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


async def owner_inherits_roles(connection: asyncpg.Connection) -> bool:
    """Return whether the policies of the roles apply to the owner too: on PostgreSQL 15, and after an upgrade from it."""
    inherits: bool = await connection.fetchval(
        "select coalesce(bool_or(pg_has_role(oid, 'USAGE')), false) from pg_catalog.pg_roles where rolname = any($1::text[])",
        [WORKER_ROLE, SEARCH_ROLE, BACKUP_ROLE],
    )
    return inherits


def privileges_version(with_roles: bool, *, owner_inherits: bool = False, with_backup: bool = False) -> str:
    """Return a hash of the privilege rules; privileges are granted again when it differs from the one stored in the database."""
    rules = repr(
        (
            with_roles,
            owner_inherits,
            with_backup,
            MANAGED_POLICIES,
            _PLATFORM_GRANTS,
            _PLATFORM_RLS_TABLES,
            _CROSS_STORE_GRANTS,
            _APPEND_ONLY,
            _SEARCH_TABLES,
            _search_function("", ""),
        )
    )
    return hashlib.sha256(rules.encode()).hexdigest()[:16]


async def grant_privileges(
    connection: asyncpg.Connection, *, with_roles: bool, owner_inherits: bool = False, with_backup: bool = False
) -> None:
    """Grant each role exactly the privileges above; call inside a transaction.

    With `owner_inherits` the policies across stores apply to their own role only, not to an owner that inherits it.
    """
    schema: str = await connection.fetchval("select quote_ident(current_schema())")
    stores = [
        record["name"]
        for record in await connection.fetch(
            "select quote_ident(relname) as name from pg_catalog.pg_class join pg_catalog.pg_attribute on attrelid = pg_class.oid "
            "where relnamespace = current_schema()::regnamespace and relkind = 'r' and attname = 'tenant_id' order by 1"
        )
    ]
    for statement in _statements(schema, stores, with_roles, owner_inherits):
        await connection.execute(statement)
    if with_backup:
        for statement in _backup_statements(schema, stores, owner_inherits):
            await connection.execute(statement)
    await _create_search_functions(connection, schema, with_roles)


def _statements(schema: str, stores: list[str], with_roles: bool, owner_inherits: bool) -> list[str]:
    cross_store = {table: rights for table, rights in _CROSS_STORE_GRANTS.items() if table in stores}
    drops = [
        f"DROP POLICY IF EXISTS {policy} ON {table}"
        for policy in ("across_stores", "backup")
        for table in (*stores, *_PLATFORM_RLS_TABLES)
    ]
    drops += [
        f"DROP POLICY IF EXISTS {policy} ON {table}"
        for policy in ("searched", "owner_own_store")
        for table in _SEARCH_TABLES.values()
    ]
    if not with_roles:
        # The OR with own_store prevents the use of the tenant_id index unless a statement has its own tenant_id condition, as all do.
        return drops + [
            f"CREATE POLICY across_stores ON {table} TO CURRENT_USER "
            "USING (current_setting('vitrine.across', true) = 'on')"
            for table in cross_store
        ]
    all_roles = ", ".join(ROLES)
    # Where no role inherits the policy, `true` lets the planner drop it.
    is_worker = f"current_user = '{WORKER_ROLE}'" if owner_inherits else "true"
    # Such a condition would keep the search role from using the search index, so here the owner is restricted instead.
    restricted = _SEARCH_TABLES.values() if owner_inherits else ()
    return [
        *drops,
        f"REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {all_roles}",
        f"GRANT USAGE ON SCHEMA {schema} TO {all_roles}",
        *(
            f"GRANT {'SELECT, INSERT' if table in _APPEND_ONLY else _READ_WRITE} ON {table} TO {APP_ROLE}"
            for table in stores
        ),
        *(f"GRANT {rights} ON {tables} TO {role}" for role, rights, tables in _PLATFORM_GRANTS),
        *(f"GRANT {rights} ON {table} TO {WORKER_ROLE}" for table, rights in cross_store.items()),
        *(
            f"CREATE POLICY across_stores ON {table} TO {WORKER_ROLE} USING ({is_worker})"
            for table in (*cross_store, *_PLATFORM_RLS_TABLES)
        ),
        *(
            f"CREATE POLICY searched ON {table} FOR SELECT TO {SEARCH_ROLE} USING (true)"
            for table in _SEARCH_TABLES.values()
        ),
        *(
            f"CREATE POLICY owner_own_store ON {table} AS RESTRICTIVE FOR SELECT TO CURRENT_USER USING (tenant_id = {_STORE})"
            for table in restricted
        ),
        *(
            f"GRANT SELECT (tenant_id, id, deleted_at, search) ON {table} TO {SEARCH_ROLE}"
            for table in _SEARCH_TABLES.values()
        ),
    ]


def _backup_statements(schema: str, stores: list[str], owner_inherits: bool) -> list[str]:
    is_backup = f"current_user = '{BACKUP_ROLE}'" if owner_inherits else "true"
    return [
        f"REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {BACKUP_ROLE}",
        f"GRANT USAGE ON SCHEMA {schema} TO {BACKUP_ROLE}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {BACKUP_ROLE}",
        f"GRANT SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO {BACKUP_ROLE}",
        *(f"CREATE POLICY backup ON {table} FOR SELECT TO {BACKUP_ROLE} USING ({is_backup})" for table in stores),
    ]


async def _create_search_functions(connection: asyncpg.Connection, schema: str, with_roles: bool) -> None:
    for name, table in _SEARCH_TABLES.items():
        owner = await connection.fetchval(
            "select pg_catalog.pg_get_userbyid(proowner) from pg_catalog.pg_proc "
            "where proname = $1 and pronamespace = current_schema()::regnamespace",
            name,
        )
        if owner is not None and (owner == SEARCH_ROLE) != with_roles:
            await connection.execute(f"DROP FUNCTION {name}(tsquery)")
        if with_roles:
            # Created by the role that shall own it, because it is SECURITY DEFINER.
            await connection.execute(f"GRANT CREATE ON SCHEMA {schema} TO {SEARCH_ROLE}")
            await connection.execute(f"SET LOCAL ROLE {SEARCH_ROLE}")
        await connection.execute(_search_function(name, f"{schema}.{table}"))
        await connection.execute(f"REVOKE ALL ON FUNCTION {name}(tsquery) FROM PUBLIC")
        if with_roles:
            await connection.execute(f"GRANT EXECUTE ON FUNCTION {name}(tsquery) TO {APP_ROLE}")
            await connection.execute("RESET ROLE")
            await connection.execute(f"REVOKE CREATE ON SCHEMA {schema} FROM {SEARCH_ROLE}")


def _search_function(name: str, table: str) -> str:
    """Return the SQL of a function that returns the ids of the store's rows that match a tsquery.

    It reads the store from the setting, so that another store's can't be passed. The store's own lexeme (see vitrine_search_vector) limits
    the index scan to that store.
    """
    return f"""
        CREATE OR REPLACE FUNCTION {name}(wanted tsquery) RETURNS SETOF bigint
        LANGUAGE sql STABLE SECURITY DEFINER ROWS 100 SET search_path = pg_catalog, pg_temp
        AS $function$
            SELECT id FROM {table}
            WHERE search @@ (('''#' || {_STORE} || '''')::tsquery && wanted)
              AND tenant_id = {_STORE} AND deleted_at IS NULL
        $function$"""


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
