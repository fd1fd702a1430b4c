"""Files of bulk operations in an S3-compatible storage (docs/reference/bulk.md#object-storage)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from domain.bulk import configuration, operations
from domain.bulk.configuration import BulkConfiguration, configure
from domain.bulk.files import DOWNLOAD, file_key, signed_link
from kernel.scope import active_scope
from tests.bulk.conftest import CREATE_MUTATION, UPLOAD, Bulk, encode
from tests.harness.http import Client
from tests.harness.oauth import graphql_error, graphql_result
from tests.harness.records import add_product
from tests.harness.s3_server import BUCKET, S3Server, StoredObject
from tests.harness.scopes import rows, system_scope

SET_STOCK = "mutation ($id: ID!, $stock: BigInt!) { product_update(id: $id, input: {stock: $stock}) { id stock } }"
QUERY = "{ products { id sku } }"


@pytest.fixture
def bulk(tmp_path: Path, s3_storage: object) -> Iterator[Bulk]:
    before = configuration.configured()
    configure(BulkConfiguration(tmp_path, upload_bytes=1_000))
    yield Bulk(tmp_path)
    configure(before)


async def http(method: str, url: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes, Any]:
    async with aiohttp.ClientSession() as client, client.request(method, url, data=body, headers=headers) as response:
        return response.status, await response.read(), response.headers


def local_files(bulk: Bulk) -> list[Path]:
    return [path for path in bulk.folder.rglob("*") if path.is_file()]


async def test_a_result_is_loaded_from_the_storage_by_its_link(bulk: Bulk, s3: S3Server, admin: Client):
    for _ in range(5):
        await add_product(admin.store)
    created = await bulk.create(admin, QUERY)
    await bulk.work()
    operation = await bulk.show(admin, created["id"])
    url = operation["result"]["url"]
    assert url.startswith(f"{s3.url}/{BUCKET}/{file_key(admin.store.public_id, created['id'])}?")
    status, whole, headers = await http("GET", url)
    assert (status, len(whole), len(whole.splitlines())) == (200, operation["file_size"], 5)
    assert headers["Content-Type"] == "application/jsonl"
    assert headers["Content-Disposition"] == f'attachment; filename="{created["id"]}.jsonl"'
    status, part, headers = await http("GET", url, Range="bytes=10-19")
    assert (status, part, headers["Content-Range"]) == (206, whole[10:20], f"bytes 10-19/{len(whole)}")
    assert local_files(bulk) == []


async def test_a_link_to_the_storage_ends_and_is_for_one_file_and_action(bulk: Bulk, s3: S3Server, admin: Client):
    scope = system_scope(admin.store)
    s3.objects = {file_key(admin.store.public_id, name): StoredObject(b"x") for name in "ab"}
    url = (await signed_link(scope, DOWNLOAD, "a")).url
    assert (await http("GET", url))[0] == 200
    assert (await http("GET", url.replace("/a.jsonl", "/b.jsonl")))[0] == 403
    assert (await http("PUT", url, b"y"))[0] == 403
    assert "X-Amz-Expires=3600&" in url
    assert (await http("GET", url.replace("X-Amz-Expires=3600", "X-Amz-Expires=7200")))[0] == 403


async def test_a_mutation_executes_the_file_as_it_was_when_it_was_created(bulk: Bulk, s3: S3Server, admin: Client):
    product = await add_product(admin.store)
    upload = await graphql_result(admin, UPLOAD)
    assert (await http("PUT", upload["url"], encode([{"id": product.id, "stock": 7}])))[0] == 200
    created = await graphql_result(admin, CREATE_MUTATION, text=SET_STOCK, upload=upload["id"], all=False)
    assert (await http("PUT", upload["url"], encode([{"id": product.id, "stock": 99}])))[0] == 200
    again = await graphql_error(admin, CREATE_MUTATION, text=SET_STOCK, upload=upload["id"], all=False)
    assert again["extensions"]["code"] == "CONFLICT"
    await bulk.work()
    operation = await bulk.show(admin, created["id"])
    assert operation["state"] == "completed", operation
    results = [json.loads(line) for line in (await http("GET", operation["result"]["url"]))[1].splitlines()]
    assert results == [{"line": 1, "data": {"product_update": {"id": product.id, "stock": 7}}}]
    # The uploads are deleted, the result is all that is left.
    assert list(s3.objects) == [file_key(admin.store.public_id, created["id"])]
    assert local_files(bulk) == []


async def test_lines_are_undone_when_the_result_of_all_or_nothing_can_not_be_stored(
    bulk: Bulk, s3: S3Server, admin: Client
):
    product = await add_product(admin.store, on_hand=1)
    upload = await graphql_result(admin, UPLOAD)
    await http("PUT", upload["url"], encode([{"id": product.id, "stock": 7}]))
    created = await graphql_result(admin, CREATE_MUTATION, text=SET_STOCK, upload=upload["id"], all=True)
    s3.failures = [("PUT", 507, "InsufficientStorage")] * 3  # asked again twice
    await bulk.work()
    operation = await bulk.show(admin, created["id"])
    assert (operation["state"], operation["error_code"]) == ("failed", "STORAGE_FULL")
    assert [row["stock"] for row in await rows(admin.store, "select stock from products")] == [1]
    assert local_files(bulk) == []


async def test_uploads_that_are_missing_too_large_or_anothers_are_refused(
    bulk: Bulk, s3: S3Server, admin: Client, other_admin: Client
):
    async def refusal(client: Client, upload: str) -> dict[str, Any]:
        return (await graphql_error(client, CREATE_MUTATION, text=SET_STOCK, upload=upload, all=False))["extensions"]

    upload = await graphql_result(admin, UPLOAD)
    assert (await refusal(admin, upload["id"]))["field"] == "upload"
    await http("PUT", upload["url"], b"x" * 1_001)
    assert (await refusal(admin, upload["id"]))["code"] == "TOO_LARGE"
    await http("PUT", upload["url"], b"{}")
    assert (await refusal(other_admin, upload["id"]))["field"] == "upload"
    s3.failures = [("HEAD", 403, "")]
    assert (await refusal(admin, upload["id"]))["code"] == "UNAVAILABLE"
    assert [name for name in s3.objects if not name.endswith(".pending")] == [
        name for name in s3.objects if name.endswith(".upload")
    ]


@pytest.mark.parametrize(
    "failure, code", [((507, "InsufficientStorage"), "STORAGE_FULL"), ((403, "AccessDenied"), None)]
)
async def test_an_operation_without_storage_fails_or_waits(
    bulk: Bulk, s3: S3Server, admin: Client, failure: tuple[int, str], code: str | None
):
    await add_product(admin.store)
    created = await bulk.create(admin, QUERY)
    s3.failures = [("PUT", *failure)] * 3  # asked again twice
    await bulk.work()
    operation = await bulk.show(admin, created["id"])
    # What may succeed later is left to the next attempt.
    assert (operation["state"], operation["error_code"]) == (("failed", code) if code else ("running", ""))
    assert (operation["result"], s3.objects, local_files(bulk)) == (None, {}, [])


async def test_expired_results_and_unused_uploads_are_deleted(bulk: Bulk, s3: S3Server, admin: Client):
    created = await bulk.create(admin, QUERY)
    await bulk.work()
    await http("PUT", (await graphql_result(admin, UPLOAD))["url"], b"{}")
    scope = system_scope(admin.store)
    for stored in s3.objects.values():
        stored.at -= timedelta(days=2)
    with active_scope(scope):
        await operations.delete_expired(scope)
        assert list(s3.objects) == [file_key(admin.store.public_id, created["id"])]
        await operations.delete_expired(replace(scope, now=datetime.now(UTC) + timedelta(days=8)))
    assert s3.objects == {}
