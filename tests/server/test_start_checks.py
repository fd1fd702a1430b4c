"""A server doesn't start with a deployment that would fail its requests or mix its stores, and says why in one line."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg
import pytest

from server.embedded_postgres import EmbeddedServer
from tests.harness.database import needs_pgbouncer, running_pgbouncer
from tests.server.command_line import Vitrine

pytestmark = pytest.mark.slow


@pytest.fixture
def vitrine(tmp_path: Path, migrated_database_url: str) -> Vitrine:
    return Vitrine(tmp_path, DATABASE_URL=migrated_database_url, PORT="0")


@pytest.fixture
async def superuser(postgres: EmbeddedServer, migrated_database_url: str):
    connection = await asyncpg.connect(postgres.superuser_url(urlsplit(migrated_database_url).path.removeprefix("/")))
    yield connection
    await connection.close()


@pytest.fixture
async def login(superuser: asyncpg.Connection, migrated_database_url: str):
    """Create a login role without privileges; yield its name."""
    name = f"login_{urlsplit(migrated_database_url).path[-12:]}"
    await superuser.execute(f"create role {name} login")
    yield name
    await superuser.execute(f"drop owned by {name}; drop role {name}")


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_a_wrong_secret_key_stops_the_start(vitrine: Vitrine, command: str):
    vitrine("keys", "rotate")
    refused = vitrine(command, VITRINE_SECRET_KEY="another secret of at least 32 characters")
    assert refused.code == 1
    assert "VITRINE_SECRET_KEY is not the key" in refused.error_line


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_a_storage_without_its_account_stops_the_start(vitrine: Vitrine, command: str):
    refused = vitrine(command, VITRINE_STORAGE_URL="az://files")
    assert (refused.code, refused.error_line) == (
        1,
        "az://files can't be used: Generic MicrosoftAzure error: Account must be specified",
    )


def test_a_serving_login_of_another_database_stops_every_command(vitrine: Vitrine):
    other = urlsplit(vitrine.settings["DATABASE_URL"])._replace(path="/postgres").geturl()
    for command in (("serve",), ("worker",), ("migrate",), ("tenant", "list")):
        refused = vitrine(*command, VITRINE_APP_DATABASE_URL=other)
        assert refused.code == 1, command
        assert refused.error_line == "VITRINE_APP_DATABASE_URL leads to another database than DATABASE_URL", command
    line = "fail  database      VITRINE_APP_DATABASE_URL leads to another database than DATABASE_URL\n"
    assert line in vitrine("doctor", VITRINE_APP_DATABASE_URL=other).out


def test_a_lost_secret_key_can_be_replaced(vitrine: Vitrine):
    vitrine("keys", "rotate")
    assert vitrine("keys", "rotate", VITRINE_SECRET_KEY="another secret of at least 32 characters").code == 0


@pytest.mark.parametrize(
    "damage", ["disable row level security", "no force row level security"], ids=["disabled", "not forced"]
)
async def test_a_table_without_row_level_security_stops_the_start(
    vitrine: Vitrine, superuser: asyncpg.Connection, damage: str
):
    await superuser.execute(f"alter table orders {damage}")
    refused = vitrine("serve")
    assert refused.code == 1
    assert "row-level security is not forced, or has no policy own_store, on orders" in refused.error_line


@pytest.mark.parametrize("option", ["superuser", "bypassrls"])
async def test_a_login_that_bypasses_row_level_security_stops_the_start(
    vitrine: Vitrine, superuser: asyncpg.Connection, login: str, option: str
):
    await superuser.execute(f"alter role {login} {option}; grant vitrine_app, vitrine_worker to {login}")
    refused = vitrine("serve", VITRINE_APP_DATABASE_URL=as_login(vitrine, login))
    assert refused.code == 1
    assert f"the login role {login} is a superuser or has BYPASSRLS" in refused.error_line


@pytest.mark.parametrize(
    "granted, missing",
    [("", "vitrine_app, vitrine_worker"), ("vitrine_app", "vitrine_worker")],
    ids=["none", "app only"],
)
async def test_a_login_without_its_roles_stops_the_start(
    vitrine: Vitrine, superuser: asyncpg.Connection, login: str, granted: str, missing: str
):
    if granted:
        await superuser.execute(f"grant {granted} to {login}")
    refused = vitrine("serve", VITRINE_APP_DATABASE_URL=as_login(vitrine, login))
    assert refused.code == 1
    assert f"may not act as {missing}: GRANT {missing} TO {login}" in refused.error_line


async def test_a_login_that_inherits_nothing_serves(vitrine: Vitrine, superuser: asyncpg.Connection, login: str):
    await superuser.execute(f"alter role {login} noinherit; grant vitrine_app, vitrine_worker to {login}")
    listed = vitrine("tenant", "list", VITRINE_APP_DATABASE_URL=as_login(vitrine, login))
    assert listed.code == 0, listed.err


async def test_doctor_warns_of_a_login_that_may_act_as_more_than_it_needs(
    vitrine: Vitrine, superuser: asyncpg.Connection, login: str
):
    url = as_login(vitrine, login)
    await superuser.execute(f"grant vitrine_app, vitrine_worker to {login}")
    assert "warn  role" not in vitrine("doctor", VITRINE_APP_DATABASE_URL=url).out
    await superuser.execute(f"grant vitrine_backup to {login}")
    out = vitrine("doctor", VITRINE_APP_DATABASE_URL=url).out
    assert "warn  role          the login role that serves may act as vitrine_backup as well" in out


@pytest.mark.parametrize("command", ["serve", "migrate"])
async def test_a_schema_of_a_newer_version_stops_the_start(
    vitrine: Vitrine, superuser: asyncpg.Connection, command: str
):
    await superuser.execute(
        "insert into tortoise_migrations (app, name, applied_at) values ('models', '9999_later', now())"
    )
    refused = vitrine(command)
    assert refused.code == 1
    assert "the database is of a newer version, which applied 9999_later" in refused.error_line
    assert "fail  migrations    the database is of a newer version" in vitrine("doctor").out


async def test_the_version_before_a_migration_starts_when_the_newer_one_allows_it(
    vitrine: Vitrine, superuser: asyncpg.Connection
):
    await superuser.execute(
        "insert into tortoise_migrations (app, name, applied_at) values ('models', '9998_next', now());"
        " comment on table tortoise_migrations is 'programs since 0012_sorts may use tables up to 9998_next'"
    )
    assert vitrine("tenant", "list").code == 0
    assert vitrine("migrate").out == "the database is up to date\n"


async def test_doctor_names_a_login_without_its_roles_in_one_line(vitrine: Vitrine, login: str):
    result = vitrine("doctor", VITRINE_APP_DATABASE_URL=as_login(vitrine, login))
    assert result.code == 1
    line = f"fail  role          the login role {login} may not act as vitrine_app, vitrine_worker: GRANT vitrine_app, vitrine_worker TO"
    assert f"{line} {login}\n" in result.out
    assert result.err.count("\n") == 1, result.err


@pytest.mark.parametrize("setting", ["VITRINE_POOLER_URL", "VITRINE_APP_DATABASE_URL"])
def test_doctor_names_the_url_that_cannot_be_reached(vitrine: Vitrine, setting: str):
    result = vitrine("doctor", **{setting: "postgresql://nobody@127.0.0.1:1/nothing"})
    assert result.code == 1
    check, others = ("pooler", True) if setting == "VITRINE_POOLER_URL" else ("database", False)
    assert f"fail  {check:<12}  {setting} can't be reached: " in result.out
    assert "DATABASE_URL can't be reached" not in result.out.replace("VITRINE_APP_DATABASE_URL", "")
    assert ("ok    role " in result.out) is others


def test_doctor_names_a_default_store_that_does_not_exist(vitrine: Vitrine):
    store, other = vitrine("tenant", "create", "Ateliê", "--json").json["tenant_id"], str(uuid4())
    assert "ok    stores        1\n" in vitrine("doctor", VITRINE_DEFAULT_STORE=store).out
    named = vitrine("doctor", VITRINE_DEFAULT_STORE=other).out
    assert f"warn  stores        VITRINE_DEFAULT_STORE is {other}, none of the 1\n" in named


async def test_doctor_fails_on_a_database_that_is_read_only(vitrine: Vitrine, superuser: asyncpg.Connection):
    name = urlsplit(vitrine.settings["DATABASE_URL"]).path.removeprefix("/")
    await superuser.execute(f"alter database {name} set default_transaction_read_only = on")
    result = vitrine("doctor")
    assert result.code == 1
    assert "fail  database      is read-only: default_transaction_read_only is on\n" in result.out


@needs_pgbouncer
@pytest.mark.usefixtures("pooled_role")
def test_doctor_names_a_pooler_that_does_not_reach_postgresql(vitrine: Vitrine, postgres: EmbeddedServer):
    name = urlsplit(vitrine.settings["DATABASE_URL"]).path.removeprefix("/")
    with running_pgbouncer(postgres) as pooler:
        passed = vitrine("doctor", VITRINE_POOLER_URL=pooler.url(name))
        assert "ok    pooler        VITRINE_POOLER_URL leads to the same database" in passed.out
        other = vitrine("doctor", VITRINE_POOLER_URL=pooler.url("postgres"))
        assert "fail  pooler        VITRINE_POOLER_URL leads to another database than DATABASE_URL\n" in other.out


def as_login(vitrine: Vitrine, login: str) -> str:
    return vitrine.settings["DATABASE_URL"].replace("vitrine_owner@", f"{login}@")
