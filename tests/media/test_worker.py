"""The worker fetches media files: within its limits, through checked redirects, once for each change of the source."""

from __future__ import annotations

import asyncio
import hashlib
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import pytest
from aiohttp import web

from domain.media import sources
from domain.media.fetching import MAX_ATTEMPTS
from domain.storage import storage
from server.media.child_pool import image_renderer
from server.outgoing import outgoing_client
from server.workers.media import MediaWorker
from tests.harness.files import used_storage
from tests.harness.http import system_trust
from tests.harness.sample_store import SampleStore
from tests.media.pictures import encoded, picture
from tests.media.source_server import SourceServer
from tests.media.test_images import graphql, update

CREATE = "mutation($url: String!) { media_create(source_url: $url) { id } }"
REFRESH = "mutation($id: ID!) { media_refresh(id: $id) { id } }"
FILE = "query($id: ID!) { media_file(id: $id) { status error mime_type bytes width height blurhash url } }"
ROOT = Path(__file__).resolve().parents[2]

Working: TypeAlias = Callable[..., AbstractAsyncContextManager[MediaWorker]]


@pytest.fixture
async def source() -> AsyncIterator[SourceServer]:
    server = SourceServer()
    await server.start()
    yield server
    await server.close()


@pytest.fixture
async def resources() -> AsyncIterator[None]:
    async def lookup(host: str, port: int) -> list[str]:
        # Files that other tests of the database left have hosts that don't exist.
        if host.endswith(".test"):
            return ["127.0.0.1"]
        raise OSError(f"{host} has no address")

    async with image_renderer(), outgoing_client(allows_private=True, trust=system_trust(), lookup=lookup):
        yield


@pytest.fixture
def working(resources: None) -> Working:
    """Return a context manager that runs a worker."""

    @asynccontextmanager
    async def run(**options: Any) -> AsyncIterator[MediaWorker]:
        worker = MediaWorker(**options)
        task = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            worker.stop()
            async with asyncio.timeout(30):
                await task

    return run


def small(number: int = 0) -> bytes:
    """Return a PNG; each number is another content."""
    return encoded(".png", picture(20 + number, 10))


async def create(sample: SampleStore, url: str) -> str:
    file: str = (await graphql(sample, CREATE, url=url))["media_create"]["id"]
    return file


async def shown(sample: SampleStore, file: str) -> Any:
    return (await graphql(sample, FILE, id=file))["media_file"]


async def fetched(sample: SampleStore, file: str) -> Any:
    """Return the file when an attempt has ended."""
    async with asyncio.timeout(30):
        while not await sample.value(
            "select status <> 'pending' and (next_attempt_at is null or error <> '') and fetching_until is null"
            " from media_files where public_id = $1",
            file,
        ):
            await asyncio.sleep(0.02)
    return await shown(sample, file)


async def attempts(sample: SampleStore, file: str) -> tuple[int, Any]:
    """Return how many attempts were made, and in how many seconds the next one is due."""
    [row] = await sample.rows(
        "select attempts, extract(epoch from next_attempt_at - now())::float8 as wait from media_files where public_id = $1",
        file,
    )
    return row["attempts"], row["wait"]


async def test_a_picture_is_stored_and_described(sample: SampleStore, source: SourceServer, working: Working) -> None:
    content = encoded(".jpg", picture(120, 80))
    file = await create(sample, source.add(f"{uuid4()}.gif", content))
    async with working():
        described = await fetched(sample, file)
    sha256 = hashlib.sha256(content).hexdigest()
    assert (described["status"], described["mime_type"], described["bytes"]) == ("ready", "image/jpeg", len(content))
    assert (described["width"], described["height"]) == (120, 80)
    assert described["blurhash"]
    assert f"/media/{sha256}/" in described["url"]
    key = f"media/{sample.store.public_id}/{sha256[:2]}/{sha256[2:4]}/{sha256}"
    assert await storage().read(key) == content


async def test_what_is_no_picture_fails_with_its_reason(
    sample: SampleStore, source: SourceServer, working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MAX_BYTES", 1_000_000)

    async def hang(_: web.Request) -> web.Response:
        await asyncio.sleep(2)
        return web.Response()

    async def close(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    run = uuid4().hex
    source.answers |= {f"{run}/slow": hang, f"{run}/closed": close}
    source.contents |= {
        f"{run}/page": b"<!DOCTYPE html><title>Entre</title>",
        f"{run}/large": b"\xff\xd8\xff" + bytes(1_000_000),
        f"{run}/half": encoded(".png", picture(300, 300))[:-200],
    }
    expected = {
        "missing": "the source answered 404",
        "page": "HTML is not accepted as an image",
        "large": "the source sent more than",
        "half": "the image is damaged, or its end is missing",
        "closed": "the source could not be reached",
        "slow": "the source did not answer in time",
    }
    async with working():
        for name, error in expected.items():
            if name == "slow":
                monkeypatch.setattr(sources, "TIMEOUT_SECONDS", 0.5)
            file = await create(sample, source.url(f"{run}/{name}"))
            result = await fetched(sample, file)
            assert (result["status"], error in result["error"]) == ("failed", True), (name, result)
            count, wait = await attempts(sample, file)
            assert (count, 3 < wait < 7) == (1, True), name


async def test_the_last_of_five_attempts_ends_them(sample: SampleStore, source: SourceServer, working: Working) -> None:
    path = uuid4().hex
    file = await create(sample, source.url(path))
    async with working():
        for number in range(1, 6):
            async with asyncio.timeout(30):
                while source.requests[path] < number or (await attempts(sample, file))[0] < number:
                    await asyncio.sleep(0.02)
            await fetched(sample, file)
            await sample.execute(
                "update media_files set next_attempt_at = now() where public_id = $1 and next_attempt_at is not null",
                file,
            )
        await asyncio.sleep(0.1)
    assert source.requests[path] == 5
    assert await attempts(sample, file) == (5, None)
    assert (await shown(sample, file))["status"] == "failed"


async def test_a_throttled_fetch_waits_as_long_as_the_source_asked(
    sample: SampleStore, source: SourceServer, working: Working
) -> None:
    async def throttle(_: web.Request) -> web.Response:
        return web.Response(status=429, headers={"Retry-After": "600"})

    path = uuid4().hex
    source.answers[path] = throttle
    file = await create(sample, source.url(path))
    async with working():
        assert (await fetched(sample, file))["error"] == "the source answered 429"
    assert 590 < (await attempts(sample, file))[1] <= 600


async def test_redirects_are_followed_three_times_and_each_is_checked(
    sample: SampleStore, source: SourceServer, working: Working
) -> None:
    run = uuid4().hex

    def to(address: str) -> Any:
        async def redirect(_: web.Request) -> web.Response:
            return web.Response(status=302, headers={"Location": address})

        return redirect

    source.contents[f"{run}/0"] = small(1)
    for number in range(1, 5):
        source.answers[f"{run}/{number}"] = to(f"/{run}/{number - 1}#part")
    source.answers[f"{run}/file"] = to("file:///etc/passwd")
    source.answers[f"{run}/user"] = to("http://user:secret@pictures.test/")
    source.answers[f"{run}/odd"] = to("http://[")
    files = {name: await create(sample, source.url(f"{run}/{name}")) for name in ("3", "4", "file", "user", "odd")}
    async with working():
        results = {name: await fetched(sample, file) for name, file in files.items()}
    assert results["3"]["status"] == "ready"
    assert results["4"]["error"] == "the source redirects more than 3 times"
    assert "expected an address that begins with https://" in results["file"]["error"]
    assert "expected an address without credentials" in results["user"]["error"]
    assert results["odd"]["error"] == "the source redirects to an address that can't be read"


async def test_a_redirect_into_the_own_network_is_refused(source: SourceServer) -> None:
    async def lookup(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async with outgoing_client(allows_private=False, trust=system_trust(), lookup=lookup):
        for url in (source.url("a"), "https://pictures.example/a", "https://10.0.0.8/a"):
            with pytest.raises(sources.SourceFailed):
                await sources.load_source(url)
    assert not source.requests


async def test_a_refreshed_file_is_loaded_only_when_the_source_has_another_content(
    sample: SampleStore, source: SourceServer, working: Working
) -> None:
    path = uuid4().hex
    file = await create(sample, source.add(path, small(2)))
    async with working():
        first = await fetched(sample, file)
        for content, changes in ((small(2), False), (small(3), True)):
            source.contents[path] = content
            await graphql(sample, REFRESH, id=file)
            async with asyncio.timeout(30):
                while await sample.value(
                    "select next_attempt_at is not null from media_files where public_id = $1", file
                ):
                    await asyncio.sleep(0.02)
            assert ((await shown(sample, file)) != first) is changes, changes
    assert source.requests[path] == 3


async def test_the_same_picture_of_two_links_is_one_file(
    new_sample: Any, source: SourceServer, working: Working
) -> None:
    sample = await new_sample(image_copies=True)
    links = [source.add(f"{uuid4()}.png", small(4)) for _ in range(2)]
    await update(sample, "product", {"url": links[0]})
    await update(sample, "category", {"url": links[1]})
    async with working():
        async with asyncio.timeout(30):
            while await sample.value("select count(*) from media_files where next_attempt_at is not null"):
                await asyncio.sleep(0.02)
        files = {
            await sample.value(f"select media_id from {table} where media_id is not null")
            for table in ("product_images", "categories")
        }
        assert len(files) == 1
        for entity, link in zip(("product", "category"), links, strict=True):
            assert (await update(sample, entity, {"url": link}))["status"] == "ready", entity
        await asyncio.sleep(0.1)
    assert set(source.requests.values()) == {1}


async def test_a_host_gets_four_requests_at_once_and_keeps_no_other_waiting(
    sample: SampleStore, source: SourceServer, working: Working
) -> None:
    released = asyncio.Event()

    async def hold(_: web.Request) -> web.Response:
        await released.wait()
        return web.Response(body=small(5))

    slow = [f"{uuid4()}/slow" for _ in range(8)]
    source.answers |= dict.fromkeys(slow, hold)
    waiting = [await create(sample, source.url(path, "slow.test")) for path in slow]
    path = uuid4().hex
    source.contents[path] = small(6)
    quick = await create(sample, source.url(path, "quick.test"))
    async with working():
        assert (await fetched(sample, quick))["status"] == "ready"
        assert sum(source.requests[path] for path in slow) == 4
        released.set()
        for file in waiting:
            await fetched(sample, file)
    assert max(source.most_running.values()) == 4


async def test_a_storage_that_is_not_available_delays_the_fetch_without_counting_attempts(
    sample: SampleStore, source: SourceServer, working: Working, tmp_path: Path
) -> None:
    file = await create(sample, source.add(uuid4().hex, small(7)))
    (tmp_path / "media").write_text("in the way of the folder")
    due = "update media_files set next_attempt_at = now(), error = '' where public_id = $1"
    with used_storage(tmp_path.as_uri()):
        for outage in range(MAX_ATTEMPTS + 1):  # an outage that takes longer than all attempts
            async with working():
                failed = await fetched(sample, file)
            assert failed["error"] == "the storage of files is not available; try again later", outage
            assert await attempts(sample, file) == (0, pytest.approx(300, abs=10)), outage
            await sample.execute(due, file)
    assert failed["status"] == "failed"
    async with working():
        async with asyncio.timeout(30):
            while (await shown(sample, file))["status"] != "ready":
                await asyncio.sleep(0.02)


async def test_a_stopped_worker_leaves_its_fetches_to_the_next_one(
    sample: SampleStore, source: SourceServer, working: Working
) -> None:
    async def hold(_: web.Request) -> web.Response:
        await asyncio.sleep(10)
        return web.Response()

    path = uuid4().hex
    source.answers[path] = hold
    file = await create(sample, source.url(path))
    async with working(stop_seconds=0.1):
        async with asyncio.timeout(30):
            while not source.requests[path]:
                await asyncio.sleep(0.02)
    count, wait = await attempts(sample, file)
    assert (count, wait <= 0) == (0, True)
    del source.answers[path]
    source.contents[path] = small(8)
    async with working():
        assert (await fetched(sample, file))["status"] == "ready"


async def test_a_killed_worker_leaves_nothing_half_done(
    sample: SampleStore, source: SourceServer, working: Working, database_url: str, tmp_path: Path
) -> None:
    is_asked = asyncio.Event()

    async def hang_up_late(_: web.Request) -> web.Response:
        is_asked.set()
        await asyncio.sleep(30)
        return web.Response()

    path = uuid4().hex
    source.answers[path] = hang_up_late
    file = await create(sample, source.url(path))
    arguments = (sys.executable, "-m", "tests.media.killed_worker", database_url, tmp_path.as_uri())
    worker = await asyncio.create_subprocess_exec(*arguments, stdout=PIPE, cwd=ROOT)
    try:
        async with asyncio.timeout(30):
            await is_asked.wait()
    finally:
        worker.send_signal(signal.SIGKILL)
        await worker.wait()
    count, wait = await attempts(sample, file)
    assert (count, 60 < wait < timedelta(minutes=2).total_seconds()) == (1, True)
    assert (await shown(sample, file))["status"] == "pending"
    del source.answers[path]
    source.contents[path] = small(9)
    await sample.execute("update media_files set next_attempt_at = now() where public_id = $1", file)  # the lease ends
    async with working():
        assert (await fetched(sample, file))["status"] == "ready"


async def test_a_file_that_ends_its_workers_is_given_up(
    sample: SampleStore, source: SourceServer, working: Working
) -> None:
    path = uuid4().hex
    file = await create(sample, source.add(path, small(10)))
    await sample.execute("update media_files set attempts = 5 where public_id = $1", file)
    async with working():
        failed = await fetched(sample, file)
    assert (failed["status"], failed["error"]) == ("failed", "the attempts were interrupted 5 times")
    assert not source.requests[path]
