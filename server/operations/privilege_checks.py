"""Check that the roles of a database may do exactly what the rules and migrations define (`models.role_privileges`)."""

from __future__ import annotations

import asyncpg

from models.connection.roles import find_roles
from models.granting import Differences, find_differences
from models.migrate import disk_migrations
from models.role_privileges import Grant, Policy
from server.operations.check_results import CheckResult, fail, join_names, ok


async def check_privileges(connection: asyncpg.Connection) -> CheckResult:
    """Compare grants and policies, connected as the owner."""
    roles = await find_roles(connection)
    scripts = [statements for migration in disk_migrations() for statements in migration.statements]
    differences = await find_differences(connection, roles, scripts)
    texts = list(_describe(differences))
    if texts:
        # `migrate` grants and revokes, but doesn't delete a policy that it hasn't created.
        advice = "drop those that you don't know" if differences.extra_policies else "vitrine migrate repairs it"
        return fail("privileges", f"{join_names(texts)}: {advice}")
    if not roles.exist:
        return ok("privileges", f"{roles.owner} acts in place of the roles; the policies are those of this version")
    return ok("privileges", "grants and policies are those of this version")


def _describe(differences: Differences) -> list[str]:
    return [
        *(f"the policy {_policy(policy)} is not one of Vitrine's" for policy in sorted(differences.extra_policies)),
        *(f"the policy {_policy(policy)} is missing or changed" for policy in sorted(differences.missing_policies)),
        *(f"{grant.role} lacks {_grant(grant)}" for grant in sorted(differences.missing_grants)),
        *(f"{grant.role} has {_grant(grant)} besides" for grant in sorted(differences.extra_grants)),
    ]


def _policy(policy: Policy) -> str:
    return f"{policy.name} on {policy.relation}"


def _grant(grant: Grant) -> str:
    columns = f" ({grant.column})" if grant.column else ""
    return f"{grant.privilege}{columns} on {grant.relation or 'the schema'}"
