"""Bring the grants and policies of a database to those of `models.role_privileges`, and find where they differ.

Only what differs is changed: a policy can't be created without locking its table, and servers use the tables meanwhile.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import asyncpg

from models.connection.roles import APP_ROLE, BACKUP_ROLE, ROLES, SEARCH_ROLE, RoleSet
from models.quoting import quoted
from models.role_privileges import (
    MANAGED_POLICIES,
    SEARCH_TABLES,
    STORE,
    Grant,
    Policy,
    Relations,
    expected_grants,
    expected_policies,
    table_policies,
)

_SCHEMA = "select quote_ident(current_schema())"
_RELATIONS = """
    select c.relname as name, c.relkind = 'S' as is_sequence, array_agg(a.attname::text) as columns
    from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'S') group by c.oid
"""
_GRANTS = """
    with managed as (select oid, rolname::text from pg_catalog.pg_roles where rolname = any($1::text[])),
        tables as (select oid, relname::text, relacl from pg_catalog.pg_class
            where relnamespace = current_schema()::regnamespace and relkind not in ('i', 'I', 'c'))
    select m.rolname, '' as relation, a.privilege_type, '' as column
        from pg_catalog.pg_namespace n cross join aclexplode(n.nspacl) a join managed m on m.oid = a.grantee
        where n.oid = current_schema()::regnamespace
    union all select m.rolname, t.relname, a.privilege_type, ''
        from tables t cross join aclexplode(t.relacl) a join managed m on m.oid = a.grantee
    union all select m.rolname, t.relname, a.privilege_type, c.attname
        from tables t join pg_catalog.pg_attribute c on c.attrelid = t.oid and not c.attisdropped
            cross join aclexplode(c.attacl) a join managed m on m.oid = a.grantee
"""
_POLICIES = """
    select tablename::text, policyname::text, array_to_string(roles, ', '), coalesce(qual, ''), cmd, permissive = 'PERMISSIVE',
        coalesce(with_check, '')
    from pg_catalog.pg_policies where schemaname = current_schema()
"""


@dataclass(frozen=True, slots=True)
class Differences:
    """What a database lacks of the expected grants and policies, and what it has besides."""

    missing_grants: frozenset[Grant]
    extra_grants: frozenset[Grant]
    missing_policies: frozenset[Policy]
    extra_policies: frozenset[Policy]


async def find_differences(connection: asyncpg.Connection, roles: RoleSet, scripts: Iterable[str]) -> Differences:
    """Compare all grants of the roles and all policies with what the rules and the migrations' scripts define."""
    relations = await _read_relations(connection)
    grants, existing = await _read_grants(connection, roles), await _read_policies(connection)
    expected = expected_grants(relations, roles)
    policies = expected_policies(relations, roles) | table_policies(relations, scripts)
    return Differences(
        frozenset(expected - grants),
        frozenset(grants - expected),
        frozenset(_without(policies, existing)),
        frozenset(_without(existing, policies)),
    )


async def grant_privileges(connection: asyncpg.Connection, roles: RoleSet) -> None:
    """Grant the roles exactly their privileges on what exists, which locks no table; call inside a transaction."""
    relations = await _read_relations(connection)
    schema = f"SCHEMA {await connection.fetchval(_SCHEMA)}"
    expected = expected_grants(relations, roles)
    extra = await _read_grants(connection, roles) - expected
    await _execute(connection, [f"REVOKE {what} ON {on or schema} FROM {role}" for role, on, what in _grouped(extra)])
    # Read again: the privilege on a table takes those on its columns with it.
    missing = expected - await _read_grants(connection, roles)
    await _execute(connection, [f"GRANT {what} ON {on or schema} TO {role}" for role, on, what in _grouped(missing)])


async def policy_changes(connection: asyncpg.Connection, roles: RoleSet) -> dict[str, str]:
    """Return the statements that bring the managed policies of each table to what they should be; they lock the table."""
    managed = {policy for policy in await _read_policies(connection) if policy.name in MANAGED_POLICIES}
    expected = expected_policies(await _read_relations(connection), roles)
    statements: defaultdict[str, list[str]] = defaultdict(list)
    for policy in _without(managed, expected):
        statements[policy.relation].append(f"DROP POLICY {policy.name} ON {quoted(policy.relation)}")
    for policy in _without(expected, managed):
        statements[policy.relation].append(_create_policy(policy))
    return {relation: "; ".join(changes) for relation, changes in statements.items()}


async def create_search_functions(connection: asyncpg.Connection, roles: RoleSet) -> None:
    """Create or replace the functions that search, where they differ; call inside a transaction."""
    schema: str = await connection.fetchval(_SCHEMA)
    for name, table in SEARCH_TABLES.items():
        body = _search_body(f"{schema}.{table}")
        existing = await connection.fetchrow(_FUNCTION, name, APP_ROLE)
        if existing is not None and (existing["owner"] == SEARCH_ROLE) != roles.exist:
            await connection.execute(f"DROP FUNCTION {name}(tsquery)")
        elif existing is not None and existing["prosrc"] == body and (existing["is_executable"] or not roles.exist):
            continue
        await _create_search_function(connection, schema, name, body, roles)


_FUNCTION = """
    select pg_catalog.pg_get_userbyid(proowner) as owner, prosrc, (select has_function_privilege(r.oid, p.oid, 'EXECUTE')
        from pg_catalog.pg_roles r where r.rolname = $2) as is_executable
    from pg_catalog.pg_proc p where proname = $1 and pronamespace = current_schema()::regnamespace
"""


async def _create_search_function(
    connection: asyncpg.Connection, schema: str, name: str, body: str, roles: RoleSet
) -> None:
    if roles.exist:
        # Created by the role that shall own it, because it is SECURITY DEFINER.
        await connection.execute(f"GRANT CREATE ON SCHEMA {schema} TO {SEARCH_ROLE}")
        await connection.execute(f"SET LOCAL ROLE {SEARCH_ROLE}")
    await connection.execute(
        f"CREATE OR REPLACE FUNCTION {name}(wanted tsquery) RETURNS SETOF bigint LANGUAGE sql STABLE SECURITY DEFINER ROWS 100"
        f" SET search_path = pg_catalog, pg_temp AS $function${body}$function$"
    )
    await connection.execute(f"REVOKE ALL ON FUNCTION {name}(tsquery) FROM PUBLIC")
    if roles.exist:
        await connection.execute(f"GRANT EXECUTE ON FUNCTION {name}(tsquery) TO {APP_ROLE}")
        await connection.execute("RESET ROLE")
        await connection.execute(f"REVOKE CREATE ON SCHEMA {schema} FROM {SEARCH_ROLE}")


def _search_body(table: str) -> str:
    """Return the SQL of a function that returns the ids of the store's rows that match a tsquery.

    It reads the store from the setting, so that another store's can't be passed. The store's own lexeme (see vitrine_search_vector) limits
    the index scan to that store.
    """
    return f"""
        SELECT id FROM {table}
        WHERE search @@ (('''#' || {STORE} || '''')::tsquery && wanted)
          AND tenant_id = {STORE} AND deleted_at IS NULL
    """


async def _read_relations(connection: asyncpg.Connection) -> Relations:
    rows = await connection.fetch(_RELATIONS)
    return Relations(
        {row["name"]: frozenset(row["columns"]) for row in rows if not row["is_sequence"]},
        frozenset(row["name"] for row in rows if row["is_sequence"]),
    )


async def _read_grants(connection: asyncpg.Connection, roles: RoleSet) -> set[Grant]:
    managed = [*(ROLES if roles.exist else ()), *([BACKUP_ROLE] if roles.with_backup else ())]
    return {Grant(*row) for row in await connection.fetch(_GRANTS, managed)}


async def _read_policies(connection: asyncpg.Connection) -> set[Policy]:
    return {Policy(*row) for row in await connection.fetch(_POLICIES)}


def _without(policies: set[Policy], others: set[Policy]) -> list[Policy]:
    compared = {policy.compared() for policy in others}
    return sorted(policy for policy in policies if policy.compared() not in compared)


def _grouped(grants: Iterable[Grant]) -> list[tuple[str, str, str]]:
    """Return for each role and relation both, the relation in quotes, and their privileges as GRANT and REVOKE list them."""
    columns: defaultdict[tuple[str, str], defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for grant in sorted(grants):
        columns[grant.role, grant.relation][grant.privilege] += [quoted(grant.column)] if grant.column else []
    return [
        (role, relation and quoted(relation), ", ".join(_privilege(*item) for item in privileges.items()))
        for (role, relation), privileges in columns.items()
    ]


def _privilege(name: str, columns: list[str]) -> str:
    return f"{name} ({', '.join(columns)})" if columns else name


def _create_policy(policy: Policy) -> str:
    kind = "PERMISSIVE" if policy.is_permissive else "RESTRICTIVE"
    return (
        f"CREATE POLICY {policy.name} ON {quoted(policy.relation)} AS {kind} FOR {policy.command}"
        f" TO {quoted(policy.role)} USING ({policy.using})"
    )


async def _execute(connection: asyncpg.Connection, statements: list[str]) -> None:
    if statements:
        await connection.execute("; ".join(statements))
