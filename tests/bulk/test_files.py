"""Files of bulk operations: signed links, ranges, compression (docs/reference/bulk.md#files)."""

from __future__ import annotations

import gzip
from datetime import timedelta
from typing import Any

import pytest

from domain.bulk.files import DOWNLOAD, UPLOAD, signed_link
from kernel.ids import uuid7
from tests.bulk.conftest import Bulk, download
from tests.harness.http import Client
from tests.harness.records import add_product
from tests.harness.scopes import system_scope


@pytest.fixture
async def operation(bulk: Bulk, admin: Client) -> Any:
    """Return a completed operation with a result of several lines."""
    for _ in range(30):
        await add_product(admin.store)
    created = await bulk.create(admin, "{ products { id name } }")
    await bulk.work()
    return await bulk.show(admin, created["id"])


async def test_a_result_is_loaded_whole_by_its_link_alone(operation: Any, admin: Client):
    response = await download(admin, operation)
    assert response.status == 200
    assert response.headers["Content-Type"] == "application/jsonl"
    assert response.headers["Content-Disposition"] == f'attachment; filename="{operation["id"]}.jsonl"'
    assert len(response.raw) == operation["file_size"]
    assert "Content-Encoding" not in response.headers


async def test_a_range_of_a_result_can_be_loaded(operation: Any, admin: Client):
    whole = await download(admin, operation)
    part = await download(admin, operation, Range="bytes=100-199", **{"If-Match": whole.headers["ETag"]})
    assert (part.status, part.raw) == (206, whole.raw[100:200])
    assert part.headers["Content-Range"] == f"bytes 100-199/{len(whole.raw)}"
    rest = await download(admin, operation, Range="bytes=200-")
    assert rest.raw == whole.raw[200:]
    beyond = await download(admin, operation, Range=f"bytes={len(whole.raw)}-")
    assert beyond.status == 416


async def test_a_range_of_another_version_gets_the_whole(operation: Any, admin: Client):
    whole = await download(admin, operation)
    tag, date = whole.headers["ETag"], whole.headers["Last-Modified"]
    for condition, status in ((tag, 206), (date, 206), ('"another"', 200), (f"W/{tag}", 200)):
        response = await download(admin, operation, Range="bytes=100-199", **{"If-Range": condition})
        assert (response.status, response.raw) == (status, whole.raw[100:200] if status == 206 else whole.raw), (
            condition
        )
        assert ("Content-Range" in response.headers) is (status == 206)


async def test_a_result_that_the_client_has_is_not_sent_again(operation: Any, admin: Client):
    tag = (await download(admin, operation)).headers["ETag"]
    assert (await download(admin, operation, **{"If-None-Match": tag})).status == 304
    assert (await download(admin, operation, **{"If-Match": '"another"'})).status == 412


async def test_a_result_is_sent_compressed_to_those_that_accept_it(operation: Any, admin: Client):
    plain = await download(admin, operation)
    url = operation["result"]["url"]
    async with admin.http.request("GET", url, headers={"Accept-Encoding": "gzip"}, auto_decompress=False) as received:
        assert received.headers["Content-Encoding"] == "gzip"
        assert received.headers["Vary"] == "Accept-Encoding"
        assert received.headers["ETag"] != plain.headers["ETag"]
        compressed = await received.read()
    assert gzip.decompress(compressed) == plain.raw
    refused = await download(admin, operation, **{"Accept-Encoding": "gzip;q=0"})
    assert (refused.raw, "Content-Encoding" in refused.headers) == (plain.raw, False)


@pytest.mark.parametrize(
    "change, status, error",
    [
        (lambda url: url.replace("signature=", "signature=0"), 403, "link_invalid"),
        (lambda url: url.partition("?")[0], 403, "link_invalid"),
        (lambda url: url.replace("expires=", "expires=9"), 403, "link_invalid"),
        (lambda url: url.replace("expires=", "expires=x"), 403, "link_invalid"),
        (lambda url: url.replace("/files/bulk/", "/files/bulk/x"), 404, "file not found"),
        (lambda url: url.replace(".jsonl", ".gz"), 404, None),
        (lambda url: url.replace("signature=", "signature=%C3%A9"), 403, "link_invalid"),
    ],
)
async def test_another_link_opens_nothing(operation: Any, admin: Client, change: Any, status: int, error: str | None):
    response = await admin.get(change(operation["result"]["url"]))
    assert response.status == status, response
    assert error is None or response.body["error"] == error


async def test_a_link_ends_after_an_hour(operation: Any, admin: Client):
    from dataclasses import replace

    scope = system_scope(admin.store)
    for age, status in ((timedelta(minutes=59), 200), (timedelta(minutes=61), 403)):
        link = await signed_link(replace(scope, now=scope.now - age), DOWNLOAD, operation["id"])
        response = await download(admin, {"result": {"url": link.url}})
        assert response.status == status
    assert response.body["error"] == "link_expired"


async def test_a_link_is_for_one_file_one_store_and_one_action(operation: Any, admin: Client, other_admin: Client):
    file = operation["id"]
    for link in (
        await signed_link(system_scope(admin.store), UPLOAD, file),
        await signed_link(system_scope(other_admin.store), DOWNLOAD, file),
        await signed_link(system_scope(admin.store), DOWNLOAD, str(uuid7())),
    ):
        assert (await download(admin, {"result": {"url": link.url}})).status in (403, 404)
    theirs = (await signed_link(system_scope(other_admin.store), DOWNLOAD, file)).url
    mixed = theirs.replace(str(other_admin.store.public_id), str(admin.store.public_id))
    assert (await download(admin, {"result": {"url": mixed}})).status == 403


async def test_a_deleted_result_is_not_found(operation: Any, bulk: Bulk, admin: Client):
    for path in bulk.folder.rglob("*.*"):
        path.unlink()
    response = await download(admin, operation)
    assert (response.status, response.body["error"]) == (404, "file not found")
