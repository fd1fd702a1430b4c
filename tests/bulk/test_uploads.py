"""Uploads of bulk mutations: their links, limits, and how long they are kept (docs/reference/bulk.md#bulk-mutations)."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from domain.bulk import uploads
from domain.bulk.configuration import BulkConfiguration, configure
from domain.jobs import delete_expired_data
from tests.bulk.conftest import CREATE_MUTATION, UPLOAD, Bulk
from tests.bulk.test_bulk_mutations import CREATE, product
from tests.harness.clients import NewApp
from tests.harness.http import Client
from tests.harness.oauth import graphql_error, graphql_result
from tests.harness.scopes import system_scope


async def test_a_file_is_uploaded_once(bulk: Bulk, admin: Client, visitor: Client):
    upload = await graphql_result(admin, UPLOAD)
    assert (await visitor.put(upload["url"], data=b"{}\n")).status == 201
    again = await visitor.put(upload["url"], data=b"[]\n")
    assert (again.status, again.body["error"]) == (409, "uploaded")
    assert [path.read_bytes() for path in bulk.folder.rglob("*.upload*")] == [b"{}\n"]


async def test_a_file_over_the_limit_is_refused(bulk: Bulk, admin: Client, visitor: Client):
    configure(BulkConfiguration(bulk.folder / "bulk", upload_bytes=100))
    upload = await graphql_result(admin, UPLOAD)
    assert upload["max_bytes"] == 100

    async def chunks() -> Any:
        for _ in range(20):
            yield b"x" * 10

    for data in (b"x" * 101, chunks()):
        response = await visitor.put(upload["url"], data=data)
        assert (response.status, response.body["error"]) == (413, "the file is larger than 100 bytes"), data
    assert not list(bulk.folder.rglob("*.upload*"))
    assert (await visitor.put(upload["url"], data=b"x" * 100)).status == 201


async def test_an_upload_needs_its_link(bulk: Bulk, admin: Client, visitor: Client):
    url = (await graphql_result(admin, UPLOAD))["url"]
    for changed, status in (
        (url.partition("?")[0], 403),
        (url.replace("signature=", "signature=0"), 403),
        (url.replace("expires=", "expires=1"), 403),
        (url.replace(".jsonl", "0.jsonl"), 404),
    ):
        assert (await visitor.put(changed, data=b"{}")).status == status
    assert (await visitor.get(url)).status == 403
    encoded = await visitor.put(url, data=b"{}", headers={"Content-Encoding": "gzip"})
    assert (encoded.status, encoded.headers["Accept-Encoding"]) == (415, "identity")
    assert not list(bulk.folder.rglob("*.upload*"))


async def test_an_upload_that_can_not_be_stored_is_503(bulk: Bulk, admin: Client, visitor: Client):
    url = (await graphql_result(admin, UPLOAD))["url"]
    (bulk.folder / "bulk").mkdir()
    (bulk.folder / "bulk" / str(admin.store.public_id)).write_text("a file where the folder would be")
    response = await visitor.put(url, data=b"{}")
    assert (response.status, response.body["error"]) == (503, "files can't be stored at the moment")


async def test_uploads_that_nothing_used_are_deleted_after_a_day(bulk: Bulk, admin: Client):
    await bulk.upload(admin, b"{}")
    [path] = bulk.folder.rglob("*.upload")
    await delete_expired_data(system_scope(admin.store))
    assert path.exists()
    os.utime(path, times=(time.time() - 90_000,) * 2)
    await delete_expired_data(system_scope(admin.store))
    assert not path.exists()


async def test_the_file_of_a_mutation_that_has_not_ended_is_kept(bulk: Bulk, admin: Client):
    created = await bulk.create_mutation(admin, CREATE, [product(1)])
    [used] = bulk.folder.rglob("*.used.upload")
    loaded = bulk.folder / "bulk" / str(admin.store.public_id) / used.name.replace(".used.upload", ".upload.x.part")
    loaded.parent.mkdir(parents=True, exist_ok=True)
    loaded.touch()
    for path in (*bulk.folder.rglob("*.upload"), loaded):
        os.utime(path, (time.time() - 90_000,) * 2)
    await delete_expired_data(system_scope(admin.store))
    assert loaded.exists()
    await bulk.work()
    assert (await bulk.show(admin, created["id"]))["state"] == "completed"
    await delete_expired_data(system_scope(admin.store))
    assert not list(bulk.folder.rglob("*.upload*"))


async def test_a_file_that_has_arrived_meanwhile_does_not_count_twice(
    bulk: Bulk, admin: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(uploads, "_arriving", lambda _: [Path("/gone.upload.part")])
    await graphql_result(admin, UPLOAD)


async def test_a_mutation_whose_file_is_gone_fails(bulk: Bulk, admin: Client):
    created = await bulk.create_mutation(admin, CREATE, [product(1)])
    for path in bulk.folder.rglob("*.upload"):
        path.unlink()
    await bulk.work()
    operation = await bulk.show(admin, created["id"])
    assert (operation["state"], operation["error_message"]) == ("failed", "upload not found")


async def test_a_caller_has_two_unused_uploads_at_most(bulk: Bulk, admin: Client, visitor: Client, new_app: NewApp):
    first, second = [await graphql_result(admin, UPLOAD) for _ in range(2)]
    assert (await visitor.put(first["url"], data=b"{}\n")).status == 201
    refused = await graphql_error(admin, UPLOAD)
    assert refused["extensions"]["details"]["reason"] == "too_many_uploads", refused
    await graphql_result(await new_app(), UPLOAD)
    text = "mutation ($id: ID!) { product_delete(id: $id) { id } }"
    await graphql_result(admin, CREATE_MUTATION, text=text, upload=first["id"], all=False)
    await graphql_result(admin, UPLOAD)  # in place of the used one
    assert (await visitor.put(second["url"], data=b"{}\n")).status == 201


async def test_a_link_that_expired_without_a_file_is_no_unused_upload(bulk: Bulk, admin: Client):
    for _ in range(2):
        await graphql_result(admin, UPLOAD)
    for path in bulk.folder.rglob("*.pending"):
        os.utime(path, (time.time() - 3_700,) * 2)
    await graphql_result(admin, UPLOAD)


async def test_the_uploads_of_a_store_have_a_budget(bulk: Bulk, admin: Client, visitor: Client, new_app: NewApp):
    configure(BulkConfiguration(bulk.folder / "bulk", store_upload_bytes=10))
    first, second = [await graphql_result(admin, UPLOAD) for _ in range(2)]
    assert (await visitor.put(first["url"], data=b"x" * 6)).status == 201
    refused = await visitor.put(second["url"], data=b"x" * 5)
    assert (refused.status, refused.body["error"]) == (409, "upload_space_used")
    assert (await visitor.put(second["url"], data=b"x" * 4)).status == 201
    error = await graphql_error(await new_app(), UPLOAD)
    assert error["extensions"]["details"]["reason"] == "upload_space_used", error


async def test_an_upload_needs_the_right_to_a_mutation(bulk: Bulk, new_app: NewApp):
    error = await graphql_error(await new_app("read_orders"), UPLOAD)
    assert error["extensions"]["code"] == "FORBIDDEN", error
