"""What each database role may do: the grants and policies that a database has to have, as far as its tables and columns exist.

The policies of the tables themselves (`own_store` and those of the platform's tables) are read from the migrations that create them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from models.connection.roles import APP_ROLE, BACKUP_ROLE, ROLES, SEARCH_ROLE, WORKER_ROLE, RoleSet

MANAGED_POLICIES = ("across_stores", "searched", "owner_own_store", "backup")
"""The policies that `grant_privileges` creates; all others belong to the tables."""

STORE = "nullif(current_setting('vitrine.tenant', true), '')::bigint"
_READ_WRITE = "SELECT, INSERT, UPDATE, DELETE"

# Insert-only for the serving role.
_APPEND_ONLY = {"audit_entries", "ledger_entries"}
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
    "payments": "SELECT (tenant_id, id, due_at)",
    "payment_refunds": "SELECT (tenant_id, id, due_at)",
    "sandbox_charges": "SELECT (tenant_id, created_at)",
    "carts": "SELECT (tenant_id, id, status, expires_at, is_untold, told_at, updated_at, abandoned_at)",
    "stock_changes": "SELECT",
    "warehouses": "SELECT (tenant_id, id, status, deleted_at, is_switching)",
    # Of workers of the version before 0089, which find switched warehouses by them.
    "warehouse_stock": "SELECT (tenant_id, warehouse_id, is_active)",
    "catalogue_versions": "SELECT",
    "sessions": "SELECT (tenant_id, id, expires_at, ended_at), DELETE",
    "refresh_tokens": "SELECT (tenant_id, id, expires_at, used_at), DELETE",
    "legacy_tokens": "SELECT (tenant_id, id, expires_at, ended_at), DELETE",
    "wrong_attempts": "SELECT (tenant_id, id, at), DELETE",
    "lockouts": "SELECT (tenant_id, id, until), DELETE",
    "mails": "SELECT (tenant_id, id, status, created_at, due_at)",
    "media_files": (
        "SELECT (tenant_id, id, public_id, source_url, source_etag, source_modified, attempts, next_attempt_at, fetching_until,"
        " sha256, mime_type, width, height, unused_since, avif_due_at, avif_attempts),"
        " UPDATE (attempts, next_attempt_at, fetching_until, avif_due_at, avif_attempts)"
    ),
    "store_usage": "SELECT, INSERT, UPDATE",
    "option_files": "SELECT (tenant_id, id, order_id, created_at)",
    "stock_notices": "SELECT (tenant_id, id, created_at)",
    "order_mails": "SELECT (tenant_id, id, created_at)",
    "ledger_queue": "SELECT",
    # The only role that deletes entries (domain/retention.py).
    "audit_entries": "SELECT (tenant_id, id, at), DELETE",
    "bulk_operations": (
        "SELECT (tenant_id, id, public_id, kind, state, credential, user_id, installation_id, scopes, document, upload, is_atomic,"
        " due_at, claim, tries, started_at), UPDATE (state, due_at, claim, tries, started_at)"
    ),
}
SEARCH_TABLES = {"search_products": "products", "search_users": "users"}


class Grant(NamedTuple):
    """A privilege of a role on a table, on one of its columns, on a sequence, or, with an empty `relation`, on the schema."""

    role: str
    relation: str
    privilege: str
    column: str = ""


class Policy(NamedTuple):
    """A row-level security policy; `command` as in CREATE POLICY, `role` public for every role."""

    relation: str
    name: str
    role: str
    using: str
    command: str = "ALL"
    is_permissive: bool = True
    check: str = ""

    def compared(self) -> Policy:
        """Return the policy with its conditions in a form in which what was written equals what PostgreSQL shows."""
        return self._replace(using=_compared(self.using), check=_compared(self.check))


@dataclass(frozen=True, slots=True)
class Relations:
    """The tables of a schema with their columns, and its sequences."""

    columns: dict[str, frozenset[str]]
    sequences: frozenset[str]

    @property
    def stores(self) -> list[str]:
        """Return the tables of the stores."""
        return [table for table, columns in self.columns.items() if "tenant_id" in columns]


def expected_grants(relations: Relations, roles: RoleSet) -> set[Grant]:
    """Return all grants of the managed roles; none where the owner acts in their place."""
    columns = relations.columns | {"": frozenset(), **{sequence: frozenset() for sequence in relations.sequences}}
    return {
        grant
        for grant in (*_role_grants(relations, roles), *_backup_grants(relations, roles))
        if grant.relation in columns and (not grant.column or grant.column in columns[grant.relation])
    }


def expected_policies(relations: Relations, roles: RoleSet) -> set[Policy]:
    """Return the managed policies.

    Where the owner inherits the roles, the policies across stores apply to their own role only, and the owner is restricted to one store in
    the tables that are searched: a condition there would keep the search role from using its index.
    """
    cross_store = [table for table in _CROSS_STORE_GRANTS if table in relations.columns]
    if not roles.exist:
        # The OR with own_store prevents the use of the tenant_id index unless a statement has its own tenant_id condition, as all do.
        across = "current_setting('vitrine.across', true) = 'on'"
        return {Policy(table, "across_stores", roles.owner, across) for table in cross_store}
    platform = [table for table in _PLATFORM_RLS_TABLES if table in relations.columns]
    policies = {
        Policy(table, "across_stores", WORKER_ROLE, _only(WORKER_ROLE, roles)) for table in (*cross_store, *platform)
    }
    for table in SEARCH_TABLES.values():
        if table not in relations.columns:
            continue
        policies.add(Policy(table, "searched", SEARCH_ROLE, "true", "SELECT"))
        if roles.owner_inherits:
            policies.add(Policy(table, "owner_own_store", roles.owner, f"tenant_id = {STORE}", "SELECT", False))
    if roles.with_backup:
        is_backup = _only(BACKUP_ROLE, roles)
        policies |= {Policy(table, "backup", BACKUP_ROLE, is_backup, "SELECT") for table in relations.stores}
    return policies


def table_policies(relations: Relations, scripts: Iterable[str]) -> set[Policy]:
    """Return the policies that migrations create with their tables; later ones replace those before."""
    policies: dict[tuple[str, str], Policy] = {}
    for script in scripts:
        for name, relation, command, using, check in _CREATED_POLICY.findall(script):
            for table in relations.stores if relation == "%s" else [relation]:
                policies[table, name] = Policy(table, name, "public", using, command or "ALL", True, check)
    return set(policies.values())


_CREATED_POLICY = re.compile(
    r"CREATE POLICY (\w+) ON (%s|\w+)(?:\s+FOR (\w+))?"
    r"(?:\s+USING \((.*?)\)(?=\s*(?:WITH CHECK|;|\$policy\$)))?(?:\s+WITH CHECK \((.*?)\)\s*(?=;|\$policy\$))?",
    re.DOTALL,
)


def _role_grants(relations: Relations, roles: RoleSet) -> Iterator[Grant]:
    if not roles.exist:
        return
    yield from (Grant(role, "", "USAGE") for role in ROLES)
    for table in relations.stores:
        yield from _grants(APP_ROLE, table, "SELECT, INSERT" if table in _APPEND_ONLY else _READ_WRITE)
    for role, privileges, tables in _PLATFORM_GRANTS:
        for table in tables.split(", "):
            yield from _grants(role, table, privileges)
    for table, privileges in _CROSS_STORE_GRANTS.items():
        yield from _grants(WORKER_ROLE, table, privileges)
    for table in SEARCH_TABLES.values():
        yield from _grants(SEARCH_ROLE, table, "SELECT (tenant_id, id, deleted_at, search)")


def _backup_grants(relations: Relations, roles: RoleSet) -> Iterator[Grant]:
    if roles.with_backup:
        yield Grant(BACKUP_ROLE, "", "USAGE")
        yield from (Grant(BACKUP_ROLE, name, "SELECT") for name in (*relations.columns, *relations.sequences))


def _grants(role: str, table: str, privileges: str) -> Iterator[Grant]:
    """Read the privileges of a GRANT statement."""
    for privilege, columns in re.findall(r"(\w+)(?: \(([^)]*)\))?(?:, |$)", privileges):
        yield from (Grant(role, table, privilege, column) for column in columns.split(", "))


def _only(role: str, roles: RoleSet) -> str:
    # Where no other role inherits the policy, `true` lets the planner drop it.
    return f"current_user = '{role}'" if roles.owner_inherits else "true"


def _compared(condition: str) -> str:
    return re.sub(r"::(text|name)\b|[\s()]", "", condition).lower()
