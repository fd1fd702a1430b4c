"""The URL of an image is `http` or `https` with a host; a path stays where a record has it (docs/reference/shared.md#text)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.harness.clients import NewApp
from tests.harness.records import Record
from tests.harness.sample_store import SampleStore

PATH, OTHER_PATH = "/images/a.png", "/images/b.png"
REFUSED = (PATH, "a.png", "//x.example/a.png", "/\\x.example/a.png", "http://", "https:///a.png")

# By field of the error: the entity, the record that is updated, and the input.
WRITES: dict[str, tuple[str, str, Callable[[str], dict[str, Any]]]] = {
    "images.url": ("product", "mug", lambda url: {"images": [{"url": url}]}),
    "image.url": ("category", "kitchen", lambda url: {"image": {"url": url}}),
    "variants.image_url": ("option", "size", lambda url: {"variants": [{"name": "Grande", "image_url": url}]}),
    "url": ("attachment", "attachment", lambda url: {"url": url}),
}
NEW: dict[str, dict[str, Any]] = {
    "product": {"name": "Copo", "price_cents": 1},
    "category": {"name": "Copos"},
    "option": {"name": "Tamanho"},
    "attachment": {"filename": "a.pdf"},
}


@pytest.fixture(autouse=True)
async def attachment(sample: SampleStore) -> None:
    """Name the attachment of the sample store."""
    [row] = await sample.rows("select id, public_id from attachments where tenant_id = $1", sample.store.id)
    sample.records["attachment"] = Record(row["id"], str(row["public_id"]))


async def _graphql(sample: SampleStore, text: str, **variables: Any) -> Any:
    """Return the fields of the error, or None."""
    answer = await sample.post("/graphql", {"query": text, "variables": variables}, auth="bearer")
    errors = answer.body.get("errors")
    return errors[0]["extensions"]["details"]["fields"] if errors else None


async def _update(sample: SampleStore, entity: str, record: str, input: Any) -> Any:
    text = f"mutation($id: ID!, $input: {entity.capitalize()}Input!) {{ {entity}_update(id: $id, input: $input) {{ id }} }}"
    return await _graphql(sample, text, id=getattr(sample, record).id, input=input)


async def _create(sample: SampleStore, entity: str, input: Any) -> Any:
    text = f"mutation($input: {entity.capitalize()}Input!) {{ {entity}_create(input: $input) {{ id }} }}"
    return await _graphql(sample, text, input=input)


@pytest.mark.parametrize("field", WRITES)
async def test_an_image_url_without_a_host_is_refused(sample: SampleStore, field: str) -> None:
    entity, record, values = WRITES[field]
    owner = {"product_id": sample.mug.id} if entity in ("option", "attachment") else {}
    for url in REFUSED:
        assert await _update(sample, entity, record, values(url)) == {field: "url_invalid"}, url
        created = await _create(sample, entity, {**NEW[entity], **owner, **values(url)})
        assert created == {field: "url_invalid"}, url
    assert await _update(sample, entity, record, values("http://x.example")) is None


@pytest.mark.combination
async def test_an_image_url_of_a_combination_without_a_host_is_refused(sample: SampleStore) -> None:
    choices = [{"option_id": sample.size.id, "variant_id": sample.small.id}]
    choices.append({"option_id": sample.print.id, "variant_id": sample.plain.id})
    for url in REFUSED:
        image = {"image": {"url": url}}
        assert await _update(sample, "combination", "combination", image) == {"image.url": "url_invalid"}, url
        created = await _create(sample, "combination", {"product_id": sample.mug.id, "choices": choices, **image})
        assert created == {"image.url": "url_invalid"}, url


async def _store_path(sample: SampleStore, field: str) -> None:
    """Store a path as an earlier version did, in place of the images of the product."""
    await sample.execute("delete from product_images where tenant_id = $1", sample.store.id)
    statements = {
        "images.url": (
            "insert into product_images (tenant_id, public_id, product_id, position, url) "
            "values ($1, gen_random_uuid(), $2, 0, $3)",
            sample.mug.number,
        ),
        "variants.image_url": (
            "update option_variants set image_url = $3 where tenant_id = $1 and id = $2",
            sample.large.number,
        ),
        "image.url": ("update categories set image_url = $3 where tenant_id = $1 and id = $2", sample.kitchen.number),
        "url": ("update attachments set url = $3 where tenant_id = $1 and id = $2", sample.attachment.number),
    }
    statement, number = statements[field]
    assert await sample.execute(statement, sample.store.id, number, PATH) == 1


@pytest.mark.parametrize("field", WRITES)
async def test_a_stored_path_is_accepted_back_and_another_is_not(sample: SampleStore, field: str) -> None:
    entity, record, values = WRITES[field]
    await _store_path(sample, field)
    assert await _update(sample, entity, record, values(PATH)) is None
    assert await _update(sample, entity, record, values(OTHER_PATH)) == {field: "url_invalid"}
    assert await _update(sample, entity, record, values("https://x.example/a.png")) is None
    assert await _update(sample, entity, record, values(PATH)) == {field: "url_invalid"}, "the record has it no more"


@pytest.mark.combination
async def test_a_stored_path_of_a_combination_is_accepted_back(sample: SampleStore) -> None:
    statement = "update combinations set image_url = $2 where tenant_id = $1"
    assert await sample.execute(statement, sample.store.id, PATH) == 1
    assert await _update(sample, "combination", "combination", {"image": {"url": PATH, "alt": "A"}}) is None
    other = await _update(sample, "combination", "combination", {"image": {"url": OTHER_PATH}})
    assert other == {"image.url": "url_invalid"}


async def test_a_path_of_another_product_is_refused(sample: SampleStore) -> None:
    await _store_path(sample, "images.url")
    assert await _update(sample, "product", "plate", {"images": [{"url": PATH}]}) == {"images.url": "url_invalid"}


async def test_a_bulk_upsert_refuses_the_rows_with_a_new_path(sample: SampleStore) -> None:
    await _store_path(sample, "images.url")
    text = """mutation($rows: [ProductUpsertInput!]!) {
        product_bulk_upsert(rows: $rows, error_policy: REJECT_FAILED) { error { fields { field code } } } }"""
    rows = [
        {"id": sample.mug.id, "name": "Xícara", "images": [{"url": PATH}]},
        {"id": sample.plate.id, "images": [{"url": PATH}]},
        {"name": "Copo", "price_cents": 1, "images": [{"url": PATH}]},
    ]
    answer = await sample.post("/graphql", {"query": text, "variables": {"rows": rows}}, auth="bearer")
    error = {"error": {"fields": [{"field": "images.url", "code": "url_invalid"}]}}
    assert answer.body["data"]["product_bulk_upsert"] == [{"error": None}, error, error]
    name = "select name from products where tenant_id = $1 and id = $2"
    assert await sample.value(name, sample.store.id, sample.mug.number) == "Xícara"


async def test_the_current_and_the_app_routes_refuse_a_path(sample: SampleStore, new_app: NewApp) -> None:
    admin = await sample.client(sample.owner)
    app = await new_app("write_products", at=admin)
    body = {"name": "Copo", "price_cents": 1, "images": [{"url": PATH}]}
    for client, base in ((admin, "/api/v1/admin/products"), (app, "/api/admin/products")):
        for answer in (await client.post(base, body), await client.put(f"{base}/{sample.mug.id}", body)):
            assert answer.status == 400, base
            assert "url_invalid" in str(answer.body), base


async def test_a_record_with_a_stored_path_can_be_sent_back(sample: SampleStore) -> None:
    await _store_path(sample, "images.url")
    admin = await sample.client(sample.owner)
    route = f"/api/v1/admin/products/{sample.mug.id}"
    record = (await admin.get(route)).body
    assert [image["url"] for image in record["images"]] == [PATH]
    assert (await admin.put(route, record)).body == record
    assert (await admin.patch(route, {"images": [{"url": OTHER_PATH}]})).status == 400


LEGACY_TEXT = "image_path is {!r}; expected an http or https address, or the file as image_data"


async def test_the_legacy_layer_refuses_a_path_that_a_product_does_not_have(sample: SampleStore) -> None:
    address = f"/api/products/{sample.mug}"
    for path in (PATH, "/var/www/a.png", "images/detailed/1/a.jpg"):
        for body in (
            {"main_pair": {"detailed": {"image_path": path}}},
            {"image_pairs": [{"detailed": {"image_path": path}}]},
        ):
            for refused in (
                await sample.put(address, body),
                await sample.post("/api/products", {"product": "Copo", "price": "1", **body}),
            ):
                assert (refused.status, refused.body["message"]) == (400, LEGACY_TEXT.format(path)), body
    await _store_path(sample, "images.url")
    pair = (await sample.get(address)).body["main_pair"]
    assert pair["detailed"]["image_path"] == PATH
    for sent in (pair, {"detailed": {"image_path": PATH, "alt": "Caneca"}}):
        assert (await sample.put(address, {"main_pair": sent})).status == 200, sent
    assert (await sample.get(address)).body["main_pair"]["detailed"]["image_path"] == PATH


@pytest.mark.combination
async def test_the_legacy_layer_refuses_a_path_that_a_variant_or_combination_does_not_have(sample: SampleStore) -> None:
    icon, pair = {"icon": {"image_path": PATH}}, {"detailed": {"image_path": PATH}}
    option = {"variants": [{"variant_name": "Pequena"}, {"variant_name": "Grande", "image_pair": icon}]}
    combination = f"/api/2.0/products/{sample.mug}/options/combinations/{sample.combination.number}"
    writes = (
        (f"/api/options/{sample.size}", option),
        (f"/api/options/{sample.size}", {"main_pair": {sample.large.number: icon}}),
        (combination, {"image_pairs": pair}),
    )
    for address, body in writes:
        refused = await sample.put(address, body)
        assert (refused.status, refused.body["message"]) == (400, LEGACY_TEXT.format(PATH)), body
    await _store_path(sample, "variants.image_url")
    await sample.execute("update combinations set image_url = $2 where tenant_id = $1", sample.store.id, PATH)
    for address, body in writes:
        assert (await sample.put(address, body)).status == 200, body


async def test_the_logo_of_a_store_needs_a_host_except_in_the_legacy_layer(sample: SampleStore) -> None:
    text = "mutation($settings: JSON!) { store_settings_update(settings: $settings) { id } }"
    for url in REFUSED:
        fields = await _graphql(sample, text, settings={"logo_url": url})
        assert fields == {"logo_url": "setting_invalid"}, url
    assert (await sample.put("/api/settings/logo_url", {"value": PATH})).status == 200
    assert await _graphql(sample, text, settings={"logo_url": PATH}) is None, "it is stored"
    assert await _graphql(sample, text, settings={"logo_url": OTHER_PATH}) == {"logo_url": "setting_invalid"}
    assert await _graphql(sample, text, settings={"logo_url": "https://x.example/l.png"}) is None
