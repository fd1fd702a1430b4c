"""The storage of files, in a folder and in an S3-compatible storage that verifies requests by itself (docs/deploy.md#files)."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from domain import storage
from domain.storage import Storage, open_storage
from kernel.errors import StorageFull, Unavailable
from kernel.settings import SettingError, Settings
from server.operations.checks import check_storage
from tests.harness.s3_server import BUCKET, S3Server, s3_url

PART = 5 * 1024 * 1024


@pytest.fixture(params=["folder", "s3"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    if request.param == "folder":
        yield open_storage((tmp_path / "a folder").as_uri())
    else:
        yield open_storage(s3_url(request.getfixturevalue("s3")))


async def test_an_object_is_stored_found_copied_listed_and_deleted(files: Storage):
    await files.put("a/b/c é.txt", b"content")
    head = await files.head("a/b/c é.txt")
    assert head is not None
    assert (head.key, head.size, await files.read("a/b/c é.txt")) == ("a/b/c é.txt", 7, b"content")
    await files.copy("a/b/c é.txt", "a/d")
    await files.put("other/e", b"")
    assert sorted([each.key async for each in files.find("a/")]) == ["a/b/c é.txt", "a/d"]
    assert await files.folders("a/") == ["b"]
    await files.delete(["a/b/c é.txt", "a/b/c é.txt", "a/missing"])
    assert [each.key async for each in files.find("a/")] == ["a/d"]
    assert (await files.read("a/b/c é.txt"), await files.head("a/b/c é.txt")) == (None, None)
    with pytest.raises(FileNotFoundError):
        await files.copy("a/missing", "a/f")


async def test_no_more_than_somewhat_above_a_limit_is_read(files: Storage):
    await files.put("large", b"x" * PART)
    await files.put("empty", b"")
    content = await files.read("large", most=1_000)
    assert content is not None
    assert 1_000 < len(content) < PART
    assert await files.read("large", most=PART) == b"x" * PART
    assert (await files.read("empty", most=1), await files.read("missing", most=1)) == (b"", None)


async def test_what_replaces_nothing_leaves_the_first(files: Storage, tmp_path: Path):
    for name, content in (("first", b"1"), ("second", b"2"), ("empty", b"")):
        (tmp_path / name).write_bytes(content)
    await files.put("x", tmp_path / "first", replaces=False)
    with pytest.raises(FileExistsError):
        await files.put("x", tmp_path / "second", replaces=False)
    await files.put("y", tmp_path / "empty", replaces=False)
    assert (await files.read("x"), await files.read("y")) == (b"1", b"")


async def test_a_large_file_appears_when_it_is_complete(s3: S3Server, tmp_path: Path):
    content = bytes(range(256)) * (PART * 2 // 256 + 1)
    (tmp_path / "large").write_bytes(content)
    files = open_storage(s3_url(s3))
    s3.failures = [("PUT", 503, "SlowDown"), ("PUT", 500, "InternalError")]
    await files.put("large", tmp_path / "large", {"Content-Type": "application/jsonl"})
    assert s3.objects["large"].headers == {"Content-Type": "application/jsonl"}
    assert s3.uploads == {}
    await files.load("large", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == content


@pytest.mark.parametrize(
    "failure, error",
    [
        (("PUT", 507, "InsufficientStorage"), StorageFull),
        (("PUT", 403, "QuotaExceeded"), StorageFull),
        (("PUT", 403, "AccessDenied"), Unavailable),
        (("POST", 403, "AccessDenied"), Unavailable),
    ],
)
async def test_a_file_that_can_not_be_stored_leaves_nothing(
    s3: S3Server, tmp_path: Path, failure: tuple[str, int, str], error: type[Exception]
):
    (tmp_path / "large").write_bytes(b"x" * (PART + 1))
    s3.failures = [failure] * 6  # two parts, each asked for three times
    with pytest.raises(error):
        await open_storage(s3_url(s3)).put("large", tmp_path / "large")
    assert (s3.objects, s3.uploads) == ({}, {})


async def test_a_storage_that_does_not_answer_is_unavailable(tmp_path: Path):
    nowhere = open_storage("s3://files?endpoint=http://127.0.0.1:1")
    for call in (nowhere.head("a"), nowhere.load("a", tmp_path / "a"), nowhere.delete(["a"]), nowhere.check()):
        with pytest.raises(Unavailable):
            await call


async def test_links_are_for_one_object_and_one_method(s3: S3Server, tmp_path: Path):
    link = await open_storage(s3_url(s3)).link("GET", "a b", timedelta(minutes=15))
    assert link is not None
    assert link.startswith(f"{s3.url}/{BUCKET}/a%20b?")
    assert "X-Amz-Expires=900&" in link
    assert await open_storage(tmp_path.as_uri()).link("GET", "a", timedelta(minutes=15)) is None


async def test_a_key_can_not_leave_the_folder(tmp_path: Path):
    files = open_storage((tmp_path / "storage").as_uri())
    for key in ("../secret", "a/../../secret"):
        with pytest.raises(ValueError, match=r"\.\."):
            await files.put(key, b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["storage"]


async def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageFull):
        await open_storage(tmp_path.as_uri()).put("a", b"x")


@pytest.mark.parametrize(
    "text",
    [
        "ftp://host/folder",
        "file://relative",
        "s3://",
        "s3://key:secret@bucket",
        "s3://bucket?secret_access_key=x",
        "gs://bucket?endpoint=x",
    ],
)
def test_other_addresses_are_refused_at_start(text: str):
    with pytest.raises(SettingError, match="VITRINE_STORAGE_URL is ") as refused:
        Settings.from_environment({"VITRINE_STORAGE_URL": text})
    assert "secret@" not in str(refused.value)


@pytest.mark.parametrize("name", ["VITRINE_BULK_DIR", "VITRINE_BULK_S3_BUCKET", "VITRINE_BULK_S3_SECRET_KEY"])
def test_a_replaced_setting_is_refused_with_the_name_of_the_new_one(name: str):
    with pytest.raises(SettingError, match=f"^{name} is no setting any more; expected VITRINE_STORAGE_URL"):
        Settings.from_environment({name: "x"})


async def test_a_storage_that_does_not_answer_is_logged_when_the_time_of_the_request_is_over(
    s3: S3Server, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(storage, "_SLOW_SECONDS", 0.2)
    silent = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    files = open_storage(f"s3://files?endpoint=http://127.0.0.1:{port}")
    for seconds, is_logged in ((0.05, False), (0.4, True)):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(seconds):
                await files.head("media/1")
        assert ("storage has not answered" in capfd.readouterr().err) is is_logged, seconds
    silent.close()


async def test_the_deployment_is_checked_with_one_line(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async def check(url: str) -> tuple[str, str]:
        result = await check_storage(Settings.from_environment({"VITRINE_STORAGE_URL": url}))
        return result.level.value.lower(), result.text

    level, text = await check(tmp_path.as_uri())
    assert (level, text.startswith(f"in {tmp_path.as_uri()}, ")) == ("ok", True), text
    assert await check(s3_url(s3)) == ("ok", f"in s3://{BUCKET}")
    assert await check(s3_url(s3, "none")) == ("fail", "s3://none can't be used: 404 NoSuchBucket")
    level, text = await check("s3://files?endpoint=http://127.0.0.1:1")
    assert (level, "error sending request" in text) == ("fail", True), text
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    assert await check(s3_url(s3)) == ("fail", f"s3://{BUCKET} can't be used: 403 SignatureDoesNotMatch")
    assert await check("az://files") == (
        "fail",
        "az://files can't be used: Generic MicrosoftAzure error: Account must be specified",
    )
    (tmp_path / "file").write_text("")
    level, text = await check((tmp_path / "file" / "below").as_uri())
    assert (level, "can't be written to" in text) == ("fail", True), text
    assert s3.objects == {}
