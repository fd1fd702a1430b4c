"""Closed sets are enums, whose input stays compatible with the scalars they were (docs/reference/graphql.md)."""

from __future__ import annotations

import pytest
from graphql import GraphQLEnumType, introspection_from_schema

from resolvers import root
from schema.enums import ENUMS
from tests.harness.sample_store import SampleStore


def test_every_enum_is_one_in_the_introspection():
    types = {type_["name"]: type_ for type_ in introspection_from_schema(root.public_schema())["__schema"]["types"]}
    for definition in ENUMS.values():
        enum = definition.implementation
        assert isinstance(enum, GraphQLEnumType)
        if enum.name in types:
            assert types[enum.name]["kind"] == "ENUM"
            assert [value["name"] for value in types[enum.name]["enumValues"]] == list(enum.values)


@pytest.mark.parametrize("literal", ["A", "a", "active", '"A"', '"active"', "enabled"])
async def test_literals_may_be_codes_long_names_or_strings(literal: str, sample: SampleStore):
    answer = await sample.post("/graphql", {"query": f"{{ products(status: {literal}) {{ status }} }}"}, auth="bearer")
    assert {product["status"] for product in answer.body["data"]["products"]} == {"A"}


@pytest.mark.parametrize("literal", ["Z", '"Z"', "1", "{a: A}", '"\u017f"', "null_"])
async def test_other_literals_are_validation_errors(literal: str, sample: SampleStore):
    answer = await sample.post("/graphql", {"query": f"{{ products(status: {literal}) {{ status }} }}"}, auth="bearer")
    [error] = answer.body["errors"]
    assert error["extensions"]["code"] == "VALIDATION_FAILED"
    if literal != "{a: A}":  # graphql-core fills in variables in a copy of an object, which has no place
        assert error["locations"] == [{"line": 1, "column": 20}]


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
