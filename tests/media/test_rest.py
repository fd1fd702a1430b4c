"""Media files in `/api/v1/admin` and `/api/admin` (docs/reference/current.md#media)."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from tests.harness.clients import NewApp, NewClient
from tests.harness.http import Client
from tests.media.test_files import new_link

CURRENT, APPS = "/api/v1/admin/media", "/api/admin/media"
RECORD = {
    "id", "status", "error_message", "url", "mime_type", "bytes", "sha256", "width", "height", "blurhash", "alt", "file_name", "source_url",
    "created_at", "updated_at",
}  # fmt: skip


@pytest.fixture(params=[CURRENT, APPS])
def path(request: pytest.FixtureRequest) -> str:
    value: str = request.param
    return value


@pytest.fixture
async def caller(path: str, admin: Client, new_app: NewApp) -> Client:
    """Return a client that may read and write media files in the family of the path."""
    return admin if path == CURRENT else await new_app("read_products", "write_products")


async def test_a_file_of_a_url_is_created_shown_listed_and_deleted(path: str, caller: Client) -> None:
    url = new_link()
    created = await caller.post(path, {"source_url": url, "alt": "Caneca"})
    assert (created.status, set(created.body)) == (201, RECORD)
    assert (created.body["status"], created.body["url"], created.body["alt"]) == ("pending", url, "Caneca")
    assert (await caller.post(path, {"source_url": url})).body == created.body
    other = await caller.post(path, {"source_url": new_link()})
    single = f"{path}/{created.body['id']}"
    assert (await caller.get(single)).body == created.body
    listed = await caller.get(path, sort_by="created_at", sort_order="desc")
    size = "per_page" if path == CURRENT else "limit"
    assert listed.body == {"media": [other.body, created.body], "total": 2, "page": 1, size: 20}
    assert (await caller.get(path, source_url=url)).body["media"] == [created.body]
    assert (await caller.get(path, status="ready")).body["total"] == 0
    deleted = await caller.delete(single)
    assert (deleted.status, deleted.raw) == (204, b"")
    assert (await caller.get(single)).status == 404


@pytest.mark.parametrize(
    "body, code",
    [
        ({}, "required"),
        ({"source_url": ""}, "required"),
        ({"source_url": None}, "required"),
        ({"source_url": "ftp://x.example/a.png"}, "url_invalid"),
        ({"source_url": 5}, "url_invalid"),
        ({"source_url": ["https://x.example/a.png"]}, "url_invalid"),
    ],
)
async def test_a_source_that_can_not_be_fetched_is_refused(path: str, caller: Client, body: Any, code: str) -> None:
    refused = await caller.post(path, body)
    assert refused.status == 400, refused
    assert refused.body["fields"] == {"source_url": code}
    assert (await caller.get(path)).body["total"] == 0


async def test_reads_and_writes_need_the_scope_or_privilege(
    new_app: NewApp, new_client: NewClient, admin: Client
) -> None:
    created = (await admin.post(CURRENT, {"source_url": new_link()})).body
    reader, stranger = await new_app("read_products"), await new_app("read_orders")
    assert (await reader.get(APPS)).status == 200
    for client, base in ((reader, APPS), (stranger, APPS), (await new_client("view_products"), CURRENT)):
        assert (await client.post(base, {"source_url": new_link()})).status == 403, base
        assert (await client.delete(f"{base}/{created['id']}")).status == 403, base
    assert (await stranger.get(APPS)).status == 403
    assert (await (await new_client("view_orders")).get(CURRENT)).status == 403


async def test_a_file_that_a_record_shows_is_not_deleted(path: str, caller: Client, admin: Client) -> None:
    created = (await caller.post(path, {"source_url": new_link()})).body
    text = 'mutation($id: ID!) { category_create(input: {name: "Louça", image: {media_id: $id}}) { id } }'
    answer = await admin.post("/graphql", {"query": text, "variables": {"id": created["id"]}})
    assert "errors" not in answer.body, answer
    refused = await caller.delete(f"{path}/{created['id']}")
    reason = refused.body["error"] if path == CURRENT else refused.body["reason"]
    assert (refused.status, reason) == (422, "media_in_use")


async def test_files_of_other_stores_and_malformed_ids_are_not_found(
    path: str, caller: Client, other_admin: Client
) -> None:
    theirs = (await other_admin.post(CURRENT, {"source_url": new_link()})).body["id"]
    for reference in (theirs, str(uuid4()), "x"):
        assert (await caller.get(f"{path}/{reference}")).status == 404, reference
        assert (await caller.delete(f"{path}/{reference}")).status == 404, reference
