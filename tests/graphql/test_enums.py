"""Closed sets are enums, whose input stays compatible with the scalars they were (docs/reference/graphql.md)."""

from __future__ import annotations

import re

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLNamedType,
    GraphQLObjectType,
    get_named_type,
    introspection_from_schema,
)

from resolvers import root
from schema.enums import ENUMS
from tests.harness.sample_store import SampleStore


def test_every_enum_is_one_in_the_introspection():
    types = {type_["name"]: type_ for type_ in introspection_from_schema(root.public_schema())["__schema"]["types"]}
    for definition in ENUMS.values():
        enum = definition.implementation
        assert isinstance(enum, GraphQLEnumType), definition
        if enum.name in types:
            assert types[enum.name]["kind"] == "ENUM", definition
            assert [value["name"] for value in types[enum.name]["enumValues"]] == list(enum.values), definition


def _record_of(input_type: GraphQLInputObjectType) -> GraphQLNamedType | None:
    """Return the type of the records that an input writes or filters."""
    name = re.sub(r"(Upsert)?(Input|Filter)$", "", input_type.name)
    return root.public_schema().type_map.get(name)


def test_an_input_takes_the_enum_that_its_record_shows():
    schema = root.public_schema()
    inputs = [type_ for type_ in schema.type_map.values() if isinstance(type_, GraphQLInputObjectType)]
    compared, differing = 0, []
    for input_type in inputs:
        record = _record_of(input_type)
        for name, field in input_type.fields.items():
            shown = record.fields.get(name) if isinstance(record, GraphQLObjectType) else None
            if shown is not None and isinstance(get_named_type(shown.type), GraphQLEnumType):
                compared += 1
                if get_named_type(shown.type) is not get_named_type(field.type):
                    differing.append(f"{input_type.name}.{name}: {field.type}")
    assert compared > 60
    assert not differing


@pytest.mark.parametrize("literal", ["A", "a", "active", '"A"', '"active"', "enabled"])
async def test_literals_may_be_codes_long_names_or_strings(literal: str, sample: SampleStore):
    answer = await sample.post("/graphql", {"query": f"{{ products(status: {literal}) {{ status }} }}"}, auth="bearer")
    assert {product["status"] for product in answer.body["data"]["products"]} == {"A"}


@pytest.mark.parametrize("literal", ["Z", '"Z"', "1", "{a: A}", '"\u017f"', "null_"])
async def test_other_literals_are_validation_errors(literal: str, sample: SampleStore):
    answer = await sample.post("/graphql", {"query": f"{{ products(status: {literal}) {{ status }} }}"}, auth="bearer")
    [error] = answer.body["errors"]
    assert error["extensions"]["code"] == "VALIDATION_FAILED"
    assert error["locations"] == [{"line": 1, "column": 20}]


@pytest.mark.parametrize(
    "filters, refused",
    [
        ('price_from: "5"', '"5"'),
        ("stock_to: 1, price_from: 99999999999999999999", "9999"),
        ('created_from: "yesterday"', '"yesterday"'),
        ('status: [A, "Z"]', '"Z"'),
        ('price_cents: [1, "2"]', '"2"'),
        ('price_cents: "2"', '"2"'),
        ("price_cents: {a: 1}", "{a"),
    ],
)
async def test_a_refused_literal_is_reported_where_it_stands(filters: str, refused: str, sample: SampleStore):
    query = f"{{ products(filter: {{{filters}}}) {{ id }} }}"
    answer = await sample.post("/graphql", {"query": query}, auth="bearer")
    [error] = answer.body["errors"]
    assert error["extensions"]["code"] == "VALIDATION_FAILED"
    assert error["locations"] == [{"line": 1, "column": query.index(refused) + 1}]


@pytest.mark.parametrize("value, status", [("H", {"H"}), ("hidden", {"H"}), ("Z", None), (1, None), (["A"], None)])
async def test_variables_are_parsed_alike(value: object, status: set[str] | None, sample: SampleStore):
    query = "query ($status: ProductStatus) { products(status: $status) { status } }"
    answer = await sample.post("/graphql", {"query": query, "variables": {"status": value}}, auth="bearer")
    if status is None:
        assert answer.body["errors"][0]["extensions"]["code"] == "VALIDATION_FAILED"
    else:
        assert {product["status"] for product in answer.body["data"]["products"]} <= status


@pytest.mark.parametrize("status", ["unpaid", '"unpaid"', "[unpaid, paid]"])
async def test_orders_are_filtered_by_payment_statuses(status: str, sample: SampleStore):
    query = f"{{ orders(filter: {{payment_status: {status}}}) {{ payment_status }} }}"
    answer = await sample.post("/graphql", {"query": query}, auth="bearer")
    assert "unpaid" in {order["payment_status"] for order in answer.body["data"]["orders"]} <= {"unpaid", "paid"}


@pytest.mark.parametrize("status", ["owed", "UNPAID", 1, ["unpaid"]])
async def test_a_word_outside_of_a_closed_set_is_a_validation_error(status: object, sample: SampleStore):
    query = "query ($status: PaymentStatus!) { orders(filter: {payment_status: [$status]}) { id } }"
    answer = await sample.post("/graphql", {"query": query, "variables": {"status": status}}, auth="bearer")
    assert [error["extensions"]["code"] for error in answer.body["errors"]] == ["VALIDATION_FAILED"]


_CREATE_PRODUCT = "mutation ($input: ProductInput!) { product_create(input: $input) { tracking } }"
_CREATE_TAX = "mutation ($input: TaxInput!) { tax_create(input: $input) { address_type rate_type } }"
_CREATE_PROMOTION = "mutation ($input: PromotionInput!) { promotion_create(input: $input) { zone } }"
_CREATE_PAGE = "mutation ($input: PageInput!) { page_create(input: $input) { type } }"
_CREATE_STATUS = "mutation ($input: StatusInput!) { status_create(input: $input) { type params { inventory } } }"


@pytest.mark.parametrize(
    "query, input, shown",
    [
        (_CREATE_PRODUCT, {"name": "Vase", "price_cents": 100, "tracking": "not_tracked"}, {"tracking": "D"}),
        (
            _CREATE_TAX,
            {"name": "ISS", "address_type": "b", "rate_type": "P"},
            {"address_type": "B", "rate_type": "P"},
        ),
        (_CREATE_PROMOTION, {"name": "Sale", "zone": "catalog"}, {"zone": "catalog"}),
        (_CREATE_PAGE, {"name": "About", "type": "T"}, {"type": "T"}),
        (
            _CREATE_STATUS,
            {"description": "Packed", "type": "O", "params": {"inventory": "D"}},
            {"type": "O", "params": {"inventory": "D"}},
        ),
    ],
)
async def test_records_are_created_with_members_of_closed_sets(
    query: str, input: dict[str, object], shown: dict[str, object], sample: SampleStore
):
    answer = await sample.post("/graphql", {"query": query, "variables": {"input": input}}, auth="bearer")
    assert list(answer.body["data"].values()) == [shown], answer.body


@pytest.mark.parametrize(
    "query, input, message",
    [
        (_CREATE_PRODUCT, {"tracking": "X"}, "tracking is 'X'; expected one of B, D"),
        (_CREATE_PRODUCT, {"tracking": 1}, "tracking is 1; expected one of B, D"),
        (_CREATE_TAX, {"rate_type": "X"}, "rate_type is 'X'; expected one of P, F"),
        (_CREATE_TAX, {"rates": [{"rate_type": "X"}]}, "rate_type is 'X'; expected one of P, F"),
        (_CREATE_PROMOTION, {"zone": "Cart"}, "PromotionZone is 'Cart'; expected one of cart, catalog"),
        (_CREATE_PAGE, {"type": "X"}, "page_type is 'X'; expected one of T, L, F, B"),
        (_CREATE_STATUS, {"params": {"inventory": "X"}}, "inventory is 'X'; expected one of D, I"),
    ],
)
async def test_a_value_outside_of_a_closed_set_is_refused_like_any_wrong_variable(
    query: str, input: dict[str, object], message: str, sample: SampleStore
):
    answer = await sample.post("/graphql", {"query": query, "variables": {"input": input}}, auth="bearer")
    [error] = [error for error in answer.body["errors"] if message in error["message"]]
    assert error["extensions"] == {"code": "VALIDATION_FAILED"}
    assert "data" not in answer.body or answer.body["data"] is None


@pytest.mark.parametrize(
    "field, name, value, shown, enum",
    [
        ("promotions", "zone", "catalog", "catalog", "PromotionZone"),
        ("pages", "type", "link", "L", "page_type"),
        ("features", "type", "S", "S", "feature_type"),
        ("taxes", "rate_type", "percentage", "P", "rate_type"),
        ("notifications", "status", "unread", "unread", "NotificationStatus"),
        ("settings", "type", "C", "C", "SettingType"),
    ],
)
async def test_lists_are_filtered_by_members_of_closed_sets(
    field: str, name: str, value: str, shown: str, enum: str, sample: SampleStore
):
    query = f"{{ {field}(filter: {{{name}: [VALUE]}}) {{ {name} }} }}"
    answer = await sample.post("/graphql", {"query": query.replace("VALUE", value)}, auth="bearer")
    assert {record[name] for record in answer.body["data"][field]} <= {shown}
    refused = await sample.post("/graphql", {"query": query.replace("VALUE", "none")}, auth="bearer")
    [error] = refused.body["errors"]
    assert error["message"].startswith(f"{enum} is 'none'; expected one of ")
    assert error["extensions"]["code"] == "VALIDATION_FAILED"
