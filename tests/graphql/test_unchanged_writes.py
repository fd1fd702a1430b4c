"""A write that changes nothing does nothing (docs/reference/shared.md#writes-that-change-nothing), by every mutation that updates.

Each input is derived from the schema: what the record shows of the fields that the mutation takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from graphql import (
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLObjectType,
    get_named_type,
    get_nullable_type,
    is_input_object_type,
    is_list_type,
    is_object_type,
    is_required_argument,
)

from kernel.scope import Scope
from resolvers import root
from tests.graphql.conftest import ExecuteQuery, StoreRecords, create_records
from tests.harness.database import NewStore
from tests.harness.row_versions import changed_tables, row_versions
from tests.harness.scopes import system_scope

SCHEMA = root.public_schema()
assert SCHEMA.mutation_type is not None
assert SCHEMA.query_type is not None
MUTATIONS: Mapping[str, GraphQLField] = SCHEMA.mutation_type.fields
QUERIES: Mapping[str, GraphQLField] = SCHEMA.query_type.fields

UPDATES = sorted(
    name
    for name, field in MUTATIONS.items()
    if name.endswith("_update")
    and {"id", "input"} == {key for key, argument in field.args.items() if is_required_argument(argument)}
)
"""The mutations `x_update(id, input)`; the others have tests of their own below."""


@dataclass(frozen=True)
class Member:
    """A field of an input, and the field of the object with its value; `parts` are those of its objects, or its id."""

    name: str
    source: str
    parts: tuple[Member, ...] = ()
    is_id: bool = False

    @property
    def selection(self) -> str:
        inner = " ".join(part.selection for part in self.parts)
        return f"{self.source} {{ {inner} }}" if inner else f"{self.source} {{ id }}" if self.is_id else self.source

    def value_in(self, record: Mapping[str, Any]) -> Any:
        value = record[self.source]
        return [self._of(item) for item in value] if isinstance(value, list) else self._of(value)

    def _of(self, value: Any) -> Any:
        if value is None:
            return None
        if self.is_id:
            return value["id"]
        return {part.name: part.value_in(value) for part in self.parts} if self.parts else value


# A line is named by its id or by its product. The typed terms of a promotion say what its JSON says; those of this test are below.
OTHER_KEYS = {("OrderItemInput", "id"), ("PromotionInput", "condition_tree"), ("PromotionInput", "bonus_list")}


def members(input_type: GraphQLInputObjectType, object_type: GraphQLObjectType) -> list[Member]:
    """Return the fields of an input of which the object shows the value."""
    shown_fields = (
        _member(name, field.type, object_type, input_type)
        for name, field in input_type.fields.items()
        if (input_type.name, name) not in OTHER_KEYS
    )
    return [member for member in shown_fields if member is not None]


def _member(name: str, type_: Any, object_type: GraphQLObjectType, within: GraphQLInputObjectType) -> Member | None:
    stems = (
        name.removesuffix("_id"),
        name.removesuffix("_ids") + "s",
        name.removesuffix("_ids") + "es",
        name[:-5] + "ies",
    )
    for source in (name, *stems):
        field = object_type.fields.get(source)
        if field is None or any(map(is_required_argument, field.args.values())):
            continue
        shown, wanted = get_named_type(field.type), get_named_type(type_)
        is_many = is_list_type(get_nullable_type(type_))
        if is_many is not is_list_type(get_nullable_type(field.type)):
            continue
        if not is_object_type(shown) and not is_input_object_type(wanted):
            return Member(name, source)
        if is_object_type(shown) and wanted.name == "ID":
            return Member(name, source, is_id=True)
        if isinstance(shown, GraphQLObjectType) and isinstance(wanted, GraphQLInputObjectType):
            parts = [] if wanted is within else members(wanted, shown)
            return Member(name, source, tuple(parts)) if parts else None
    return None


@pytest.fixture(scope="module")
async def own_records(new_store: NewStore) -> StoreRecords:
    return await create_records(system_scope(await new_store()))


async def answer(execute_query: ExecuteQuery, scope: Scope, text: str, **variables: Any) -> Any:
    result = await execute_query(scope, text, **variables)
    return result.data if not result.errors else result.errors


async def _create(execute_query: ExecuteQuery, scope: Scope, mutation: str) -> str:
    data = await answer(execute_query, scope, f"mutation {{ created: {mutation} {{ id }} }}")
    assert isinstance(data, dict), data
    return str(data["created"]["id"])


async def _order(execute_query: ExecuteQuery, scope: Scope, records: StoreRecords) -> str:
    """Place an order: the store's own were inserted with lines that no product has."""
    product = await _create(execute_query, scope, 'product_create(input: {name: "Copo", price_cents: 500, stock: 9})')
    methods = (
        f'payment_method_id: "{records.ids["payment_method"]}", shipping_method_id: "{records.ids["shipping_method"]}"'
    )
    address = '{firstname: "Caio", city: "São Paulo", state: "SP", zipcode: "01310100"}'
    order = f'customer_id: "{records.ids["customer"]}", items: [{{product_id: "{product}", quantity: 2}}], {methods}'
    return await _create(execute_query, scope, f"order_create(input: {{{order}, shipping_address: {address}}})")


async def _address(execute_query: ExecuteQuery, scope: Scope, records: StoreRecords) -> str:
    return await _create(execute_query, scope, 'address_create(input: {zipcode: "50010000"})')


async def _user_address(execute_query: ExecuteQuery, scope: Scope, records: StoreRecords) -> str:
    user = records.ids["customer"]
    return await _create(
        execute_query, scope, f'user_address_create(user_id: "{user}", input: {{zipcode: "50010000"}})'
    )


CREATED = {"order": _order, "address": _address, "user_address": _user_address}


def test_every_update_is_tried() -> None:
    other = {name for name, field in MUTATIONS.items() if "update" in name} - set(UPDATES)
    assert other == {
        "store_update", "store_settings_update", "store_host_update", "cart_item_update", "cart_items_update", "vendor_order_update",
        "warehouse_area_update", "warehouse_usergroup_update", "media_update",
    }  # fmt: skip
    assert len(UPDATES) > 30


@pytest.mark.parametrize("name", UPDATES)
async def test_an_update_with_the_present_values_writes_nothing(
    name: str, own_records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    records, singular = own_records, name.removesuffix("_update")
    mutation = MUTATIONS[name]
    input_type, object_type = get_named_type(mutation.args["input"].type), get_named_type(mutation.type)
    assert isinstance(input_type, GraphQLInputObjectType)
    assert isinstance(object_type, GraphQLObjectType)
    shown_fields = members(input_type, object_type)
    selection = " ".join(dict.fromkeys(member.selection for member in shown_fields)) or "id"
    scope = records.callers["customer" if singular == "address" else "admin"]
    record_id = await CREATED[singular](execute_query, scope, records) if singular in CREATED else records.ids[singular]
    text = f"mutation ($id: ID!, $input: {input_type.name}!) {{ {name}(id: $id, input: $input) {{ {selection} }} }}"
    record = (await answer(execute_query, scope, text, id=record_id, input={}))[name]
    values = {member.name: member.value_in(record) for member in shown_fields}
    bodies: dict[str, dict[str, Any]] = {
        "{}": {},
        "all": values,
        **{field: {field: value} for field, value in values.items()},
    }
    # The models inserted the records without what the domain derives.
    await answer(execute_query, scope, text, id=record_id, input=values)
    refused = {}
    for case, body in bodies.items():
        before = await row_versions(records.scope.store)
        result = await answer(execute_query, scope, text, id=record_id, input=body)
        if isinstance(result, list):
            refused[case] = result[0]["message"]
        else:
            assert result[name] == record, case
        assert changed_tables(before, await row_versions(records.scope.store)) == [], (case, body)
    assert refused == {}


async def test_the_present_terms_of_a_promotion_are_not_written(
    own_records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    terms = """{condition_tree: {match: all, conditions: [{test: {kind: subtotal, operator: gte, value: {cents: 200}}}]},
        bonus_list: [{give_points: 7}]}"""
    scope = own_records.callers["admin"]
    text = f"mutation ($id: ID!) {{ promotion_update(id: $id, input: {terms}) {{ id }} }}"
    counts = []
    for turn in range(2):
        before = await row_versions(own_records.scope.store)
        result = await execute_query(scope, text, id=own_records.ids["promotion"])
        assert not result.errors, (turn, result.errors)
        counts.append(len(changed_tables(before, await row_versions(own_records.scope.store))))
    assert counts[0] > 0
    assert counts[1] == 0


SETTERS = {
    "address_set_default": ('id: "{address}", type: SHIPPING', "customer", "id"),
    "media_update": ('id: "{media_file}", alt: "Vista de cima"', "admin", "id"),
    "order_limit_set": (
        'input: {{user_id: "{customer}", vendor_id: "{vendor}", limit_cents: 700}}',
        "admin",
        "limit_cents",
    ),
    "order_set_fiscal_data": ('id: "{order}", input: {{nota_fiscal: "123"}}', "admin", "id"),
    "order_set_status": ('id: "{order}", status: "P"', "admin", "id"),
    "product_required_products_set": ('id: "{product}", product_ids: ["{draft}"]', "admin", "id"),
    "usergroup_membership_set": ('user_id: "{customer}", usergroup_id: "{usergroup}", status: ACTIVE', "admin", "id"),
    "user_set_privileges": ('id: "{admin}", privileges: ["view_orders"]', "admin", "id"),
    "warehouse_area_update": (
        'warehouse_id: "{warehouse}", area_id: "{warehouse_area}", input: {{area_name: "Recife", states: ["PE"]}}',
        "admin",
        "area_name",
    ),
    "wishlist_add": ('product_ids: ["{product}"]', "customer", "id"),
}


@pytest.mark.parametrize("name", SETTERS)
async def test_what_is_set_again_is_not_written(
    name: str, own_records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    records = own_records
    passed, caller, selection = SETTERS[name]
    scope = records.callers[caller]
    ids = dict(records.ids)
    if "{address}" in passed:
        ids["address"] = await _address(execute_query, scope, records)
    if "{order}" in passed and caller == "admin":
        ids["order"] = await _order(execute_query, scope, records)
    arguments = passed.format(**ids)
    text = f"mutation {{ {name}({arguments}) {{ {selection} }} }}"
    answers = [await answer(execute_query, scope, text)]
    before = await row_versions(records.scope.store)
    answers.append(await answer(execute_query, scope, text))
    assert isinstance(answers[0], dict), answers
    assert answers[1] == answers[0]
    assert changed_tables(before, await row_versions(records.scope.store)) == []
