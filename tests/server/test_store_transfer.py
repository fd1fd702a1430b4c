"""`vitrine tenant export` and `import`: one store with all its data and keys, all or nothing (docs/deploy.md#move-a-store)."""

from __future__ import annotations

import asyncio
import hashlib
import json
import resource
import stat
import zipfile
from collections import Counter
from pathlib import Path

import asyncpg
import pytest
from tortoise.models import Model

from auth.configuration import configure as configure_auth
from auth.secrets import APP_SECRET_PURPOSE, decrypt, encrypt, secret_keys, use_secret_keys
from auth.store_resolution import invalidate_store
from auth.two_factor_codes import SECRET_PURPOSE
from domain import stores
from domain.apps.registration import register_app
from domain.catalog.warehouse_stock import set_warehouse_stock
from domain.media.addresses import media_key
from domain.storage import Storage, open_storage
from domain.stores import GATEWAY_PURPOSE
from domain.warehouses.write import WAREHOUSE_RECORDS
from kernel.scope import active_scope
from kernel.signatures import token_hash
from models.table_contents import STORES
from models.tables.base import StoreModel
from models.tables.credentials import TwoFactor
from server.operations import store_transfer
from server.operations.archives import ArchiveError
from server.operations.store_transfer import APPS, HOSTS, NOT_MOVED, store_parts
from tests.harness.records import PASSWORD, sign_in
from tests.harness.sample_store import SampleStore
from tests.media.test_images import add_file
from tests.models.test_schema import store_tables
from tests.server.command_line import SECRET, Vitrine

OTHER_SECRET = "the secret of another installation"
ENCRYPTED = {
    ("payment_methods", "processor_params"), ("two_factors", "secret"), ("mails", "body"),
    ("idempotency_claims", "result"), ("idempotency_claims", "body"),
}  # fmt: skip
APP_IDS = "app_id"
APP = {"name": "ERP", "redirect_uris": ["https://erp.example/"], "scopes": ["read_orders"], "mode": "live"}

# Slow, so that they run before the database holds the stores of other tests.
pytestmark = [pytest.mark.usefixtures("database"), pytest.mark.slow]


@pytest.fixture
def here(tmp_path: Path, database_url: str) -> Vitrine:
    return Vitrine(tmp_path, DATABASE_URL=database_url)


@pytest.fixture
def there(tmp_path: Path, migrated_database_url: str) -> Vitrine:
    """Return the commands of another installation, which has stores of its own."""
    other = Vitrine(tmp_path / "there", DATABASE_URL=migrated_database_url, VITRINE_SECRET_KEY=OTHER_SECRET)
    assert other("tenant", "create", "Vizinha").code == 0
    return other


async def rows_of(owner_url: str, public_id: object) -> dict[str, Counter[str]]:
    """Return all rows of a store in every table of stores, as the superuser sees them, without what the installation sets."""
    connection = await asyncpg.connect(owner_url.replace("vitrine_owner@", "postgres@"))
    try:
        store_id = await connection.fetchval("select id from tenants where public_id = $1", public_id)
        tables = await connection.fetch("select relname from pg_class join pg_attribute on attrelid = pg_class.oid"
                                        " where attname = 'tenant_id' and relkind = 'r'")  # fmt: skip
        result = {}
        for (table,) in tables:
            rows = await connection.fetch(f"select to_jsonb(t)::text from {table} t where tenant_id = $1", store_id)
            own = {"tenant_id", "search", APP_IDS, *(column for name, column in ENCRYPTED if name == table)}
            own |= {"id"} if table == "search_words" else set()
            values = [json.loads(row[0]) for row in rows]
            result[table] = Counter(
                json.dumps({name: value for name, value in row.items() if name not in own}, sort_keys=True)
                for row in values
            )
        del result["catalogue_versions"]
        return result
    finally:
        await connection.close()


async def test_a_store_is_moved_with_every_row_and_key(sample, other_sample, here, there, tmp_path):
    file = tmp_path / "loja.store"
    # With stock in warehouses, of which an order has some.
    await WAREHOUSE_RECORDS.update(sample.scope, sample.warehouse.number, {"status": "A"})
    entries = [{"warehouse": sample.warehouse.number, "quantity": 7}]
    await set_warehouse_stock(sample.scope, sample.mug.number, entries)
    await sample.place_order((sample.mug, 2), user=sample.bia.number)
    assert await sample.value("select sum(quantity) from order_allocations") == 2
    before = await rows_of(here.settings["DATABASE_URL"], sample.store.public_id)
    exported = here("tenant", "export", sample.host, str(file), "--json").json
    imported = there("tenant", "import", str(file), "--json").json
    assert await rows_of(there.settings["DATABASE_URL"], sample.store.public_id) == before
    assert imported == exported
    assert sum(bool(rows) for rows in before.values()) > 60
    listed = {store["tenant_id"]: store for store in there("tenant", "list", "--json").json}
    assert listed[str(sample.store.public_id)]["hosts"] == [sample.host]
    assert str(other_sample.store.public_id) not in listed
    assert await rows_of(here.settings["DATABASE_URL"], sample.store.public_id) == before
    assert there("doctor").code == 0


async def test_no_version_of_the_catalogue_there_is_one_of_here(sample, here, there, tmp_path):
    """The first store of each installation has the same id, so that a client's tag would be that of another answer."""
    file = tmp_path / "loja.store"
    here("tenant", "export", sample.host, str(file))
    there("tenant", "import", str(file))

    async def version(vitrine: Vitrine) -> int:
        connection = await asyncpg.connect(vitrine.settings["DATABASE_URL"].replace("vitrine_owner@", "postgres@"))
        try:
            query = "select sum(v.version)::bigint from catalogue_versions v join tenants t on t.id = v.tenant_id"
            return int(await connection.fetchval(f"{query} where t.public_id = $1", sample.store.public_id))
        finally:
            await connection.close()

    changes_before_the_export = 10**9
    assert await version(there) > await version(here) + changes_before_the_export


async def replace_sessions_by_the_first(sample: SampleStore) -> None:
    """Let the store have one session, with the number that a sequence begins with."""
    await sample.execute("delete from sessions where tenant_id = $1", sample.store.id)
    await sample.execute(
        "insert into sessions (tenant_id, id, public_id, user_id, expires_at) overriding system value"
        " select $1, 1, gen_random_uuid(), min(id), now() + interval '1 day' from users where tenant_id = $1",
        sample.store.id,
    )


async def test_the_next_records_continue_the_numbers_and_sequences(sample, here, there, tmp_path):
    await replace_sessions_by_the_first(sample)
    file = tmp_path / "loja.store"
    here("tenant", "export", sample.host, str(file))
    there("tenant", "import", str(file))
    connection = await asyncpg.connect(there.settings["DATABASE_URL"].replace("vitrine_owner@", "postgres@"))
    try:
        store_id = await connection.fetchval("select id from tenants where public_id = $1", sample.store.public_id)
        last = await connection.fetchval("select max(id) from products where tenant_id = $1", store_id)
        made = await connection.fetchval(
            "insert into products (tenant_id, public_id, name, slug, price_cents) values ($1, gen_random_uuid(), 'Nova', 'nova', 1)"
            " returning id", store_id,
        )  # fmt: skip
        assert made == last + 1
        for table in ("outbox_events", "audit_entries", "api_keys", "sessions"):
            highest = await connection.fetchval(f"select max(id) from {table} where tenant_id = $1", store_id)
            assert await connection.fetchval(f"select nextval(pg_get_serial_sequence('{table}', 'id'))") > highest
    finally:
        await connection.close()


async def test_secrets_are_encrypted_for_the_other_installation(sample, here, there, tmp_path):
    await stores.set_gateway_secret(sample.scope, "segredo do gateway")
    with active_scope(sample.scope):
        await TwoFactor.create(user_id=sample.owner.number, secret=encrypt(SECRET_PURPOSE, b"otp"))
    file = tmp_path / "loja.store"
    here("tenant", "export", sample.host, str(file))
    there("tenant", "import", str(file))
    assert "values are under the key" in there("doctor").out
    own = secret_keys()
    try:
        configure_auth(OTHER_SECRET.encode())
        row = await one(there, "select t.gateway_secret, f.secret from tenants t join two_factors f on f.tenant_id = t.id"
                               " where t.public_id = $1", sample.store.public_id)  # fmt: skip
        assert decrypt(GATEWAY_PURPOSE, row["gateway_secret"]) == b"segredo do gateway"
        assert decrypt(SECRET_PURPOSE, row["secret"]) == b"otp"
    finally:
        use_secret_keys(own)
    assert SECRET.encode() not in file.read_bytes()
    for path in (file, tmp_path / "loja.store.key"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def one(installation: Vitrine, sql: str, *args: object) -> asyncpg.Record:
    connection = await asyncpg.connect(installation.settings["DATABASE_URL"].replace("vitrine_owner@", "postgres@"))
    try:
        row = await connection.fetchrow(sql, *args)
        assert row is not None
        return row
    finally:
        await connection.close()


async def test_installed_apps_move_with_their_secrets(sample, here, there, tmp_path):
    # Apps of the other installation, so that the ids there are others.
    await one(there, "insert into apps (public_id, client_id, name, mode, redirect_uris, scopes, secret_hash, secret_sealed)"
                     " select gen_random_uuid(), 'other-' || n, 'x', 'live', '{https://a.example}', '{read_orders}',"
                     " sha256('x'), 'x' from generate_series(1, 3) n returning id")  # fmt: skip
    app = await register_app(sample.scope, APP)
    installation = await one(
        here,
        "insert into app_installations (tenant_id, public_id, app_id, scopes)"
        " select $1, gen_random_uuid(), id, '{read_orders}' from apps where client_id = $2 returning public_id, app_id",
        sample.store.id, app.client_id,
    )  # fmt: skip
    await one(here, "insert into audit_entries (tenant_id, public_id, action, actor_kind, app_id)"
                    " values ($1, gen_random_uuid(), 'by app', 'app', $2) returning id",
              sample.store.id, installation["app_id"])  # fmt: skip
    file = tmp_path / "loja.store"
    here("tenant", "export", sample.host, str(file))
    assert there("tenant", "import", str(file)).code == 0
    moved = await one(
        there,
        "select a.client_id, a.secret_sealed, a.registered_in = i.tenant_id as is_own, i.public_id, e.app_id = a.id as is_actor"
        " from apps a join app_installations i on i.app_id = a.id join audit_entries e on e.tenant_id = i.tenant_id"
        " where e.action = 'by app'",
    )
    assert (moved["client_id"], moved["is_own"], moved["public_id"], moved["is_actor"]) == (
        app.client_id, True, installation["public_id"], True,
    )  # fmt: skip
    own = secret_keys()
    try:
        configure_auth(OTHER_SECRET.encode())
        assert decrypt(APP_SECRET_PURPOSE, moved["secret_sealed"]).decode() == app.client_secret
    finally:
        use_secret_keys(own)


async def test_an_archive_changes_no_app_that_is_registered_already(sample, here, there, tmp_path):
    app = await register_app(sample.scope, APP)
    await one(here, "insert into app_installations (tenant_id, public_id, app_id, scopes)"
                    " select $1, gen_random_uuid(), id, '{read_orders}' from apps where client_id = $2 returning id",
              sample.store.id, app.client_id)  # fmt: skip
    registered = await one(here, "select public_id from apps where client_id = $1", app.client_id)
    await one(there, "insert into apps (public_id, client_id, name, mode, redirect_uris, scopes, secret_hash, secret_sealed)"
                     " values ($1, $2, 'Outro', 'live', '{https://outro.example}', '{read_orders}', sha256('outro'), 'x') returning id",
              registered["public_id"], app.client_id)  # fmt: skip
    file = tmp_path / "loja.store"
    here("tenant", "export", sample.host, str(file))
    assert there("tenant", "import", str(file)).code == 0
    kept = await one(
        there,
        "select name, secret_hash = sha256('outro') as is_own, registered_in from apps where client_id = $1",
        app.client_id,
    )
    assert tuple(kept) == ("Outro", True, None)


async def test_a_read_only_store_answers_reads_and_refuses_writes_until_it_is_resumed(sample, here, tmp_path):
    await sample.token(sample.owner)
    assert here("tenant", "export", sample.host, str(tmp_path / "loja.store"), "--read-only").code == 0
    listed = {store["tenant_id"]: store for store in here("tenant", "list", "--json").json}
    assert listed[str(sample.store.public_id)]["read_only"] is True
    assert (await sample.get("/api/products")).status == 200
    refused = [
        await sample.post("/api/categories", {"category": "Nova"}),
        await sample.post("/api/v1/webhooks/gateway", {"id": "evt_9", "type": "charge.paid", "data": {}}, auth=None),
        await sample.post(
            "/graphql", {"query": 'mutation { category_create(input: {name: "Nova"}) { id } }'}, auth="bearer"
        ),
    ]
    assert [answer.status for answer in refused[:2]] == [503, 503]
    assert refused[2].body["errors"][0]["extensions"]["code"] == "TENANT_CLOSED"
    here("tenant", "resume", sample.host)
    with active_scope(sample.scope):
        await invalidate_store(sample.store.id)  # as the notification does in a serving process
    assert (await sample.post("/api/categories", {"category": "Nova"})).status == 201


async def test_sign_ins_after_the_export_leave_what_moves_as_it_is(sample, here, there, tmp_path):
    file = tmp_path / "loja.store"
    tokens = await sign_in(sample.store, sample.caio)
    before = await rows_of(here.settings["DATABASE_URL"], sample.store.public_id)
    assert here("tenant", "export", sample.host, str(file), "--read-only").code == 0
    with active_scope(sample.scope):
        await invalidate_store(sample.store.id)  # as the notification does in a serving process
    body = {"refresh_token": tokens.refresh_token}
    assert (await sample.post("/api/v1/auth/refresh", body, auth=None)).status == 200
    login = {"email": sample.caio.email, "password": PASSWORD}
    assert (await sample.post("/api/v1/auth/login", login, auth=None)).status == 200
    assert there("tenant", "import", str(file)).code == 0
    moved = await rows_of(there.settings["DATABASE_URL"], sample.store.public_id)
    del moved["audit_entries"], before["audit_entries"]  # the export's own status change
    assert moved == before
    valid = "select count(*) from refresh_tokens where token_hash = $1 and used_at is null"
    assert (await one(there, valid, token_hash(tokens.refresh_token)))["count"] == 1


async def test_an_export_waits_for_the_transactions_that_may_still_write(sample, here, tmp_path, database_url):
    file = tmp_path / "loja.store"
    writer = await asyncpg.connect(database_url)
    try:
        await writer.execute(f"select set_config('vitrine.tenant', '{sample.store.id}', false)")
        await writer.execute(
            "begin; update products set name = 'Escrita antes' where id = (select min(id) from products)"
        )
        export = asyncio.create_task(asyncio.to_thread(here, "tenant", "export", sample.host, str(file), "--read-only"))
        await asyncio.sleep(4)
        assert not file.exists()
        await writer.execute("commit")
        assert (await export).code == 0
    finally:
        await writer.close()
    with zipfile.ZipFile(file) as archive:
        assert b"Escrita antes" in archive.read("tables/products.copy")


async def add_content(sample, vitrine: Vitrine, content: bytes, *, is_stored: bool = True) -> str:
    """Add a media file to a store, with its content and a size in the storage of an installation; return its key."""
    sha256 = hashlib.sha256(content).hexdigest()
    await add_file(sample, sha256=sha256, bytes=len(content))
    key = media_key(sample.store.public_id, sha256)
    if is_stored:
        await storage_of(vitrine).put(key, content)
        await storage_of(vitrine).put(f"{key}.256.webp", b"a size")
    return key


def storage_of(vitrine: Vitrine) -> Storage:
    return open_storage(f"file://{vitrine.settings['VITRINE_DATA_DIR']}/storage")


async def test_the_contents_of_media_files_move(sample, other_sample, here, there, tmp_path):
    file = tmp_path / "loja.store"
    key = await add_content(sample, here, b"a picture")
    missing = await add_content(sample, here, b"a lost picture", is_stored=False)
    await add_content(other_sample, here, b"a picture of another store")
    await sample.execute("update media_files set avif_due_at = null, avif_attempts = 3")  # the file has no sizes
    exported = here("tenant", "export", sample.host, str(file), "--json").json
    assert exported["media"] == {"files": 1, "bytes": 9, "missing": [missing]}
    assert there("tenant", "import", str(file), "--json").json["media"] == {"files": 1, "bytes": 9, "missing": []}
    assert [stored.key async for stored in storage_of(there).find("media/")] == [key]
    assert await storage_of(there).read(key) == b"a picture"
    due = await one(
        there, "select count(*) as files, count(avif_due_at) as due from media_files where sha256 = $1", key[-64:]
    )
    assert tuple(due) == (1, 1)


async def test_a_changed_content_is_not_imported(sample, here, there, tmp_path):
    file = tmp_path / "loja.store"
    key = await add_content(sample, here, b"a picture")
    here("tenant", "export", sample.host, str(file))
    with zipfile.ZipFile(file) as archive:
        members = [(member, archive.read(member)) for member in archive.infolist()]
    with zipfile.ZipFile(file, "w") as archive:
        for member, content in members:
            archive.writestr(member, b"another one" if member.filename == key else content)
    assert f"{key} has another content" in there("tenant", "import", str(file)).error_line
    assert [store["name"] for store in there("tenant", "list", "--json").json] == ["Vizinha"]


# --- Refusals ----------------------------------------------------------------------------------------------------------


async def test_a_store_that_exists_is_not_imported(sample, here, there, tmp_path):
    file = tmp_path / "loja.store"
    here("tenant", "export", sample.host, str(file))
    assert here("tenant", "import", str(file)).error_line == f"the store {sample.store.public_id} exists here"
    there("tenant", "create", "Mesma", "--host", sample.host)
    error = there("tenant", "import", str(file)).error_line
    assert error == f"the address {sample.host} is in use by another store here"


@pytest.mark.parametrize("damage", ["cut off", "changed", "missing rows", "other key", "older", "newer"])
async def test_an_export_that_does_not_fit_changes_nothing(sample, here, there, tmp_path, damage):
    file, key = tmp_path / "loja.store", tmp_path / "loja.store.key"
    here("tenant", "export", sample.host, str(file))
    content = file.read_bytes()
    if damage == "cut off":
        file.write_bytes(content[:-1000])
    elif damage == "changed":
        file.write_bytes(content[:20_000] + bytes(50) + content[20_050:])
    elif damage == "missing rows":
        rewrite(file, "tables/order_taxes.copy", lambda text: b"")
        rewrite(file, "tables/order_lines.copy", lambda text: text.partition(b"\n")[2])
    elif damage == "other key":
        key.write_text("x" * 40)
    else:
        added, removed = (["9999_future"], []) if damage == "newer" else ([], ["0026_import_digests"])
        rewrite(file, "manifest.json", lambda text: migrations(text, added, removed))
    error = there("tenant", "import", str(file)).error_line
    assert {
        "cut off": "is damaged or not an archive",
        "changed": "is damaged or not an archive",
        "missing rows": "differ from the export's",
        "other key": f"{key} is not the key of {file}",
        "older": "without the migration 0026_import_digests: update that installation and export again",
        "newer": "with the migration 9999_future; use that version or a newer one",
    }[damage] in error
    assert [store["name"] for store in there("tenant", "list", "--json").json] == ["Vizinha"]
    assert (await one(there, "select count(*) from products"))["count"] == 0


def rewrite(file: Path, name: str, change) -> None:
    with zipfile.ZipFile(file) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    members[name] = change(members[name])
    with zipfile.ZipFile(file, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)


def migrations(text: bytes, added: list[str], removed: list[str]) -> bytes:
    manifest = json.loads(text)
    manifest["migrations"] = [name for name in [*manifest["migrations"], *added] if name not in removed]
    return json.dumps(manifest).encode()


async def test_an_unreadable_secret_stops_the_export_and_leaves_no_file(sample, here, tmp_path):
    await stores.set_gateway_secret(sample.scope, "segredo")
    file = tmp_path / "loja.store"
    error = here("tenant", "export", sample.host, str(file), VITRINE_SECRET_KEY=OTHER_SECRET).error_line
    assert error.startswith("1 encrypted values can't be read with any key, first: tenants.gateway_secret")
    assert [path.name for path in tmp_path.iterdir() if "loja" in path.name] == []


async def test_a_failed_export_leaves_a_key_that_another_uses(sample, here, tmp_path, monkeypatch):
    one, other, key = (tmp_path / name for name in ("one.store", "other.store", "all.key"))
    here("tenant", "export", sample.host, str(other), "--key-file", str(tmp_path / "own.key"))
    first = store_transfer._transfer_key(key)
    here("tenant", "export", sample.host, str(one), "--key-file", str(key))
    monkeypatch.setattr(store_transfer, "_transfer_key", lambda _: first)
    with pytest.raises(ArchiveError, match="exists; expected the name of a new file"):
        await store_transfer.export_store("", sample.store, (), other, key)
    assert key.read_bytes().strip() == first[0]


def test_a_key_that_cannot_be_written_leaves_no_file(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            store_transfer._transfer_key(tmp_path / "loja.key")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [*tmp_path.iterdir()] == []


# --- Completeness ------------------------------------------------------------------------------------------------------


async def test_every_table_of_a_store_moves_or_is_derived(database_url):
    connection = await asyncpg.connect(database_url)
    try:
        parts = await store_parts(connection)
    finally:
        await connection.close()
    moved = {part.table.name for part in parts}
    assert moved == (set(await store_tables()) - NOT_MOVED) | {STORES, HOSTS, APPS}
    # Not those that other tests of this process declare.
    models = [model for model in all_models(StoreModel) if model.__module__.startswith("models.")]
    modelled = {model._meta.db_table for model in models if model._meta.db_table}
    assert modelled <= moved | NOT_MOVED
    order = [part.table.name for part in parts]
    assert order.index("users") < order.index("orders") < order.index("order_lines") < order.index("number_counters")


def all_models(base: type[Model]) -> set[type[Model]]:
    children: list[type[Model]] = base.__subclasses__()
    return {model for child in children for model in (child, *all_models(child))}
