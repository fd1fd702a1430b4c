"""The operator's commands with a database: stores, users, keys, migrations, doctor."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

from auth.api_keys import verify_api_key
from auth.configuration import configure
from auth.passwords import verify_password
from auth.privileges import ALL
from auth.store_resolution import CachedStoreResolver
from domain.stores import gateway_secret
from kernel.errors import TenantClosed
from kernel.scope import active_scope
from models.connection import database as db
from models.migrate import disk_migrations
from server.operations import store_admin
from tests.importers.test_olist import write
from tests.server.command_line import SECRET, Vitrine

pytestmark = [pytest.mark.usefixtures("database"), pytest.mark.slow]


@pytest.fixture(autouse=True, scope="module")
def secret():
    configure(SECRET.encode())


@pytest.fixture
def vitrine(tmp_path: Path, database_url: str) -> Vitrine:
    return Vitrine(tmp_path, DATABASE_URL=database_url)


@pytest.fixture
def host() -> str:
    return f"{uuid4().hex[:12]}.example"


async def user_of(tenant_id: str, email: str) -> asyncpg.Record:
    scope = store_admin.system_scope((await store_admin.find_store(tenant_id)).store)
    with active_scope(scope):
        row = await db.fetchrow("select * from users where tenant_id = $1 and email = $2", scope.store.id, email)
    assert row is not None
    return row


# --- Stores ----------------------------------------------------------------------------------------------------------


async def test_a_store_is_created_with_an_owner_hosts_and_a_gateway_secret(vitrine, host):
    created = vitrine(
        "tenant", "create", "Loja São João", "--host", host.upper(), "--host", f"www.{host}:443", "--currency", "usd",
        "--owner-email", "Dona@Loja.example", "--owner-name", "Maria da Penha", "--json",
    ).json  # fmt: skip
    assert (created["name"], created["currency"], created["status"]) == ("Loja São João", "USD", "A")
    assert created["hosts"] == [host, f"www.{host}"]
    store = (await store_admin.find_store(host)).store
    assert str(store.public_id) == created["tenant_id"]
    assert await gateway_secret(store_admin.system_scope(store)) == created["gateway"]["secret_key"]
    owner = await user_of(created["tenant_id"], "dona@loja.example")
    assert (str(owner["public_id"]), owner["user_type"], owner["name"]) == (
        created["owner"]["user_id"], "A", "Maria da Penha",
    )  # fmt: skip
    assert store.owner_id == owner["id"]
    assert await verify_password(owner["password_hash"], created["owner"]["password"])


async def test_a_rejected_store_is_not_created(vitrine, host):
    vitrine("tenant", "create", "Primeira", "--host", host, "--json")
    before = len(await store_admin.list_stores())
    refused = {
        ("--host", host): f"the address {host} is in use",
        (
            "--host",
            "localhost",
        ): "the address localhost is shared (VITRINE_SHARED_HOSTS): no store can have it",
        ("--currency", "dollars"): "currency is 'DOLLARS'; expected a currency of ISO 4217 with cents, such as BRL",
        ("--owner-email", "nobody"): "email is 'nobody'; expected an address such as ana@example.com",
        ("--owner-password", "12345678"): "--owner-name and --owner-password need --owner-email",
    }
    for arguments, words in refused.items():
        assert vitrine("tenant", "create", "Segunda", *arguments).error_line == words
    assert len(await store_admin.list_stores()) == before


async def test_a_store_is_suspended_put_into_maintenance_and_resumed(vitrine, host):
    tenant_id = vitrine("tenant", "create", "Vai e volta", "--host", host, "--json").json["tenant_id"]
    directory = CachedStoreResolver({"localhost"})

    async def error_line() -> tuple[str, str]:
        with pytest.raises(TenantClosed) as closed:
            await CachedStoreResolver({"localhost"}).resolve(host, None, public=True)
        return closed.value.reason, closed.value.message

    answer = vitrine("tenant", "maintenance", host, "--message", "Voltamos às oito.")
    assert answer.out == "Vai e volta is in maintenance\n"
    assert await error_line() == ("tenant_maintenance", "Voltamos às oito.")
    assert vitrine("tenant", "suspend", tenant_id, "--json").json["status"] == "S"
    assert (await error_line())[0] == "tenant_suspended"
    assert vitrine("tenant", "maintenance", tenant_id).error_line == "Vai e volta is suspended; resume it first"
    assert vitrine("tenant", "resume", tenant_id).code == 0
    assert str((await directory.resolve(host, None, public=True)).public_id) == tenant_id
    listed = {store["tenant_id"]: store for store in vitrine("tenant", "list", "--json").json}
    assert listed[tenant_id]["hosts"] == [host]
    assert f"{tenant_id}  active " in vitrine("tenant", "list").out


def test_names_of_stores_are_no_commands_to_the_operators_terminal(vitrine):
    name = "Loja\x1b[2J\x9b1m"
    tenant_id = vitrine("tenant", "create", name, "--json").json["tenant_id"]
    printed = vitrine("tenant", "list").out
    assert "Loja\\u001b[2J\\u009b1m" in printed
    assert not {"\x1b", "\x9b"} & set(printed)
    assert name in [store["name"] for store in vitrine("tenant", "list", "--json").json]
    assert vitrine("tenant", "delete", tenant_id, "--yes").code == 0


def test_an_unknown_store_is_rejected(vitrine):
    for named in (str(uuid4()), "nowhere.example", "no such thing"):
        error_line = vitrine("tenant", "suspend", named).error_line
        assert error_line == "store not found; list the stores with vitrine tenant list", named


async def test_an_import_shows_that_it_waits_for_an_address_that_refuses_connections(vitrine, store):
    source = ("--url", "http://127.0.0.1:1", "--email", "dono@loja.example", "--api-key", "k")
    running = await vitrine.start("import", "cscart", *source, "--tenant", str(store.public_id), "--no-progress")
    async with asyncio.timeout(30):
        line = await running.wait_for_log("waiting for the shop")
    assert line.startswith("vitrine: waiting for the shop, at most 10 minutes: the shop did not answer: Cannot connect")
    assert await running.stop() == 1


# --- Users -----------------------------------------------------------------------------------------------------------


async def test_users_are_created_with_privileges_and_api_keys(vitrine, store):
    tenant = ["--tenant", str(store.public_id)]
    created = vitrine(
        "user", "create", *tenant, "--email", "ana@loja.example", "--type", "A", "--name", "Ana Sá",
        "--privileges", "view_orders,manage_users", "--json",
    ).json  # fmt: skip
    assert created["privileges"] == ["manage_users", "view_orders"]
    ana = await user_of(str(store.public_id), "ana@loja.example")
    assert (str(ana["public_id"]), ana["name"]) == (created["user_id"], "Ana Sá")
    assert await verify_password(ana["password_hash"], created["password"])
    key = vitrine("user", "api-key", *tenant, "--email", "ANA@loja.example", "--json").json
    scope = store_admin.system_scope(store)
    with active_scope(scope):
        holder = await verify_api_key(scope, "ana@loja.example", key["api_key"])
    assert holder is not None
    assert holder.user_id == ana["id"]
    shown = vitrine("user", "privileges", *tenant, "--email", "ana@loja.example", "--json").json
    assert shown["effective"] == ["manage_users", "view_orders", "view_users"]
    shown = vitrine("user", "privileges", *tenant, "--email", "ana@loja.example", "--set", "all", "--json").json
    assert shown["privileges"] == sorted(ALL)
    shown = vitrine("user", "privileges", *tenant, "--email", "ana@loja.example", "--set", "").out
    assert "privileges  none\n" in shown
    owner = vitrine("user", "create", *tenant, "--email", "dono@loja.example", "--type", "A", "--owner", "--json").json
    assert owner["owner"] is True
    assert (await store_admin.find_store(str(store.public_id))).store.owner_id is not None


def test_invalid_users_are_rejected(vitrine, store):
    tenant = ["--tenant", str(store.public_id)]
    customer = ["user", "create", *tenant, "--email", "c@loja.example", "--type", "C"]
    assert vitrine(*customer, "--password", "certainly long").code == 0
    assert vitrine(*customer).error_line == "email is 'c@loja.example', which another user has"
    assert "8 to 128" in vitrine(*customer, "--password", "short").error_line
    assert vitrine(*customer, "--owner").error_line == "--owner and --privileges are for administrators (--type A)"
    vendor = vitrine("user", "create", *tenant, "--email", "v@loja.example", "--type", "V").error_line
    assert vendor == "--type V requires --vendor"
    key = vitrine("user", "api-key", *tenant, "--email", "c@loja.example").error_line
    assert key == "API keys are for administrators and vendors with an e-mail"
    error = vitrine("user", "privileges", *tenant, "--email", "z@loja.example").error_line
    assert error == "no user of Test store has the e-mail 'z@loja.example'"
    unknown = vitrine("user", "privileges", *tenant, "--email", "c@loja.example", "--set", "fly").error_line
    assert unknown.startswith("privileges holds 'fly'")


# --- Import ----------------------------------------------------------------------------------------------------------


def test_a_marketplace_is_imported_once_and_rejected_as_a_whole(vitrine, store, tmp_path):
    command = ["import", "olist", str(tmp_path), "--tenant", str(store.public_id), "--no-progress"]
    assert vitrine(*command).error_line.startswith("olist_sellers_dataset.csv can't be read")
    write(tmp_path)
    first = vitrine(*command)
    assert (first.code, first.err) == (0, "")
    assert "orders: 2 added, 2 in the files\n" in first.out
    assert "orders: 0 added, 2 in the files\n" in vitrine(*command).out
    again = vitrine(*command, "--json").json
    assert (again["added"]["orders"], again["read"]["orders"], again["errors"]) == (0, 2, [])
    write(
        tmp_path,
        sellers=["seller_id,seller_zip_code_prefix,seller_city,seller_state", "x,01310,sao paulo,SP"],
    )
    wrong = vitrine(*command)
    assert "olist_sellers_dataset.csv" in wrong.out
    assert wrong.error_line.endswith("nothing was imported")
    assert json.loads(vitrine(*command, "--json").out)["errors"] == wrong.out.splitlines()
    nowhere = vitrine("import", "olist", str(tmp_path / "none"), "--tenant", str(store.public_id)).error_line
    assert nowhere.endswith("is not a folder; expected the one with the Olist CSV files")


def test_a_path_that_cannot_be_used_is_reported_in_one_line(vitrine, tmp_path, store):
    file = tmp_path / "none" / "store.zip"
    exported = vitrine("tenant", "export", str(store.public_id), str(file))
    assert exported.error_line == f"{file}.key can't be used: No such file or directory"
    for folder in ("/", "."):
        exported = vitrine("tenant", "export", str(store.public_id), folder)
        assert exported.error_line == f"{folder} exists; expected the name of a new file"
        imported = vitrine("tenant", "import", folder)
        assert imported.error_line.endswith(".key doesn't exist; expected the key file that the export wrote"), folder
    assert vitrine("restore", str(tmp_path)).error_line == f"{tmp_path} can't be used: Is a directory"
    imported = vitrine("import", "cscart", str(tmp_path / "none"), "--tenant", str(store.public_id))
    assert imported.error_line.endswith("is not a folder; expected one with saved answers of the shop")
    imported = vitrine("import", "cscart", str(tmp_path), "--tenant", str(store.public_id))
    assert imported.error_line == f"{tmp_path} has no saved answer of the shop; expected lists such as products.json"
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 100_000)
    pushed = vitrine("documents", "push", str(deep), "--tenant", str(store.public_id), "--key", "x")
    assert pushed.error_line.startswith(f"{deep}: maximum recursion depth exceeded")


def test_import_csv_and_jsonl_report_rows_by_line(vitrine, tmp_path, store):
    table, lines = tmp_path / "products.csv", tmp_path / "products.jsonl"
    table.write_text("sku,name,price\nCAN-1,Caneca,49.90\nCAN-2,Prato,x\n", encoding="utf-8")
    lines.write_text('{"sku": "CAN-1", "price": "39.90"}\n', encoding="utf-8")
    to = ("--tenant", str(store.public_id))
    tried = vitrine("import", "csv", str(table), *to, "--dry-run", "--no-progress")
    assert "products: 2 read, 1 to be created, 0 to be updated, 1 refused\n" in tried.out
    shown = json.loads(vitrine("import", "csv", str(table), *to, "--dry-run", "--no-progress", "--json").out)
    assert (shown["read"], shown["created"], shown["refused"], shown["dry_run"]) == (2, 1, 1, True)
    assert shown["errors"] == tried.out.splitlines()[:1]
    done = vitrine("import", "csv", str(table), *to, "--no-progress")
    assert done.out.startswith("products.csv:3: price: is 'x'")
    assert done.error_line == "1 products were not imported; they are listed above"
    again = vitrine("import", "jsonl", str(lines), *to)
    assert (again.code, again.out) == (0, "products: 1 read, 0 created, 1 updated, 0 refused\n")
    assert "products" in again.err  # the progress bar
    customers = tmp_path / "customers.csv"
    customers.write_text("email,name\nana@example.com,Ana\n", encoding="utf-8")
    people = vitrine("import", "csv", str(customers), *to, "--kind", "customers", "--no-progress")
    assert (people.code, people.out) == (0, "customers: 1 read, 1 created, 0 updated, 0 refused\n")
    nowhere = vitrine("import", "csv", str(tmp_path / "none"), *to).error_line
    assert nowhere.endswith("can't be read: No such file or directory")


# --- Keys, migrations, doctor ----------------------------------------------------------------------------------------


async def test_rotation_creates_a_new_signing_key(vitrine):
    first, second = (
        vitrine("keys", "rotate", "--json").json["kid"],
        vitrine("keys", "rotate", "--json").json["kid"],
    )
    assert first != second
    assert await db.fetchval("select kid from signing_keys where retired_at is null") == second


def secrets_line(doctor):
    return next(line for line in doctor.out.splitlines() if line[6:].startswith("secrets "))


def test_the_secret_key_is_replaced(vitrine, migrated_database_url):
    new = "another secret of at least 32 characters"
    url = {"DATABASE_URL": migrated_database_url}
    rotating = {**url, "VITRINE_SECRET_KEY": new, "VITRINE_SECRET_KEY_FALLBACKS": json.dumps([SECRET])}
    replaced = {**url, "VITRINE_SECRET_KEY": new}
    tenant = vitrine("tenant", "create", "Loja", "--json", **url).json["tenant_id"]
    kid = vitrine("keys", "rotate", "--json", **url).json["kid"]

    assert secrets_line(vitrine("doctor", **rotating)) == (
        "warn  secrets       2 values are under a fallback key: run vitrine keys reencrypt"
    )
    too_early = vitrine("keys", "reencrypt", **replaced)
    assert too_early.error_line == (
        f"2 values can't be read with any configured key, first: signing_keys.private_key {kid}"
    )
    assert too_early.out.startswith(
        "column                    values  re-encrypted  unreadable\n"
        "signing_keys.private_key  1       0             1\n"
        "tenants.gateway_secret    1       0             1\n"
        f"unreadable: signing_keys.private_key {kid}\n"
        f"unreadable: tenants.gateway_secret {tenant}\n"
    )
    first = vitrine("keys", "reencrypt", **rotating)
    key = first.out.splitlines()[-1].split()[8].rstrip(":")
    hashes = 7
    assert first.out == (
        "column                    values  re-encrypted  unreadable\n"
        "signing_keys.private_key  1       1             0\n"
        f"hash_keys.sealed_key      {hashes}       0             0\n"
        "tenants.gateway_secret    1       1             0\n"
        f"every readable value is encrypted under the key {key}: VITRINE_SECRET_KEY_FALLBACKS can be removed\n"
    )
    again = vitrine("keys", "reencrypt", "--json", **rotating).json
    assert (again["key"], again["outdated"], again["unreadable"]) == (key, 0, [])
    assert {column["reencrypted"] for column in again["columns"]} == {0}
    doctor = vitrine("doctor", **replaced)
    assert doctor.code == 0
    assert secrets_line(doctor) == f"ok    secrets       {2 + hashes} values are under the key {key}"
    assert SECRET not in first.out + too_early.out + too_early.err


def test_migrate_lists_applied_migrations_and_other_commands_require_it(vitrine, empty_database_url):
    away = {"DATABASE_URL": empty_database_url}
    names = [migration.name for migration in disk_migrations()]
    assert vitrine("tenant", "list", **away).error_line == (
        f"{len(names)} migration(s) are pending, the first is 0001_initial: run vitrine migrate"
    )
    assert vitrine("doctor", **away).out.splitlines()[-1] == (
        f"fail  migrations    {len(names)} pending, the first is 0001_initial: run vitrine migrate"
    )
    assert vitrine("migrate", **away).out == "".join(f"applied {name}\n" for name in names)
    assert vitrine("migrate", **away).out == "the database is up to date\n"
    assert vitrine("migrate", "--json", **away).json == {"applied": []}
    assert vitrine("tenant", "list", **away).out.startswith("there is no store")


async def test_doctor_passes_on_a_healthy_deployment_and_reports_problems(vitrine, postgres, migrated_database_url):
    url = {"DATABASE_URL": migrated_database_url}
    tenant = vitrine("tenant", "create", "Sem assinatura", "--json", **url).json["tenant_id"]
    vitrine("keys", "rotate", **url)
    healthy = vitrine("doctor", "--json", **url).json
    assert healthy["ok"] is True
    assert {finding["check"] for finding in healthy["findings"] if finding["level"] == "warn"} <= {"playground"}
    connection = await asyncpg.connect(migrated_database_url)
    try:
        await connection.execute("update tenants set gateway_secret = null where public_id = $1", tenant)
        await connection.execute("insert into job_runs values ('expire_holds', now() - interval '1 hour')")
        await connection.execute("select set_config('vitrine.tenant', (select max(id)::text from tenants), false)")
        await connection.execute(
            "insert into outbox_events (public_id, name, subject_type, subject_id, sequence, data, created_at) values"
            " (gen_random_uuid(), 'order.created', 'order', gen_random_uuid(), 1, '{}', now() - interval '1 hour')"
        )
        unsigned = {f["check"]: (f["level"], f["text"]) for f in vitrine("doctor", "--json", **url).json["findings"]}
        assert unsigned["gateway"] == ("warn", "notifications are not signed in Sem assinatura")
        assert unsigned["jobs"] == ("warn", "overdue: expire_holds; run vitrine worker")
        assert unsigned["events"] == ("warn", "1 overdue by more than 10 minutes: run vitrine worker")
        await connection.execute("alter table orders no force row level security")
        bare = vitrine("doctor", **url)
        assert bare.code == 1
        assert "fail  isolation     no forced row-level security on orders\n" in bare.out
        assert bare.error_line.startswith("1 of ")
        await connection.execute("alter table orders force row level security")
    finally:
        await connection.close()
    other_secret = vitrine("doctor", VITRINE_SECRET_KEY="another secret of at least 32 characters", **url)
    assert "fail  signing keys  " in other_secret.out
    assert secrets_line(other_secret).startswith(
        "fail  secrets       no configured key reads signing_keys.private_key "
    )
    superuser = vitrine("doctor", DATABASE_URL=postgres.superuser_url())
    assert superuser.code == 1


def test_doctor_reports_an_invalid_setting_and_an_unavailable_database(vitrine):
    assert vitrine("doctor", PORT="x").out == (
        "fail  settings      PORT is 'x'; expected a whole number from 0 to 65535\n"
    )
    away = vitrine("doctor", DATABASE_URL="postgresql://127.0.0.1:1/d")
    assert "fail  database      DATABASE_URL can't be reached: " in away.out
    assert away.code == 1
    fresh = vitrine("doctor", DATABASE_URL="")
    assert "warn  database      not created yet" in fresh.out
    assert fresh.code == 0
    assert not (vitrine.folder / "data" / "postgres").exists()
