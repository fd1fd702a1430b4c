"""Files of bulk operations in an S3-compatible storage (docs/reference/bulk.md#object-storage)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from domain.bulk import configuration, operations
from domain.bulk.configuration import BulkConfiguration, configure
from domain.bulk.files import DOWNLOAD, signed_link
from kernel.errors import StorageFull, Unavailable
from kernel.scope import active_scope
from kernel.settings import Settings
from server import s3
from server.operations.checks import check_bulk_storage
from server.s3 import Bucket, Signer
from tests.bulk.conftest import CREATE_MUTATION, UPLOAD, Bulk, encode
from tests.harness.http import Client
from tests.harness.oauth import graphql_error, graphql_result
from tests.harness.records import add_product
from tests.harness.s3_server import ACCESS_KEY, BUCKET, REGION, SECRET_KEY, S3Server, StoredObject, running_s3
from tests.harness.scopes import rows, system_scope

SET_STOCK = "mutation ($id: ID!, $stock: BigInt!) { product_update(id: $id, input: {stock: $stock}) { id stock } }"
QUERY = "{ products { id sku } }"


@pytest.fixture
async def storage() -> AsyncIterator[S3Server]:
    async with running_s3() as storage:
        yield storage


@pytest.fixture
def bucket(storage: S3Server) -> Bucket:
    return Bucket(storage.url, BUCKET, Signer(ACCESS_KEY, SECRET_KEY, REGION))


@pytest.fixture
def bulk(tmp_path: Path, bucket: Bucket) -> Iterator[Bulk]:
    before = configuration.configured()
    configure(BulkConfiguration(tmp_path, objects=bucket, upload_bytes=1_000))
    yield Bulk(tmp_path)
    configure(before)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3, "_PAUSES", (0.0, 0.0))


async def http(method: str, url: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes, Any]:
    async with aiohttp.ClientSession() as client, client.request(method, url, data=body, headers=headers) as response:
        return response.status, await response.read(), response.headers


def local_files(bulk: Bulk) -> list[Path]:
    return [path for path in bulk.folder.rglob("*") if path.is_file()]


# --- Signatures: the examples that AWS publishes for Signature Version 4 of S3 ----------------------------------------

EXAMPLE = Signer("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1")
EXAMPLE_AT = datetime(2013, 5, 24, tzinfo=UTC)
EXAMPLE_HOST = "https://examplebucket.s3.amazonaws.com"


@pytest.mark.parametrize(
    "method, path, headers, body, signature",
    [
        ("GET", "/test.txt", {"range": "bytes=0-9"}, b"", "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
        (
            "PUT",
            "/test%24file.text",
            {"date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"},
            b"Welcome to Amazon S3.",
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        ),
        ("GET", "/?lifecycle=", {}, b"", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        ("GET", "/?max-keys=2&prefix=J", {}, b"", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ],
)  # fmt: skip
def test_a_request_has_the_published_signature(
    method: str, path: str, headers: dict[str, str], body: bytes, signature: str
):
    payload = hashlib.sha256(body).hexdigest()
    signed = EXAMPLE.sign(method, EXAMPLE_HOST + path, headers, payload, EXAMPLE_AT)
    assert signed["Authorization"].endswith(f"Signature={signature}")
    assert "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request" in signed["Authorization"]


def test_a_link_has_the_published_signature():
    link = EXAMPLE.presign("GET", f"{EXAMPLE_HOST}/test.txt", timedelta(days=1), EXAMPLE_AT)
    assert link.endswith("X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")


def test_the_bucket_is_in_the_path_or_in_the_host():
    for path_style, expected in ((True, "http://s3.test:9000/files/a/b"), (False, "http://files.s3.test:9000/a/b")):
        link = Bucket("http://s3.test:9000", BUCKET, EXAMPLE, path_style=path_style).link(
            "GET", "a/b", timedelta(1), EXAMPLE_AT
        )
        assert link.partition("?")[0] == expected


# --- Objects ----------------------------------------------------------------------------------------------------------


async def test_a_large_file_is_stored_in_parts_and_appears_when_it_is_complete(
    storage: S3Server, bucket: Bucket, tmp_path: Path
):
    content = bytes(range(256)) * (s3.PART_BYTES * 2 // 256 + 1)
    (tmp_path / "large").write_bytes(content)
    storage.failures = [("PUT", 503, "SlowDown"), ("PUT", 500, "InternalError")]
    await bucket.save(tmp_path / "large", "a/large é.jsonl", {"content-type": "application/jsonl"})
    assert storage.objects["a/large é.jsonl"].body == content
    assert storage.objects["a/large é.jsonl"].headers == {"Content-Type": "application/jsonl"}
    assert storage.uploads == {}
    await bucket.load("a/large é.jsonl", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == content


@pytest.mark.parametrize(
    "failure, error",
    [
        (("PUT", 507, "InsufficientStorage"), StorageFull),
        (("PUT", 403, "QuotaExceeded"), StorageFull),
        (("PUT", 403, "AccessDenied"), Unavailable),
        (("POST", 403, "AccessDenied"), Unavailable),
    ],
)
async def test_a_file_that_can_not_be_stored_leaves_nothing(
    storage: S3Server, bucket: Bucket, tmp_path: Path, failure: tuple[str, int, str], error: type[Exception]
):
    (tmp_path / "large").write_bytes(b"x" * (s3.PART_BYTES + 1))
    storage.failures = [failure]
    with pytest.raises(error):
        await bucket.save(tmp_path / "large", "large", {})
    assert (storage.objects, storage.uploads) == ({}, {})


async def test_a_storage_that_does_not_answer_is_unavailable(tmp_path: Path):
    nowhere = Bucket("http://127.0.0.1:1", BUCKET, EXAMPLE)
    for call in (nowhere.size("a"), nowhere.load("a", tmp_path / "a"), nowhere.delete(["a"])):
        with pytest.raises(Unavailable):
            await call


async def test_old_objects_and_abandoned_uploads_are_found(storage: S3Server, bucket: Bucket):
    old = datetime.now(UTC) - timedelta(days=2)
    storage.objects = {f"s/{n}": StoredObject(b"", at=old) for n in range(5)} | {
        "s/new": StoredObject(b""),
        "other": StoredObject(b"", at=old),
    }
    new = datetime.now(UTC)
    uploads = [("s/1", new), ("s/1", old), ("s/2", new), ("s/2", new), ("s/3", old), ("s/4", old), ("other", old)]
    storage.uploads = {f"u{n}": (key, at, {}, {}) for n, (key, at) in enumerate(uploads)}
    keys = await bucket.keys_before("s/", datetime.now(UTC) - timedelta(days=1))
    assert sorted(keys) == [f"s/{n}" for n in range(5)]
    assert list(storage.uploads) == ["u0", "u2", "u3", "u6"]


# --- Operations -------------------------------------------------------------------------------------------------------


async def test_a_result_is_loaded_from_the_storage_by_its_link(bulk: Bulk, storage: S3Server, admin: Client):
    for _ in range(5):
        await add_product(admin.store)
    created = await bulk.create(admin, QUERY)
    await bulk.work()
    operation = await bulk.show(admin, created["id"])
    url = operation["result"]["url"]
    assert url.startswith(f"{storage.url}/{BUCKET}/{admin.store.public_id}/{created['id']}.jsonl?")
    status, whole, headers = await http("GET", url)
    assert (status, len(whole), len(whole.splitlines())) == (200, operation["file_size"], 5)
    assert headers["Content-Type"] == "application/jsonl"
    assert headers["Content-Disposition"] == f'attachment; filename="{created["id"]}.jsonl"'
    status, part, headers = await http("GET", url, Range="bytes=10-19")
    assert (status, part, headers["Content-Range"]) == (206, whole[10:20], f"bytes 10-19/{len(whole)}")
    assert local_files(bulk) == []


async def test_a_link_to_the_storage_ends_and_is_for_one_file_and_action(bulk: Bulk, storage: S3Server, admin: Client):
    scope = system_scope(admin.store)
    storage.objects = {f"{admin.store.public_id}/{name}.jsonl": StoredObject(b"x") for name in "ab"}
    url = signed_link(scope, DOWNLOAD, "a").url
    assert (await http("GET", url))[0] == 200
    assert (await http("GET", url.replace("/a.jsonl", "/b.jsonl")))[0] == 403
    assert (await http("PUT", url, b"y"))[0] == 403
    late = signed_link(replace(scope, now=scope.now - timedelta(minutes=61)), DOWNLOAD, "a").url
    assert (await http("GET", late))[0] == 403


async def test_a_mutation_executes_the_file_as_it_was_when_it_was_created(bulk: Bulk, storage: S3Server, admin: Client):
    product = await add_product(admin.store)
    upload = await graphql_result(admin, UPLOAD)
    assert (await http("PUT", upload["url"], encode([{"id": product.id, "stock": 7}])))[0] == 200
    created = await graphql_result(admin, CREATE_MUTATION, text=SET_STOCK, upload=upload["id"], all=False)
    assert (await http("PUT", upload["url"], encode([{"id": product.id, "stock": 99}])))[0] == 200
    await bulk.work()
    operation = await bulk.show(admin, created["id"])
    assert operation["state"] == "completed", operation
    results = [json.loads(line) for line in (await http("GET", operation["result"]["url"]))[1].splitlines()]
    assert results == [{"line": 1, "data": {"product_update": {"id": product.id, "stock": 7}}}]
    # The uploads are deleted, the result is all that is left.
    assert list(storage.objects) == [f"{admin.store.public_id}/{created['id']}.jsonl"]
    assert local_files(bulk) == []


async def test_lines_are_undone_when_the_result_of_all_or_nothing_can_not_be_stored(
    bulk: Bulk, storage: S3Server, admin: Client
):
    product = await add_product(admin.store, on_hand=1)
    upload = await graphql_result(admin, UPLOAD)
    await http("PUT", upload["url"], encode([{"id": product.id, "stock": 7}]))
    created = await graphql_result(admin, CREATE_MUTATION, text=SET_STOCK, upload=upload["id"], all=True)
    storage.failures = [("PUT", 507, "InsufficientStorage")]
    await bulk.work()
    operation = await bulk.show(admin, created["id"])
    assert (operation["state"], operation["error_code"]) == ("failed", "STORAGE_FULL")
    assert [row["stock"] for row in await rows(admin.store, "select stock from products")] == [1]
    assert local_files(bulk) == []


async def test_uploads_that_are_missing_too_large_or_anothers_are_refused(
    bulk: Bulk, storage: S3Server, admin: Client, other_admin: Client
):
    async def refusal(client: Client, upload: str) -> dict[str, Any]:
        return (await graphql_error(client, CREATE_MUTATION, text=SET_STOCK, upload=upload, all=False))["extensions"]

    upload = await graphql_result(admin, UPLOAD)
    assert (await refusal(admin, upload["id"]))["field"] == "upload"
    await http("PUT", upload["url"], b"x" * 1_001)
    assert (await refusal(admin, upload["id"]))["code"] == "TOO_LARGE"
    await http("PUT", upload["url"], b"{}")
    assert (await refusal(other_admin, upload["id"]))["field"] == "upload"
    storage.failures = [("HEAD", 403, "")]
    assert (await refusal(admin, upload["id"]))["code"] == "UNAVAILABLE"
    assert len(storage.objects) == 1


@pytest.mark.parametrize(
    "failure, code", [((507, "InsufficientStorage"), "STORAGE_FULL"), ((403, "AccessDenied"), None)]
)
async def test_an_operation_without_storage_fails_or_waits(
    bulk: Bulk, storage: S3Server, admin: Client, failure: tuple[int, str], code: str | None
):
    await add_product(admin.store)
    created = await bulk.create(admin, QUERY)
    storage.failures = [("PUT", *failure)]
    await bulk.work()
    operation = await bulk.show(admin, created["id"])
    # What may succeed later is left to the next attempt.
    assert (operation["state"], operation["error_code"]) == (("failed", code) if code else ("running", ""))
    assert (operation["result"], storage.objects, local_files(bulk)) == (None, {}, [])


async def test_expired_results_and_unused_uploads_are_deleted(bulk: Bulk, storage: S3Server, admin: Client):
    created = await bulk.create(admin, QUERY)
    await bulk.work()
    await http("PUT", (await graphql_result(admin, UPLOAD))["url"], b"{}")
    scope = system_scope(admin.store)
    for stored in storage.objects.values():
        stored.at -= timedelta(days=2)
    with active_scope(scope):
        await operations.delete_expired(scope)
        assert list(storage.objects) == [f"{admin.store.public_id}/{created['id']}.jsonl"]
        await operations.delete_expired(replace(scope, now=datetime.now(UTC) + timedelta(days=8)))
    assert storage.objects == {}


# --- Checks -----------------------------------------------------------------------------------------------------------


async def test_the_deployment_is_checked_with_one_line(storage: S3Server):
    environment = {
        "VITRINE_BULK_S3_ENDPOINT": storage.url,
        "VITRINE_BULK_S3_BUCKET": BUCKET,
        "VITRINE_BULK_S3_REGION": REGION,
        "VITRINE_BULK_S3_ACCESS_KEY": ACCESS_KEY,
        "VITRINE_BULK_S3_SECRET_KEY": SECRET_KEY,
    }
    for change, level, text in (
        ({}, "ok", f"in the bucket files at {storage.url}"),
        ({"VITRINE_BULK_S3_SECRET_KEY": "wrong"}, "FAIL", "can't be used: 403 SignatureDoesNotMatch"),
        ({"VITRINE_BULK_S3_BUCKET": "none"}, "FAIL", "can't be used: 404 NoSuchBucket"),
        ({"VITRINE_BULK_S3_ENDPOINT": "http://127.0.0.1:1"}, "FAIL", "can't be used: Cannot connect"),
    ):
        result = await check_bulk_storage(Settings.from_environment(environment | change))
        assert (result.level.value.lower(), text in result.text) == (level.lower(), True), result
    assert storage.objects == {}
