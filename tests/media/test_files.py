"""Media files: made from the URLs of sources, fetched by the worker, merged, and deleted when nothing shows them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from contextvars import Context
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from domain.catalog.categories import CATEGORY_RECORDS
from domain.jobs import delete_unused_media
from domain.media import fetching, usage
from domain.media.addresses import media_key, upload_key
from domain.media.fetching import ClaimedFile, FileContent
from domain.media.files import delete_file
from domain.storage import storage
from kernel.scope import active_scope
from models.connection.database import cross_store_connection, fetchval, transaction
from tests.harness.row_versions import changed_tables, row_versions
from tests.harness.sample_store import SampleStore
from tests.media.test_images import PRODUCT_UPDATE, add_file, digest, graphql, refused, update

CREATE = "mutation($url: String!, $alt: String) { media_create(source_url: $url, alt: $alt) { id status url source_url alt } }"
FILE = "query($id: ID!) { media_file(id: $id) { id status } }"
FILES = "query($filter: MediaFileFilter) { media_files(filter: $filter) { id status } }"
PRODUCT = "query($id: ID!) { product(id: $id) { images { url status media_id } } }"


def new_link() -> str:
    return f"https://img.example.com/{uuid4().hex}.png"


def content() -> FileContent:
    return FileContent(uuid4().hex * 2, "image/png", 1_000, 40, 30, "LEHV6n")


async def claim(sample: SampleStore, url: str) -> ClaimedFile:
    """Claim the store's file with this source, now."""
    await make_due(sample, url)
    file = await fetching.claim_due()
    assert file is not None
    assert (file.store_id, file.source_url) == (sample.store.id, url)
    return file


async def make_due(sample: SampleStore, url: str) -> None:
    """Make a file the next one to be claimed."""
    sql = "update media_files set next_attempt_at = '-infinity', fetching_until = null where source_url = $1"
    await sample.execute(sql, url)


async def code_of(sample: SampleStore, text: str, **variables: Any) -> tuple[str, Any]:
    answer = await sample.post("/graphql", {"query": text, "variables": variables}, auth="bearer")
    extensions = answer.body["errors"][0]["extensions"]
    return extensions["code"], extensions.get("details")


async def test_a_file_of_a_source_is_fetched_once(sample: SampleStore) -> None:
    url = new_link()
    created = (await graphql(sample, CREATE, url=url, alt="Caneca"))["media_create"]
    assert created == {"id": created["id"], "status": "pending", "url": url, "source_url": url, "alt": "Caneca"}
    assert (await graphql(sample, CREATE, url=url))["media_create"] == created
    assert (await graphql(sample, FILES, filter={"source_url": [url]}))["media_files"] == [
        {"id": created["id"], "status": "pending"}
    ]
    claimed = await claim(sample, url)
    assert await sample.value(
        "select next_attempt_at > now() + interval '1 minute' from media_files where id = $1", claimed.id
    )
    with active_scope(sample.scope):
        assert await fetching.mark_ready(sample.scope, claimed, content(), etag='"1"')
    shown = (await graphql(sample, CREATE, url=url))["media_create"]
    assert (shown["id"], shown["status"], "/media/" in shown["url"]) == (created["id"], "ready", True)


async def test_addresses_that_are_never_requested_are_refused(sample: SampleStore) -> None:
    for url in ("ftp://x.example/a.png", "nonsense", "", "https://user:secret@x.example/a.png"):
        code, details = await code_of(sample, CREATE, url=url)
        assert (code, [*details["fields"]]) == ("VALIDATION_FAILED", ["source_url"]), url


async def test_links_become_files_with_image_copies(new_sample: Any) -> None:
    sample = await new_sample(image_copies=True)
    url = new_link()
    image = await update(sample, "product", {"url": url, "alt": "Caneca"})
    assert (image["url"], image["status"], image["alt"]) == (url, "pending", "Caneca")
    before = await row_versions(sample.store)
    assert await update(sample, "product", {"url": url, "alt": "Caneca"}) == image
    assert changed_tables(before, await row_versions(sample.store)) == []
    claimed = await claim(sample, url)
    with active_scope(sample.scope):
        await fetching.mark_ready(sample.scope, claimed, content())
    [shown] = (await graphql(sample, PRODUCT, id=sample.mug.id))["product"]["images"]
    assert shown["status"] == "ready"
    assert shown["url"] != url
    before = await row_versions(sample.store)
    for sent in (url, shown["url"]):
        assert (await update(sample, "product", {"url": sent, "alt": "Caneca"}))["url"] == shown["url"], sent
    assert changed_tables(before, await row_versions(sample.store)) == []
    assert (await update(sample, "category", {"url": url}))["media_id"] == image["media_id"]


async def test_a_link_stays_a_link_without_image_copies(sample: SampleStore) -> None:
    url = new_link()
    await graphql(sample, CREATE, url=url)
    image = await update(sample, "product", {"url": url})
    assert (image["url"], image["status"], image["media_id"]) == (url, None, None)


async def test_two_sources_with_the_same_content_are_one_file(new_sample: Any) -> None:
    sample = await new_sample(image_copies=True)
    first, second, same = new_link(), new_link(), content()
    kept = await update(sample, "category", {"url": first})
    moved = await update(sample, "product", {"url": second})
    assert kept["media_id"] != moved["media_id"]
    for url in (first, second):
        claimed = await claim(sample, url)
        with active_scope(sample.scope):
            await fetching.mark_ready(sample.scope, claimed, same)
    [shown] = (await graphql(sample, PRODUCT, id=sample.mug.id))["product"]["images"]
    assert shown["media_id"] == kept["media_id"]
    files = (await graphql(sample, FILES, filter={"source_url": [first, second]}))["media_files"]
    assert files == [{"id": kept["media_id"], "status": "ready"}]
    for media_id in (kept["media_id"], moved["media_id"]):
        assert (await graphql(sample, FILE, id=media_id))["media_file"] == files[0]
    before = await row_versions(sample.store)
    assert (await update(sample, "product", {"url": second}))["media_id"] == kept["media_id"]
    assert changed_tables(before, await row_versions(sample.store)) == []


async def test_a_failed_fetch_is_tried_again_five_times_in_all(sample: SampleStore) -> None:
    url = new_link()
    await graphql(sample, CREATE, url=url)
    for attempt in range(1, 6):
        claimed = await claim(sample, url)
        assert claimed.attempts == attempt
        with active_scope(sample.scope):
            assert await fetching.mark_failed(sample.scope, claimed, "404 Not Found", chance=0.5) is (attempt < 5)
        [row] = await sample.rows("select status, error, next_attempt_at from media_files where source_url = $1", url)
        assert (row["status"], row["error"], row["next_attempt_at"] is None) == (
            "failed",
            "404 Not Found",
            attempt == 5,
        )
    shown = (await graphql(sample, CREATE, url=url))["media_create"]
    refreshed = await graphql(sample, "mutation($id: ID!) { media_refresh(id: $id) { status } }", id=shown["id"])
    assert refreshed == {"media_refresh": {"status": "pending"}}
    assert (await claim(sample, url)).attempts == 1


@pytest.mark.parametrize("ahead", [-1, 1])
async def test_a_failed_fetch_is_due_in_time_whatever_clock_the_worker_has(sample: SampleStore, ahead: int) -> None:
    url = new_link()
    await graphql(sample, CREATE, url=url)
    claimed = await claim(sample, url)
    scope = replace(sample.scope, now=sample.scope.now + timedelta(days=ahead))
    wait = "select extract(epoch from next_attempt_at - now())::float8 from media_files where source_url = $1"
    with active_scope(scope):
        await fetching.mark_failed(scope, claimed, "404", chance=0.5)
        assert await sample.value(wait, url) == pytest.approx(5, abs=2)
        await fetching.release(scope, await claim(sample, url))
    assert await sample.value(wait, url) == pytest.approx(0, abs=2)


async def test_a_worker_that_lost_its_claim_changes_nothing(sample: SampleStore) -> None:
    url = new_link()
    await graphql(sample, CREATE, url=url)
    lost = await claim(sample, url)
    claimed = await claim(sample, url)
    with active_scope(sample.scope):
        await fetching.mark_failed(sample.scope, lost, "timed out")
        assert not await fetching.mark_ready(sample.scope, lost, content())
        assert await fetching.mark_ready(sample.scope, claimed, content())
        await fetching.mark_failed(sample.scope, claimed, "timed out")
    assert await sample.value("select status || error from media_files where source_url = $1", url) == "ready"


async def test_a_refreshed_file_keeps_its_content_until_there_is_another(sample: SampleStore) -> None:
    url, first = new_link(), content()
    file = (await graphql(sample, CREATE, url=url))["media_create"]["id"]
    with active_scope(sample.scope):
        await fetching.mark_ready(sample.scope, await claim(sample, url), first, etag='"1"')
        await graphql(sample, "mutation($id: ID!) { media_refresh(id: $id) { id } }", id=file)
        claimed = await claim(sample, url)
        assert claimed.source_etag == '"1"'
        await fetching.mark_failed(sample.scope, claimed, "500")
        assert await sample.value("select status from media_files where source_url = $1", url) == "ready"
        await fetching.mark_unchanged(sample.scope, await claim(sample, url))
    row = (await sample.rows("select sha256, error, next_attempt_at from media_files where source_url = $1", url))[0]
    assert tuple(row) == (first.sha256, "", None)


async def deleted_source(sample: SampleStore, facts: FileContent) -> tuple[str, str]:
    """Delete a file that was fetched from a source; return its id and the source."""
    url = new_link()
    file = (await graphql(sample, CREATE, url=url))["media_create"]["id"]
    with active_scope(sample.scope):
        await fetching.mark_ready(sample.scope, await claim(sample, url), facts)
        await delete_file(sample.scope, file)
    return file, url


@pytest.mark.parametrize("by", ["media_create", "copied link"])
async def test_the_source_of_a_deleted_file_is_fetched_again(new_sample: Any, by: str) -> None:
    sample, facts = await new_sample(image_copies=True), content()
    deleted, url = await deleted_source(sample, facts)
    if by == "media_create":
        again = (await graphql(sample, CREATE, url=url))["media_create"]
    else:
        again = await update(sample, "product", {"url": url}) | {"source_url": url}
        again["id"] = again["media_id"]
    assert (again["status"], again["source_url"], again["id"] == deleted) == ("pending", url, False)
    with active_scope(sample.scope):
        await fetching.mark_ready(sample.scope, await claim(sample, url), facts)
    rows = await sample.rows("select public_id, status, unused_since from media_files where sha256 = $1", facts.sha256)
    assert [tuple(row) for row in rows] == [(UUID(again["id"]), "ready", None)]


async def test_sources_of_a_deleted_content_are_those_of_the_file_that_takes_its_place(sample: SampleStore) -> None:
    facts, first, second = content(), new_link(), new_link()
    ids = [(await graphql(sample, CREATE, url=url))["media_create"]["id"] for url in (first, second)]
    with active_scope(sample.scope):
        for url in (first, second):
            await fetching.mark_ready(sample.scope, await claim(sample, url), facts)
        await delete_file(sample.scope, ids[0])
        again = (await graphql(sample, CREATE, url=first))["media_create"]["id"]
        await fetching.mark_ready(sample.scope, await claim(sample, first), facts)
    shown = (await graphql(sample, CREATE, url=second))["media_create"]
    assert (shown["id"], shown["status"], shown["source_url"]) == (again, "ready", first)


async def test_a_content_that_is_uploaded_again_is_unused_from_then_on(sample: SampleStore) -> None:
    facts, old = content(), new_link()
    kept = await add_file(sample, unused_since=sample.scope.now - timedelta(days=6.9))
    facts = replace(facts, sha256=await digest(sample, kept))
    await graphql(sample, CREATE, url=old)
    with active_scope(sample.scope):
        await fetching.mark_ready(sample.scope, await claim(sample, old), facts)
    assert await sample.value("select unused_since from media_files where id = $1", kept.number) is None


async def test_a_content_is_stored_while_an_earlier_file_with_it_is_deleted(
    sample: SampleStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts, url = content(), new_link()
    deleted, _ = await deleted_source(sample, facts)
    await graphql(sample, CREATE, url=url)
    claimed = await claim(sample, url)
    await sample.execute(
        "update media_files set updated_at = now() - interval '2 hours' where public_id = $1", UUID(deleted)
    )
    key = media_key(sample.store.public_id, facts.sha256)
    delete, waiting = storage().delete, []

    async def store() -> None:
        with active_scope(sample.scope):
            async with fetching.stored_content(sample.scope, b"content", facts):
                assert await fetching.mark_ready(sample.scope, claimed, facts)

    async def delete_slowly(keys: Iterable[str]) -> None:
        waiting.append(await until_it_waits(store()))
        await delete(keys)

    monkeypatch.setattr(storage(), "delete", delete_slowly)
    with active_scope(sample.scope):
        assert await usage.delete_unused_files(sample.scope, limit=100) == 1
    await waiting[0]
    assert await storage().read(key) == b"content"
    assert await sample.value("select source_url from media_files where sha256 = $1", facts.sha256) == url


async def test_four_files_of_a_host_are_claimed_at_once_by_all_workers(sample: SampleStore) -> None:
    host = f"{uuid4().hex}.example:8443"
    urls = [f"https://{host.upper() if number % 2 else host}/{number}.png" for number in range(6)]
    for url in urls:
        await graphql(sample, CREATE, url=url)
        await make_due(sample, url)
    claimed = await asyncio.gather(*(fetching.claim_due() for _ in range(6)))
    of_host = [file for file in claimed if file is not None and file.source_url in urls]
    assert len(of_host) == 4
    with active_scope(sample.scope):
        await fetching.mark_failed(sample.scope, of_host[0], "404")
        next_one = await fetching.claim_due()
        assert next_one is not None
        assert next_one.source_url in urls
        # A worker that died counts until its lease ends.
        await sample.execute(
            "update media_files set fetching_until = now() - interval '1 second' where id = $1", next_one.id
        )
        last_one = await fetching.claim_due()
        assert last_one is not None
        assert last_one.source_url in urls
        for file in (*of_host[1:], last_one):
            await fetching.mark_failed(sample.scope, file, "404")


async def test_no_more_than_sixteen_files_are_claimed_at_once(sample: SampleStore) -> None:
    urls = [f"https://{uuid4().hex}.example/a.png" for _ in range(20)]
    for url in urls:
        await graphql(sample, CREATE, url=url)
        await make_due(sample, url)
    async with cross_store_connection() as platform:
        running = await platform.fetchval("select count(*) from media_files where fetching_until > now()")
    claimed = [file for file in await asyncio.gather(*(fetching.claim_due() for _ in urls)) if file is not None]
    assert len(claimed) == 16 - running
    with active_scope(sample.scope):
        for file in claimed:
            await fetching.mark_failed(sample.scope, file, "404")


async def test_a_file_that_a_record_shows_is_not_deleted(sample: SampleStore) -> None:
    file = await add_file(sample)
    await update(sample, "product", {"media_id": file.id})
    delete = "mutation($id: ID!) { media_delete(id: $id) { id } }"
    code, details = await code_of(sample, delete, id=file.id)
    assert (code, details) == ("RULE_VIOLATION", {"reason": "media_in_use"})
    await graphql(sample, PRODUCT_UPDATE, id=sample.mug.id, input={"images": []})
    await graphql(sample, delete, id=file.id)
    assert (await graphql(sample, "query($id: ID!) { media_file(id: $id) { id } }", id=file.id))["media_file"] is None
    code, _ = await code_of(sample, delete, id=file.id)
    assert code == "NOT_FOUND"


async def until_it_waits(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """Run work outside of the open transaction until it waits for a lock of this."""
    task = asyncio.create_task(work, context=Context())
    async with asyncio.timeout(10):
        while not await fetchval("SELECT count(*) FROM pg_locks WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))"):
            assert not task.done(), task.result()
            await asyncio.sleep(0.02)
    return task


async def test_a_file_that_a_record_begins_to_show_is_not_deleted(sample: SampleStore) -> None:
    file = await add_file(sample)
    async with transaction(sample.scope):
        await CATEGORY_RECORDS.update(sample.scope, sample.kitchen.id, {"image": {"media_id": file.id}})
        delete = code_of(sample, "mutation($id: ID!) { media_delete(id: $id) { id } }", id=file.id)
        deleting = await until_it_waits(delete)
    assert await deleting == ("RULE_VIOLATION", {"reason": "media_in_use"})


async def test_the_job_keeps_a_long_unused_file_that_a_record_begins_to_show(sample: SampleStore) -> None:
    file = await add_file(sample, unused_since=sample.scope.now - timedelta(days=30))
    async with transaction(sample.scope):
        await CATEGORY_RECORDS.update(sample.scope, sample.kitchen.id, {"image": {"media_id": file.id}})
        job = await until_it_waits(unused_files(sample))
    await job
    assert await sample.value("select unused_since from media_files where id = $1", file.number) is None


@pytest.mark.parametrize("deleted_by", ["administrator", "job"])
async def test_no_record_begins_to_show_a_file_that_is_being_deleted(sample: SampleStore, deleted_by: str) -> None:
    file = await add_file(sample, unused_since=sample.scope.now - timedelta(days=30))
    show = "mutation($id: ID!, $input: CategoryInput!) { category_update(id: $id, input: $input) { id } }"
    async with transaction(sample.scope):
        await (unused_files(sample) if deleted_by == "job" else delete_file(sample.scope, file.id))
        image = {"image": {"media_id": file.id}}
        showing = await until_it_waits(refused(sample, show, id=sample.kitchen.id, input=image))
    assert await showing == {"image.media_id": "not_found"}


async def unused_files(sample: SampleStore) -> list[int]:
    """Mark the files that are unused for long, as the job does."""
    with active_scope(sample.scope):
        return await usage.unused_files(sample.scope, limit=100)


async def test_unused_files_are_deleted_after_seven_days(sample: SampleStore) -> None:
    used, unused = await add_file(sample), await add_file(sample)
    await update(sample, "category", {"media_id": used.id})
    start = sample.scope

    async def run(days: float) -> int:
        scope = replace(start, now=start.now + timedelta(days=days))
        with active_scope(scope):
            return await usage.delete_unused_files(scope, limit=100)

    assert await run(0) == 0
    assert await run(6.9) == 0
    assert (await graphql(sample, FILES, filter={"id": [unused.id]}))["media_files"] != []
    assert await run(7.1) == 0  # transactions that refer to it may be open
    assert (await graphql(sample, FILES, filter={"id": [unused.id]}))["media_files"] == []
    assert await run(8) == 1
    assert await sample.value("select count(*) from media_files where id = $1", unused.number) == 0
    assert await sample.value("select count(*) from media_files where id = $1", used.number) == 1


async def test_the_job_deletes_the_content_of_a_file_with_its_sizes(sample: SampleStore) -> None:
    unused = await add_file(sample)
    await sample.execute(
        "update media_files set unused_since = '-infinity', updated_at = now() - interval '2 hours' where id = $1",
        unused.number,
    )
    key = media_key(sample.store.public_id, await digest(sample, unused))
    neighbour = f"{key[:-1]}{'0' if key[-1] != '0' else '1'}"
    for name in (key, f"{key}.256.webp", f"{key}.1024.avif", neighbour, f"{neighbour}.64.png"):
        await storage().put(name, b"content")
    with active_scope(sample.scope):
        assert await delete_unused_media(sample.scope) == 1
    folder = f"{key.rpartition('/')[0]}/"
    assert sorted([stored.key async for stored in storage().find(folder)]) == [neighbour, f"{neighbour}.64.png"]
    assert await sample.value("select count(*) from media_files where id = $1", unused.number) == 0


async def test_the_job_deletes_an_upload_that_was_never_completed(sample: SampleStore) -> None:
    create = "mutation($i: MediaUploadInput!) { media_upload_create(input: $i) { media_id } }"
    announced = {"file_name": "a.png", "mime_type": "image/png", "bytes": 7}
    media = (await graphql(sample, create, i=announced))["media_upload_create"]["media_id"]
    key = upload_key(sample.store.public_id, UUID(media))
    await storage().put(key, b"content")
    await sample.execute(
        "update media_files set unused_since = '-infinity', updated_at = now() - interval '2 hours' where public_id = $1",
        UUID(media),
    )
    with active_scope(sample.scope):
        assert await delete_unused_media(sample.scope) == 1
    assert await storage().head(key) is None


async def test_a_file_that_is_used_again_stays(sample: SampleStore) -> None:
    file = await add_file(sample, unused_since=sample.scope.now - timedelta(days=30))
    await update(sample, "category", {"media_id": file.id})
    with active_scope(sample.scope):
        assert await usage.unused_files(sample.scope, limit=100) == []
    assert await sample.value("select unused_since from media_files where id = $1", file.number) is None


@pytest.mark.parametrize("caller", ["caio", "vendor_user"])
async def test_customers_and_vendors_see_their_own_files_only(sample: SampleStore, caller: str) -> None:
    user = getattr(sample, caller)
    other = await add_file(sample)
    owner = {"user_id": user.number} if caller == "caio" else {"vendor_id": sample.vendor.number}
    own = await add_file(sample, **owner)
    await add_file(sample, sha256=None, status="ready", original_id=other.number, **owner)
    client = await sample.client(user)
    answer = await client.post("/graphql", {"query": "{ media_files { id } }"})
    # A content that another had before is theirs as well.
    assert {file["id"] for file in answer.body["data"]["media_files"]} == {own.id, other.id}


async def test_the_same_alternative_text_writes_nothing(sample: SampleStore) -> None:
    file = await add_file(sample)
    text = 'mutation($id: ID!) { media_update(id: $id, alt: "Caneca") { alt } }'
    assert await graphql(sample, text, id=file.id) == {"media_update": {"alt": "Caneca"}}
    before = await row_versions(sample.store)
    await graphql(sample, text, id=file.id)
    assert changed_tables(before, await row_versions(sample.store)) == []
