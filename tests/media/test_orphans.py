"""Objects that belong to no file are deleted, and never those that something else needs."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from domain.media import uploads, usage
from domain.media.addresses import media_key, upload_key
from domain.media.fetching import FileContent
from domain.media.orphans import compare, delete_orphans
from domain.media.received import store_file
from domain.storage import Storage, storage
from domain.stores import set_limits
from kernel.errors import RuleViolation
from kernel.received_files import file_of_bytes
from kernel.scope import active_scope
from tests.harness.sample_store import SampleStore
from tests.media.pictures import encoded, picture
from tests.media.test_files import code_of
from tests.media.test_images import add_file, digest, graphql
from tests.media.test_uploads import COMPLETE, begin

DAYS = 2 * 86_400


@pytest.fixture(autouse=True)
def folder(media_folder: Storage) -> Storage:
    return media_folder


async def put_old(key: str, content: bytes = b"content") -> str:
    """Store an object that is two days old."""
    await storage().put(key, content)
    make_old(key)
    return key


def make_old(key: str) -> None:
    path = storage().local_path(key)
    assert path is not None
    os.utime(path, (time.time() - DAYS,) * 2)


async def clean(sample: SampleStore) -> int:
    """Delete the orphans of the store, as `vitrine doctor --delete-orphans` does."""
    with active_scope(sample.scope):
        compared = await compare(sample.scope, storage())
        return await delete_orphans(sample.scope, storage(), compared.orphans)


async def run_job(sample: SampleStore) -> None:
    """Run the job that deletes unused files, when what the last run saw is settled."""
    await sample.execute(
        "update media_files set updated_at = now() - interval '2 hours' where unused_since = '-infinity'"
    )
    with active_scope(sample.scope):
        await usage.delete_unused_files(sample.scope, limit=100)


async def keys(sample: SampleStore) -> set[str]:
    return {each.key async for each in storage().find(f"media/{sample.store.public_id}/")}


async def test_contents_sizes_and_uploads_without_a_row_are_deleted(sample: SampleStore) -> None:
    store = sample.store.public_id
    needed = media_key(store, await digest(sample, await add_file(sample)))
    orphan = media_key(store, "a" * 64)
    left = [needed, f"{needed}.64.webp", media_key(store, "b" * 64)]
    await storage().put(left[2], b"stored just now")
    foreign = await put_old(f"media/{store}/notes/read-me.txt")
    for key in (needed, f"{needed}.64.webp", orphan, f"{orphan}.64.webp", f"{media_key(store, 'c' * 64)}.512.avif"):
        await put_old(key)
    await put_old(upload_key(store, uuid4()))
    assert await clean(sample) == 4
    await run_job(sample)
    assert await keys(sample) == {*left, foreign}
    assert await sample.value("select count(*) from media_files where unused_since = '-infinity'") == 0
    assert await clean(sample) == 0


async def test_an_upload_that_is_awaited_is_kept_until_it_is_complete(sample: SampleStore) -> None:
    content = encoded(".png", picture(31, 17))
    media = (await begin(sample, content))["media_id"]
    key = await put_old(upload_key(sample.store.public_id, UUID(media)), content)
    assert await clean(sample) == 0
    assert (await graphql(sample, COMPLETE, id=media))["media_upload_complete"]["status"] == "ready"
    await put_old(key, content)  # as if its deletion had failed
    assert await clean(sample) == 1
    assert key not in await keys(sample)


async def test_another_stores_objects_are_not_compared(sample: SampleStore, other_sample: SampleStore) -> None:
    key = await put_old(media_key(other_sample.store.public_id, "a" * 64))
    assert await clean(sample) == 0
    await run_job(sample)
    assert await keys(other_sample) == {key}


@pytest.mark.parametrize("is_first", [True, False], ids=["before", "after"])
async def test_an_upload_of_the_same_content_keeps_it(sample: SampleStore, is_first: bool) -> None:
    """The upload's row is written before or after the orphan was entered as deleted, and after the comparison."""
    content = encoded(".png", picture(33, 17))
    sha256 = hashlib.sha256(content).hexdigest()
    key = await put_old(media_key(sample.store.public_id, sha256), content)
    media = (await begin(sample, content))["media_id"]
    await storage().put(upload_key(sample.store.public_id, UUID(media)), content)
    with active_scope(sample.scope):
        compared = await compare(sample.scope, storage())
        assert compared.orphans == [key]
        if is_first:
            await graphql(sample, COMPLETE, id=media)
        await delete_orphans(sample.scope, storage(), compared.orphans)
    if not is_first:
        await graphql(sample, COMPLETE, id=media)
    await run_job(sample)
    assert await keys(sample) == {key}
    assert await storage().read(key) == content


async def test_no_content_of_a_completed_upload_is_lost_in_a_race(sample: SampleStore) -> None:
    contents = [encoded(".png", picture(40 + number, 17)) for number in range(12)]
    medias = [(await begin(sample, content))["media_id"] for content in contents]
    for media, content in zip(medias, contents, strict=True):
        await put_old(media_key(sample.store.public_id, hashlib.sha256(content).hexdigest()), content)
        await storage().put(upload_key(sample.store.public_id, UUID(media)), content)

    await asyncio.gather(*(graphql(sample, COMPLETE, id=media) for media in medias), clean(sample), run_job(sample))
    await run_job(sample)
    for content in contents:
        key = media_key(sample.store.public_id, hashlib.sha256(content).hexdigest())
        assert await storage().read(key) == content


async def test_an_upload_that_is_deleted_while_it_is_completed_leaves_nothing(
    sample: SampleStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = encoded(".png", picture(31, 19))
    media = (await begin(sample, content))["media_id"]
    await storage().put(upload_key(sample.store.public_id, UUID(media)), content)
    inspect = uploads.inspect_content

    async def inspect_and_delete(received: bytes | Path, announced: str) -> FileContent:
        await graphql(sample, "mutation($id: ID!) { media_delete(id: $id) { id } }", id=media)
        return await inspect(received, announced)

    monkeypatch.setattr(uploads, "inspect_content", inspect_and_delete)
    assert (await code_of(sample, COMPLETE, id=media))[0] == "NOT_FOUND"
    await run_job(sample)
    assert await keys(sample) == set()


@pytest.mark.parametrize("is_stored", [False, True], ids=["new", "stored"])
async def test_a_file_for_which_the_store_has_no_space_leaves_nothing_but_what_was_there(
    sample: SampleStore, is_stored: bool
) -> None:
    content = encoded(".png", picture(29, 23))
    key = media_key(sample.store.public_id, hashlib.sha256(content).hexdigest())
    with active_scope(sample.scope):
        if is_stored:
            await store_file(sample.scope, file_of_bytes(content, "a.png", "image/png"))
        sample.store = await set_limits(sample.scope, {"storage_bytes": 1})
        with pytest.raises(RuleViolation, match="storage_bytes"):
            await store_file(sample.scope, file_of_bytes(content, "a.png", "image/png"))
    await run_job(sample)
    assert await keys(sample) == ({key} if is_stored else set())
