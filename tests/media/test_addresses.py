"""The addresses of media files: originals, sizes and formats (docs/reference/shared.md#media)."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import pyvips

from domain.media import addresses
from domain.media import renderer as renderers
from domain.media.addresses import media_key
from domain.media.renderer import ImageInfo, RenderedFormat, RendererFailed
from domain.storage import Storage, storage
from kernel.errors import StorageFull, Unavailable
from models.tables.media import MediaFile
from server.http.media_files import HAS_PUBLIC_STORAGE
from server.media.child_pool import Renderer
from tests.harness.files import used_storage
from tests.harness.http import Client, Response
from tests.harness.s3_server import BUCKET, S3Server
from tests.harness.sample_store import SampleStore
from tests.media.pictures import encoded, picture
from tests.media.test_images import graphql, update

BROWSER = "image/avif,image/webp,image/apng,*/*;q=0.8"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Storage]:
    with used_storage(tmp_path.as_uri()) as opened:
        yield opened


@pytest.fixture(autouse=True)
async def rendering(renderer: Renderer) -> AsyncIterator[CountingRenderer]:
    """Configure a renderer, which counts what it renders."""
    before, counting = renderers._renderer, CountingRenderer(renderer)
    renderers.configure(counting)
    yield counting
    renderers.configure(before)


class CountingRenderer:
    """The renderer, between the web process and its child: it counts, waits for `go`, and fails with `error`."""

    def __init__(self, renderer: Renderer) -> None:
        self.renderer = renderer
        self.rendered: list[tuple[int, str]] = []
        self.error: Exception | None = None
        self.go = asyncio.Event()
        self.go.set()

    async def inspect(self, content: bytes | Path) -> ImageInfo:
        return await self.renderer.inspect(content)

    async def render(self, content: bytes | Path, longest: int, file_format: RenderedFormat) -> bytes:
        self.rendered.append((longest, file_format.value))
        await self.go.wait()
        if self.error is not None:
            raise self.error
        return await self.renderer.render(content, longest, file_format)


async def store_file(sample: SampleStore, content: bytes, mime_type: str = "image/png", **columns: Any) -> str:
    """Store a ready file and return its path without the name."""
    sha256 = hashlib.sha256(content).hexdigest()
    await storage().put(media_key(sample.store.public_id, sha256), content)
    values = {"sha256": sha256, "mime_type": mime_type, "bytes": len(content), "status": "ready", **columns}
    await sample.add(MediaFile, **values)
    return f"/media/{sha256}"


async def store_picture(sample: SampleStore, width: int = 300, height: int = 200, suffix: str = ".png") -> str:
    content = encoded(suffix, picture(width, height))
    return await store_file(sample, content, f"image/{suffix[1:]}", width=width, height=height)


async def load(sample: SampleStore, path: str, **headers: str) -> Response:
    return await sample.anonymous.get(path, headers=headers)


def size_of(response: Response) -> tuple[int, int]:
    image = pyvips.Image.new_from_buffer(response.raw, "")
    return image.width, image.height


async def test_an_original_is_served_at_the_host_of_its_store(folder: Storage, sample: SampleStore) -> None:
    content = encoded(".png")
    path = await store_file(sample, content, width=120, height=80)
    response = await sample.anonymous.get(f"{path}/ORIGINAL.png", headers={"Host": sample.host, "X-Tenant-ID": None})
    assert (response.status, response.raw) == (200, content)
    assert response.headers["Content-Type"] == "image/png"
    assert response.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Content-Disposition"] == "inline"
    assert response.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert "Vary" not in response.headers
    assert "ETag" in response.headers
    assert "Last-Modified" in response.headers


async def test_a_file_is_not_served_at_another_store(
    folder: Storage, sample: SampleStore, other_sample: SampleStore
) -> None:
    path = await store_picture(sample)
    for name in ("ORIGINAL.png", "64.webp"):
        assert (await load(sample, f"{path}/{name}")).status == 200
        assert (await load(other_sample, f"{path}/{name}")).status == 404, name


async def test_the_store_in_the_path_is_that_of_the_file(
    folder: Storage, sample: SampleStore, other_sample: SampleStore
) -> None:
    path = (await store_picture(sample)).removeprefix("/media")
    attachment = (await store_file(sample, b"%PDF-1.7", "application/pdf")).removeprefix("/media")
    own, other = sample.store.public_id, other_sample.store.public_id
    shared = {"Host": "localhost", "X-Tenant-ID": None}
    for name in (f"{path}/ORIGINAL.png", f"{path}/64.webp", f"{attachment}/ORIGINAL.bin"):
        assert (await sample.anonymous.get(f"/media/{own}{name}", headers=shared)).status == 200, name
        assert (await sample.anonymous.get(f"/media/{other}{name}", headers=shared)).status == 404, name
        # The path decides; at the host of another store it is not found.
        named = {"Host": "localhost", "X-Tenant-ID": str(own)}
        assert (await sample.anonymous.get(f"/media/{other}{name}", headers=named)).status == 404, name
        elsewhere = {"Host": other_sample.host, "X-Tenant-ID": None}
        assert (await sample.anonymous.get(f"/media/{own}{name}", headers=elsewhere)).status == 404, name
        at_home = {"Host": sample.host, "X-Tenant-ID": None}
        assert (await sample.anonymous.get(f"/media/{own}{name}", headers=at_home)).status == 200, name
    unknown = await sample.anonymous.get(f"/media/{uuid4()}{path}/64.webp", headers=shared)
    nonsense = await sample.anonymous.get(f"/media/stores{path}/64.webp", headers=shared)
    assert (unknown.status, nonsense.status) == (404, 404)


async def test_addresses_at_a_cdn_name_the_store_and_are_files_of_it(
    folder: Storage, sample: SampleStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "_addresses", addresses.MediaAddresses("http://localhost", "https://cdn.example/a"))
    path = await store_picture(sample)
    sha256 = path.rpartition("/")[2]
    text = "{ media_files { url(size: W64, format: WEBP) srcset(format: JPEG) } }"
    [file] = (await graphql(sample, text))["media_files"]
    base = f"https://cdn.example/a/media/{sample.store.public_id}/{sha256}"
    assert file["url"] == f"{base}/64.webp"
    assert file["srcset"].startswith(f"{base}/64.jpeg 64w, {base}/128.jpeg 128w")
    shown = await update(sample, "category", {"url": file["url"]})
    assert (shown["status"], shown["url"]) == ("ready", f"{base}/ORIGINAL.png")


async def test_what_is_no_image_is_sent_to_be_saved(folder: Storage, sample: SampleStore) -> None:
    page = b"<script>alert(1)</script>"
    path = await store_file(sample, page, "text/html", file_name="manual ç.html")
    response = await load(sample, f"{path}/ORIGINAL.bin")
    assert (response.status, response.raw) == (200, page)
    assert response.headers["Content-Disposition"] == "attachment; filename*=UTF-8''manual%20%C3%A7.html"
    assert response.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert (await load(sample, f"{path}/64.webp")).status == 404


async def test_a_media_type_that_is_none_is_not_sent(folder: Storage, sample: SampleStore) -> None:
    path = await store_file(sample, b"x", "image/svg+xml\r\nSet-Cookie: a=b")
    response = await load(sample, f"{path}/ORIGINAL.bin")
    assert (response.status, response.headers["Content-Type"]) == (200, "application/octet-stream")


async def test_ranges_conditions_and_heads(folder: Storage, sample: SampleStore) -> None:
    content = encoded(".png")
    path = f"{await store_file(sample, content, width=120, height=80)}/ORIGINAL.png"
    tag = (await load(sample, path)).headers["ETag"]
    part = await load(sample, path, Range="bytes=5-14")
    assert (part.status, part.raw) == (206, content[5:15])
    assert part.headers["Content-Range"] == f"bytes 5-14/{len(content)}"
    assert (await load(sample, path, Range="bytes=5-14", **{"If-Range": '"another"'})).raw == content
    assert (await load(sample, path, Range="bytes=5-14", **{"If-Range": tag})).raw == content[5:15]
    known = await load(sample, path, **{"If-None-Match": tag})
    assert (known.status, known.raw) == (304, b"")
    assert known.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    head = await sample.anonymous.request("HEAD", path)
    assert (head.status, head.raw, head.headers["Content-Length"]) == (200, b"", str(len(content)))
    beyond = await load(sample, path, Range=f"bytes={len(content)}-")
    assert (beyond.status, beyond.headers["Cache-Control"]) == (416, "no-store")


@pytest.mark.parametrize("name", ["If-Range", "If-Modified-Since", "If-Unmodified-Since"])
async def test_a_condition_whose_date_has_a_number_beyond_every_calendar_is_ignored(
    folder: Storage, sample: SampleStore, name: str
) -> None:
    content = encoded(".png")
    path = f"{await store_file(sample, content, width=120, height=80)}/ORIGINAL.png"
    conditions = {name: "Thu, 01 Jan 99999999999999 00:00:00 GMT"}
    whole = await load(sample, path, **conditions)
    assert (whole.status, whole.raw) == (200, content)
    part = await load(sample, path, Range="bytes=5-14", **conditions)
    assert (part.status, part.raw) == ((200, content) if name == "If-Range" else (206, content[5:15]))


@pytest.mark.parametrize("value", ["bytes=0-1,4-5", "bytes=-0", "bytes=-", "lines=1-2", "0-9"])
async def test_several_ranges_or_none_of_bytes_get_the_whole(folder: Storage, sample: SampleStore, value: str) -> None:
    content = encoded(".png")
    path = f"{await store_file(sample, content, width=120, height=80)}/ORIGINAL.png"
    whole = await load(sample, path, Range=value)
    assert (whole.status, whole.raw) == (200, content)
    assert "Content-Range" not in whole.headers


async def test_a_range_concerns_no_head(folder: Storage, sample: SampleStore) -> None:
    content = encoded(".png")
    path = f"{await store_file(sample, content, width=120, height=80)}/ORIGINAL.png"
    head = await sample.anonymous.request("HEAD", path, headers={"Range": "bytes=0-9"})
    assert (head.status, head.headers["Content-Length"]) == (200, str(len(content)))


async def test_a_size_has_the_same_head_however_it_is_asked_for(folder: Storage, sample: SampleStore) -> None:
    path = f"{await store_picture(sample)}/128.webp"
    whole = await load(sample, path)
    assert int(whole.headers["Content-Length"]) == len(whole.raw) > 0
    names = ("ETag", "Last-Modified", "Accept-Ranges", "Cache-Control", "Content-Type", "Content-Disposition")
    others = {
        "HEAD": await sample.anonymous.request("HEAD", path),
        "a range": await load(sample, path, Range="bytes=0-"),
        "another tag": await load(sample, path, **{"If-None-Match": '"another"'}),
    }
    for case, other in others.items():
        assert [other.headers[name] for name in names] == [whole.headers[name] for name in names], case
        assert other.raw == (b"" if case == "HEAD" else whole.raw), case
    known = await load(sample, path, **{"If-None-Match": whole.headers["ETag"]})
    assert (known.status, known.headers["ETag"]) == (304, whole.headers["ETag"])


@pytest.mark.parametrize("suffix", ["webp", "jpeg", "png"])
async def test_a_size_is_rendered_once(
    folder: Storage, sample: SampleStore, rendering: CountingRenderer, suffix: str
) -> None:
    path = await store_picture(sample)
    first = await load(sample, f"{path}/128.{suffix}")
    assert (first.status, first.headers["Content-Type"]) == (200, f"image/{suffix}")
    assert size_of(first) == (128, 85)
    assert "Vary" not in first.headers
    assert (await load(sample, f"{path}/128.{suffix}")).raw == first.raw
    assert rendering.rendered == [(128, suffix)]
    assert [key.key async for key in storage().find("media/") if key.key.endswith(f".128.{suffix}")] != []


async def test_simultaneous_first_requests_render_a_size_once(
    folder: Storage, sample: SampleStore, rendering: CountingRenderer
) -> None:
    path = await store_picture(sample)
    responses = await asyncio.gather(
        *(load(sample, f"{path}/64.{'webp' if each % 2 else 'auto'}", Accept=BROWSER) for each in range(10))
    )
    assert {response.status for response in responses} == {200}
    assert len({response.raw for response in responses}) == 1
    assert rendering.rendered == [(64, "webp")]


async def test_sizes_are_not_enlarged_and_those_as_large_as_the_image_are_one(
    folder: Storage, sample: SampleStore, rendering: CountingRenderer
) -> None:
    path = await store_picture(sample, 300, 200)
    for size in (512, 1024, 2048):
        assert size_of(await load(sample, f"{path}/{size}.webp")) == (300, 200), size
    assert len(rendering.rendered) == 1


@pytest.mark.parametrize(
    "name",
    [
        "65.webp",
        "64.gif",
        "64.svg",
        "64.webp.png",
        "4096.webp",
        "ORIGINAL.webp",
        "ORIGINAL.png.exe",
        "ORIGINAL.",
        "original.png",
        "064.webp",
    ],
)
async def test_unlisted_sizes_and_formats_are_not_found(
    folder: Storage, sample: SampleStore, rendering: CountingRenderer, name: str
) -> None:
    path = await store_picture(sample)
    response = await load(sample, f"{path}/{name}")
    assert (response.status, response.body["error"]) == (404, "file not found")
    assert rendering.rendered == []


@pytest.mark.parametrize("digest", ["0" * 64, "0" * 63, "A" * 64, "..", "%2e%2e%2fx", "%00"])
async def test_unknown_contents_are_not_found(folder: Storage, sample: SampleStore, digest: str) -> None:
    assert (await load(sample, f"/media/{digest}/64.webp")).status in (400, 404)


@pytest.mark.parametrize(
    "accept, suffix, mime_type",
    [
        (BROWSER, ".png", "image/webp"),
        ("image/webp;q=0, */*", ".png", "image/png"),
        ("*/*", ".jpeg", "image/jpeg"),
        ("image/avif, */*", ".jpeg", "image/jpeg"),
        ("", ".gif", "image/png"),
        ("*/*", ".webp", "image/webp"),
    ],
)
async def test_auto_is_the_best_format_that_the_client_accepts(
    folder: Storage, sample: SampleStore, accept: str, suffix: str, mime_type: str
) -> None:
    path = await store_picture(sample, suffix=suffix)
    response = await load(sample, f"{path}/64.auto", Accept=accept)
    assert (response.status, response.headers["Content-Type"], response.headers["Vary"]) == (200, mime_type, "Accept")


async def test_avif_is_served_where_the_worker_has_rendered_it(
    folder: Storage, sample: SampleStore, rendering: CountingRenderer
) -> None:
    path = await store_picture(sample)
    missing = await load(sample, f"{path}/64.avif")
    assert (missing.status, missing.headers["Cache-Control"]) == (404, "no-store")
    key = media_key(sample.store.public_id, path.rpartition("/")[2])
    await storage().put(f"{key}.128.avif", encoded(".avif"))
    for name in ("128.avif", "128.auto"):
        response = await load(sample, f"{path}/{name}", Accept=BROWSER)
        assert (response.status, response.headers["Content-Type"]) == (200, "image/avif"), name
    assert (await load(sample, f"{path}/128.auto", Accept="image/webp")).headers["Content-Type"] == "image/webp"
    assert [each for each in rendering.rendered if each[1] == "avif"] == []


async def test_a_client_that_leaves_does_not_end_the_rendering(
    folder: Storage, sample: SampleStore, rendering: CountingRenderer
) -> None:
    path = await store_picture(sample)
    rendering.go.clear()
    request = asyncio.create_task(
        sample.http.get(f"{path}/64.webp", headers={"Host": sample.host, "X-Forwarded-For": sample.ip})
    )
    while not rendering.rendered:
        await asyncio.sleep(0.01)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    rendering.go.set()
    assert (await load(sample, f"{path}/64.webp")).status == 200
    assert rendering.rendered == [(64, "webp")]


async def test_a_size_that_can_not_be_rendered_is_tried_again_later(
    folder: Storage, sample: SampleStore, rendering: CountingRenderer
) -> None:
    path = await store_picture(sample)
    rendering.error = RendererFailed("the decoder crashed")
    for attempt in range(3):
        response = await load(sample, f"{path}/64.webp")
        assert (response.status, response.headers["Retry-After"]) == (503, "60"), attempt
        assert response.headers["Cache-Control"] == "no-store", attempt
    assert len(rendering.rendered) == 1
    rendering.error = Unavailable("the server is stopping")
    assert (await load(sample, f"{path}/128.webp")).status == 503
    rendering.error = None
    # Nothing else is affected.
    assert (await load(sample, f"{path}/128.webp")).status == 200
    assert (await load(sample, f"{path}/ORIGINAL.png")).status == 200


@pytest.mark.parametrize("error", [StorageFull(), Unavailable("the folder is read-only")])
async def test_a_size_that_can_not_be_stored_is_rendered_again_later(
    folder: Storage,
    sample: SampleStore,
    rendering: CountingRenderer,
    monkeypatch: pytest.MonkeyPatch,
    error: StorageFull | Unavailable,
) -> None:
    path = await store_picture(sample)

    async def refuse(*_: object) -> None:
        raise error

    with monkeypatch.context() as refusing:
        refusing.setattr(Storage, "put", refuse)
        for attempt in range(3):
            response = await load(sample, f"{path}/64.webp")
            assert (response.status, response.headers["Retry-After"]) == (503, "60"), attempt
    assert len(rendering.rendered) == 1
    assert (await load(sample, f"{path}/128.webp")).status == 200


async def test_an_address_has_few_sizes_waiting(
    folder: Storage, sample: SampleStore, rendering: CountingRenderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("domain.media.sizes.MAX_WAITING_OF_ADDRESS", 2)
    path = await store_picture(sample)
    rendering.go.clear()
    waiting = [asyncio.create_task(load(sample, f"{path}/{size}.webp")) for size in (64, 128)]
    while len(rendering.rendered) < 2:
        await asyncio.sleep(0.01)
    refused = await load(sample, f"{path}/256.webp")
    assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
    other = Client(sample.http, sample.store)
    waiting.append(asyncio.create_task(other.get(f"{path}/256.webp")))
    while len(rendering.rendered) < 3:
        await asyncio.sleep(0.01)
    rendering.go.set()
    assert [response.status for response in await asyncio.gather(*waiting)] == [200, 200, 200]


async def test_what_is_gone_from_the_folder_is_not_found_and_rendered_again(
    folder: Storage, sample: SampleStore, rendering: CountingRenderer
) -> None:
    path = await store_picture(sample)
    assert (await load(sample, f"{path}/64.webp")).status == 200
    key = media_key(sample.store.public_id, path.rpartition("/")[2])
    await storage().delete([f"{key}.64.webp"])
    gone = await load(sample, f"{path}/64.webp", **{"If-Range": '"x"'})
    assert (gone.status, gone.headers["Cache-Control"]) == (404, "no-store")
    assert (await load(sample, f"{path}/64.webp")).status == 200
    await storage().delete([key])
    assert (await load(sample, f"{path}/ORIGINAL.png")).status == 404
    assert (await load(sample, f"{path}/256.webp")).status == 404


async def test_a_deleted_file_is_not_found(folder: Storage, sample: SampleStore) -> None:
    path = await store_picture(sample)
    await sample.execute("update media_files set unused_since = '-infinity'")
    assert (await load(sample, f"{path}/ORIGINAL.png")).status == 404


async def test_a_request_takes_one_statement_and_the_next_none(folder: Storage, sample: SampleStore) -> None:
    path = await store_picture(sample)
    await load(sample, "/media/x/y")  # the store is known
    assert [(await load(sample, f"{path}/{name}")).statements for name in ("64.webp", "64.webp", "ORIGINAL.png")] == [
        1,
        0,
        0,
    ]


@pytest.mark.parametrize(
    "name, mime_type", [("ORIGINAL.png", ""), ("64.webp", "image/webp"), ("64.auto", "image/webp")]
)
async def test_a_provider_serves_its_objects(
    s3_storage: Storage, s3: S3Server, sample: SampleStore, name: str, mime_type: str
) -> None:
    content = encoded(".png")
    path = await store_file(sample, content, width=120, height=80)
    response = await load(sample, f"{path}/{name}", Accept=BROWSER)
    assert (response.status, response.headers["Cache-Control"]) == (302, "public, max-age=3600")
    assert response.headers.get("Vary") == ("Accept" if name == "64.auto" else None)
    assert "X-Amz-Expires=7200" in response.headers["Location"]
    async with sample.http.session.get(response.headers["Location"]) as sent:
        assert (sent.status, await sent.read() == content) == (200, name == "ORIGINAL.png")
        if mime_type:
            assert sent.headers["Content-Type"] == mime_type
            assert sent.headers["Cache-Control"] == "public, max-age=31536000, immutable"
            assert sent.headers["Content-Disposition"] == "inline"
    head = await sample.anonymous.request("HEAD", f"{path}/{name}")
    async with sample.http.session.head(head.headers["Location"]) as known:
        assert (head.status, head.headers["Cache-Control"], known.status) == (302, "no-store", 200)


async def test_a_size_that_is_gone_from_a_provider_is_rendered_again_after_an_hour(
    s3_storage: Storage, sample: SampleStore, rendering: CountingRenderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = await store_picture(sample)
    monkeypatch.setattr("domain.media.sizes._STORED_SECONDS", 0.0)  # the hour passes at once
    await load(sample, f"{path}/64.webp")
    await load(sample, f"{path}/64.webp")
    assert len(rendering.rendered) == 1
    await storage().delete([f"{media_key(sample.store.public_id, path.rpartition('/')[2])}.64.webp"])
    async with sample.http.session.get((await load(sample, f"{path}/64.webp")).headers["Location"]) as sent:
        assert sent.status == 200
    assert len(rendering.rendered) == 2


async def test_public_objects_have_addresses_without_a_signature(
    s3_storage: Storage, s3: S3Server, sample: SampleStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = await store_picture(sample)
    monkeypatch.setitem(sample.http.app._state, HAS_PUBLIC_STORAGE, True)
    key = media_key(sample.store.public_id, path.rpartition("/")[2])
    response = await load(sample, f"{path}/64.webp")
    assert response.headers["Location"] == f"{s3.url}/{BUCKET}/{key}.64.webp"
