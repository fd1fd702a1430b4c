"""The worker renders the sizes of every image in AVIF: once, whatever way the image came, and not for ever what it can't."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from domain.media import avif
from domain.media import renderer as renderers
from domain.media.addresses import media_key, upload_key
from domain.media.renderer import ImageInfo, RenderedFormat, RendererFailed
from domain.storage import Storage, storage
from kernel.scope import active_scope
from models.connection.database import cross_store_connection
from models.tables.media import MediaFile
from server.workers.avif import AvifWorker
from tests.harness.files import used_storage
from tests.harness.records import Record
from tests.harness.sample_store import SampleStore
from tests.media.pictures import encoded, picture, slow_picture
from tests.media.test_images import graphql
from tests.media.test_uploads import COMPLETE, begin

DUE = datetime(2020, 1, 1, tzinfo=UTC)
STATE = """
select avif_due_at is null as is_settled, avif_due_at <= now() as is_due, avif_attempts as attempts from media_files where id = $1
"""


@pytest.fixture(autouse=True)
async def folder(media_folder: Storage) -> Storage:
    """Use a storage in a folder, and leave the images of other tests alone."""
    async with cross_store_connection() as platform:
        await platform.execute("update media_files set avif_due_at = null where avif_due_at is not null")
    return media_folder


async def add_image(sample: SampleStore, content: bytes, **columns: Any) -> tuple[Record, str]:
    """Store a ready image whose sizes in AVIF are due; return its row and its key."""
    sha256 = hashlib.sha256(content).hexdigest()
    key = media_key(sample.store.public_id, sha256)
    await storage().put(key, content)
    values = {"mime_type": "image/png", "bytes": len(content), "status": "ready", "width": 300, "height": 200}
    row = await sample.add(MediaFile, **{**values, "sha256": sha256, "avif_due_at": DUE, **columns})
    return row, key


@asynccontextmanager
async def working(**options: Any) -> AsyncIterator[None]:
    worker = AvifWorker(**options)
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.stop()
        async with asyncio.timeout(30):
            await task


class ExhaustedRenderer:
    """The renderer, as it is when an image needs too much for a child (test_renderer_processes.py)."""

    async def inspect(self, content: bytes | Path) -> ImageInfo:
        raise RendererFailed("the image needs too much")

    async def render(self, content: bytes | Path, longest: int, file_format: RenderedFormat) -> bytes:
        raise RendererFailed("the image needs too much")


async def state(sample: SampleStore, row: Record) -> Any:
    return (await sample.rows(STATE, row.number))[0]


async def settled(sample: SampleStore, row: Record) -> None:
    async with asyncio.timeout(30):
        while not (await state(sample, row))["is_settled"]:
            await asyncio.sleep(0.02)


async def sizes(key: str) -> list[str]:
    """Return the names of the stored sizes of an image."""
    folder = f"{key.rpartition('/')[0]}/"
    return sorted([each.key.removeprefix(f"{key}.") async for each in storage().find(folder) if each.key != key])


async def test_an_uploaded_image_gets_every_size_that_its_addresses_name(sample: SampleStore) -> None:
    content = encoded(".png", picture(300, 200))
    media = (await begin(sample, content))["media_id"]
    await storage().put(upload_key(sample.store.public_id, UUID(media)), content)
    await graphql(sample, COMPLETE, id=media)
    key = media_key(sample.store.public_id, hashlib.sha256(content).hexdigest())
    async with working(), asyncio.timeout(30):
        while await sample.value("select avif_due_at is not null from media_files where public_id = $1", UUID(media)):
            await asyncio.sleep(0.02)
    # 512 is the whole image, which is not enlarged: srcset names it.
    assert await sizes(key) == ["128.avif", "256.avif", "512.avif", "64.avif"]
    whole = await storage().read(f"{key}.512.avif")
    assert whole is not None
    info = await renderers.configured().inspect(whole)
    assert (info.mime_type, info.width, info.height) == ("image/avif", 300, 200)


async def test_the_whole_image_is_sent_in_avif_where_srcset_names_its_size(sample: SampleStore) -> None:
    row, key = await add_image(sample, encoded(".png", picture(300, 200)))
    async with working():
        await settled(sample, row)
    sha256 = key.rpartition("/")[2]
    accept = {"Accept": "image/avif,image/webp,*/*;q=0.8"}
    answer = await sample.anonymous.request("GET", f"/media/{sha256}/512.auto", headers=accept)
    assert (answer.status, answer.headers["Content-Type"]) == (200, "image/avif")


async def test_what_a_stopped_worker_leaves_is_rendered_by_the_next_one(sample: SampleStore) -> None:
    row, key = await add_image(sample, slow_picture(), mime_type="image/jpeg", width=2_500, height=2_500)
    async with working(stop_seconds=0.05):
        async with asyncio.timeout(30):
            while not (await state(sample, row))["attempts"]:
                await asyncio.sleep(0.01)
    left = await state(sample, row)
    assert (left["is_settled"], left["is_due"], left["attempts"]) == (False, True, 0)
    kept = encoded(".avif", picture(64, 64))
    for size in (64, 128, 256, 512, 1024, 2048):
        await storage().put(f"{key}.{size}.avif", kept)
    async with working():
        await settled(sample, row)


async def test_several_workers_render_an_image_once(sample: SampleStore) -> None:
    rows = [(await add_image(sample, encoded(".png", picture(20 + number, 10))))[0] for number in range(3)]
    claimed = await asyncio.gather(*(avif.claim_image() for _ in range(5)))
    assert sorted(image.id for image in claimed if image is not None) == sorted(row.number for row in rows)


async def test_an_image_that_can_not_be_decoded_is_not_tried_again(sample: SampleStore) -> None:
    row, _ = await add_image(sample, encoded(".png", picture(300, 200))[:-300])
    async with working():
        await settled(sample, row)
    assert (await state(sample, row))["attempts"] == 1


async def test_an_image_that_needs_too_much_is_given_up_after_three_attempts(
    sample: SampleStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renderers, "_renderer", ExhaustedRenderer())
    row, key = await add_image(sample, encoded(".png", picture(300, 200)))
    async with working(), asyncio.timeout(60):
        # The first pause is 5 s, the lease 2 minutes, the second pause 5 minutes.
        while not 200 < await wait_for_next(sample, row) < 400:
            await asyncio.sleep(0.05)
        assert (await state(sample, row))["attempts"] == 2
        await sample.execute("update media_files set avif_due_at = now() where id = $1", row.number)
        await settled(sample, row)
    assert (await state(sample, row))["attempts"] == 3
    assert await sizes(key) == []


async def wait_for_next(sample: SampleStore, row: Record) -> float:
    """Return in how many seconds the image is due."""
    sql = "select extract(epoch from avif_due_at - now())::float8 from media_files where id = $1"
    return float(await sample.value(sql, row.number))


async def test_a_storage_that_does_not_answer_says_nothing_about_the_image(sample: SampleStore, tmp_path: Path) -> None:
    row, _ = await add_image(sample, encoded(".png"))
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "media").write_text("in the way of the folder")
    with used_storage((tmp_path / "none").as_uri()):
        async with working():
            async with asyncio.timeout(30):
                while (await state(sample, row))["is_due"]:
                    await asyncio.sleep(0.02)
            await asyncio.sleep(0.2)
    assert ((await state(sample, row))["is_settled"], (await state(sample, row))["attempts"]) == (False, 0)


async def test_a_result_counts_for_the_content_that_was_rendered_only(sample: SampleStore) -> None:
    row, _ = await add_image(sample, encoded(".png"))
    claimed = await avif.claim_image()
    assert claimed is not None
    assert claimed.id == row.number
    with active_scope(sample.scope):
        await avif.mark_rendered(sample.scope, replace(claimed, sha256="0" * 64))
        await avif.mark_rendered(sample.scope, replace(claimed, attempts=7))
        assert not (await state(sample, row))["is_settled"]
        await avif.release(sample.scope, claimed, delay=timedelta(hours=1))
        await avif.mark_rendered(sample.scope, claimed)  # the lease is another one's now
    assert ((await state(sample, row))["is_settled"], (await state(sample, row))["attempts"]) == (False, 0)


async def test_notes_of_workers_leave_the_answers_of_the_catalogue_valid(sample: SampleStore) -> None:
    version = "select coalesce(sum(version), 0) from catalogue_versions"
    row, _ = await add_image(sample, encoded(".png"))
    before = await sample.value(version)
    async with working():
        await settled(sample, row)
    assert await sample.value(version) == before
    await sample.execute("update media_files set alt = 'Caneca' where id = $1", row.number)
    assert await sample.value(version) == before + 1
