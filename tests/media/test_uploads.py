"""Uploads of media files: begun and completed in GraphQL; what arrived is checked by its content."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest

from domain import storage as storages
from domain.media import renderer as renderers
from domain.media import uploads
from domain.media.addresses import media_key, upload_key
from kernel.errors import Forbidden
from kernel.scope import active_scope
from server.media.child_pool import Renderer
from tests.harness.sample_store import SampleStore
from tests.media.pictures import encoded, picture
from tests.media.test_files import code_of
from tests.media.test_images import graphql, update

CREATE = "mutation($input: MediaUploadInput!) { media_upload_create(input: $input) { media_id url method headers expires_at } }"
COMPLETE = """mutation($id: ID!) { media_upload_complete(media_id: $id)
    { id status url mime_type bytes width height blurhash file_name error } }"""
PICTURE = (
    "mutation($id: ID!, $media: ID!) { user_update(id: $id, input: {image: {media_id: $media}}) { image { url } } }"
)
EXPORT = "query($id: ID!) { user_export(id: $id) { data } }"


@dataclass
class Stored:
    size: int


@dataclass
class MemoryStorage:
    """Objects in memory, without addresses of their own."""

    objects: dict[str, bytes] = field(default_factory=dict)

    async def link(self, method: str, key: str, lifetime: timedelta) -> str | None:
        return None

    async def head(self, key: str) -> Stored | None:
        return Stored(len(self.objects[key])) if key in self.objects else None

    async def read(self, key: str, *, most: int | None = None) -> bytes | None:
        content = self.objects.get(key)
        return content if content is None or most is None else content[: most + 1]

    async def put(self, key: str, content: bytes | Path, headers: Mapping[str, str] | None = None) -> None:
        assert isinstance(content, bytes)
        self.objects[key] = content

    async def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            self.objects.pop(key, None)


@pytest.fixture
async def storage(renderer: Renderer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[MemoryStorage]:
    """Configure a storage and the renderer, which decodes."""
    memory, earlier = MemoryStorage(), renderers._renderer
    monkeypatch.setattr(storages, "_storage", memory)
    renderers.configure(renderer)
    yield memory
    renderers.configure(earlier)


async def begin(sample: SampleStore, content: bytes, *, mime_type: str = "image/png", name: str = "a.png") -> Any:
    input = {"file_name": name, "mime_type": mime_type, "bytes": len(content)}
    return (await graphql(sample, CREATE, input=input))["media_upload_create"]


async def send(sample: SampleStore, storage: MemoryStorage, content: bytes, **options: Any) -> str:
    """Begin an upload and store its content, as the route does."""
    upload = await begin(sample, content, **options)
    storage.objects[upload_key(sample.store.public_id, UUID(upload["media_id"]))] = content
    media: str = upload["media_id"]
    return media


async def test_an_uploaded_image_is_shown_by_records(sample: SampleStore, storage: MemoryStorage) -> None:
    content = encoded(".png")
    media = await send(sample, storage, content)
    file = (await graphql(sample, COMPLETE, id=media))["media_upload_complete"]
    sha256 = hashlib.sha256(content).hexdigest()
    assert file == {
        "id": media,
        "status": "ready",
        "url": f"http://{sample.host}/media/{sha256}/ORIGINAL.png",
        "mime_type": "image/png",
        "bytes": len(content),
        "width": 120,
        "height": 80,
        "blurhash": file["blurhash"],
        "file_name": "a.png",
        "error": "",
    }
    assert file["blurhash"] != ""
    assert storage.objects == {media_key(sample.store.public_id, sha256): content}
    assert (await graphql(sample, COMPLETE, id=media))["media_upload_complete"] == file
    assert (await update(sample, "product", {"media_id": media}))["url"] == file["url"]


async def test_the_type_of_an_upload_follows_from_its_content(sample: SampleStore, storage: MemoryStorage) -> None:
    image = await send(sample, storage, encoded(".jpg"), mime_type="application/pdf", name="a.pdf")
    document = await send(sample, storage, b"%PDF-1.7 and so on", mime_type="application/pdf", name="b.pdf")
    for media, mime_type in ((image, "image/jpeg"), (document, "application/pdf")):
        file = (await graphql(sample, COMPLETE, id=media))["media_upload_complete"]
        assert (file["mime_type"], file["status"]) == (mime_type, "ready")


async def test_uploads_that_are_not_complete_take_a_limited_space(
    new_sample: Any, storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample, neighbour = await new_sample(), await new_sample()
    monkeypatch.setattr(uploads._limits, "store_bytes", 4 * uploads.MIN_COUNTED)
    content = encoded(".png")
    first = await send(sample, storage, content)
    for _ in range(2):
        await begin(sample, content)
    large = {"file_name": "a.png", "mime_type": "image/png", "bytes": 2 * uploads.MIN_COUNTED}
    refused = ("CONFLICT", {"reason": "upload_space_used"})
    assert await code_of(sample, CREATE, input=large) == refused
    await begin(sample, content)
    assert await code_of(sample, CREATE, input={**large, "bytes": 1}) == refused
    await begin(neighbour, content)
    await graphql(sample, COMPLETE, id=first)
    await begin(sample, content)
    # What was deleted may have arrived: it takes space until the job has deleted it.
    pending = await sample.value("select public_id from media_files where status = 'pending' limit 1")
    await graphql(sample, "mutation($id: ID!) { media_delete(id: $id) { id } }", id=str(pending))
    assert await code_of(sample, CREATE, input={**large, "bytes": 1}) == refused


async def test_customers_leave_half_of_the_space_to_the_store(
    new_sample: Any, storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = await new_sample()
    monkeypatch.setattr(uploads._limits, "store_bytes", 4 * uploads.MIN_COUNTED)
    body = {"query": CREATE, "variables": {"input": {"file_name": "a.png", "mime_type": "image/png", "bytes": 100}}}
    customer = await sample.client(sample.caio)
    answers = [(await customer.post("/graphql", body)).body for _ in range(2)]
    assert [answer.get("errors") for answer in answers] == [None, None]
    refused = (await customer.post("/graphql", body)).body["errors"][0]["extensions"]
    assert (refused["code"], refused["details"]) == ("CONFLICT", {"reason": "upload_space_used"})
    for _ in range(2):
        await begin(sample, b"picture")


async def test_simultaneous_uploads_do_not_exceed_the_space(
    new_sample: Any, storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = await new_sample()
    monkeypatch.setattr(uploads._limits, "store_bytes", 3 * uploads.MIN_COUNTED)
    body = {"query": CREATE, "variables": {"input": {"file_name": "a.png", "mime_type": "image/png", "bytes": 100}}}
    answers = await asyncio.gather(*(sample.post("/graphql", body, auth="bearer") for _ in range(8)))
    assert sum("errors" not in answer.body for answer in answers) == 3


async def test_what_is_no_image_fails(sample: SampleStore, storage: MemoryStorage) -> None:
    media = await send(sample, storage, b"<svg onload='alert(1)'/>", mime_type="image/png")
    code, details = await code_of(sample, COMPLETE, id=media)
    assert (code, details["fields"]) == ("VALIDATION_FAILED", {"media_id": "media_invalid"})
    shown = await graphql(sample, "query($id: ID!) { media_file(id: $id) { status error } }", id=media)
    assert shown["media_file"]["status"] == "failed"
    assert shown["media_file"]["error"] != ""
    assert storage.objects == {}
    answer = await sample.post("/graphql", {"query": COMPLETE, "variables": {"id": media}}, auth="bearer")
    assert answer.body["errors"][0]["message"].endswith(f"was refused: {shown['media_file']['error']}")


async def test_an_upload_is_no_larger_than_announced(sample: SampleStore, storage: MemoryStorage) -> None:
    upload = await begin(sample, b"12345")
    key = upload_key(sample.store.public_id, UUID(upload["media_id"]))
    storage.objects[key] = encoded(".png")
    _, details = await code_of(sample, COMPLETE, id=upload["media_id"])
    assert details["fields"] == {"media_id": "too_large"}
    assert storage.objects == {}


async def test_an_upload_that_grows_while_it_is_completed_is_refused(
    sample: SampleStore, storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = await begin(sample, b"12345")
    key = upload_key(sample.store.public_id, UUID(upload["media_id"]))
    storage.objects[key] = b"12345678"

    async def before(_key: str) -> Stored:
        return Stored(5)

    monkeypatch.setattr(storage, "head", before)
    _, details = await code_of(sample, COMPLETE, id=upload["media_id"])
    assert details["fields"] == {"media_id": "too_large"}
    assert storage.objects == {}


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("method", ["head", "read", "put"])
async def test_requests_that_complete_an_upload_at_once_answer_the_same_file(
    sample: SampleStore, storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch, method: str, is_known: bool
) -> None:
    content, answers = encoded(".png"), []
    if is_known:
        await graphql(sample, COMPLETE, id=await send(sample, storage, content))
    media = await send(sample, storage, content)
    original = getattr(storage, method)

    async def after_another(*args: Any, **options: Any) -> Any:
        """Continue a request that found the upload awaited when another one has completed it."""
        monkeypatch.setattr(storage, method, original)
        answers.append((await graphql(sample, COMPLETE, id=media))["media_upload_complete"])
        return await original(*args, **options)

    monkeypatch.setattr(storage, method, after_another)
    file = (await graphql(sample, COMPLETE, id=media))["media_upload_complete"]
    assert (answers, file["status"]) == ([file], "ready")
    audited = "select count(*) from audit_entries where action = 'media_file.uploaded'"
    assert await sample.value(audited) == 1 + is_known
    assert list(storage.objects) == [media_key(sample.store.public_id, hashlib.sha256(content).hexdigest())]


async def test_an_upload_that_did_not_arrive_can_be_completed_later(
    sample: SampleStore, storage: MemoryStorage
) -> None:
    upload = await begin(sample, encoded(".png"))
    code, details = await code_of(sample, COMPLETE, id=upload["media_id"])
    assert (code, details) == ("RULE_VIOLATION", {"reason": "upload_missing"})
    storage.objects[upload_key(sample.store.public_id, UUID(upload["media_id"]))] = encoded(".png")
    assert (await graphql(sample, COMPLETE, id=upload["media_id"]))["media_upload_complete"]["status"] == "ready"


async def test_the_same_content_is_one_file(sample: SampleStore, storage: MemoryStorage) -> None:
    content = encoded(".png", picture(40, 20))
    first = (await graphql(sample, COMPLETE, id=await send(sample, storage, content)))["media_upload_complete"]
    second = await send(sample, storage, content, name="b.png")
    for attempt in ("first", "repeated"):
        assert (await graphql(sample, COMPLETE, id=second))["media_upload_complete"] == first, attempt
    # The id of the second upload means the same file.
    assert (await update(sample, "product", {"media_id": second}))["media_id"] == first["id"]
    assert len(storage.objects) == 1


async def test_who_uploads_the_same_content_sees_nothing_that_another_said_of_it(
    sample: SampleStore, storage: MemoryStorage
) -> None:
    content, source = encoded(".png"), "https://erp.example/a.png?key=s3cret"
    own = await graphql(sample, COMPLETE, id=await send(sample, storage, content, name="secret.png"))
    await sample.execute("update media_files set alt = 'secret', error = 'secret', source_url = $1", source)
    text = "query($url: [String!]) { media_files(filter: {source_url: $url}) { id alt file_name source_url error } }"
    for user, sees in ((sample.caio, False), (sample.vendor_user, False), (sample.owner, True)):
        client = await sample.client(user)
        input = {"file_name": "b.png", "mime_type": "image/png", "bytes": len(content)}
        created = await client.post("/graphql", {"query": CREATE, "variables": {"input": input}})
        media = created.body["data"]["media_upload_create"]["media_id"]
        storage.objects[upload_key(sample.store.public_id, UUID(media))] = content
        completed = (await client.post("/graphql", {"query": COMPLETE, "variables": {"id": media}})).body["data"]
        assert completed["media_upload_complete"]["id"] == own["media_upload_complete"]["id"], user
        for url, count in ((None, 1), (source, int(sees))):
            answer = await client.post("/graphql", {"query": text, "variables": {"url": url}})
            files = [
                file
                for file in answer.body["data"]["media_files"]
                if file["id"] == completed["media_upload_complete"]["id"]
            ]
            assert len(files) == count, (user, url)
            assert ("secret" in str(files)) is (sees and count > 0), (user, files)
        # The row of a picture has the source of its file.
        variables = {"id": user.id, "media": media}
        answers = [
            (await client.post("/graphql", {"query": each, "variables": variables})).body for each in (PICTURE, EXPORT)
        ]
        assert "errors" not in str(answers), (user, answers)
        [exported] = answers[1]["data"]["user_export"]["data"]["users"]
        assert exported["image_url"] == answers[0]["data"]["user_update"]["image"]["url"], user
        assert sees or source not in str(answers), user


async def test_a_customer_uploads_20_pictures_a_day(sample: SampleStore, storage: MemoryStorage) -> None:
    client = await sample.client(sample.caio)
    picture_input = {"file_name": "a.png", "mime_type": "image/png", "bytes": 10}

    async def create(**changes: Any) -> Any:
        body = {"query": CREATE, "variables": {"input": {**picture_input, **changes}}}
        return (await client.post("/graphql", body)).body

    refused = await create(mime_type="application/pdf")
    assert [*refused["errors"][0]["extensions"]["details"]["fields"]] == ["mime_type"]
    for number in range(uploads.MAX_DAILY):
        assert "errors" not in await create(), number
    assert (await create())["errors"][0]["extensions"]["code"] == "RATE_LIMITED"
    await sample.execute(
        "update media_files set created_at = now() - interval '25 hours' where user_id = $1", sample.caio.number
    )
    assert "errors" not in await create()


async def test_a_customer_completes_own_uploads_only(sample: SampleStore, storage: MemoryStorage) -> None:
    media = await send(sample, storage, encoded(".png"))
    client = await sample.client(sample.caio)
    answer = await client.post("/graphql", {"query": COMPLETE, "variables": {"id": media}})
    assert answer.body["errors"][0]["extensions"]["code"] == "NOT_FOUND"


async def test_the_fields_of_an_upload_are_checked(sample: SampleStore, storage: MemoryStorage) -> None:
    for change, field_ in (
        ({"bytes": 0}, "bytes"),
        ({"bytes": renderers.MAX_BYTES + 1}, "bytes"),
        ({"file_name": " "}, "file_name"),
        ({"mime_type": ""}, "mime_type"),
        ({"mime_type": "image/png\r\nX-Header: y"}, "mime_type"),
        ({"mime_type": "png"}, "mime_type"),
    ):
        input = {"file_name": "a.png", "mime_type": "image/png", "bytes": 10, **change}
        _, details = await code_of(sample, CREATE, input=input)
        assert [*details["fields"]] == [field_], change


async def test_an_address_for_an_upload_is_signed(sample: SampleStore, storage: MemoryStorage) -> None:
    upload = await begin(sample, b"12345")
    parts = urlsplit(upload["url"])
    assert parts.path == f"{uploads.ROUTE}/{sample.store.public_id}/{upload['media_id']}"
    assert (upload["method"], upload["headers"]) == ("PUT", {"Content-Type": "image/png"})
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    expires, signature = int(query["expires"]), query["signature"]
    arguments = (sample.store.public_id, UUID(upload["media_id"]))
    now = sample.scope.now
    with active_scope(sample.scope):
        uploads.verify_upload_link(*arguments, 5, expires, signature, now)
        for size, expiry, signed, at in (
            (6, expires, signature, now),
            (5, expires + 1, signature, now),
            (5, expires, "ñ", now),
            (5, expires, signature, now + timedelta(minutes=16)),
        ):
            with pytest.raises(Forbidden):
                uploads.verify_upload_link(*arguments, size, expiry, signed, at)


async def test_a_vendor_owns_what_its_users_upload(sample: SampleStore, storage: MemoryStorage) -> None:
    client = await sample.client(sample.vendor_user)
    input = {"file_name": "a.png", "mime_type": "image/png", "bytes": 10}
    answer = await client.post("/graphql", {"query": CREATE, "variables": {"input": input}})
    media = UUID(answer.body["data"]["media_upload_create"]["media_id"])
    [row] = await sample.rows("select vendor_id, user_id, status from media_files where public_id = $1", media)
    assert tuple(row) == (sample.vendor.number, None, "pending")
