"""Uploads by a multipart form in `/api/v1/admin` and `/api/admin` (docs/reference/current.md#media)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from domain.storage import Storage
from kernel.received_files import MAX_BYTES
from tests.harness.clients import NewApp, NewClient
from tests.harness.forms import Part, form
from tests.harness.http import Client, Response
from tests.media.pictures import encoded, picture
from tests.media.test_rest import APPS, CURRENT, RECORD, caller, path

__all__ = ["caller", "path"]  # fixtures


@pytest.fixture(autouse=True)
def files_are_removed(media_folder: Storage, tmp_path: Path) -> Any:
    """Check that no request leaves a part of its body behind."""
    yield
    assert [path for path in (tmp_path / "parts").rglob("*") if path.is_file()] == []


async def send(client: Client, path: str, parts: Sequence[Part], **headers: str) -> Response:
    body, own = form(parts)
    return await client.post(path, data=body, headers={**own, **headers})


def file(content: bytes, name: str = "caneca.png", mime_type: str = "image/png") -> Part:
    return Part("file", content, name, mime_type)


async def test_a_file_of_a_form_is_stored(path: str, caller: Client) -> None:
    content = encoded(".png")
    created = await send(caller, path, [Part("alt", "Caneca"), Part("other", "ignored"), file(content)])
    assert (created.status, set(created.body)) == (201, RECORD)
    expected = {
        "status": "ready",
        "mime_type": "image/png",
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "width": 120,
        "height": 80,
        "alt": "Caneca",
        "file_name": "caneca.png",
        "source_url": None,
        "error_message": "",
    }
    assert {name: created.body[name] for name in expected} == expected
    assert (await caller.get(f"{path}/{created.body['id']}")).body == created.body
    assert (await send(caller, path, [file(content, "b.png")])).body == created.body
    for sha256, listed in ((expected["sha256"], [created.body]), ("0" * 64, []), ("x", [])):
        assert (await caller.get(path, sha256=sha256)).body["media"] == listed, sha256


async def test_a_deleted_picture_is_taken_again(path: str, caller: Client) -> None:
    content = encoded(".png", picture(50, 30))
    first = await send(caller, path, [file(content)])
    assert (await caller.delete(f"{path}/{first.body['id']}")).status == 204
    again = await send(caller, path, [file(content)])
    assert (again.status, again.body["status"], again.body["url"]) == (201, "ready", first.body["url"])
    assert (await caller.get(f"{path}/{again.body['id']}")).body == again.body


@pytest.mark.parametrize(
    "parts, fields",
    [
        ([], {"file": "required"}),
        ([Part("alt", "Caneca")], {"file": "required"}),
        ([Part("file", "no file name")], {"file": "required"}),
        ([Part("file", b"", "", "application/octet-stream")], {"file": "required"}),
        ([file(b"no image")], {"file": "media_invalid"}),
        ([file(b"x", "x" * 256, "text/plain")], {"file": "file_name_invalid"}),
        ([file(b"x", "a\x00", "text/plain")], {"file": "file_name_invalid"}),
        ([file(b"x", "a.txt", "text plain")], {"file": "mime_type_invalid"}),
        ([file(b"x", "a.txt", "text/plain"), Part("alt", "x" * 256)], {"alt": "alt_invalid"}),
        ([file(b"x", "a.txt", "text/plain"), Part("alt", "a\x00")], {"alt": "alt_invalid"}),
        ([file(b"x", "a.txt", "text/plain"), Part("alt", b"x", "a.txt")], {"alt": "alt_invalid"}),
    ],
)
async def test_a_wrong_field_of_a_form_is_named(
    path: str, caller: Client, parts: list[Part], fields: dict[str, str]
) -> None:
    refused = await send(caller, path, parts)
    assert (refused.status, refused.body["error"], refused.body["fields"]) == (400, "validation_failed", fields)
    assert (await caller.get(path)).body["total"] == 0


async def test_a_file_over_the_limit_is_413(path: str, caller: Client) -> None:
    largest = await send(caller, path, [file(b"x" * MAX_BYTES, "a.bin", "application/octet-stream")])
    assert (largest.status, largest.body["bytes"]) == (201, MAX_BYTES)
    refused = await send(caller, path, [file(b"x" * (MAX_BYTES + 1), "a.bin", "application/octet-stream")])
    text = f"the files of the form are larger than {MAX_BYTES} bytes"
    assert refused.status == 413
    assert text in (refused.body["error"], refused.body.get("message"))


async def test_a_repeated_form_with_its_key_has_no_second_effect(path: str, caller: Client) -> None:
    key = {"Idempotency-Key": "k1"}
    first = await send(caller, path, [file(encoded(".png"))], **key)
    body, headers = form([file(encoded(".png"))], boundary="another")
    repeated = await caller.post(path, data=body, headers={**headers, **key})
    assert (repeated.status, repeated.raw, repeated.headers["Idempotent-Replayed"]) == (201, first.raw, "true")
    reused = await send(caller, path, [file(encoded(".png", picture(9, 9)))], **key)
    assert reused.status == 422
    assert (await caller.get(path)).body["total"] == 1


async def test_a_form_needs_the_scope_or_privilege(new_app: NewApp, new_client: NewClient) -> None:
    for client, base in ((await new_app("read_products"), APPS), (await new_client("view_products"), CURRENT)):
        for key in ({}, {"Idempotency-Key": "k1"}):
            refused = await send(client, base, [file(encoded(".png"))], **key)
            assert refused.status == 403, (base, key)


async def test_other_routes_take_no_forms(admin: Client) -> None:
    for key in ({}, {"Idempotency-Key": "k1"}):
        refused = await send(admin, "/api/v1/admin/products", [file(encoded(".png"))], **key)
        assert refused.status == 400, key
        assert "expected application/json" in refused.body["detail"], key
