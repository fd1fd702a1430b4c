"""Outside the legacy API a record is named by its UUID only; a number names nothing (docs/reference/shared.md#ids)."""

from __future__ import annotations

from typing import Any

import pytest
from graphql import get_named_type, is_object_type

from resolvers import root
from resolvers.engine import compile as query_compiler
from tests.harness.records import UNKNOWN_ID
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import StorefrontClient

pytestmark = pytest.mark.combination

RECORDS = ("product", "order", "user", "category", "vendor", "payment_method", "shipping_method")
ENDED = "mug"


@pytest.fixture(params=[True, False], ids=["compiled", "executor"])
def execution(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_compiler, "_enabled", request.param)


async def execute(sample: SampleStore, text: str, **variables: Any) -> dict[str, Any]:
    response = await sample.post("/graphql", {"query": text, "variables": variables}, auth="bearer")
    body: dict[str, Any] = response.body
    return body


async def numbers(sample: SampleStore) -> dict[str, int]:
    tables = {
        "product": "products",
        "order": "orders",
        "user": "users",
        "category": "categories",
        "vendor": "vendors",
        "payment_method": "payment_methods",
        "shipping_method": "shipping_methods",
    }
    return {name: await sample.value(f"SELECT id FROM {table} LIMIT 1") for name, table in tables.items()}


async def test_a_query_by_number_finds_nothing(sample: SampleStore, execution: None):
    for name, number in (await numbers(sample)).items():
        plural = f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
        for _ in range(2):  # the second time by the cached plan
            literal = await execute(
                sample, f'{{ one: {name}(id: "{number}") {{ id }} two: {name}(id: {number}) {{ id }} }}'
            )
            assert literal["data"] == {"one": None, "two": None}, name
            variable = f"query ($id: ID!) {{ {name}(id: $id) {{ id }} }}"
            for value in (number, str(number)):
                assert (await execute(sample, variable, id=value))["data"] == {name: None}
            listed = (
                f"query ($ids: [ID!], $id: ID!) {{ a: {plural}(filter: {{id: $ids}}) {{ id }}"
                f" b: {plural}(filter: {{id: [$id]}}) {{ id }} }}"
            )
            assert (await execute(sample, listed, ids=[number], id=str(number)))["data"] == {"a": [], "b": []}
            by_filter = (
                f"query ($filter: {name.title().replace('_', '')}Filter) {{ {plural}(filter: $filter) {{ id }} }}"
            )
            assert (await execute(sample, by_filter, filter={"id": [number]}))["data"] == {plural: []}


async def test_a_query_by_uuid_finds_the_record(sample: SampleStore, execution: None):
    for spelled in (sample.mug.id, sample.mug.id.upper()):
        body = await execute(sample, "query ($id: ID!) { product(id: $id) { id } }", id=spelled)
        assert body["data"] == {"product": {"id": sample.mug.id}}, spelled


async def test_every_mutation_by_number_is_like_one_by_an_unknown_uuid(sample: SampleStore):
    """Whatever the rest of the input, a number never names a record: no mutation by one succeeds."""
    schema = root.public_schema()
    assert schema.mutation_type is not None
    ids = await numbers(sample)
    tried = 0
    for name, field in schema.mutation_type.fields.items():
        subject = next((key for key in ids if name.startswith(f"{key}_")), None)
        if subject is None or "id" not in field.args or name == "setting_update":
            continue
        others = ", ".join(
            f"{key}: {_sample(get_named_type(argument.type).name)}"
            for key, argument in field.args.items()
            if key != "id" and str(argument.type).endswith("!")
        )
        selection = " { __typename }" if is_object_type(get_named_type(field.type)) else ""

        async def outcome(value: object) -> list[str]:
            text = f"mutation ($id: ID!) {{ {name}(id: $id{', ' + others if others else ''}){selection} }}"  # noqa: B023
            body = await execute(sample, text, id=value)
            return [error["extensions"]["code"] for error in body.get("errors", [])]

        assert await outcome(ids[subject]) == await outcome(UNKNOWN_ID) != [], name
        tried += 1
    assert tried >= 10


def _sample(type_name: str) -> str:
    return {"OrderStatus": '"P"', "BigInt": "1", "Int": "1", "String": '"x"', "JSON": "{}"}.get(
        type_name, "{}" if type_name.endswith("Input") else "[]"
    )


async def test_a_reference_by_number_is_not_found(sample: SampleStore):
    text = "mutation ($input: ProductInput!) { product_update(id: $id, input: $input) { id } }".replace(
        "($input", "($id: ID!, $input"
    )
    category = await sample.value("SELECT id FROM categories LIMIT 1")
    for value in (category, str(category), UNKNOWN_ID):
        body = await execute(sample, text, id=sample.mug.id, input={"category_id": value})
        [error] = body["errors"]
        assert error["extensions"]["code"] == "VALIDATION_FAILED", value
        assert error["extensions"]["details"]["fields"] == {"category_id": "not_found"}, value


@pytest.mark.parametrize(
    "main, others, field",
    [
        (None, [UNKNOWN_ID], "category_ids"),
        ("valid", ["valid", UNKNOWN_ID], "category_ids"),
        (UNKNOWN_ID, ["valid"], "category_id"),
        (UNKNOWN_ID, [UNKNOWN_ID], "category_id"),
    ],
)
async def test_an_unknown_category_is_reported_for_the_field_that_names_it(
    sample: SampleStore, main: str | None, others: list[str], field: str
):
    valid = str(await sample.value("SELECT public_id FROM categories LIMIT 1"))
    input = {
        "category_ids": [valid if id == "valid" else id for id in others],
        **({} if main is None else {"category_id": valid if main == "valid" else main}),
    }
    text = "mutation ($id: ID!, $input: ProductInput!) { product_update(id: $id, input: $input) { id } }"
    [error] = (await execute(sample, text, id=sample.mug.id, input=input))["errors"]
    assert error["extensions"]["details"]["fields"] == {field: "not_found"}


@pytest.mark.parametrize("items", [None, []])
async def test_an_order_without_items_is_refused_in_the_words_of_the_input(
    sample: SampleStore, items: list[Any] | None
):
    input = {"email": "ana@example.com", **({} if items is None else {"items": items})}
    [error] = (await execute(sample, CREATE_ORDER, input=input))["errors"]
    assert (error["message"], error["extensions"]["field"]) == ("items is required", "items")


async def test_zero_still_means_none(sample: SampleStore):
    category = await execute(
        sample, 'mutation { category_create(input: {name: "Raiz", parent_id: "0"}) { parent_id } }'
    )
    assert category["data"] == {"category_create": {"parent_id": None}}


@pytest.mark.parametrize("path, auth", [("/api/v1/admin/products", "bearer")])
async def test_the_current_api_takes_no_number(path: str, auth: str, sample: SampleStore):
    category = await sample.value("SELECT id FROM categories LIMIT 1")
    for value in (category, str(category), UNKNOWN_ID):
        updated = await sample.put(f"{path}/{sample.mug.id}", {"category_id": value}, auth=auth)
        assert updated.status == 400, value
        assert updated.body["fields"] == {"category_id": "not_found"}, value
        created = await sample.post(path, {"name": "x", "price_cents": 1, "category_id": value}, auth=auth)
        assert created.body["fields"] == {"category_id": "not_found"}, value
        listed = await sample.get(path, auth=auth, params={"category_id": str(value)})
        assert (listed.status, listed.body["total"]) == (200, 0), value
    customer = await sample.value("SELECT user_id FROM orders WHERE user_id IS NOT NULL LIMIT 1")
    orders = await sample.get("/api/v1/admin/orders", auth=auth, params={"customer_id": str(customer)})
    assert orders.body["total"] == 0


# --- Ids inside JSON values ---------------------------------------------------------------------------------------------------


def choices(sample: SampleStore, option: object, variant: object) -> dict[str, object]:
    """Return a selection of the required options of the mug, of which one is named by the ids."""
    return {sample.print.id: sample.plain.id, str(option): variant}


async def test_an_option_chosen_by_number_is_not_found(sample: SampleStore, storefront: StorefrontClient):
    size, large = sample.size, sample.large
    item = {"product_id": sample.mug.id, "quantity": 1}
    for option, variant in ((size.number, large.id), (size.id, large.number), (size.id, str(large.number))):
        chosen = item | {"options": choices(sample, option, variant)}
        added = await storefront.post("carts", {"items": [chosen]})
        assert (added.status, added.body["fields"]) == (400, {"items.options": "not_found"}), (
            option,
            variant,
            added.body,
        )
        for text in (CREATE_ORDER, UPDATE_ORDER):
            body = await execute(sample, text, id=sample.order.id, input={"email": "a@example.com", "items": [chosen]})
            assert body["errors"][0]["extensions"]["details"]["fields"] == {"options": "not_found"}, (
                option,
                variant,
                text,
                body,
            )
    chosen = item | {"options": choices(sample, size.id, large.id) | {sample.engraving.id: 2026}}
    added = await storefront.post("carts", {"items": [chosen]})
    assert added.body["items"][0]["options"] == {
        size.id: large.id,
        sample.print.id: sample.plain.id,
        sample.engraving.id: "2026",
    }


CREATE_ORDER = "mutation ($input: OrderInput!) { order_create(input: $input) { id } }"
UPDATE_ORDER = "mutation ($id: ID!, $input: OrderInput!) { order_update(id: $id, input: $input) { id } }"
CREATE_PROMOTION = "mutation ($input: PromotionInput!) { promotion_create(input: $input) { id } }"
UPDATE_PROMOTION = """mutation ($id: ID!, $input: PromotionInput!) {
    promotion_update(id: $id, input: $input) { name conditions bonuses } }"""


@pytest.mark.parametrize(
    "field, value",
    [
        ("conditions", lambda id: {"products": [id]}),
        ("conditions", lambda id: {"products": str(id)}),
        ("conditions", lambda id: {"products": [{"product_id": id, "amount": 2}]}),
        ("conditions", lambda id: {"set": "any", "conditions": [{"condition": "products", "value": id}]}),
        ("bonuses", lambda id: {"product_discount": {"percent": 10, "products": [id]}}),
        ("bonuses", lambda id: {"free_products": [{"product_id": id, "amount": 1}]}),
    ],
)
async def test_a_promotion_names_no_record_by_number(sample: SampleStore, field: str, value: Any):
    bonuses = {"bonuses": {"order_discount": "10%"}}
    for id in (sample.mug.number, str(sample.mug.number), UNKNOWN_ID):
        body = await execute(sample, CREATE_PROMOTION, input={"name": "x", **bonuses, field: value(id)})
        assert body["errors"][0]["extensions"]["details"]["fields"] == {field: "not_found"}, (id, body)
    body = await execute(sample, CREATE_PROMOTION, input={"name": "x", **bonuses, field: value(sample.mug.id)})
    assert "errors" not in body


async def test_a_promotion_of_the_legacy_api_can_be_changed(sample: SampleStore):
    """What it holds may be sent back as it was read."""
    values = {"conditions": {"products": [sample.mug.number]}, "bonuses": {"order_discount": "10%"}}
    created = await sample.post("/api/promotions", {"name": "Oferta", **values})
    assert created.status == 201, created.body
    id = str(await sample.value("SELECT public_id FROM promotions WHERE name = 'Oferta'"))
    for input in ({"usage_limit": 5}, {"name": "Nova", "bonuses": {"order_discount": "5%"}}, values):
        body = await execute(sample, UPDATE_PROMOTION, id=id, input=input)
        assert body.get("errors") is None, (input, body)
    assert body["data"]["promotion_update"] == {"name": "Nova", **values}


async def test_the_legacy_api_takes_numbers_and_uuids(sample: SampleStore):
    category = await sample.value("SELECT id FROM categories LIMIT 1")
    public_id = str(await sample.value("SELECT public_id FROM categories WHERE id = $1", category))
    for value in (category, str(category), public_id):
        updated = await sample.put(f"/api/products/{sample.mug.number}", {"main_category": value})
        assert updated.status == 200, (value, updated.body)
    for reference in (sample.mug.number, sample.mug.id):
        assert (await sample.get(f"/api/products/{reference}")).body["product_id"] == str(sample.mug.number)
