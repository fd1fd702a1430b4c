"""Multipart bodies that are malformed, endless or slow get a clear error, whatever route takes forms, and leave nothing behind."""

from __future__ import annotations

import asyncio
import random
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from domain.storage import Storage
from rest_facade import bodies
from server.http.forms import MAX_FORM_BYTES
from tests.harness.forms import BOUNDARY, Part, form, operation
from tests.harness.http import Client, Response
from tests.harness.sample_store import SampleStore
from tests.media.pictures import encoded
from tests.media.test_multipart_requests import PLACES, UPLOAD

ROUTES = ("/graphql", "/api/v1/admin/media")
HEAD = b'Content-Disposition: form-data; name="file"; filename="a.png"\r\n'
START, END = f"--{BOUNDARY}\r\n".encode(), f"\r\n--{BOUNDARY}--\r\n".encode()
TYPE = f"multipart/form-data; boundary={BOUNDARY}"


@pytest.fixture(autouse=True)
def parts(media_folder: Storage, tmp_path: Path) -> Iterator[Path]:
    """Return the folder of arriving files, which is empty after each request."""
    yield tmp_path / "parts"
    assert stored(tmp_path / "parts") == []


@pytest.fixture(params=ROUTES)
def route(request: pytest.FixtureRequest) -> str:
    value: str = request.param
    return value


@pytest.fixture
async def owner(sample: SampleStore) -> Client:
    return await sample.client(sample.owner)


def stored(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def send(client: Client, route: str, body: bytes, content_type: str = TYPE) -> Response:
    return await client.post(route, data=body, headers={"Content-Type": content_type})


def text_of(response: Response) -> str:
    """Return what an error says, in the form of either family."""
    body = response.body
    return str(body["errors"][0]["message"] if "errors" in body else body.get("detail", body["error"]))


def head_of(client: Client, route: str, length: int) -> bytes:
    """Return the head of a request whose form has this length."""
    headers = {"Host": "localhost", **headers_of(client), "Content-Length": length}
    lines = [f"POST {route} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode()


def headers_of(client: Client) -> dict[str, str]:
    return {"X-Tenant-ID": str(client.store.public_id), **client.credentials, "Content-Type": TYPE}


@pytest.mark.parametrize(
    "body, text",
    [
        (b"", "Unexpected end of multipart stream"),
        (b"no form at all", "Unexpected end of multipart stream"),
        (START, "Unexpected end of multipart stream"),
        (START + HEAD, "Unexpected end of multipart stream"),
        (START + HEAD + b"\r\nunterminated", "Unexpected end of multipart stream"),
        (START + HEAD + b"\r\nx\r\n--" + BOUNDARY.encode(), "Unexpected end of multipart stream"),
        (START + HEAD + b"\r\nx\r\n--" + BOUNDARY.encode() + b"??", "Unexpected bytes after boundary"),
        (START + b"\r\nno head" + END, "Missing Content-Disposition"),
        (START + b"Content-Disposition: attachment; name=x\r\n\r\nx" + END, "Wrong type"),
        (START + b"no colon\r\n\r\nx" + END, "Malformed segment header"),
        (START + b"X\x00Y: z\r\n\r\nx" + END, "Invalid segment header name"),
        (START + HEAD + b"X: \xff\r\n\r\nx" + END, "failed to decode"),
        (START + HEAD + b"X: y\n\nx", "Invalid line break"),
        (START + HEAD + b"Content-Length: 9\r\n\r\nx" + END, "does not match Content-Length"),
        (START + HEAD + b"Content-Length: -1\r\n\r\nx" + END, "Invalid segment Content-Length"),
        (START + HEAD + b"X: " + b"y" * 1_000_000 + b"\r\n\r\nx" + END, "Maximum segment header length exceeded"),
        (START + b"y" * 1_000_000, "Maximum segment header length exceeded"),
        (START + HEAD + b"X: y\r\n" * 1_000 + b"\r\nx" + END, "Maximum segment header count exceeded"),
    ],
)
async def test_a_malformed_form_is_refused(owner: Client, route: str, body: bytes, text: str) -> None:
    refused = await send(owner, route, body)
    assert refused.status == 400
    assert text in text_of(refused)
    assert "Error(" not in text_of(refused), "it shows how the server is programmed"


@pytest.mark.parametrize(
    "content_type",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=" + "x" * 71,
        "multipart/form-data; boundary=\xe9",
        'multipart/form-data; boundary="a\tb"',
    ],
)
async def test_a_form_without_a_usable_boundary_is_refused(owner: Client, route: str, content_type: str) -> None:
    refused = await send(owner, route, b"x", content_type)
    assert refused.status == 400
    assert text_of(refused) == "the content type has no boundary of at most 70 characters"


async def test_a_thousand_parts_are_refused(owner: Client, route: str) -> None:
    for name in (None, "a.txt"):
        body, _ = form([Part("x", b"", name)] * 1_000)
        refused = await send(owner, route, body)
        assert refused.status == 400, name
        assert ("Maximum segment count" if name is None else "more than 10 files") in text_of(refused), name


async def test_a_form_within_a_form_is_content(owner: Client, route: str) -> None:
    inner, _ = form([Part("file", b"x", "a.png")], boundary="inner")
    body, _ = form([Part("file", inner, None, "multipart/mixed; boundary=inner")])
    refused = await send(owner, route, body)
    assert refused.status == 400
    file = Part("0" if route == "/graphql" else "file", inner, "a.bin", "multipart/mixed; boundary=inner")
    body, _ = form([*(operation(UPLOAD, {"file": None}, PLACES) if route == "/graphql" else []), file])
    stored_file = (await send(owner, route, body)).body
    stored_file = stored_file["data"]["media_upload"] if route == "/graphql" else stored_file
    assert (stored_file["mime_type"], stored_file["bytes"]) == ("multipart/mixed", len(inner))


async def test_a_coded_form_is_refused(owner: Client, route: str) -> None:
    headers = {"Content-Type": TYPE, "Content-Encoding": "gzip"}
    assert (await owner.post(route, data=b"x", headers=headers)).status in (400, 415)


async def test_a_length_over_the_limit_is_refused_before_the_body(owner: Client, route: str) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", owner.http.port)
    writer.write(head_of(owner, route, MAX_FORM_BYTES + 1))
    assert (await reader.readline()).startswith(b"HTTP/1.1 413 ")
    writer.close()


@pytest.mark.parametrize(
    "endless", [b"x", START + HEAD + b"\r\n", START + b'Content-Disposition: form-data; name="x"\r\n\r\n']
)
async def test_an_endless_body_is_stopped_at_the_limit_and_not_kept_in_memory(
    owner: Client, route: str, endless: bytes
) -> None:
    sent = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal sent
        yield endless
        while sent < 4 * MAX_FORM_BYTES:
            sent += 512 * 1024
            yield b"x" * 512 * 1024

    tracemalloc.start()
    try:
        async with owner.http.post(route, data=chunks(), headers=headers_of(owner)) as response:
            assert response.status == 413
    except ConnectionError:
        pass  # the server stopped reading before the client did
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    # Texts of 2 MiB, and what is on its way in both directions.
    assert peak < 12 * 1024 * 1024
    assert sent < MAX_FORM_BYTES + 16 * 1024 * 1024


@pytest.mark.parametrize("length", [1, 40, 10_000])
async def test_a_body_that_is_shorter_or_longer_than_it_says_is_refused(owner: Client, route: str, length: int) -> None:
    body, _ = form([Part("file", b"x" * 100, "a.txt")])
    reader, writer = await asyncio.open_connection("127.0.0.1", owner.http.port)
    writer.write(head_of(owner, route, length) + body)
    if length > len(body):
        writer.close()
        return
    assert b" 400 " in await reader.readline()
    writer.close()


async def test_a_slow_body_times_out(owner: Client, route: str, parts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "BODY_TIMEOUT_SECONDS", 0.2)

    async def chunks() -> AsyncIterator[bytes]:
        yield START + HEAD + b"\r\n" + b"x" * 1_000_000
        await asyncio.sleep(2)

    async with owner.http.post(route, data=chunks(), headers=headers_of(owner)) as response:
        assert response.status == 503


async def test_a_body_that_arrives_byte_by_byte_is_taken(owner: Client) -> None:
    content = encoded(".png")
    body, _ = form([Part("file", content, "a.png", "image/png")])

    async def chunks() -> AsyncIterator[bytes]:
        for byte in body:
            yield bytes([byte])

    async with owner.http.post("/api/v1/admin/media", data=chunks(), headers=headers_of(owner)) as response:
        assert (response.status, (await response.json())["bytes"]) == (201, len(content))


async def test_an_interrupted_body_leaves_no_file(owner: Client, route: str, parts: Path) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", owner.http.port)
    writer.write(head_of(owner, route, 2_000_000) + START + HEAD + b"\r\n" + b"x" * 1_000_000)
    await writer.drain()
    async with asyncio.timeout(10):
        while not stored(parts):
            await asyncio.sleep(0.01)
        writer.close()
        while stored(parts):
            await asyncio.sleep(0.01)


async def test_forms_with_changed_bytes_are_never_an_internal_error(owner: Client, route: str) -> None:
    generator = random.Random(7)
    file = Part("0" if route == "/graphql" else "file", b"x" * 50, "a.txt", "text/plain")
    whole, _ = form([*operation(UPLOAD, {"file": None}, PLACES), Part("alt", "Caneca"), file])
    statuses = set()
    for _ in range(300):
        changed = bytearray(whole)
        for _ in range(generator.randint(1, 4)):
            place = generator.randrange(len(changed))
            match generator.randrange(3):
                case 0:
                    changed[place] = generator.randrange(256)
                case 1:
                    del changed[place : place + generator.randint(1, 30)]
                case _:
                    changed[place:place] = generator.choice(
                        [b"\r\n", b"\x00", b"\xff", b"\xed\xa0\x80", START, b'"', b";", b"%00"]
                    )
        statuses.add((await send(owner, route, bytes(changed))).status)
    assert statuses <= {200, 201, 400}
    assert 400 in statuses
