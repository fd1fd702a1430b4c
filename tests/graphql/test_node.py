"""`node(id)` returns what the record's own field returns, and null where that refuses: no id reveals to a caller that there is a record."""

from __future__ import annotations

import pytest
from graphql import GraphQLInterfaceType, GraphQLObjectType, get_named_type

from models.connection import database
from resolvers import root
from resolvers.entity_queries import ENTITY_QUERY
from schema.fields import strawberry_field
from tests.graphql.conftest import ExecuteQuery, StoreRecords
from tests.harness.records import UNKNOWN_ID

SCHEMA = root.public_schema()
assert SCHEMA.query_type is not None


def _fields() -> dict[str, str]:
    """Return the types of the root fields that read one record by its ID."""
    fields = {}
    for name, field in SCHEMA.query_type.fields.items():  # type: ignore[union-attr]
        declared = strawberry_field(field)
        query = declared.metadata.get(ENTITY_QUERY) if declared is not None else None
        if query is not None and query.kind == "one":
            fields[name] = get_named_type(field.type).name
    return fields


FIELDS = _fields()
NODES = {type_.name for type_ in SCHEMA.get_possible_types(SCHEMA.type_map["Node"])}  # type: ignore[arg-type]
# Whose ids are numbers, or those of another record.
NO_NODES = {"GatewayNotification", "VendorAccount"}


def test_every_record_that_is_read_by_its_id_is_a_node() -> None:
    assert set(FIELDS.values()) - NODES == NO_NODES
    assert set(FIELDS.values()) >= NODES


@pytest.mark.parametrize("name", sorted(name for name, type_ in FIELDS.items() if type_ in NODES))
async def test_a_node_is_what_its_own_field_returns(
    name: str, records: StoreRecords, other_records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    type_ = FIELDS[name]
    text = f"query($id: ID!) {{ node(id: $id) {{ __typename id ... on Node {{ same: id }} ... on {type_} {{ own: id }} }} }}"
    own = f"query($id: ID!) {{ {name}(id: $id) {{ id }} }}"
    for caller, scope in records.callers.items():
        if caller == "anonymous":
            continue
        expected = await execute_query(scope, own, id=records.ids[name])
        shown = await execute_query(scope, text, id=records.ids[name])
        if expected.data is None or expected.data[name] is None:
            assert (shown.data or {}).get("node") is None, (caller, shown)
            continue
        record_id = expected.data[name]["id"]
        assert shown.errors == [], (caller, shown)
        assert shown.data == {"node": {"__typename": type_, "id": record_id, "same": record_id, "own": record_id}}, (
            caller
        )
        for absent in (other_records.ids[name], UNKNOWN_ID, "1", "x"):
            shown = await execute_query(scope, text, id=absent)
            assert (shown.data, shown.errors) == ({"node": None}, []), (caller, absent)


async def test_a_node_shows_what_is_below_it(records: StoreRecords, execute_query: ExecuteQuery) -> None:
    text = """query($id: ID!) { node(id: $id) { ... on Order { ...Amounts items { name } } ... on Product { name } } }
        fragment Amounts on OrderRecord { total_cents customer { ... on OrderCustomerRecord { name } } }"""
    admin = records.callers["admin"]
    shown = await execute_query(admin, text, id=records.ids["order"])
    assert shown.errors == []
    own = await execute_query(
        admin,
        "query($id: ID!) { order(id: $id) { total_cents customer { name } items { name } } }",
        id=records.ids["order"],
    )
    assert shown.data == {"node": own.data["order"]}


@pytest.mark.parametrize(
    "selection, record, statements",
    [
        ("__typename id ... on Product { name }", "product", 1),
        ("...F id", "product", 1),
        ("id", "product", 2),
        ("... on Product { name } ... on Category { name }", "product", 2),
        ("... on OrderRecord { number }", "order", 2),
        ("__typename ... on Product { name }", "category", 3),  # no product
        ("__typename ... on Product { name }", None, 2),
    ],
)
async def test_a_node_of_the_only_type_that_is_selected_takes_one_statement(
    selection: str, record: str | None, statements: int, records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    text = f"query($id: ID!) {{ node(id: $id) {{ {selection} }} }}"
    text += " fragment F on Product { name }" if "...F" in selection else ""
    with database.count_statements() as counted:
        shown = await execute_query(records.callers["admin"], text, id=records.ids[record] if record else UNKNOWN_ID)
    assert shown.errors == []
    assert (shown.data["node"] is not None) == (record is not None)
    assert counted.count == statements


@pytest.mark.parametrize("name", ["Node", "Address", "ImageRecord", "OrderRecord", "OrderCustomerRecord"])
def test_interfaces_have_several_types(name: str) -> None:
    interface = SCHEMA.type_map[name]
    assert isinstance(interface, GraphQLInterfaceType)
    types = SCHEMA.get_possible_types(interface)
    assert len(types) > 1
    assert all(isinstance(type_, GraphQLObjectType) for type_ in types)
