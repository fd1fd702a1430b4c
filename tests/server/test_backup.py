"""`vitrine backup` and `vitrine restore`: complete, verified, all or nothing (docs/tutorials/operator.md#back-up)."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
import os
import re
import signal
import stat
import zipfile
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

from domain.media.addresses import media_key
from domain.storage import open_storage
from kernel.settings import Settings
from models.table_contents import DIGEST_SETTINGS, digest, read_tables
from server.embedded_postgres import EmbeddedServer
from server.operations.archives import ArchiveError, new_archive, open_archive, read_chunks, write_manifest
from server.operations.backup import KIND
from server.operations.postgres_programs import ProgramError, Programs, split_password
from server.operations.restore import read_secret_keys, restore
from tests.harness.cloning import copy_store
from tests.harness.database import TEMPLATE, new_database
from tests.harness.sample_store import NewSampleStore
from tests.server.command_line import Vitrine

pytestmark = [pytest.mark.usefixtures("database"), pytest.mark.slow]

MANIFEST = {"kind": "backup", "format": 1, "version": "1.0", "created_at": "2026-01-01T00:00:00Z", "migrations": []}
CONTENTS = {
    "postgresql": 18, "schema": "public", "structure": {}, "key_ids": [],
    "tables": {"tenants": {"columns": ["id"], "rows": 1, "checksum": "0"}},
}  # fmt: skip


@dataclass(frozen=True)
class Source:
    """A database of two stores with sample data, and the internal id of one of them."""

    url: str
    store: int


@pytest.fixture(scope="module")
async def source(
    postgres: EmbeddedServer, database_name: str, new_sample: NewSampleStore, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Source]:
    """Return a database of its own: that of other tests has too many stores to be copied so often."""
    samples = [await new_sample() for _ in range(2)]
    async with new_database(postgres, TEMPLATE) as name:
        for sample in samples:
            here, there = postgres.superuser_url(database_name), postgres.superuser_url(name)
            await copy_store(sample.store, here, there, sample.store.id)
        vitrine = Vitrine(tmp_path_factory.mktemp("source"), DATABASE_URL=postgres.url(name))
        assert vitrine("keys", "rotate").code == 0
        yield Source(postgres.url(name), samples[0].store.id)


@pytest.fixture
def vitrine(tmp_path: Path, source: Source) -> Vitrine:
    return Vitrine(tmp_path, DATABASE_URL=source.url)


@pytest.fixture
def superuser_url(postgres):
    def url(owner_url: str) -> str:
        return owner_url.replace("vitrine_owner@", "postgres@")

    return url


async def contents_of(url: str, *, without: tuple[str, ...] = ("job_runs", "tortoise_migrations")):
    """Return the digest of every table, as the superuser, who sees all stores."""
    connection = await asyncpg.connect(url, server_settings=DIGEST_SETTINGS)
    try:
        return {
            table.name: await digest(connection, table.qualified_name, table.columns)
            for table in await read_tables(connection)
            if table.name not in without
        }
    finally:
        await connection.close()


async def test_a_restored_database_has_every_row_of_every_store(
    source, vitrine, tmp_path, empty_database_url, superuser_url
):
    file = tmp_path / "shop.backup"
    before = await contents_of(superuser_url(source.url))
    made = vitrine("backup", str(file), "--json").json
    restored = vitrine("restore", str(file), "--json", DATABASE_URL=empty_database_url).json
    after = await contents_of(superuser_url(empty_database_url))
    versions = "catalogue_versions"  # which a restore moves on
    assert after.pop(versions).rows == before.pop(versions).rows > 0
    assert after == before
    assert sum(table.rows > 0 for table in before.values()) > 60
    assert made["stores"] == restored["stores"] == before["tenants"].rows
    assert restored["missing_keys"] == []
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    doctor = vitrine("doctor", DATABASE_URL=empty_database_url)
    for check in ("migrations", "isolation", "role", "signing keys", "secrets"):
        assert f"ok    {check} " in doctor.out, doctor.out


async def test_the_restored_database_serves_and_keeps_stores_apart(source, vitrine, tmp_path, empty_database_url):
    file = tmp_path / "shop.backup"
    vitrine("backup", str(file))
    vitrine("restore", str(file), DATABASE_URL=empty_database_url)
    connection = await asyncpg.connect(empty_database_url, server_settings={"role": "vitrine_app"})
    try:
        assert await connection.fetchval("select count(*) from products") == 0
        await connection.execute("select set_config('vitrine.tenant', $1, false)", str(source.store))
        stores = await connection.fetch("select distinct tenant_id from products")
        assert [row["tenant_id"] for row in stores] == [source.store]
        word = await connection.fetchval(
            "select w from products, unnest(tsvector_to_array(search)) w where w ~ '^[a-z]+$' and deleted_at is null limit 1"
        )
        assert await connection.fetch("select * from search_products($1::text::tsquery)", word)
        await connection.execute("insert into notifications (public_id, type, title, message, user_id) select "
                                 "gen_random_uuid(), 'x', 'x', 'x', min(id) from users")  # fmt: skip
    finally:
        await connection.close()


async def test_no_version_of_a_catalogue_since_the_backup_comes_again(
    source, vitrine, tmp_path, empty_database_url, superuser_url
):
    """A client's answer of such a version would be taken for the present one, with the prices that the restore took back."""
    file = tmp_path / "shop.backup"
    vitrine("backup", str(file))

    async def version(url: str) -> int:
        connection = await asyncpg.connect(superuser_url(url))
        try:
            query = "select sum(version)::bigint from catalogue_versions where tenant_id = $1"
            return int(await connection.fetchval(query, source.store))
        finally:
            await connection.close()

    vitrine("restore", str(file), DATABASE_URL=empty_database_url)
    restored = await version(empty_database_url)
    changes_since_the_backup = 10**9
    assert restored > await version(source.url) + changes_since_the_backup
    vitrine("restore", str(file), "--replace", DATABASE_URL=empty_database_url)
    assert await version(empty_database_url) > restored


async def test_the_time_of_the_last_backup_is_recorded_for_the_doctor(vitrine, tmp_path, source):
    from server.operations.check_results import ok
    from server.operations.operation_checks import check_backup

    vitrine("backup", str(tmp_path / "a.backup"))
    connection = await asyncpg.connect(source.url)
    try:
        assert await check_backup(connection, Settings()) == ok("backup", "the last one is 0 hours old")
    finally:
        await connection.close()


def test_a_backup_in_a_folder_is_named_by_its_time(vitrine, tmp_path):
    made = vitrine("backup", str(tmp_path), "--json").json
    assert Path(made["file"]).parent == tmp_path
    assert Path(made["file"]).name.startswith("vitrine-20")


def test_an_existing_file_is_not_overwritten(vitrine, tmp_path):
    file = tmp_path / "a.backup"
    file.write_text("precious")
    assert vitrine("backup", str(file)).error_line == f"{file} exists; expected the name of a new file"
    assert file.read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir() if "backup" in path.name] == ["a.backup"]


_IS_IGNORED = pytest.mark.skipif(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN, reason="run by nohup")


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=_IS_IGNORED)])
async def test_an_interrupted_backup_leaves_no_file(vitrine, tmp_path, source, number):
    blocker = await asyncpg.connect(source.url)
    try:
        await blocker.execute("begin; lock table products in access exclusive mode")
        process = (await vitrine.start("backup", str(tmp_path / "a.backup"))).process
        async with asyncio.timeout(60):
            while not (tmp_path / ".a.backup.part").exists():
                await asyncio.sleep(0.05)
        process.send_signal(number)
        _, errors = await process.communicate()
        assert (process.returncode, errors.decode()) == (1, "vitrine: interrupted\n")
    finally:
        await blocker.close()
    assert [path.name for path in tmp_path.iterdir() if "backup" in path.name] == []


def test_an_embedded_database_is_restored_into_another_folder(tmp_path):
    one, other = Vitrine(tmp_path / "one", VITRINE_SECRET_KEY=""), Vitrine(tmp_path / "other", VITRINE_SECRET_KEY="")
    made = one("tenant", "create", "Casa Ipê", "--json").json
    file = tmp_path / "ipe.backup"
    assert one("backup", str(file), "--with-secret-key").code == 0
    restored = other("restore", str(file), "--json").json
    assert (restored["stores"], restored["missing_keys"]) == (1, [])
    assert [store["tenant_id"] for store in other("tenant", "list", "--json").json] == [made["tenant_id"]]


# --- Media files -------------------------------------------------------------------------------------------------------


async def test_the_contents_of_media_files_are_included_on_request(
    vitrine, tmp_path, source, superuser_url, empty_database_url
):
    content = b"a picture"
    sha256 = hashlib.sha256(content).hexdigest()
    connection = await asyncpg.connect(superuser_url(source.url))
    store = await connection.fetchval("select public_id from tenants where id = $1", source.store)
    columns = "(tenant_id, public_id, sha256, mime_type, status, avif_due_at)"
    await connection.execute(
        f"insert into media_files {columns} values ($1, $2, $3, 'image/png', 'ready', null)",
        source.store,
        uuid4(),
        sha256,
    )
    key = media_key(store, sha256)
    await open_storage((tmp_path / "data" / "storage").as_uri()).put(key, content)
    try:
        without, included = tmp_path / "without.backup", tmp_path / "with.backup"
        assert "not included: the contents of 1 media files" in vitrine("backup", str(without)).out
        assert not [name for name in _members(without) if name.startswith("media/")]
        made = vitrine("backup", str(included), "--media", "--json").json
        assert (made["media"], made["media_left"]) == ({"files": 1, "bytes": 9, "missing": []}, 0)
    finally:
        await connection.execute("delete from media_files where sha256 = $1", sha256)
        await connection.close()
    other = Vitrine(tmp_path / "other", DATABASE_URL=empty_database_url)
    changed = tmp_path / "changed.backup"
    with zipfile.ZipFile(changed, "w") as archive:
        for name, member in {**_members(included), key: b"another"}.items():
            archive.writestr(name, member)
    assert f"{changed} is damaged" in other("restore", str(changed)).error_line
    # The database is still empty.
    assert other("restore", str(included), "--json").json["media"]["files"] == 1
    assert await open_storage((tmp_path / "other" / "data" / "storage").as_uri()).read(key) == content
    restored = await asyncpg.connect(superuser_url(empty_database_url))
    # The backup has no sizes.
    assert await restored.fetchval("select avif_due_at is not null from media_files where sha256 = $1", sha256)
    await restored.close()


# --- Secret keys -------------------------------------------------------------------------------------------------------


def test_the_secret_key_is_included_only_on_request(vitrine, tmp_path):
    without, included = tmp_path / "without", tmp_path / "with"
    said = vitrine("backup", str(without)).out
    assert "not included: the secret key" in said
    vitrine("backup", str(included), "--with-secret-key")
    secret = vitrine.settings["VITRINE_SECRET_KEY"]
    assert secret.encode() not in b"".join(_members(without).values())
    assert json.loads(_members(included)["secret_keys.json"]) == [secret]


def test_a_restore_without_the_secret_key_says_which_one_is_missing(vitrine, tmp_path, empty_database_url):
    file = tmp_path / "a.backup"
    made = vitrine("backup", str(file), "--json").json
    other = {"DATABASE_URL": empty_database_url, "VITRINE_SECRET_KEY": "another secret of at least 32 bytes"}
    said = vitrine("restore", str(file), **other)
    assert f"encrypted values need the secret key {made['secret_keys'][0]}, which isn't configured" in said.out


def test_a_development_server_takes_over_the_secret_key_of_the_backup(vitrine, tmp_path, empty_database_url):
    file = tmp_path / "a.backup"
    vitrine("backup", str(file), "--with-secret-key")
    settings = {"DATABASE_URL": empty_database_url, "VITRINE_SECRET_KEY": ""}
    assert vitrine("restore", str(file), "--json", **settings).json["missing_keys"] == []
    assert (tmp_path / "data" / "secret_key").read_text().strip() == vitrine.settings["VITRINE_SECRET_KEY"]


def _members(file: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


# --- Refusals ----------------------------------------------------------------------------------------------------------


async def test_a_restore_replaces_a_database_only_on_request(vitrine, tmp_path, migrated_database_url, superuser_url):
    file = tmp_path / "a.backup"
    vitrine("backup", str(file))
    target = {"DATABASE_URL": migrated_database_url}
    vitrine("tenant", "create", "Antiga", **target)
    before = await contents_of(superuser_url(migrated_database_url))
    assert vitrine("restore", str(file), **target).error_line.startswith("the database isn't empty (")
    assert await contents_of(superuser_url(migrated_database_url)) == before
    session = await asyncpg.connect(migrated_database_url)
    try:
        refused = vitrine("restore", str(file), "--replace", **target).error_line
        assert refused == "other sessions use the database (1): stop serve and worker first"
    finally:
        await session.close()
    restored = vitrine("restore", str(file), "--replace", "--json", **target).json
    after = await contents_of(superuser_url(migrated_database_url))
    assert after["tenants"].rows == restored["stores"]
    assert (await contents_of(superuser_url(vitrine.settings["DATABASE_URL"])))["orders"] == after["orders"]


@pytest.mark.parametrize("manifest", ["[]", '{"kind": "backup", "migrations": 5}', "[" * 100_000])
def test_a_manifest_that_is_not_ours_is_reported_in_one_line(tmp_path, manifest):
    file = tmp_path / "a.backup"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("manifest.json", manifest)
    with (
        pytest.raises(ArchiveError, match="is damaged or not an archive of Vitrine"),
        open_archive(file, "backup", {}),
    ):
        pass


@pytest.mark.parametrize(
    "member, value, reason",
    [
        ("postgresql", None, "manifest.json.postgresql is missing"),
        ("postgresql", "17", "manifest.json.postgresql is of the type str; expected int"),
        ("schema", "a\0", "manifest.json.schema has the character NUL"),
        ("schema", "\ud800", "surrogates not allowed"),
        ("created_at", "yesterday", "manifest.json.created_at: Invalid isoformat string: 'yesterday'"),
        ("migrations", [5], "manifest.json.migrations[0] is of the type int; expected str"),
        ("tables", {}, "manifest.json.tables.tenants is missing"),
        (
            "tables",
            {"orders": {"columns": "id"}},
            "manifest.json.tables.orders.columns is of the type str; expected list",
        ),
        ("structure", [], "manifest.json.structure is of the type list; expected dict"),
        ("media", {"left": True}, "manifest.json.media.left is of the type bool; expected int"),
        ("key_ids", {}, "manifest.json.key_ids is of the type dict; expected list"),
    ],
)
async def test_an_edited_manifest_is_refused_with_the_name_of_the_member(tmp_path, member, value, reason):
    manifest = {**MANIFEST, "kind": KIND, **CONTENTS, member: value}
    if value is None:
        del manifest[member]
    file = tmp_path / "a.backup"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
    with pytest.raises(ArchiveError, match=re.escape(reason)):
        await restore("postgresql://nowhere.invalid/x", file)


def test_secret_keys_that_are_none_are_reported_in_one_line(tmp_path):
    file = tmp_path / "a.backup"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("secret_keys.json", "[5]")
        write_manifest(archive, KIND, migrations=[], **CONTENTS)
    with pytest.raises(ArchiveError, match=r"secret_keys.json\[0\] is of the type int; expected str"):
        read_secret_keys(file)


def test_of_three_commands_that_write_one_file_none_finishes_that_of_another(tmp_path):
    file, draft = tmp_path / "a.backup", tmp_path / ".a.backup.part"
    first = os.open(draft, os.O_RDWR | os.O_CREAT)  # of a command that has failed and deletes it
    late = os.dup(first)  # the second has opened it before that
    draft.unlink()
    with new_archive(file) as archive:
        archive.writestr("a", "of the third")
        os.close(first)

        def open_late(path, flags):
            return late

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("server.operations.archives._create", open_late)
            with pytest.raises(ArchiveError, match="is being written by another command"), new_archive(file):
                pytest.fail("it writes a file that is deleted")
    with zipfile.ZipFile(file) as whole:
        assert whole.read("a") == b"of the third"


def test_an_archive_is_written_where_the_file_system_has_no_hard_links(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    file = tmp_path / "a.backup"
    with new_archive(file) as archive:
        archive.writestr("a", "complete")
    assert [*tmp_path.iterdir()] == [file]
    other = tmp_path / "b.backup"
    with pytest.raises(ArchiveError, match="exists; expected the name of a new file"), new_archive(other):
        other.write_text("of another program", encoding="utf-8")
    assert other.read_text(encoding="utf-8") == "of another program"


def test_any_changed_byte_of_an_archive_is_reported_as_damage(tmp_path):
    file = tmp_path / "a.backup"
    with new_archive(file) as archive:
        archive.writestr("a.copy", b"text " * 20)
        archive.writestr("manifest.json", json.dumps(MANIFEST))
    content = file.read_bytes()
    for position in range(len(content)):
        for value in (content[position] ^ 1, content[position] ^ 64, 12):
            file.write_bytes(content[:position] + bytes([value]) + content[position + 1 :])
            with suppress(ArchiveError), open_archive(file, "backup", {}) as (archive, _):
                list(read_chunks(archive, "a.copy"))


def test_a_disk_that_is_full_is_named_by_the_file_for_it(tmp_path):
    file = tmp_path / "a.backup"
    with pytest.raises(OSError, match="No space left") as full, new_archive(file):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert (full.value.filename, [*tmp_path.iterdir()]) == (str(file), [])
    with pytest.raises(FileNotFoundError) as missing, new_archive(tmp_path / "none" / "a.backup"):
        pass
    assert missing.value.filename == str(tmp_path / "none" / "a.backup")


@pytest.mark.parametrize("damage", ["cut off", "changed rows", "changed count", "not an archive"])
async def test_a_damaged_backup_changes_nothing(vitrine, tmp_path, migrated_database_url, superuser_url, damage):
    file = tmp_path / "a.backup"
    vitrine("backup", str(file))
    target = {"DATABASE_URL": migrated_database_url}
    vitrine("tenant", "create", "Antiga", **target)
    before = await contents_of(superuser_url(migrated_database_url))
    content = file.read_bytes()
    if damage == "cut off":
        file.write_bytes(content[: len(content) // 2])
    elif damage == "changed rows":
        middle = len(content) // 3
        file.write_bytes(content[:middle] + bytes(100) + content[middle + 100 :])
    elif damage == "changed count":
        members = _members(file)
        manifest = json.loads(members["manifest.json"])
        manifest["tables"]["orders"]["rows"] += 1
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("database.dump", members["database.dump"])
            archive.writestr("manifest.json", json.dumps(manifest))
    else:
        file.write_text("not an archive")
    error = vitrine("restore", str(file), "--replace", **target).error_line
    expected = "the rows of orders differ from the backup's" if damage == "changed count" else "damaged"
    assert expected in error or (damage == "changed rows" and "pg_restore" in error), error
    assert await contents_of(superuser_url(migrated_database_url)) == before


async def test_a_restore_ends_with_the_reason_when_the_database_does(
    vitrine, tmp_path, empty_database_url, monkeypatch
):
    file, folder = tmp_path / "a.backup", tmp_path / "programs"
    vitrine("backup", str(file))
    folder.mkdir()
    for name, script in (
        ("pg_restore", 'case "$*" in *--list*) ;; *) exec cat /dev/zero ;; esac'),  # more than all pipes hold
        ("psql", "head -c 3000000 >/dev/null; echo psql: error: No space left on device >&2; exit 3"),
    ):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
        (folder / name).chmod(0o755)
    monkeypatch.setattr("server.operations.restore.find_programs", lambda _: Programs(folder, 18))
    with pytest.raises(ProgramError, match="No space left on device"):
        async with asyncio.timeout(30):
            await restore(empty_database_url, file)


def test_a_backup_of_a_newer_version_is_refused(vitrine, tmp_path, empty_database_url):
    file = tmp_path / "a.backup"
    vitrine("backup", str(file))
    manifest = json.loads(_members(file)["manifest.json"])
    manifest["migrations"].append("9999_future")
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
    error = vitrine("restore", str(file), DATABASE_URL=empty_database_url).error_line
    assert "with the migration 9999_future; use that version or a newer one" in error


async def test_a_login_that_would_miss_rows_is_refused(vitrine, tmp_path, source, superuser_url):
    role = f"visitor_{uuid4().hex}"
    connection = await asyncpg.connect(superuser_url(source.url))
    try:
        await connection.execute(f"create role {role} login; grant pg_read_all_data to {role}")
        login = source.url.replace("vitrine_owner@", f"{role}@")
        error = vitrine("backup", str(tmp_path / "a"), DATABASE_URL=login).error_line
        assert error.startswith("the login of DATABASE_URL may not act as vitrine_backup")
        await connection.execute(f"alter role {role} bypassrls; grant all on job_runs to {role}")
        assert vitrine("backup", str(tmp_path / "a"), "--json", DATABASE_URL=login).json["stores"] > 0
    finally:
        await connection.execute(f"drop owned by {role}; drop role {role}")
        await connection.close()


def test_no_password_is_shown_in_the_list_of_processes():
    assert split_password("postgresql://u:p%40ss@h:5/d?host=/tmp&password=x") == (
        "postgresql://u@h:5/d?host=/tmp",
        "x",
    )
    assert split_password("postgresql://u:p%40ss@h/d") == ("postgresql://u@h/d", "p@ss")
    assert split_password("postgresql:///d") == ("postgresql:///d", "")


def test_a_missing_file_is_reported_in_one_line(vitrine, tmp_path):
    assert vitrine("restore", str(tmp_path / "none")).error_line == f"{tmp_path / 'none'} doesn't exist"
