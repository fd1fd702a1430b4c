"""Make the database's roles and say what each may do, exactly and again after each migration.

    the owner         migrates, and becomes the others by SET ROLE; FORCE ROW LEVEL SECURITY binds it too
    vitrine_app       serves: the rows of the store in the connection's setting, and no more
    vitrine_worker    looks for what is due over all stores, in the few tables named here; keeps the platform's own tables
    vitrine_search    owns the search functions: `@@` is not leakproof, so under a policy that compares it no search index is used

None can log in, none has BYPASSRLS. Roles belong to the cluster and not to the database: several databases, as in the tests, make
them at the same time. Where the log-in may not make roles, the owner serves, and policies look at a setting instead.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging

import asyncpg

APP = "vitrine_app"
WORKER = "vitrine_worker"
SEARCH = "vitrine_search"
ROLES = (APP, WORKER, SEARCH)

OLDEST_POSTGRESQL = 15  # ON DELETE SET NULL of some columns
# From 16 on a role may be given without its rights being inherited, and the right to become it is one of its own.
_NOT_INHERITED = 160_000
MAY_BECOME = (
    f"CASE WHEN current_setting('server_version_num')::int >= {_NOT_INHERITED} THEN 'SET' ELSE 'MEMBER' END"
)
ATTEMPTS = 20

logger = logging.getLogger("vitrine.database")

_STORE = "nullif(current_setting('vitrine.tenant', true), '')::bigint"
_EVERYTHING = "SELECT, INSERT, UPDATE, DELETE"

# Written once and never changed by the program that serves.
_APPEND_ONLY = {"audit_entries"}
# What a store changes in its own row; suspending it and the rest are the platform's.
_OWN_TENANT_COLUMNS = (
    "name, currency, maintenance_message, owner_id, settings, status_letters, gateway_secret"
)
_PLATFORM_GRANTS: tuple[tuple[str, str, str], ...] = (
    (APP, "SELECT", "tenants, store_hosts, platform_users, signing_keys, tortoise_migrations"),
    (APP, f"UPDATE ({_OWN_TENANT_COLUMNS})", "tenants"),
    (APP, _EVERYTHING, "signin_counts, job_runs"),
    (APP, "SELECT, INSERT", "apps"),
    (
        WORKER,
        _EVERYTHING,
        "tenants, store_hosts, platform_users, signing_keys, signin_counts, job_runs, apps",
    ),
    (WORKER, "SELECT", "tortoise_migrations"),
)
# The platform's own tables that are under row-level security too.
_PLATFORM_UNDER_POLICY = ("tenants", "apps")
# Where the worker looks over all stores, and what it may do there; the work on a row is done in the row's own scope.
_ACROSS: dict[str, str] = {
    "outbox_events": "SELECT, UPDATE (dispatched_at), DELETE",
    "app_installations": "SELECT (tenant_id, id, app_id, scopes, removed_at)",
    "event_endpoints": "SELECT, UPDATE (last_success_at, last_failure_at, failing_since, failures, paused_until, claimed_at)",
    "event_deliveries": (
        "SELECT, INSERT, UPDATE (state, tries, due_at, claim, last_status, last_error, attempts, updated_at, delivered_at)"
    ),
    "orders": "SELECT (tenant_id, id, status, payment_status, hold_until, deleted_at)",
    "gateway_notifications": "SELECT (tenant_id, id, processed, due_at)",
    "carts": "SELECT (tenant_id, id, status, expires_at, is_untold, told_at)",
    "sessions": "SELECT (tenant_id, id, expires_at, ended_at), DELETE",
    "refresh_tokens": "SELECT (tenant_id, id, expires_at, used_at), DELETE",
    "legacy_tokens": "SELECT (tenant_id, id, expires_at, ended_at), DELETE",
    "wrong_attempts": "SELECT (tenant_id, id, at), DELETE",
    "lockouts": "SELECT (tenant_id, id, until), DELETE",
    "mails": "SELECT (tenant_id, id, status, created_at, due_at)",
}
_SEARCHED = {"search_products": "products", "search_users": "users"}


async def ensure_roles(connection: asyncpg.Connection) -> bool:
    """Make the roles that are missing and let the owner become them; False where it may do neither."""
    for role in ROLES:
        for attempt in range(ATTEMPTS):
            try:
                if not await _ensure_role(connection, role):
                    return False
                break
            except (asyncpg.DuplicateObjectError, asyncpg.UniqueViolationError, asyncpg.InternalServerError):
                # Another database's migration makes the same role: duplicate, or "tuple concurrently updated".
                await asyncio.sleep(0.02 * (attempt + 1))
            except asyncpg.InsufficientPrivilegeError as error:
                logger.warning("no role %s (%s): the owner of the tables will serve", role, error)
                return False
        else:
            logger.warning("the role %s could not be made: the owner of the tables will serve", role)
            return False
    return True


async def _ensure_role(connection: asyncpg.Connection, role: str) -> bool:
    found = await connection.fetchrow(
        f"select pg_has_role(oid, {MAY_BECOME}) as usable from pg_catalog.pg_roles where rolname = $1", role
    )
    if found is None:
        may_create = await connection.fetchval(
            "select rolsuper or rolcreaterole from pg_catalog.pg_roles where rolname = current_user"
        )
        if not may_create:
            logger.warning("%s may not make roles: the owner of the tables will serve", role)
            return False
        await connection.execute(f"CREATE ROLE {role} NOLOGIN NOSUPERUSER NOBYPASSRLS")
    if found is None or not found["usable"]:
        # Not inherited where that can be said: the owner would otherwise see through the worker's policies all the time. On 15 it
        # does, in the few tables of _ACROSS; what serves is vitrine_app, which is a member of nothing.
        version = await connection.fetchval("select current_setting('server_version_num')::int")
        terms = " WITH INHERIT FALSE, SET TRUE" if version >= _NOT_INHERITED else ""
        await connection.execute(f"GRANT {role} TO CURRENT_USER{terms}")
    return True


def rights_version(with_roles: bool) -> str:
    """Name the present rules, to be kept in the database: they are set anew when it differs."""
    rules = repr(
        (
            with_roles,
            _PLATFORM_GRANTS,
            _PLATFORM_UNDER_POLICY,
            _ACROSS,
            _APPEND_ONLY,
            _SEARCHED,
            _search_function("", ""),
        )
    )
    return hashlib.sha256(rules.encode()).hexdigest()[:16]


async def set_rights(connection: asyncpg.Connection, *, with_roles: bool) -> None:
    """Give each role exactly what is written above; to be run inside a transaction."""
    schema: str = await connection.fetchval("select quote_ident(current_schema())")
    stores = [
        record["name"]
        for record in await connection.fetch(
            "select quote_ident(relname) as name from pg_catalog.pg_class join pg_catalog.pg_attribute on attrelid = pg_class.oid "
            "where relnamespace = current_schema()::regnamespace and relkind = 'r' and attname = 'tenant_id' order by 1"
        )
    ]
    for statement in _statements(schema, stores, with_roles):
        await connection.execute(statement)
    await _make_search_functions(connection, schema, with_roles)


def _statements(schema: str, stores: list[str], with_roles: bool) -> list[str]:
    across = {table: rights for table, rights in _ACROSS.items() if table in stores}
    drops = [
        f"DROP POLICY IF EXISTS across_stores ON {table}" for table in (*stores, *_PLATFORM_UNDER_POLICY)
    ]
    drops += [f"DROP POLICY IF EXISTS searched ON {table}" for table in _SEARCHED.values()]
    if not with_roles:
        # The OR with own_store costs the index on tenant_id unless a statement names the store itself, as all of ours do.
        return drops + [
            f"CREATE POLICY across_stores ON {table} TO CURRENT_USER "
            "USING (current_setting('vitrine.across', true) = 'on')"
            for table in across
        ]
    everybody = ", ".join(ROLES)
    return [
        *drops,
        f"REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {everybody}",
        f"GRANT USAGE ON SCHEMA {schema} TO {everybody}",
        *(
            f"GRANT {'SELECT, INSERT' if table in _APPEND_ONLY else _EVERYTHING} ON {table} TO {APP}"
            for table in stores
        ),
        *(f"GRANT {rights} ON {tables} TO {role}" for role, rights, tables in _PLATFORM_GRANTS),
        *(f"GRANT {rights} ON {table} TO {WORKER}" for table, rights in across.items()),
        *(
            f"CREATE POLICY across_stores ON {table} TO {WORKER} USING (true)"
            for table in (*across, *_PLATFORM_UNDER_POLICY)
        ),
        *(
            f"CREATE POLICY searched ON {table} FOR SELECT TO {SEARCH} USING (true)"
            for table in _SEARCHED.values()
        ),
        *(
            f"GRANT SELECT (tenant_id, id, deleted_at, search) ON {table} TO {SEARCH}"
            for table in _SEARCHED.values()
        ),
    ]


async def _make_search_functions(connection: asyncpg.Connection, schema: str, with_roles: bool) -> None:
    for name, table in _SEARCHED.items():
        owner = await connection.fetchval(
            "select pg_catalog.pg_get_userbyid(proowner) from pg_catalog.pg_proc "
            "where proname = $1 and pronamespace = current_schema()::regnamespace",
            name,
        )
        if owner is not None and (owner == SEARCH) != with_roles:
            await connection.execute(f"DROP FUNCTION {name}(tsquery)")
        if with_roles:
            # Whoever makes it owns it, and runs it: SECURITY DEFINER.
            await connection.execute(f"GRANT CREATE ON SCHEMA {schema} TO {SEARCH}")
            await connection.execute(f"SET LOCAL ROLE {SEARCH}")
        await connection.execute(_search_function(name, f"{schema}.{table}"))
        await connection.execute(f"REVOKE ALL ON FUNCTION {name}(tsquery) FROM PUBLIC")
        if with_roles:
            await connection.execute(f"GRANT EXECUTE ON FUNCTION {name}(tsquery) TO {APP}")
            await connection.execute("RESET ROLE")
            await connection.execute(f"REVOKE CREATE ON SCHEMA {schema} FROM {SEARCH}")


def _search_function(name: str, table: str) -> str:
    """Write a function that gives the ids of the store's rows that have the words.

    It takes no store: it reads the setting itself, so that nobody can ask for another's. The store's own lexeme (see
    vitrine_search_vector) keeps the work within the index to that store.
    """
    return f"""
        CREATE OR REPLACE FUNCTION {name}(wanted tsquery) RETURNS SETOF bigint
        LANGUAGE sql STABLE SECURITY DEFINER ROWS 100 SET search_path = pg_catalog, pg_temp
        AS $function$
            SELECT id FROM {table}
            WHERE search @@ (('''#' || {_STORE} || '''')::tsquery && wanted)
              AND tenant_id = {_STORE} AND deleted_at IS NULL
        $function$"""
