"""`vitrine tenant delete` removes every trace of a store, and of no other (docs/security.md#deleting-a-store)."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest

from auth.store_resolution import CachedStoreResolver
from domain.apps.registration import register_app
from domain.bulk.files import DOWNLOAD, file_key, signed_link
from domain.jobs import JOBS
from kernel.errors import TenantNotFound
from kernel.ids import uuid7
from kernel.scope import active_scope
from server.operations import store_deletion
from server.operations.archives import ArchiveError
from server.operations.store_deletion import delete_store
from server.operations.store_move import try_lock
from server.operations.store_transfer import connect_owner
from tests.harness.files import used_storage
from tests.server.command_line import Vitrine
from tests.server.test_store_transfer import rows_of

# Slow, so that they run before the database holds the stores of other tests.
pytestmark = [pytest.mark.usefixtures("database"), pytest.mark.slow(seconds=3)]

APP = {"name": "ERP", "redirect_uris": ["https://erp.example/"], "scopes": ["read_orders"], "mode": "live"}


@pytest.fixture
def vitrine(tmp_path: Path, database_url: str) -> Vitrine:
    return Vitrine(tmp_path, DATABASE_URL=database_url)


PLAIN = {"Accept-Encoding": "identity"}
_TABLES = """
    select relname, array(
        select attname from pg_attribute where attrelid = c.oid and attname in ('tenant_id', 'store_id', 'registered_in')
    )
    from pg_class c where relkind = 'r' and relnamespace = 'public'::regnamespace
"""


class Interrupted(Exception):
    """What a test raises in place of a kill."""


async def places_of(owner_url: str, public_id: object, store_id: int, host: str) -> dict[str, int]:
    """Count the rows that mention a store, in every table and column, as the superuser sees them."""
    connection = await asyncpg.connect(owner_url.replace("vitrine_owner@", "postgres@"))
    try:
        counts = {}
        for table, owners in await connection.fetch(_TABLES):
            is_its = [f"{column} = {store_id}" for column in owners]
            mentions = [f"t::text like '%{text}%'" for text in (public_id, host)]
            counts[table] = await connection.fetchval(
                f"select count(*) from {table} t where {' or '.join([*is_its, *mentions])}"
            )
        return {table: count for table, count in counts.items() if count}
    finally:
        await connection.close()


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> Iterator[Path]:
    """Return the folder of a storage."""
    with used_storage((tmp_path / "storage").as_uri()):
        yield tmp_path / "storage"


def _add_files(files: Path, store: object, age: float = 0) -> None:
    for name in ("bulk/{}/a.jsonl", "bulk/{}/a.gz", "bulk/{}/b.0123456789abcdef.upload", "media/{}/aa/bb/aabb"):
        path = files / name.format(store)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"ana@example.com")
        os.utime(path, (time.time() - age,) * 2)


def _stores(files: Path) -> set[str]:
    """Return the names of the folders with files."""
    return {path.relative_to(files).parts[1] for path in files.rglob("*") if path.is_file()}


async def test_the_files_of_a_deleted_store_are_deleted_and_named(sample, other_sample, database_url, files):
    for store in (sample.store, other_sample.store):
        _add_files(files, store.public_id)
    name = str(uuid7())
    links = []
    for each in (sample, other_sample):
        (files / file_key(each.store.public_id, name)).write_bytes(b"{}")
        with active_scope(each.scope):
            links.append((await signed_link(each.scope, DOWNLOAD, name)).url)
    assert [(await sample.anonymous.get(link, headers=PLAIN)).status for link in links] == [
        200,
        200,
    ]
    receipt = await delete_store(database_url, sample.store, (sample.host,))
    assert receipt.as_json()["files"] == sorted(
        ["a.gz", "a.jsonl", "aa/bb/aabb", "b.0123456789abcdef.upload", f"{name}.jsonl"]
    )
    assert _stores(files) == {str(other_sample.store.public_id)}
    result = files / file_key(sample.store.public_id, name)
    result.parent.mkdir(exist_ok=True)
    result.write_bytes(b"{}")  # by a worker that noticed nothing
    assert [(await other_sample.anonymous.get(link, headers=PLAIN)).status for link in links] == [404, 200]


async def test_the_worker_deletes_old_files_of_unknown_stores(other_sample, files):
    unknown, new = uuid7(), uuid7()
    _add_files(files, unknown, age=90_000)
    _add_files(files, new, age=3_600)
    _add_files(files, other_sample.store.public_id, age=90_000)
    (files / "bulk" / "lost+found").mkdir()
    [job] = [job for job in JOBS if job.name == "delete_lost_files"]
    await job.work(lambda: True)
    assert _stores(files) == {str(new), str(other_sample.store.public_id)}


async def test_no_row_of_a_deleted_store_is_left_and_other_stores_are_untouched(
    sample, other_sample, vitrine, database_url
):
    await register_app(sample.scope, APP)
    neighbour = await rows_of(database_url, other_sample.store.public_id)
    before = await places_of(database_url, sample.store.public_id, sample.store.id, sample.host)
    receipt = vitrine("tenant", "delete", sample.host, "--yes", "--json").json
    assert await places_of(database_url, sample.store.public_id, sample.store.id, sample.host) == {}
    assert await rows_of(database_url, other_sample.store.public_id) == neighbour
    counted = {name: table["rows"] for name, table in receipt["tables"].items()}
    assert {name: rows for name, rows in before.items() if name not in ("tenants", "apps")} == {
        name: rows for name, rows in counted.items() if name != "catalogue_versions" or name in before
    }
    assert receipt["rows"] == sum(counted.values())


async def test_the_receipt_proves_what_it_states(sample, vitrine):
    receipt = vitrine("tenant", "delete", str(sample.store.public_id), "--yes", "--json").json
    assert (receipt["tenant_id"], receipt["name"], receipt["hosts"]) == (
        str(sample.store.public_id), sample.store.name, [sample.host],
    )  # fmt: skip
    stated = receipt.pop("sha256")
    text = json.dumps(receipt, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert hashlib.sha256(text.encode()).hexdigest() == stated


async def test_the_running_processes_forget_the_store(sample, vitrine):
    resolver = CachedStoreResolver(())
    await resolver.listen()
    await resolver.resolve(sample.host, None, public=True)
    vitrine("tenant", "delete", sample.host, "--yes")
    async with asyncio.timeout(10):
        while await is_known(resolver, sample.host):
            await asyncio.sleep(0.05)


async def is_known(resolver: CachedStoreResolver, host: str) -> bool:
    try:
        await resolver.resolve(host, None, public=True)
    except TenantNotFound:
        return False
    return True


async def test_an_app_that_another_store_has_installed_stays(sample, other_sample, vitrine):
    app = await register_app(sample.scope, APP)
    connection = await asyncpg.connect(vitrine.settings["DATABASE_URL"].replace("vitrine_owner@", "postgres@"))
    try:
        await connection.execute(
            "insert into app_installations (tenant_id, public_id, app_id, scopes)"
            " select $1, gen_random_uuid(), id, '{read_orders}' from apps where client_id = $2",
            other_sample.store.id, app.client_id,
        )  # fmt: skip
        receipt = vitrine("tenant", "delete", sample.host, "--yes", "--json").json
        assert receipt["remaining_apps"] == [app.client_id]
        assert await connection.fetchval("select registered_in from apps where client_id = $1", app.client_id) is None
    finally:
        await connection.close()


async def test_the_name_has_to_be_entered(sample, vitrine, database_url):
    async def delete_answering(answer: str) -> tuple[str, str, int | None]:
        process = (await vitrine.start("tenant", "delete", sample.host, stdin=asyncio.subprocess.PIPE)).process
        output, errors = await process.communicate(answer.encode())
        return output.decode(), errors.decode(), process.returncode

    before = await rows_of(database_url, sample.store.public_id)
    for answer in ("", "y\n", "outra loja\n"):
        _, errors, code = await delete_answering(answer)
        assert code == 1, answer
        assert errors == "vitrine: not deleted: the name differs; --yes deletes without asking\n", answer
    assert await rows_of(database_url, sample.store.public_id) == before
    output, errors, code = await delete_answering(f"{sample.store.name}\n")
    assert code == 0, errors
    assert "backups made before still contain the store" in output


@pytest.fixture
def interrupted_deletion(monkeypatch):
    """Let a deletion end after a hundred rows, and the next one go on."""
    monkeypatch.setattr(store_deletion, "BATCH_ROWS", 1)
    delete_batch, batches = store_deletion._delete_batch, 0

    async def interrupted(*args):
        nonlocal batches
        batches += 1
        if batches == 100:
            raise Interrupted
        return await delete_batch(*args)

    monkeypatch.setattr(store_deletion, "_delete_batch", interrupted)


async def test_an_interrupted_deletion_is_continued(sample, vitrine, database_url, interrupted_deletion, tmp_path):
    with pytest.raises(Interrupted):
        await delete_store(database_url, sample.store, (sample.host,))
    listed = {store["tenant_id"]: store for store in vitrine("tenant", "list", "--json").json}[
        str(sample.store.public_id)
    ]
    assert (listed["status"], listed["move"]) == ("S", "deleting")
    for refused in (("resume",), ("read-only",), ("export", str(tmp_path / "part.zip"))):
        assert "are being deleted" in vitrine("tenant", refused[0], sample.host, *refused[1:]).error_line, refused
    assert vitrine("tenant", "delete", sample.host, "--yes").code == 0
    assert await places_of(database_url, sample.store.public_id, sample.store.id, sample.host) == {}


async def test_a_store_that_is_moved_or_has_changed_since_it_was_read_is_not_deleted(sample, vitrine, database_url):
    before = await rows_of(database_url, sample.store.public_id)
    async with connect_owner(database_url) as moving:
        assert await try_lock(moving, sample.store.public_id)
        assert "another command moves the store" in vitrine("tenant", "delete", sample.host, "--yes").error_line
    read_before = replace(sample.store, status="S", is_read_only=True)
    with pytest.raises(ArchiveError, match="status of the store has changed"):
        await delete_store(database_url, read_before, (sample.host,))
    assert await rows_of(database_url, sample.store.public_id) == before
