"""Filters, sorts and cursors reveal nothing that their columns don't show (docs/reference/graphql.md#access)."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from graphql import get_named_type

from auth.access import Access
from models.orders import Order, OrderLine
from models.queries import Entity
from resolvers import root
from resolvers.entity_queries import ENTITY_QUERY, EntityQuery
from schema.column_guards import columns_in, filter_sql
from schema.fields import ColumnSource, EmbeddedSource, RelationSource, field_source, strawberry_field
from tests.graphql.conftest import ExecuteQuery, StoreRecords
from tests.harness.sample_store import SampleStore
from tests.harness.scopes import is_allowed

SCHEMA = root.public_schema()
CALLERS = ["clerk", "admin_without_privileges", "vendor", "customer", "app", "storefront"]
VALUES = {
    "ID": '"1"',
    "BigInt": "1",
    "Cents": "1",
    "Boolean": "true",
    "DateTime": '"2026-01-01T00:00:00Z"',
    "Int": "1",
}


def entity_lists() -> Iterator[tuple[str, EntityQuery, Any]]:
    """Yield the list fields with their queries and record types."""
    assert SCHEMA.query_type is not None
    for name, field in SCHEMA.query_type.fields.items():
        declared = strawberry_field(field)
        query = declared.metadata.get(ENTITY_QUERY) if declared is not None else None
        if query is not None and query.kind == "list":
            yield name, query, field.type.of_type.of_type.of_type


def guarded_columns(type_: Any) -> dict[str, list[Access]]:
    """Return the columns of the table that no unguarded public field shows, with the rules of those that do."""
    guards: dict[str, list[Access | None]] = {}
    for name, field in _fields(type_):
        source = field_source(field)
        if isinstance(source, ColumnSource) and not callable(source.sql):
            for column in columns_in(source.sql or name):
                guards.setdefault(column, []).append(source.guard)
        elif isinstance(source, RelationSource) and hasattr(source.link, "column"):
            guards.setdefault(source.link.column, []).append(source.guard)
    return {column: rules for column, rules in guards.items() if None not in rules}  # type: ignore[misc]


def _fields(type_: Any) -> Iterator[tuple[str, Any]]:
    for name, field in type_.fields.items():
        if isinstance(field_source(field), EmbeddedSource):
            yield from _fields(get_named_type(field.type))
        else:
            yield name, field


def dependent(entity: Entity, column: str) -> Iterator[tuple[str, str]]:
    """Yield the filters and sorts that read the column."""
    for name, declared in entity.filters.items():
        if column in columns_in(filter_sql(declared)) and not declared.internal:
            yield "filter", name
    for name, sort in entity.sorts.items():
        if column in columns_in(sort.sql) and not sort.internal:
            yield "sort", name


CASES = [
    (field, kind, name, rules)
    for field, query, type_ in entity_lists()
    for column, rules in guarded_columns(type_).items()
    for kind, name in dependent(query.entity, column)
]


def test_the_rule_covers_the_known_cases() -> None:
    known = {(field, kind, name) for field, kind, name, _ in CASES}
    assert {
        ("reviews", "filter", "user_id"),
        ("vendors", "sort", "email"),
        ("payment_methods", "filter", "processor"),
    } <= known


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("field, kind, name, rules", CASES, ids=lambda value: value if isinstance(value, str) else "")
async def test_a_caller_refused_a_column_is_refused_its_filters_and_sorts(
    field: str,
    kind: str,
    name: str,
    rules: list[Access],
    caller: str,
    records: StoreRecords,
    execute_query: ExecuteQuery,
) -> None:
    scope = records.callers[caller]
    query = next(query for listed, query, _ in entity_lists() if listed == field)
    assert SCHEMA.query_type is not None
    for listed in (field, f"{field.removesuffix('s')}_connection"):
        if listed not in SCHEMA.query_type.fields:
            continue
        argument = f"sort: {name.upper()}_DESC"
        if kind == "filter":
            filters: Any = SCHEMA.query_type.fields[listed].args["filter"].type
            value = VALUES.get(str(filters.fields[name].type).strip("[]!"), '"x"')
            argument = f"filter: {{{name}: {value}}}"
        selection = "id" if listed == field else "edges { cursor }"
        answer = await execute_query(scope, f"{{ {listed}({argument}) {{ {selection} }} }}")
        allowed = is_allowed(query.access, scope) and any(is_allowed(rule, scope) for rule in rules)
        assert (answer.codes() == []) == allowed, (listed, argument, answer.codes())
        if not allowed:
            assert answer.codes() == ["FORBIDDEN"]
            assert answer.data is None


def test_default_sorts_are_for_every_caller() -> None:
    for _, query, _ in entity_lists():
        assert query.entity.default_sort.lstrip("-") not in query.guards.sorts


# --- Shares of vendors -------------------------------------------------------------------------------------------------------


@pytest.fixture
async def shared(sample: SampleStore) -> list[str]:
    """Create orders whose totals and own shares of the vendor sort differently; return their ids by the own share."""
    ids = []
    for own, total in ((1_000, 90_000), (2_000, 50_000), (3_000, 70_000)):
        order = await sample.add(
            Order, email="x@example.com", status="P", subtotal_cents=total, total_cents=total, discount_cents=own,
            refunded_cents=total,
        )  # fmt: skip
        for position, (vendor, price) in enumerate(((sample.vendor, own), (sample.rival, total - own)), 1):
            await sample.add(
                OrderLine, order_id=order.number, vendor_id=vendor.number, product_name="x", product_code="x",
                quantity=1, price_cents=price, base_price_cents=price, position=position,
            )  # fmt: skip
        ids.append(order.id)
    return ids


async def _orders(sample: SampleStore, arguments: str, fields: str = "") -> Any:
    text = f"{{ order_connection(first: 50, {arguments}) {{ edges {{ cursor node {{ id {fields} }} }} }} }}"
    client = await sample.client(sample.vendor_user)
    answer = await client.post("/graphql", {"query": text})
    assert "errors" not in answer.body, answer.body
    return answer.body["data"]["order_connection"]["edges"]


async def test_a_vendor_sorts_and_pages_orders_by_its_own_share(sample: SampleStore, shared: list[str]) -> None:
    for sort, expected in (("TOTAL_ASC", shared), ("SUBTOTAL_DESC", shared[::-1])):
        edges = await _orders(sample, f"sort: {sort}")
        assert [edge["node"]["id"] for edge in edges if edge["node"]["id"] in shared] == expected
    edges = await _orders(sample, "sort: TOTAL_ASC")
    at = next(index for index, edge in enumerate(edges) if edge["node"]["id"] == shared[1])
    rest = await _orders(sample, f'sort: TOTAL_ASC, after: "{edges[at]["cursor"]}"')
    assert [edge["node"]["id"] for edge in rest] == [edge["node"]["id"] for edge in edges[at + 1 :]]


async def test_a_vendors_cursor_contains_its_own_share(sample: SampleStore, shared: list[str]) -> None:
    edges = await _orders(sample, "sort: TOTAL_ASC", "total_cents discount_cents refunded_cents")
    for edge in edges:
        if edge["node"]["id"] not in shared:
            continue
        own = 1_000 * (shared.index(edge["node"]["id"]) + 1)
        cursor = edge["cursor"]
        assert json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))[1] == own
        node = edge["node"]
        assert (node["total_cents"], node["discount_cents"], node["refunded_cents"]) == (own, 0, 0)


async def test_a_vendor_filters_orders_by_its_own_share(sample: SampleStore, shared: list[str]) -> None:
    edges = await _orders(sample, "filter: {total_from: 1500, total_to: 2500}")
    assert shared[1] in [edge["node"]["id"] for edge in edges]
    edges = await _orders(sample, "filter: {total_from: 50000}")
    assert not {edge["node"]["id"] for edge in edges} & set(shared)


async def test_a_vendors_legacy_filter_compares_its_own_share(sample: SampleStore, shared: list[str]) -> None:
    for total, count in (("500.00", 0), ("20.00", 1)):
        body = (await sample.get(f"/api/vendor_orders?total={total}", by=sample.vendor_user)).body
        assert len(body["orders"]) == count, (total, body)


async def test_a_vendor_learns_of_no_other_vendor_by_filtering(sample: SampleStore, shared: list[str]) -> None:
    assert await _orders(sample, f'filter: {{vendor_id: "{sample.rival.id}"}}') == []
    own = await _orders(sample, f'filter: {{vendor_id: "{sample.vendor.id}"}}')
    assert set(shared) <= {edge["node"]["id"] for edge in own}
