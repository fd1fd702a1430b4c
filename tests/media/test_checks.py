"""`vitrine doctor` compares media files with the storage, and renders an image."""

from __future__ import annotations

import os
import time
from pathlib import Path
from uuid import uuid4

import pytest

from domain.media.addresses import media_key, upload_key
from domain.storage import open_storage
from kernel.settings import Settings
from server.operations import media_checks
from server.operations.check_results import Severity
from tests.harness.sample_store import SampleStore
from tests.media.test_images import add_file, digest


@pytest.fixture
def only_store(sample: SampleStore, monkeypatch: pytest.MonkeyPatch) -> SampleStore:
    """Compare this store only, not those of other tests."""
    sql = f"SELECT id FROM tenants WHERE id = {sample.store.id} AND $1::uuid[] IS NOT NULL"
    monkeypatch.setattr(media_checks, "_STORES", sql)
    return sample


async def test_an_image_is_rendered() -> None:
    assert (await media_checks.check_renderer()).level is Severity.OK


async def test_a_renderer_that_can_not_start_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    assert (await media_checks.check_renderer()).level is Severity.FAIL


async def test_missing_contents_and_orphans_are_named(only_store: SampleStore, tmp_path: Path) -> None:
    settings, storage = Settings(storage_url=tmp_path.as_uri()), open_storage(tmp_path.as_uri())
    file = await add_file(only_store)
    store = only_store.store.public_id
    key = media_key(store, await digest(only_store, file))
    await storage.put(key, b"content")
    await storage.put(f"{key}.64.webp", b"size")
    assert (await media_checks.check_media(settings)).level is Severity.OK
    orphan = media_key(store, "0" * 64)
    await storage.put(orphan, b"just stored")
    assert (await media_checks.check_media(settings)).level is Severity.OK
    long_ago = time.time() - 2 * 86_400
    os.utime(tmp_path / orphan, (long_ago, long_ago))
    result = await media_checks.check_media(settings)
    assert (result.level, result.text) == (Severity.WARN, f"1 contents; 1 objects belong to no file: {orphan}")
    await storage.delete([key])
    result = await media_checks.check_media(settings)
    assert result.level is Severity.FAIL
    assert result.text.endswith(f"1 are not in the storage: {key}")


async def test_a_content_that_is_being_deleted_is_not_missing(only_store: SampleStore, tmp_path: Path) -> None:
    file = await add_file(only_store)
    await only_store.execute("update media_files set unused_since = '-infinity' where id = $1", file.number)
    assert (await media_checks.check_media(Settings(storage_url=tmp_path.as_uri()))).level is Severity.OK


async def test_orphans_are_deleted_on_request_only(only_store: SampleStore, tmp_path: Path) -> None:
    settings, storage = Settings(storage_url=tmp_path.as_uri()), open_storage(tmp_path.as_uri())
    orphan = upload_key(only_store.store.public_id, uuid4())
    await storage.put(orphan, b"content")
    long_ago = time.time() - 2 * 86_400
    os.utime(tmp_path / orphan, (long_ago, long_ago))
    assert (await media_checks.check_media(settings)).level is Severity.WARN
    result = await media_checks.check_media(settings, deletes_orphans=True)
    assert (result.level, "1 of them are deleted" in result.text) == (Severity.OK, True)
    assert (await media_checks.check_media(settings)).text == "0 contents"


async def test_a_store_that_is_deleted_meanwhile_is_left_out(
    database: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(media_checks, "_STORES", "SELECT 0::bigint AS id WHERE $1::uuid[] IS NOT NULL")
    assert (await media_checks.check_media(Settings(storage_url=tmp_path.as_uri()))).text == "0 contents"
