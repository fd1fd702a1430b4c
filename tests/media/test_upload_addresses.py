"""Uploads of media files to the addresses that `media_upload_create` returns, at this server (docs/reference/graphql.md#media)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from yarl import URL

from domain.bulk import configuration
from domain.bulk.configuration import BulkConfiguration
from domain.media import renderer as renderers
from domain.media import uploads
from domain.storage import Storage, storage
from kernel.scope import active_scope
from server.media.child_pool import Renderer
from tests.harness.files import used_storage
from tests.harness.http import Response
from tests.harness.sample_store import SampleStore
from tests.media.pictures import encoded, picture
from tests.media.test_files import code_of
from tests.media.test_images import graphql

CREATE = "mutation($input: MediaUploadInput!) { media_upload_create(input: $input) { media_id url method headers } }"
COMPLETE = "mutation($id: ID!) { media_upload_complete(media_id: $id) { id status url bytes } }"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Storage]:
    before = configuration.configured()
    configuration.configure(BulkConfiguration(tmp_path / "parts"))
    with used_storage((tmp_path / "storage").as_uri()) as opened:
        yield opened
    configuration.configure(before)
    assert [path for path in (tmp_path / "parts").rglob("*") if path.is_file()] == []


@pytest.fixture(autouse=True)
async def rendering(renderer: Renderer) -> AsyncIterator[None]:
    before = renderers._renderer
    renderers.configure(renderer)
    yield
    renderers.configure(before)


async def begin(sample: SampleStore, size: int) -> tuple[str, str]:
    """Begin an upload; return the id of the file and the path of the address."""
    values = {"file_name": "a.png", "mime_type": "image/png", "bytes": size}
    upload = (await graphql(sample, CREATE, input=values))["media_upload_create"]
    return upload["media_id"], URL(upload["url"]).raw_path_qs


async def send(sample: SampleStore, path: str, content: bytes, **headers: str | None) -> Response:
    """Send a content without a credential and without the store."""
    return await sample.anonymous.put(
        URL(path, encoded=True), data=content, headers={"X-Tenant-ID": None, "Content-Type": "image/png", **headers}
    )


async def stored(sample: SampleStore) -> list[str]:
    return [each.key async for each in storage().find(f"media/{sample.store.public_id}/")]


async def test_an_uploaded_image_is_served(sample: SampleStore) -> None:
    content = encoded(".png")
    media, path = await begin(sample, len(content))
    sent = await send(sample, path, content)
    assert (sent.status, sent.body) == (201, {"size": len(content)})
    file = (await graphql(sample, COMPLETE, id=media))["media_upload_complete"]
    assert (file["id"], file["status"], file["bytes"]) == (media, "ready", len(content))
    shown = await sample.anonymous.get(URL(file["url"]).path)
    assert (shown.status, shown.raw, shown.headers["Content-Type"]) == (200, content, "image/png")


async def test_an_address_takes_one_file(sample: SampleStore) -> None:
    content = encoded(".png")
    media, path = await begin(sample, len(content))
    statuses = sorted([each.status for each in await asyncio.gather(*(send(sample, path, content) for _ in range(3)))])
    assert statuses == [201, 409, 409]
    await graphql(sample, COMPLETE, id=media)
    again = await send(sample, path, content)
    assert (again.status, again.body["error"]) == (404, "upload not found")
    assert len(await stored(sample)) == 1


async def test_an_upload_that_has_failed_takes_no_other_content(sample: SampleStore) -> None:
    media, path = await begin(sample, 7)
    assert (await send(sample, path, b"no jpeg")).status == 201
    assert (await code_of(sample, COMPLETE, id=media))[0] == "VALIDATION_FAILED"
    assert (await send(sample, path, b"another")).status == 404
    assert await stored(sample) == []


async def test_an_upload_is_at_most_as_large_as_announced(sample: SampleStore) -> None:
    _, path = await begin(sample, 10)
    for content in (b"x" * 11, b"x" * 1_000_000):
        refused = await send(sample, path, content)
        assert (refused.status, refused.body) == (413, {"error": "the file is larger than 10 bytes"}), len(content)
    assert await stored(sample) == []
    assert (await send(sample, path, b"x" * 10)).status == 201


async def test_completing_an_upload_says_why_what_was_sent_was_refused(sample: SampleStore) -> None:
    media, path = await begin(sample, 10)
    await send(sample, path, b"x" * 11)
    answer = await sample.post("/graphql", {"query": COMPLETE, "variables": {"id": media}}, auth="bearer")
    error = answer.body["errors"][0]
    assert error["message"] == (
        "nothing was uploaded yet; what was sent before was refused: the file is larger than 10 bytes"
    )
    assert error["extensions"]["details"] == {"reason": "upload_missing"}
    file = "query($id: ID!) { media_file(id: $id) { status error } }"
    assert (await graphql(sample, file, id=media))["media_file"]["status"] == "pending"
    content = encoded(".png", picture(4, 4), compression=9)
    media, path = await begin(sample, len(content))
    await send(sample, path, content + b"x")
    await send(sample, path, content)
    await graphql(sample, COMPLETE, id=media)
    assert (await graphql(sample, file, id=media))["media_file"] == {"status": "ready", "error": ""}


async def test_a_body_of_unknown_length_is_stopped_at_the_limit(sample: SampleStore) -> None:
    _, path = await begin(sample, 10)

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(5):
            yield b"x" * 5

    async with sample.http.put(URL(path, encoded=True), data=chunks()) as response:
        assert response.status == 413
    assert await stored(sample) == []


@pytest.mark.parametrize(
    "change, status, error",
    [
        (lambda path: path.replace("signature=", "signature=0"), 403, "link_invalid"),
        (lambda path: path.replace("bytes=10", "bytes=9999"), 403, "link_invalid"),
        (lambda path: path.replace("bytes=10", "bytes=x"), 403, "link_invalid"),
        (lambda path: path.replace("expires=", "expires=9"), 403, "link_invalid"),
        (lambda path: path.replace("expires=", "expires=" + "9" * 20), 403, "link_invalid"),
        (lambda path: path.replace("signature=", "signature=%C3%A9"), 403, "link_invalid"),
        (lambda path: path.partition("?")[0], 403, "link_invalid"),
        (lambda path: path.replace("/files/media/", "/files/media/x"), 404, "upload not found"),
    ],
)
async def test_another_address_takes_nothing(
    sample: SampleStore, change: Callable[[str], str], status: int, error: str
) -> None:
    _, path = await begin(sample, 10)
    response = await send(sample, change(path), b"x")
    assert (response.status, response.body["error"]) == (status, error)
    assert await stored(sample) == []


async def test_an_address_is_for_one_store_and_ends(sample: SampleStore, other_sample: SampleStore) -> None:
    _, path = await begin(sample, 10)
    mixed = path.replace(str(sample.store.public_id), str(other_sample.store.public_id))
    assert (await send(sample, mixed, b"x")).status == 403
    values = {"file_name": "a.png", "mime_type": "image/png", "bytes": 10}
    for age, status in ((timedelta(minutes=14), 201), (timedelta(minutes=16), 403)):
        scope = replace(sample.scope, now=sample.scope.now - age)
        with active_scope(scope):
            upload = await uploads.register_upload(scope, values)
        response = await send(sample, URL(upload.url).raw_path_qs, b"x")
        assert response.status == status, age
    assert response.body["error"] == "link_expired"


async def test_a_coded_body_is_refused(sample: SampleStore) -> None:
    _, path = await begin(sample, 10)
    assert (await send(sample, path, b"x", **{"Content-Encoding": "gzip"})).status == 415


async def test_a_deleted_file_takes_no_upload(sample: SampleStore) -> None:
    media, path = await begin(sample, 10)
    await graphql(sample, "mutation($id: ID!) { media_delete(id: $id) { id } }", id=media)
    assert (await send(sample, path, b"x")).status == 404
    assert await stored(sample) == []
