"""Wherever a record shows the id of another, it shows that record too: with one statement for all of a list, as far as the caller may."""

from __future__ import annotations

from typing import Any

import pytest
from graphql import GraphQLObjectType, GraphQLSchema, get_named_type

from auth.storefront_keys import create_storefront_key
from kernel.scope import active_scope
from models.connection import database
from resolvers import root
from resolvers.engine.executor import ExecutionContext, execute_document
from resolvers.engine.prepare import prepare_document
from schema.fields import entity_of
from tests.graphql.conftest import ExecuteQuery, StoreRecords
from tests.harness.sample_store import SampleStore

# Fields under another name; the subject of an event or a review, which may be a record of any type; a discussion is its reviews.
RECORD_FIELDS = {("ShippingOption", "shipping_id"): "shipping_method"}
# The event of the feed is the body of a delivery, whose store is the caller's. An upload is no record yet. A row of a report has the names.
# So is that of a shopper's file. The terms of a promotion are values that name records, which may be deleted.
ANY_RECORD = {
    ("MediaUpload", "media_id"), ("OptionFileUpload", "file_id"), ("VendorSales", "vendor_id"),
    ("EventDelivery", "subject_id"), ("Event", "tenant_id"), ("Event", "subject_id"), ("Review", "object_id"), ("Review", "thread_id"),
    ("PromotionBonus", "promotion_id"), ("PromotionCondition", "feature_id"), ("PromotionProduct", "product_id"),
}  # fmt: skip

CART_WITH_PRODUCTS = """query($id: ID!) { cart(id: $id) {
    items { product_id product { id name category { name } images { url } } combination { id sku } }
    gifts { product { name } } shipping_option { shipping_method { name } } } }"""
CREATE = """mutation($input: CartInput) { cart_create(input: $input) { id
    items { product_id product { id name stock } again: product { id } } } }"""


def _ids(schema: GraphQLSchema) -> list[tuple[GraphQLObjectType, str]]:
    return [
        (type_, name)
        for type_ in schema.type_map.values()
        if isinstance(type_, GraphQLObjectType) and not type_.name.startswith("__")
        for name, field in type_.fields.items()
        if name.endswith("_id") and get_named_type(field.type).name == "ID" and (type_.name, name) not in ANY_RECORD
    ]


def test_every_id_of_a_record_comes_with_the_record() -> None:
    fields = _ids(root.public_schema())
    assert len(fields) > 30
    for type_, name in fields:
        record = type_.fields.get(RECORD_FIELDS.get((type_.name, name), name.removesuffix("_id")))
        assert record is not None, f"{type_.name}.{name} has no record"
        target = get_named_type(record.type)
        assert isinstance(target, GraphQLObjectType), (type_, name)
        assert entity_of(target) is not None, (type_, name)


@pytest.mark.parametrize(
    "text",
    [
        "{ records: reviews { id: product_id record: product { id } } }",
        "{ records: reviews { id: user_id record: user { id } } }",
        "{ records: options { id: product_id record: product { id } } }",
        "{ records: options { id: vendor_id record: vendor { id } } }",
        "{ records: combinations { id: product_id record: product { id } } }",
        "{ records: attachments { id: product_id record: product { id } } }",
        "{ records: option_exceptions { id: product_id record: product { id } } }",
        "{ records: box_descriptions { id: box_id record: box { id } } }",
        "{ records: payments { id: order_id record: order { id } } }",
        "{ records: shipments { id: order_id record: order { id } } }",
        "{ records: shipments { id: user_id record: user { id } } }",
        "{ records: event_endpoints { id: installed_app_id record: installed_app { id } } }",
        "{ records: warehouses { id: vendor_id record: vendor { id } } }",
    ],
)
async def test_the_record_is_the_one_of_the_id(text: str, records: StoreRecords, execute_query: ExecuteQuery) -> None:
    response = await execute_query(records.callers["admin"], text)
    assert response.errors == []
    assert response.data["records"]
    for record in response.data["records"]:
        assert record == {"id": record["id"], "record": record["id"] and {"id": record["id"]}}


async def _count(scope: Any, text: str, **variables: Any) -> tuple[Any, int]:
    schema = root.public_schema()
    prepared = prepare_document(schema, text, limited=True)
    assert prepared.errors == ()
    with active_scope(scope), database.count_statements() as counted:
        result = await execute_document(schema, prepared, ExecutionContext(scope), variables)
    assert result.errors is None, result.errors
    return result.data, counted.count


async def test_a_cart_of_any_length_loads_its_products_with_as_many_statements(sample: SampleStore) -> None:
    scope = sample.scope
    counts = []
    products = [await sample.add_product(name=f"Produto {number}", on_hand=5) for number in range(60)]
    for length in (1, 60):
        items = [{"product_id": product.id, "quantity": 1} for product in products[:length]]
        created, _ = await _count(scope, CREATE, input={"items": items})
        lines = created["cart_create"]["items"]
        assert [line["product"]["id"] for line in lines] == [line["product_id"] for line in lines], length
        assert [line["again"] for line in lines] == [{"id": line["product_id"]} for line in lines], length
        data, count = await _count(scope, CART_WITH_PRODUCTS, id=created["cart_create"]["id"])
        assert [item["product"]["name"] for item in data["cart"]["items"]] == [
            f"Produto {number}" for number in range(length)
        ]
        counts.append(count)
    assert counts[0] == counts[1]


async def test_a_key_without_catalogue_sees_the_cart_and_not_its_products(sample: SampleStore) -> None:
    with active_scope(sample.scope):
        key = (await create_storefront_key(sample.scope, {"scopes": ["storefront:cart"]})).key
    text = "mutation($p: ID!) { cart_create(input: {items: [{product_id: $p, quantity: 1}]}) { items { name product { id } } } }"
    body = {"query": text, "variables": {"p": sample.mug.id}}
    answer = await sample.post("/graphql", body, auth=None, headers={"X-API-Key": key})
    [item] = answer.body["data"]["cart_create"]["items"]
    assert item["name"]
    assert item["product"] is None
    [error] = answer.body["errors"]
    assert (error["path"], error["extensions"]["code"]) == (["cart_create", "items", 0, "product"], "FORBIDDEN")


async def test_quotes_show_method_vendor_and_product(sample: SampleStore) -> None:
    text = """query($p: ID!) {
        shipping_quotes(product_id: $p, zipcode: "01001000") { shipping_method_id shipping_method { id name } name
            vendor_id vendor { id } }
        sellers_availability(product_id: $p, zipcode: "01001000") { product_id product { id } vendor_id vendor { id } } }"""
    answer = await sample.post("/graphql", {"query": text, "variables": {"p": sample.mug.id}}, auth="bearer")
    assert "errors" not in answer.body
    quotes, offers = answer.body["data"]["shipping_quotes"], answer.body["data"]["sellers_availability"]
    assert quotes
    assert offers
    for quote in quotes:
        assert quote["shipping_method"] == {"id": quote["shipping_method_id"], "name": quote["name"]}
    for record in (*quotes, *offers):
        assert record["vendor"] == (record["vendor_id"] and {"id": record["vendor_id"]})
    assert [offer["product"]["id"] for offer in offers] == [offer["product_id"] for offer in offers]
