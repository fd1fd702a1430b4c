"""Attachments of products: files of the store, of any type, or links (docs/reference/graphql.md#media)."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest

from domain.media.addresses import upload_key
from domain.storage import Storage
from tests.harness.row_versions import changed_tables, row_versions
from tests.harness.sample_store import SampleStore
from tests.media.pictures import encoded
from tests.media.test_images import LINK, PRODUCT_UPDATE, add_file, digest, graphql, refused
from tests.media.test_uploads import COMPLETE, CREATE

ATTACHMENT = "id filename url filesize media_id media { mime_type }"
ATTACH = f"mutation($input: AttachmentInput!) {{ attachment_create(input: $input) {{ {ATTACHMENT} }} }}"
CHANGE = (
    f"mutation($id: ID!, $input: AttachmentInput!) {{ attachment_update(id: $id, input: $input) {{ {ATTACHMENT} }} }}"
)

DOCUMENTS = {
    "application/pdf": b"%PDF-1.7 and so on",
    "image/svg+xml": b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
    "text/html": b"<script>alert(1)</script>",
}


async def upload(sample: SampleStore, folder: Storage, content: bytes, mime_type: str) -> Any:
    """Upload a file, as the route stores it, and return what completes it."""
    input = {"file_name": "manual ç.x", "mime_type": mime_type, "bytes": len(content)}
    media = (await graphql(sample, CREATE, input=input))["media_upload_create"]["media_id"]
    await folder.put(upload_key(sample.store.public_id, UUID(media)), content)
    return (await graphql(sample, COMPLETE, id=media))["media_upload_complete"]


async def attach(sample: SampleStore, **values: Any) -> Any:
    input = {"product_id": sample.mug.id, "filename": "manual.pdf", **values}
    return (await graphql(sample, ATTACH, input=input))["attachment_create"]


@pytest.mark.parametrize("mime_type", DOCUMENTS)
async def test_a_document_is_attached_and_sent_as_a_file_to_save(
    sample: SampleStore, media_folder: Storage, mime_type: str
) -> None:
    content = DOCUMENTS[mime_type]
    file = await upload(sample, media_folder, content, mime_type)
    assert (file["status"], file["mime_type"], file["width"], file["blurhash"]) == ("ready", mime_type, 0, "")
    attachment = await attach(sample, media_id=file["id"])
    assert attachment == {
        "id": attachment["id"],
        "filename": "manual.pdf",
        "url": file["url"],
        "filesize": len(content),
        "media_id": file["id"],
        "media": {"mime_type": mime_type},
    }
    answer = await sample.anonymous.get(urlsplit(attachment["url"]).path)
    assert (answer.status, answer.raw) == (200, content)
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("mime_type", DOCUMENTS)
async def test_a_document_is_no_image_of_a_record(sample: SampleStore, media_folder: Storage, mime_type: str) -> None:
    file = await upload(sample, media_folder, DOCUMENTS[mime_type], mime_type)
    for image, field in (({"media_id": file["id"]}, "media_id"), ({"url": file["url"]}, "url")):
        fields = await refused(sample, PRODUCT_UPDATE, id=sample.mug.id, input={"images": [image]})
        assert [*fields] == [f"images.{field}"], image
    store = "mutation($input: StoreInput!) { store_update(input: $input) { id } }"
    assert await refused(sample, store, input={"logo": {"media_id": file["id"]}}) == {"logo.media_id": "media_invalid"}


async def test_an_image_may_be_attached_too(sample: SampleStore, media_folder: Storage) -> None:
    file = await upload(sample, media_folder, encoded(".png"), "image/svg+xml")
    assert file["mime_type"] == "image/png"  # by its content
    assert (await attach(sample, media_id=file["id"]))["url"] == file["url"]


async def test_a_customer_uploads_no_svg(sample: SampleStore) -> None:
    input = {"file_name": "a.svg", "mime_type": "image/svg+xml", "bytes": 10}
    answer = await (await sample.client(sample.caio)).post("/graphql", {"query": CREATE, "variables": {"input": input}})
    assert answer.body["errors"][0]["extensions"]["details"]["fields"] == {"mime_type": "mime_type_invalid"}


async def test_an_attachment_is_a_file_or_a_link_which_is_never_fetched(sample: SampleStore) -> None:
    await graphql(sample, "mutation { store_settings_update(settings: { image_copies: true }) { id } }")
    file = await add_file(sample, mime_type="application/pdf", bytes=77)
    attachment = await attach(sample, url=LINK, filesize=5)
    assert (attachment["url"], attachment["filesize"], attachment["media_id"]) == (LINK, 5, None)
    assert await sample.value("select count(*) from media_files where source_url = $1", LINK) == 0
    url = f"http://{sample.host}/media/{await digest(sample, file)}/ORIGINAL.bin"
    for values, size in (
        ({"url": url}, 77),
        ({"url": LINK}, 77),
        ({"media_id": file.id, "filesize": 3}, 3),
        ({"media_id": file.id}, 3),
    ):
        changed = (await graphql(sample, CHANGE, id=attachment["id"], input=values))["attachment_update"]
        is_link = values.get("url") == LINK
        assert (changed["url"], changed["media_id"]) == ((LINK, None) if is_link else (url, file.id)), values
        assert changed["filesize"] == size, values


async def test_the_attachment_that_is_shown_may_be_sent_back_and_writes_nothing(sample: SampleStore) -> None:
    file = await add_file(sample, mime_type="application/pdf")
    shown = await attach(sample, media_id=file.id)
    before = await row_versions(sample.store)
    for values in ({"media_id": file.id}, {name: shown[name] for name in ("media_id", "url", "filesize", "filename")}):
        assert (await graphql(sample, CHANGE, id=shown["id"], input=values))["attachment_update"] == shown
    assert changed_tables(before, await row_versions(sample.store)) == []


async def test_a_wrong_attachment_is_refused(sample: SampleStore, other_sample: SampleStore) -> None:
    awaited = await add_file(sample, sha256=None, status="pending")
    foreign, own = await add_file(other_sample), await add_file(sample)
    for values, fields in (
        ({"filename": None}, {"filename": "filename_required", "url": "url_required"}),
        ({"media_id": None}, {"url": "url_required"}),
        ({"media_id": own.id, "filename": None}, {"filename": "filename_required"}),
        ({"media_id": own.id, "url": LINK}, {"url": "url_invalid"}),
        ({"media_id": awaited.id}, {"media_id": "media_incomplete"}),
        ({"media_id": foreign.id}, {"media_id": "not_found"}),
        ({"media_id": "nonsense"}, {"media_id": "not_found"}),
    ):
        input = {"product_id": sample.mug.id, "filename": "a.pdf", **values}
        assert await refused(sample, ATTACH, input=input) == fields, values


async def test_the_file_of_an_attachment_stays_until_that_is_deleted(sample: SampleStore) -> None:
    file = await add_file(sample, mime_type="application/pdf")
    attachment = await attach(sample, media_id=file.id)
    delete = f'mutation {{ media_delete(id: "{file.id}") {{ id }} }}'
    answer = await sample.post("/graphql", {"query": delete}, auth="bearer")
    assert answer.body["errors"][0]["extensions"]["details"] == {"reason": "media_in_use"}
    await graphql(sample, f'mutation {{ attachment_delete(id: "{attachment["id"]}") {{ id }} }}')
    assert await graphql(sample, delete) == {"media_delete": {"id": file.id}}
