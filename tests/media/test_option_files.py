"""Files of shoppers for options of type `F` (docs/reference/shared.md#files-of-shoppers)."""

from __future__ import annotations

import asyncio
import hashlib
import zipfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from yarl import URL

from domain.carts import files
from domain.media import uploads
from domain.media.option_files import delete_unused_option_files, option_file_key
from domain.media.orphans import compare, delete_orphans
from domain.storage import Storage
from domain.store_files import delete_store_files
from kernel.ids import uuid7
from kernel.received_files import file_of_bytes
from kernel.scope import active_scope
from server.operations.archives import ArchiveError
from server.operations.media_contents import StoredContent, read_contents, write_contents
from tests.harness.forms import Part, form, operation
from tests.harness.http import Client, Response
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import ADDRESS, StorefrontClient
from tests.media.pictures import encoded
from tests.media.test_images import graphql

NEW = "mutation($input: OptionInput!) { option_create(input: $input) { id allowed_extensions max_file_size } }"
UPLOAD = """mutation($cart: ID!, $option: ID!, $file: Upload!) {
    cart_file_upload(id: $cart, option_id: $option, file: $file) { id file_name mime_type bytes url } }"""
FILE = "file { id file_name mime_type bytes url }"
CART = f"query($id: ID!) {{ cart(id: $id) {{ items {{ option_values options {{ name value {FILE} }} }} }} }}"
ORDER = f"query($id: ID!) {{ order(id: $id) {{ items {{ options {{ name value {FILE} }} }} }} }}"
PLACED = f"""query($id: ID!, $token: String) {{ placed_order(id: $id, token: $token) {{
    items {{ options {{ name value {FILE} }} }} }} }}"""


@pytest.fixture(autouse=True)
def files_are_removed(media_folder: Storage, tmp_path: Path) -> Any:
    """Check that no request leaves a part of its body behind."""
    yield
    assert [path for path in (tmp_path / "parts").rglob("*") if path.is_file()] == []


async def new_option(sample: SampleStore, **fields: Any) -> str:
    """Add an option of type `F` to the mug."""
    input = {"name": "Foto", "type": "F", "product_id": sample.mug.id, "position": 3, **fields}
    option: str = (await graphql(sample, NEW, input=input))["option_create"]["id"]
    return option


@pytest.fixture
async def photo(sample: SampleStore) -> str:
    return await new_option(sample)


async def send(
    storefront: StorefrontClient, cart: str, option: str | None, content: bytes, name: str = "gato.png", **headers: str
) -> Response:
    parts = [Part("file", content, name, "image/png"), *([Part("option_id", option)] if option else [])]
    body, own = form(parts)
    return await storefront.post(f"carts/{cart}/files", data=body, headers={**own, **headers})


async def uploaded(storefront: StorefrontClient, cart: str, option: str, content: bytes | None = None) -> str:
    answer = await send(storefront, cart, option, content or encoded(".png"))
    assert answer.status == 201, answer.raw
    file: str = answer.body["id"]
    return file


async def add(storefront: StorefrontClient, cart: str, options: dict[str, str], quantity: int = 1) -> Response:
    item = {"product_id": storefront.sample.mug.id, "quantity": quantity, "options": options}
    return await storefront.post(f"carts/{cart}/items", item)


async def load(sample: SampleStore, url: str) -> Response:
    """Load a link without a credential."""
    return await Client(sample.http, sample.store, {"X-Tenant-ID": ""}, sample.ip).get(URL(url).relative())


async def check_out(storefront: StorefrontClient, cart: str) -> dict[str, Any]:
    await storefront.put(f"carts/{cart}/address", ADDRESS)
    await storefront.put(f"carts/{cart}/shipping-option", {"shipping_id": storefront.sample.sedex.id})
    answer = await storefront.check_out(cart)
    assert answer.status == 201, answer.raw
    order: dict[str, Any] = answer.body
    return order


def as_key(storefront: StorefrontClient) -> Client:
    assert storefront.key is not None
    return Client(storefront.sample.http, storefront.sample.store, {"X-API-Key": storefront.key}, storefront.sample.ip)


async def ask(client: Client, query: str, **variables: Any) -> Any:
    answer = await client.post("/graphql", {"query": query, "variables": variables})
    assert "errors" not in answer.body, answer.body
    return answer.body["data"]


async def test_a_guests_file_is_in_the_cart_and_in_the_order(storefront: StorefrontClient, photo: str) -> None:
    sample, content = storefront.sample, encoded(".png")
    cart = await storefront.cart()
    answer = await send(storefront, cart, photo, content)
    record = answer.body
    assert (answer.status, {**record, "id": "", "url": ""}) == (
        201,
        {"id": "", "file_name": "gato.png", "mime_type": "image/png", "bytes": len(content), "url": ""},
    )
    added = await add(storefront, cart, {photo: record["id"]})
    assert added.status == 201, added.raw
    assert added.body["items"][0]["options"] == {photo: record["id"]}
    [item] = (await ask(as_key(storefront), CART, id=cart))["cart"]["items"]
    assert item == {
        "option_values": {photo: record["id"]},
        "options": [{"name": "Foto", "value": "gato.png", "file": record}],
    }
    order = await check_out(storefront, cart)
    expected = [{"options": [{"name": "Foto", "value": "gato.png", "file": record}]}]
    for shown in (
        (await ask(as_key(storefront), PLACED, id=order["id"], token=order["token"]))["placed_order"],
        (await graphql(sample, ORDER, id=order["id"]))["order"],
    ):
        assert shown["items"] == expected, shown
    loaded = await load(sample, record["url"])
    assert (loaded.status, loaded.raw) == (200, content)
    assert {
        name: loaded.headers[name] for name in ("Content-Type", "Content-Disposition", "X-Content-Type-Options")
    } == {
        "Content-Type": "image/png",
        "Content-Disposition": "attachment; filename*=UTF-8''gato.png",
        "X-Content-Type-Options": "nosniff",
    }
    assert loaded.headers["Cache-Control"].startswith("private")
    assert "sandbox" in loaded.headers["Content-Security-Policy"]


async def test_a_graphql_client_uploads_with_a_storefront_key(storefront: StorefrontClient, photo: str) -> None:
    cart = await storefront.cart()
    variables = {"cart": cart, "option": photo, "file": None}
    parts = [*operation(UPLOAD, variables, {"0": ["variables.file"]}), Part("0", b"%PDF-1.7", "arte.pdf", "text/html")]
    body, headers = form(parts)
    answer = await as_key(storefront).post("/graphql", data=body, headers=headers)
    file = answer.body["data"]["cart_file_upload"]
    assert (file["file_name"], file["mime_type"]) == ("arte.pdf", "application/pdf")
    loaded = await load(storefront.sample, file["url"])
    assert (loaded.raw, loaded.headers["Content-Type"]) == (b"%PDF-1.7", "application/octet-stream")


async def test_lines_with_different_files_are_separate(storefront: StorefrontClient, photo: str) -> None:
    cart = await storefront.cart()
    first, second = [await uploaded(storefront, cart, photo) for _ in range(2)]
    for file in (first, second, first):
        answer = await add(storefront, cart, {photo: file})
    assert [(item["quantity"], item["options"]) for item in answer.body["items"]] == [
        (2, {photo: first}),
        (1, {photo: second}),
    ]


async def test_a_text_stays_a_value_of_the_option(storefront: StorefrontClient, photo: str) -> None:
    cart = await storefront.cart()
    assert (await add(storefront, cart, {photo: "foto por e-mail"})).status == 201
    [item] = (await ask(as_key(storefront), CART, id=cart))["cart"]["items"]
    assert item["options"] == [{"name": "Foto", "value": "foto por e-mail", "file": None}]


async def test_only_files_of_the_cart_and_the_option_are_values(storefront: StorefrontClient, photo: str) -> None:
    cart, other = await storefront.cart(), await storefront.cart()
    another = await new_option(storefront.sample, name="Verso")
    for file in (str(uuid7()), await uploaded(storefront, other, photo), await uploaded(storefront, cart, another)):
        refused = await add(storefront, cart, {photo: file})
        assert (refused.status, refused.body["fields"]) == (400, {"options": "not_found"}), file
    new = {"items": [{"product_id": storefront.sample.mug.id, "quantity": 1, "options": {photo: file}}]}
    assert (await storefront.post("carts", new)).status == 400


@pytest.mark.parametrize(
    "content, name, field",
    [
        (b"", "gato.png", {"file": "required"}),
        (b"no image", "gato.png", {"file": "media_invalid"}),
        (encoded(".png")[:60], "gato.png", {"file": "media_invalid"}),
        (b"MZ", "gato.exe", {"file": "type_invalid"}),
        (encoded(".png"), "gato", {"file": "type_invalid"}),
        (b"x" * 2049, "gato.pdf", {"file": "too_large"}),
        (b"x", f"{'x' * 255}.pdf", {"file_name": "file_name_invalid"}),
        (b"x", "a\x00.pdf", {"file_name": "file_name_invalid"}),
    ],
)
async def test_a_file_that_the_option_does_not_take_is_refused(
    storefront: StorefrontClient, content: bytes, name: str, field: dict[str, str]
) -> None:
    option = await new_option(storefront.sample, allowed_extensions="PNG, .pdf,png", max_file_size=2)
    cart = await storefront.cart()
    refused = await send(storefront, cart, option, content, name)
    assert (refused.status, refused.body.get("fields")) == (400, field), refused.raw
    assert (
        await storefront.sample.value(
            "select count(*) from option_files where tenant_id = $1", storefront.sample.store.id
        )
        == 0
    )
    assert (await send(storefront, cart, option, b"x" * 2048, "a.PDF")).status == 201


async def test_limits_of_options_are_checked_and_kept(sample: SampleStore) -> None:
    made = await graphql(sample, NEW, input={"name": "Foto", "type": "F", "allowed_extensions": "PNG, .jpg,png"})
    assert made["option_create"] == {
        "id": made["option_create"]["id"],
        "allowed_extensions": "png,jpg",
        "max_file_size": 0,
    }
    for wrong in ({"allowed_extensions": "p/ng"}, {"max_file_size": -1}, {"max_file_size": 20 * 1024 + 1}):
        answer = await sample.post(
            "/graphql", {"query": NEW, "variables": {"input": {"name": "Foto", "type": "F", **wrong}}}, auth="bearer"
        )
        assert answer.body["errors"][0]["extensions"]["field"] in wrong, wrong


async def test_what_is_no_upload_is_refused(storefront: StorefrontClient, photo: str) -> None:
    cart, content = await storefront.cart(), encoded(".png")
    text = storefront.sample.engraving.id
    for target, option, status in (
        (str(uuid7()), photo, 404),
        ("x", photo, 404),
        (cart, text, 404),
        (cart, "x", 404),
        (cart, None, 400),
    ):
        refused = await send(storefront, target, option, content)
        assert refused.status == status, (target, option, refused.raw)
    assert (await storefront.post(f"carts/{cart}/files", {"option_id": photo})).status == 400
    await add(storefront, cart, {})
    await check_out(storefront, cart)
    for target, status in ((cart, 409), (str(uuid7()), 404)):
        for option in (photo, None):  # without one the form would be refused, if it was received
            assert (await send(storefront, target, option, content)).status == status, (status, option)


async def test_a_cart_has_so_many_files(
    storefront: StorefrontClient, photo: str, media_folder: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_FILES", 1)
    cart, content = await storefront.cart(), encoded(".png")
    await uploaded(storefront, cart, photo, content)
    assert (await send(storefront, cart, photo, content)).status == 409
    monkeypatch.setattr(files, "MAX_FILES", 9)
    monkeypatch.setattr(files, "MAX_BYTES", 2 * len(content) - 1)
    assert (await send(storefront, cart, photo, content)).status == 409
    monkeypatch.setattr(uploads._limits, "store_bytes", 2 * (2 * uploads.MIN_COUNTED - 1))
    monkeypatch.setattr(Storage, "put", None)  # nothing is stored before
    other = await storefront.cart()
    refused = await send(storefront, other, photo, content)
    assert (refused.status, "files in carts take" in refused.raw.decode()) == (409, True)
    assert len([stored async for stored in media_folder.find("files/")]) == 1


async def test_an_address_uploads_so_often(
    storefront: StorefrontClient, photo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PER_ADDRESS", 2)
    answers = [await send(storefront, await storefront.cart(), photo, encoded(".png")) for _ in range(3)]
    assert [answer.status for answer in answers] == [201, 201, 429]


async def test_nothing_is_left_of_an_upload_whose_client_went_away(
    storefront: StorefrontClient, photo: str, media_folder: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    cart, stored = await storefront.cart(), []

    async def go_away(*_: object) -> None:
        stored.extend([each.key async for each in media_folder.find("files/")])
        raise asyncio.CancelledError

    monkeypatch.setattr(files, "_insert", go_away)
    content = encoded(".png")
    with pytest.raises(asyncio.CancelledError):
        await files.upload_file(storefront.sample.scope, cart, photo, file_of_bytes(content, "gato.png", "image/png"))
    assert (len(stored), [each.key async for each in media_folder.find("files/")]) == (1, [])


async def test_a_file_waits_an_hour_for_its_line(
    storefront: StorefrontClient, photo: str, media_folder: Storage
) -> None:
    sample = storefront.sample
    cart, named = await owned(storefront, photo)
    unnamed = await uploaded(storefront, cart, photo)
    keys = {name: option_file_key(sample.store.public_id, UUID(name)) for name in (named, unnamed)}
    for minutes, status, left in ((59, 201, {named, unnamed}), (61, 400, {named, unnamed}), (66, 400, {named})):
        await sample.execute(
            "update option_files set created_at = now() - $2 * interval '1 minute' where tenant_id = $1",
            sample.store.id,
            minutes,
        )
        answer = await add(storefront, cart, {photo: unnamed})
        assert answer.status == status, (minutes, answer.raw)
        if status == 201:
            [line] = [item for item in answer.body["items"] if item["options"] == {photo: unnamed}]
            await storefront.delete(f"carts/{cart}/items/{line['id']}")
        assert await delete_unused(sample, media_folder) == {keys[name] for name in left}, minutes
    assert (await add(storefront, cart, {photo: named})).status == 201


async def test_an_upload_may_be_repeated_with_its_key(storefront: StorefrontClient, photo: str) -> None:
    cart, content = await storefront.cart(), encoded(".png")
    first, second = [await send(storefront, cart, photo, content, **{"Idempotency-Key": "a" * 16}) for _ in range(2)]
    assert (first.status, second.status, second.body) == (201, 201, first.body)


async def test_a_link_is_for_one_file_and_a_time(
    storefront: StorefrontClient, photo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cart = await storefront.cart()
    url = URL((await send(storefront, cart, photo, encoded(".png"))).body["url"])
    other = await uploaded(storefront, cart, photo)
    expires = int(url.query["expires"])
    for wrong, status in (
        (url.with_path(f"{url.path.rpartition('/')[0]}/{other}"), 403),
        (url % {"expires": expires + 3_600}, 403),
        (url % {"signature": "é"}, 403),
        (url.with_query({}), 403),
        (url.with_path(f"{url.path.rpartition('/')[0]}/x"), 404),
    ):
        assert (await load(storefront.sample, str(wrong))).status == status, wrong
    moment = storefront.sample.scope.now + timedelta(hours=2, seconds=1)
    monkeypatch.setattr("server.http.option_files.now", lambda: moment)
    assert (await load(storefront.sample, str(url))).status == 403


async def test_a_file_is_deleted_after_its_cart_unless_an_order_has_it(
    storefront: StorefrontClient, photo: str, media_folder: Storage
) -> None:
    sample = storefront.sample
    cart, abandoned = await storefront.cart(), await storefront.cart()
    ordered = await uploaded(storefront, cart, photo)
    unused, left = await uploaded(storefront, cart, photo), await uploaded(storefront, abandoned, photo)
    await add(storefront, cart, {photo: ordered})
    await check_out(storefront, cart)

    keys = {name: option_file_key(sample.store.public_id, UUID(name)) for name in (ordered, unused, left)}
    assert await delete_unused(sample, media_folder) == {keys[ordered], keys[left]}
    await sample.execute("delete from carts where tenant_id = $1", sample.store.id)
    assert await delete_unused(sample, media_folder) == {keys[ordered]}
    assert await sample.value("select count(*) from option_files where tenant_id = $1", sample.store.id) == 1


async def test_files_take_one_statement_more(storefront: StorefrontClient, photo: str) -> None:
    counts = {}
    for number in (0, 0, 1, 5):  # the first checkout fills caches
        cart = await storefront.cart()
        chosen = [{photo: await uploaded(storefront, cart, photo)} for _ in range(number)] or [{photo: "texto"}]
        lines = [{"product_id": storefront.sample.mug.id, "quantity": 1, "options": each} for each in chosen]
        query = "mutation($id: ID!, $items: [CartItemInput!]!) { cart_items_add(id: $id, items: $items) { id } }"
        answer = await as_key(storefront).post("/graphql", {"query": query, "variables": {"id": cart, "items": lines}})
        assert "errors" not in answer.body, (number, answer.body)
        await storefront.put(f"carts/{cart}/address", ADDRESS)
        await storefront.put(f"carts/{cart}/shipping-option", {"shipping_id": storefront.sample.sedex.id})
        counts[number] = (answer.statements, (await storefront.check_out(cart)).statements)
    assert counts[5] == counts[1]
    assert [more - less for more, less in zip(counts[1], counts[0], strict=True)] == [1, 1]


async def test_contents_are_not_in_the_public_folder_and_move_and_go_with_their_store(
    storefront: StorefrontClient, photo: str, media_folder: Storage, tmp_path: Path
) -> None:
    sample, content = storefront.sample, encoded(".png")
    _, file = await owned(storefront, photo, content)
    key, orphan = [option_file_key(sample.store.public_id, each) for each in (file, uuid7())]
    await media_folder.put(orphan, b"left")
    assert [stored.key async for stored in media_folder.find("media/")] == []
    with active_scope(replace(sample.scope, now=sample.scope.now + timedelta(days=2))) as later:
        compared = await compare(later, media_folder)
        assert (compared.missing, compared.orphans) == ([], [orphan])
        assert await delete_orphans(later, media_folder, compared.orphans) == 1
    stored = StoredContent(key, "image/png", "gato.png", len(content), hashlib.sha256(content).hexdigest())
    with zipfile.ZipFile(tmp_path / "archive", "w") as archive:
        await write_contents(archive, [stored])
    assert await delete_store_files(sample.store.public_id) == [file]
    with zipfile.ZipFile(tmp_path / "archive") as archive:
        with pytest.raises(ArchiveError, match="a file of another store"):
            await read_contents(archive, uuid7())
        assert (await read_contents(archive, sample.store.public_id)).files == 1
    assert await media_folder.read(key) == content


async def owned(storefront: StorefrontClient, photo: str, content: bytes | None = None) -> tuple[str, str]:
    """Return a new cart with a line, and the file of it."""
    cart = await storefront.cart()
    file = await uploaded(storefront, cart, photo, content)
    assert (await add(storefront, cart, {photo: file})).status == 201
    return cart, file


async def delete_unused(sample: SampleStore, folder: Storage) -> set[str]:
    """Run the job; return the keys that are left."""
    with active_scope(sample.scope):
        await delete_unused_option_files(sample.scope, limit=100)
    return {stored.key async for stored in folder.find("files/")}


async def test_a_file_follows_its_lines_into_the_customers_cart(
    storefront: StorefrontClient, photo: str, media_folder: Storage
) -> None:
    sample = storefront.sample
    guest, file = await owned(storefront, photo)
    customer = await sample.client(sample.bia)
    into = (await ask(customer, "mutation { cart_create { id } }"))["cart_create"]["id"]
    merge = "mutation($guest: ID!, $id: ID) { cart_merge(guest_cart: $guest, id: $id) { items { option_values } } }"
    merged = (await ask(customer, merge, guest=guest, id=into))["cart_merge"]
    assert merged["items"] == [{"option_values": {photo: file}}]
    keys = await delete_unused(sample, media_folder)
    assert keys == {option_file_key(sample.store.public_id, UUID(file))}
    update = """mutation($id: ID!, $item: ID!, $options: JSON!) {
        cart_items_update(id: $id, items: [{id: $item, options: $options, quantity: 2}]) { items { quantity option_values } } }"""
    item = (await ask(customer, "query($id: ID!) { cart(id: $id) { items { id } } }", id=into))["cart"]["items"][0][
        "id"
    ]
    changed = (await ask(customer, update, id=into, item=item, options={photo: file}))["cart_items_update"]
    assert changed["items"] == [{"quantity": 2, "option_values": {photo: file}}]


async def test_an_order_is_placed_again_with_its_file(
    storefront: StorefrontClient, photo: str, media_folder: Storage
) -> None:
    sample = storefront.sample
    cart, file = await owned(storefront, photo)
    first = await check_out(storefront, cart)
    again = (
        "mutation($id: ID!, $token: String) { order_reorder(id: $id, token: $token) { id items { option_values } } }"
    )
    carts = [
        (await ask(as_key(storefront), again, id=first["id"], token=first["token"]))["order_reorder"] for _ in range(2)
    ]
    assert [each["items"] for each in carts] == [[{"option_values": {photo: file}}]] * 2
    merge = "mutation($guest: ID!, $id: ID) { cart_merge(guest_cart: $guest, id: $id) { id items { quantity } } }"
    merged = (await ask(as_key(storefront), merge, guest=carts[0]["id"], id=carts[1]["id"]))["cart_merge"]
    assert merged["items"] == [{"quantity": 2}]
    second = await check_out(storefront, merged["id"])
    with active_scope(sample.scope):
        await sample.execute(
            "update option_files set order_id = null, cart_id = null where order_id = $1", first["number"]
        )
    assert len(await delete_unused(sample, media_folder)) == 1
    [item] = (await graphql(sample, ORDER, id=second["id"]))["order"]["items"]
    assert (await load(sample, item["options"][0]["file"]["url"])).status == 200


async def test_lines_of_an_order_that_are_sent_back_keep_their_files(storefront: StorefrontClient, photo: str) -> None:
    sample = storefront.sample
    cart = await storefront.cart()
    files = [await uploaded(storefront, cart, photo) for _ in range(2)]
    for file in files:
        await add(storefront, cart, {photo: file})
    order = await check_out(storefront, cart)
    edit = """mutation($id: ID!, $items: [OrderItemInput!]!) { order_update(id: $id, input: {items: $items}) {
        items { id quantity options { value file { id } } } } }"""
    shown = "query($id: ID!) { order(id: $id) { items { id options { value file { id } } } } }"
    before = (await graphql(sample, shown, id=order["id"]))["order"]["items"]
    for values in (files, ["gato.png", "gato.png"]):
        lines = [{"product_id": sample.mug.id, "quantity": 3, "options": {photo: value}} for value in values]
        after = (await graphql(sample, edit, id=order["id"], items=lines))["order_update"]["items"]
        assert [(line["id"], line["options"]) for line in after] == [
            (line["id"], line["options"]) for line in before
        ], values
    another = [{"product_id": sample.mug.id, "quantity": 3, "options": {photo: "outra.png"}}]
    [line] = (await graphql(sample, edit, id=order["id"], items=another))["order_update"]["items"]
    assert line["options"] == [{"value": "outra.png", "file": None}]


async def test_programs_of_cs_cart_see_custom_files(storefront: StorefrontClient, photo: str) -> None:
    sample, content = storefront.sample, encoded(".png")
    cart, _ = await owned(storefront, photo, content)
    order = await check_out(storefront, cart)
    path = f"/api/orders/{order['number']}"
    [line] = (await sample.get(path)).body["products"].values()
    number = await sample.value("select id::text from options where tenant_id = $1 and name = 'Foto'", sample.store.id)
    [file] = line["extra"]["custom_files"][number]
    assert {**file, "url": ""} == {"name": "gato.png", "type": "image/png", "size": str(len(content)), "url": ""}
    assert (await load(sample, file["url"])).raw == content
    assert line["extra"]["product_options"] == {number: "gato.png"}
    sent = {"products": {"1": {**line, "amount": "2"}}}
    assert (await sample.put(path, sent)).status == 200
    [changed] = (await sample.get(path)).body["products"].values()
    assert (changed["amount"], changed["item_id"], changed["extra"]) == ("2", line["item_id"], line["extra"])
    stored = await sample.value("select extra::text from order_lines where tenant_id = $1", sample.store.id)
    assert "signature" not in stored
