"""`vitrine doctor` names each grant and policy that differs from what the migrations define."""

from __future__ import annotations

from urllib.parse import urlsplit

import asyncpg
import pytest

from server.embedded_postgres import EmbeddedServer
from server.operations.check_results import Severity
from server.operations.privilege_checks import check_privileges


@pytest.mark.parametrize(
    "damage, level, text",
    [
        ("select", Severity.OK, "grants and policies are those of this version"),
        (
            "revoke insert on orders from vitrine_app",
            Severity.FAIL,
            "vitrine_app lacks INSERT on orders: vitrine migrate repairs it",
        ),
        (
            "revoke update (dispatched_at) on outbox_events from vitrine_worker",
            Severity.FAIL,
            "vitrine_worker lacks UPDATE (dispatched_at) on outbox_events: vitrine migrate repairs it",
        ),
        (
            "grant truncate on payments to vitrine_app",
            Severity.FAIL,
            "vitrine_app has TRUNCATE on payments besides: vitrine migrate repairs it",
        ),
        (
            "create policy everyone on users using (true)",
            Severity.FAIL,
            "the policy everyone on users is not one of Vitrine's: drop those that you don't know",
        ),
        (
            "alter policy tenants_own_row on tenants using (true)",
            Severity.FAIL,
            "the policy tenants_own_row on tenants is not one of Vitrine's, the policy tenants_own_row on tenants is missing or"
            " changed: drop those that you don't know",
        ),
    ],
)
async def test_doctor_compares_grants_and_policies_with_the_migrations(
    migrated_database_url: str, postgres: EmbeddedServer, damage: str, level: Severity, text: str
):
    name = urlsplit(migrated_database_url).path.removeprefix("/")
    superuser = await asyncpg.connect(postgres.superuser_url(name))
    owner = await asyncpg.connect(migrated_database_url)
    try:
        await superuser.execute(damage)
        result = await check_privileges(owner)
        assert (result.level, result.text) == (level, text)
    finally:
        await superuser.close()
        await owner.close()
