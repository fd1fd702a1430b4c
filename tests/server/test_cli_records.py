"""The operator's daily commands: records of a store are listed, shown and removed, passwords and second factors reset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyotp
import pytest

from auth.configuration import configure
from auth.storefront_keys import create_storefront_key
from domain.people import two_factor
from kernel.clock import now
from kernel.scope import active_scope
from models.connection import database
from tests.auth.kit import user_scope
from tests.harness.records import add_user
from tests.harness.scopes import system_scope
from tests.server.command_line import SECRET, Vitrine

pytestmark = [pytest.mark.usefixtures("database"), pytest.mark.slow]


@pytest.fixture(autouse=True, scope="module")
def secret():
    configure(SECRET.encode())


@pytest.fixture
def vitrine(tmp_path: Path, database_url: str) -> Vitrine:
    return Vitrine(tmp_path, DATABASE_URL=database_url)


@pytest.fixture
async def store(new_store) -> Any:
    return await new_store()


async def test_users_are_listed_and_shown(vitrine: Vitrine, store):
    user, other = await add_user(store, "view_orders"), await add_user(store, user_type="C")
    tenant = ("--tenant", str(store.public_id))
    assert {row["id"] for row in vitrine("user", "list", *tenant, "--json").json} == {user.id, other.id}
    assert [row["id"] for row in vitrine("user", "list", *tenant, "--search", user.email, "--json").json] == [user.id]
    shown = vitrine("user", "show", *tenant, user.id, "--json").json
    assert (shown["email"], shown["privileges"]) == (user.email, ["view_orders"])
    assert user.email in vitrine("user", "list", *tenant).out
    for absent in ("x", other.id[:-1] + ("0" if other.id[-1] != "0" else "1")):
        assert "no such record" in vitrine("user", "show", *tenant, absent).error_line


async def test_a_storefront_key_is_listed_and_revoked(vitrine: Vitrine, store):
    created = await create_storefront_key(system_scope(store), {"name": "site"})
    tenant = ("--tenant", str(store.public_id))
    (row,) = vitrine("storefront-key", "list", *tenant, "--json").json
    assert (row["id"], row["name"]) == (str(created.id), "site")
    assert created.key not in vitrine("storefront-key", "show", *tenant, row["id"]).out
    vitrine("storefront-key", "revoke", *tenant, row["id"], "--json").json  # noqa: B018  # fails for an exit code
    assert vitrine("storefront-key", "list", *tenant).out == "there are no storefront keys\n"
    assert "not found" in vitrine("storefront-key", "revoke", *tenant, row["id"]).error_line


async def test_stores_have_no_apps_and_webhooks_of_others(vitrine: Vitrine, store):
    for noun in ("installed-app", "webhook"):
        assert vitrine(noun, "list", "--tenant", str(store.public_id), "--json").json == []


async def test_a_key_of_a_user_is_revoked(vitrine: Vitrine, store):
    user = await add_user(store, "view_orders")
    of_user = ("--tenant", str(store.public_id), "--email", user.email)
    created = vitrine("user", "api-key", *of_user, "--name", "erp", "--json").json
    rows = vitrine("user", "api-keys", *of_user, "--json").json
    assert created["api_key_id"] in {row["id"] for row in rows}
    left = vitrine("user", "api-keys", *of_user, "--revoke", created["api_key_id"], "--json").json
    assert {row["id"] for row in left} == {row["id"] for row in rows} - {created["api_key_id"]}


async def test_a_lost_password_and_second_factor_are_reset(vitrine: Vitrine, store):
    user = await add_user(store)
    scope = await user_scope(store, user.number)
    with active_scope(scope):
        enrolment = await two_factor.begin_enrolment(scope)
        await two_factor.confirm(scope, pyotp.TOTP(enrolment.secret).at(now()))
    of_user = ("--tenant", str(store.public_id), "--email", user.email)
    link = vitrine("user", "reset-password", *of_user, "--json").json
    assert len(link["token"]) > 30
    refused = vitrine("user", "reset-two-factor", *of_user, "--reason", " ")
    assert refused.error_line == "reason is required"
    vitrine("user", "reset-two-factor", *of_user, "--reason", "lost the phone; called back", "--json").json  # noqa: B018
    assert "two-factor" in vitrine("user", "reset-two-factor", *of_user, "--reason", "again").error_line
    with active_scope(system_scope(store)):
        rows = await database.fetch(
            "select action, details::text from audit_entries where tenant_id = $1 and action in"
            " ('user.password_link_issued', 'two_factor.disabled') order by id",
            store.id,
        )
    assert [row["action"] for row in rows] == ["user.password_link_issued", "two_factor.disabled"]
    assert "called back" in rows[1]["details"]
