"""Shoppers' files by a signed address, their deletion, and links at the store's own host."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from yarl import URL

from domain.hosts import add_host, find_hosts, update_host
from domain.media.addresses import base_url, store_url
from domain.media.option_files import delete_unused_option_files, option_file_key, option_upload_key
from domain.media.orphans import compare
from domain.storage import Storage
from kernel.scope import Store, active_scope
from tests.harness.http import Client, Response
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import StorefrontClient
from tests.media.pictures import encoded
from tests.media.test_option_files import add, as_key, ask, check_out, load, new_option, uploaded

CREATE = """mutation($cart: ID!, $option: ID!, $input: MediaUploadInput!) {
    cart_file_upload_create(id: $cart, option_id: $option, input: $input) { file_id url method headers expires_at } }"""
COMPLETE = """mutation($cart: ID!, $file: ID!) {
    cart_file_upload_complete(id: $cart, file_id: $file) { id file_name mime_type bytes url } }"""
DELETE = "mutation($cart: ID!, $file: ID!) { cart_file_delete(id: $cart, file_id: $file) { id } }"


@pytest.fixture(autouse=True)
def files_are_removed(media_folder: Storage, tmp_path: Path) -> Any:
    """Check that no request leaves a part of its body behind."""
    yield
    assert [path for path in (tmp_path / "parts").rglob("*") if path.is_file()] == []


@pytest.fixture
async def photo(sample: SampleStore) -> str:
    return await new_option(sample, allowed_extensions="png,txt", max_file_size=64)


async def begin(storefront: StorefrontClient, cart: str, option: str, **fields: Any) -> Response:
    body = {"option_id": option, "file_name": "gato.png", "mime_type": "image/png", "bytes": 1_000, **fields}
    return await storefront.post(f"carts/{cart}/file-uploads", body)


async def put(sample: SampleStore, url: str, content: bytes) -> Response:
    """Send a content to an address, without a credential."""
    client = Client(sample.http, sample.store, {"X-Tenant-ID": ""}, sample.ip)
    return await client.put(URL(url).relative(), data=content, headers={"Content-Type": "image/png"})


async def test_a_file_is_uploaded_to_an_address_and_named_by_a_line(storefront: StorefrontClient, photo: str) -> None:
    sample, content = storefront.sample, encoded(".png")
    cart = await storefront.cart()
    begun = await begin(storefront, cart, photo, bytes=len(content))
    assert (begun.status, begun.body["method"]) == (201, "PUT"), begun.raw
    file = begun.body["file_id"]
    path = f"carts/{cart}/file-uploads/{file}"
    early = await storefront.post(path)
    assert (early.status, early.body["error"]) == (422, "upload_missing"), early.raw
    refused = await add(storefront, cart, {photo: file})
    assert refused.status == 400, "it is no value before it is complete"
    assert (await put(sample, begun.body["url"], content)).status == 201
    done = await storefront.post(path)
    assert (done.status, {**done.body, "url": ""}) == (
        200,
        {"id": file, "file_name": "gato.png", "mime_type": "image/png", "bytes": len(content), "url": ""},
    )
    assert (await storefront.post(path)).body == done.body, "completed again"
    assert (await put(sample, begun.body["url"], content)).status == 404, "it is complete"
    assert (await add(storefront, cart, {photo: file})).status == 201
    order = await check_out(storefront, cart)
    assert order["id"]
    assert (await load(sample, done.body["url"])).raw == content


async def test_graphql_has_the_same_upload(storefront: StorefrontClient, photo: str) -> None:
    content, client, cart = encoded(".png"), as_key(storefront), await storefront.cart()
    input = {"file_name": "gato.png", "mime_type": "image/png", "bytes": len(content)}
    begun = (await ask(client, CREATE, cart=cart, option=photo, input=input))["cart_file_upload_create"]
    assert (await put(storefront.sample, begun["url"], content)).status == 201
    done = await ask(client, COMPLETE, cart=cart, file=begun["file_id"])
    assert done["cart_file_upload_complete"]["bytes"] == len(content)
    assert await ask(client, DELETE, cart=cart, file=begun["file_id"]) == {"cart_file_delete": {"id": begun["file_id"]}}


@pytest.mark.parametrize(
    "fields, code",
    [
        ({"file_name": "a.exe"}, {"file": "type_invalid"}),
        ({"bytes": 64 * 1024 + 1}, {"file": "too_large"}),
        ({"bytes": 0}, {"bytes": "bytes_invalid"}),
        ({"mime_type": "x"}, {"mime_type": "mime_type_invalid"}),
        ({"file_name": ""}, {"file_name": "required"}),
    ],
)
async def test_what_the_option_does_not_take_is_refused_before_it_is_sent(
    storefront: StorefrontClient, photo: str, fields: dict[str, Any], code: dict[str, str]
) -> None:
    cart = await storefront.cart()
    answer = await begin(storefront, cart, photo, **fields)
    assert (answer.status, answer.body.get("fields")) == (400, code), answer.raw
    assert await storefront.sample.value("select count(*) from option_files") == 0


@pytest.mark.parametrize("bytes", ["many", None, 1.5, [], 2**63])
async def test_a_size_of_another_form_is_refused(storefront: StorefrontClient, photo: str, bytes: object) -> None:
    answer = await begin(storefront, await storefront.cart(), photo, bytes=bytes)
    assert answer.status == 400, answer.raw


async def test_what_arrives_is_checked(storefront: StorefrontClient, photo: str) -> None:
    sample, cart = storefront.sample, await storefront.cart()
    url = URL((begun := (await begin(storefront, cart, photo, bytes=10)).body)["url"])
    assert (await put(sample, str(url.update_query(bytes="20")), b"x" * 20)).status == 403
    assert (await put(sample, str(url), b"x" * 11)).status == 413
    assert (await put(sample, str(url), b"no picture")).status == 201
    done = await storefront.post(f"carts/{cart}/file-uploads/{begun['file_id']}")
    assert (done.status, done.body["fields"]) == (400, {"file": "media_invalid"})
    other = await storefront.cart()
    foreign = await storefront.post(f"carts/{other}/file-uploads/{begun['file_id']}")
    assert foreign.status == 404, "another cart's"
    for path in (f"/files/option-uploads/{sample.store.public_id}/x", f"/files/option-uploads/x/{begun['file_id']}"):
        assert (await put(sample, f"http://x{path}", b"x")).status == 404, path


async def test_what_is_not_completed_is_deleted_and_missed_by_no_comparison(
    storefront: StorefrontClient, photo: str, media_folder: Storage
) -> None:
    sample, cart = storefront.sample, await storefront.cart()
    begun = (await begin(storefront, cart, photo, bytes=10)).body
    assert (await put(sample, begun["url"], b"no picture")).status == 201
    key = option_upload_key(sample.store.public_id, begun["file_id"])
    with active_scope(sample.scope):
        difference = await compare(sample.scope, media_folder)
        assert (difference.missing, difference.orphans) == ([], [])
        assert await media_folder.head(key) is not None
        await sample.execute("update option_files set created_at = created_at - interval '2 hours'")
        assert await delete_unused_option_files(sample.scope, limit=10) == 1
        assert await media_folder.head(key) is None


async def test_a_file_is_deleted_unless_a_line_names_it(
    storefront: StorefrontClient, photo: str, media_folder: Storage
) -> None:
    sample, cart = storefront.sample, await storefront.cart()
    file, kept = [await uploaded(storefront, cart, photo) for _ in range(2)]
    assert (await add(storefront, cart, {photo: kept})).status == 201
    in_use = await storefront.delete(f"carts/{cart}/files/{kept}")
    assert (in_use.status, in_use.body["error"]) == (409, "file_in_use"), in_use.raw
    assert (await storefront.delete(f"carts/{cart}/files/{file}")).status == 204
    assert await media_folder.head(option_file_key(sample.store.public_id, file)) is None
    assert await sample.value("select count(*) from option_files") == 1
    for missing in (file, uuid4(), "x"):
        assert (await storefront.delete(f"carts/{cart}/files/{missing}")).status == 404, missing
    other = await storefront.cart()
    assert (await storefront.delete(f"carts/{other}/files/{kept}")).status == 404, "another cart's"
    await check_out(storefront, cart)
    closed = await storefront.delete(f"carts/{cart}/files/{kept}")
    assert closed.status == 409, closed.raw


async def test_nothing_is_left_of_a_file_that_is_deleted_while_its_upload_is_completed(
    storefront: StorefrontClient, photo: str, media_folder: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, cart = encoded(".png"), await storefront.cart()
    begun = (await begin(storefront, cart, photo, bytes=len(content))).body
    assert (await put(storefront.sample, begun["url"], content)).status == 201
    stored, store = list[str](), media_folder.put

    async def delete_before(key: str, *arguments: Any) -> None:
        assert (await storefront.delete(f"carts/{cart}/files/{begun['file_id']}")).status == 204
        await store(key, *arguments)
        stored.append(key)

    monkeypatch.setattr(media_folder, "put", delete_before)
    assert (await storefront.post(f"carts/{cart}/file-uploads/{begun['file_id']}")).status == 404
    assert [await media_folder.head(key) for key in stored] == [None]


async def test_links_are_at_the_stores_own_host(storefront: StorefrontClient, photo: str) -> None:
    sample, cart, content = storefront.sample, await storefront.cart(), encoded(".png")
    [host] = [each["host"] for each in await find_hosts(sample.scope)]
    begun = (await begin(storefront, cart, photo, bytes=len(content))).body
    assert (await put(sample, begun["url"], content)).status == 201
    done = await storefront.post(f"carts/{cart}/file-uploads/{begun['file_id']}")
    assert URL(done.body["url"]).host == host
    primary = f"loja-{sample.store.id}.example.com"
    await add_host(sample.store.id, primary)
    await update_host(sample.scope, primary, is_primary=True, is_redirected=None)
    shown = (await storefront.post(f"carts/{cart}/file-uploads/{begun['file_id']}")).body["url"]
    assert URL(shown).host == primary
    assert (await load(sample, shown)).raw == content


def test_a_store_without_a_host_has_links_at_the_address_of_the_server() -> None:
    store = Store(1, uuid4(), "x")
    assert store_url(store) == base_url()
    assert URL(store_url(replace(store, host="loja.example.com"))) == URL(base_url()).with_host("loja.example.com")
