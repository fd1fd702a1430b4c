"""Filters, sorts and cursors reveal nothing that their columns don't show (docs/reference/graphql.md#access)."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from graphql import get_named_type

from auth.access import Access
from auth.privileges import AREAS
from kernel.scope import ActorKind, Scope
from models.reading.queries import Entity, ToOne
from models.tables.orders import Order, OrderLine
from resolvers import root
from resolvers.entity_queries import ENTITY_QUERY, EntityQuery
from schema.fields import (
    ColumnSource,
    EmbeddedSource,
    RelationSource,
    access_of,
    entity_of,
    field_source,
    strawberry_field,
)
from schema.filters import filter_sql, values_in
from schema.pagination import node_type
from tests.graphql.conftest import SCOPES, ExecuteQuery, StoreRecords
from tests.harness.records import UNKNOWN_ID
from tests.harness.sample_store import SampleStore
from tests.harness.scopes import is_allowed

SCHEMA = root.public_schema()
VALUES = {
    "ID": '"1"',
    "BigInt": "1",
    "Cents": "1",
    "Boolean": "true",
    "DateTime": '"2026-01-01T00:00:00Z"',
    "Int": "1",
}
# Computed from columns that fields show, or of records that the rows of the list imply.
DERIVED = {
    ("products", "name"): "the name without accents",
    ("products", "best_selling"): "the order of sales, whose numbers no field shows",
    ("warehouses", "name"): "the name without accents",
    ("warehouses", "search"): "the name without accents",
    ("warehouses", "covers_zipcode"): "its areas",
    ("combinations", "hash"): "its choices",
    ("orders", "search"): "the name and e-mail of the customer",
    ("orders", "tracking_code"): "that of the caller's own shipment",
    **{("orders", name): "the caller's own share" for name in ("total_from", "total_to", "total", "subtotal", "shipping", "discount")},
    ("media_files", "source_url"): "the source of what the caller made",
    ("warehouse_areas", "warehouse_id"): "listed below their warehouse",
    ("warehouse_usergroups", "warehouse_id"): "listed below their warehouse",
}  # fmt: skip

Rules = tuple[Access, ...]


def entity_lists() -> Iterator[tuple[str, EntityQuery, Any]]:
    """Yield the list fields with their queries and record types."""
    assert SCHEMA.query_type is not None
    for name, field in SCHEMA.query_type.fields.items():
        declared = strawberry_field(field)
        query = declared.metadata.get(ENTITY_QUERY) if declared is not None else None
        if query is not None and query.kind == "list":
            yield name, query, get_named_type(field.type)


def shown_values(type_: Any) -> dict[str, list[Rules]]:
    """Return what public fields show, columns and tables, with the rules that a reader of each field has to pass."""
    shown: dict[str, list[Rules]] = {}
    for name, field in _fields(type_):
        source, values = field_source(field), set[str]()
        rules: Rules = ()
        if isinstance(source, ColumnSource | RelationSource) and source.guard is not None:
            rules = (source.guard,)
        if isinstance(source, ColumnSource) and not callable(source.sql):
            values = values_in(source.shows or source.sql or name)
        elif isinstance(source, RelationSource):
            target: Any = get_named_type(field.type)
            target = target if source.own_order is None else node_type(target)
            rules += (target_access(target),)
            link: Any = source.link
            values = {f"FROM {target_entity(target).table}"}
            values |= {link.column} if isinstance(link, ToOne) else values_in(f"FROM {link.through}")
        for value in values:
            shown.setdefault(value, []).append(rules)
    return shown


def target_entity(type_: Any) -> Entity:
    entity = entity_of(type_)
    assert entity is not None
    return entity


def target_access(type_: Any) -> Access:
    access = access_of(type_)
    assert access is not None
    return access


def _fields(type_: Any) -> Iterator[tuple[str, Any]]:
    for name, field in type_.fields.items():
        if isinstance(field_source(field), EmbeddedSource):
            yield from _fields(get_named_type(field.type))
        else:
            yield name, field


def public_filters_and_sorts(entity: Entity) -> Iterator[tuple[str, str, set[str]]]:
    """Yield the kind, the name and what it reads of each filter and sort."""
    for name, declared in entity.filters.items():
        if not declared.internal:
            yield "filter", name, values_in(filter_sql(declared))
    for name, sort in entity.sorts.items():
        if not sort.internal:
            yield "sort", name, values_in(sort.sql)


CASES = [
    (field, kind, name, [shown[value] for value in sorted(read & shown.keys())])
    for field, query, type_ in entity_lists()
    for shown in [shown_values(type_)]
    for kind, name, read in public_filters_and_sorts(query.entity)
    if any(() not in shown.get(value, [()]) for value in read)
]


def test_the_rule_covers_the_known_cases() -> None:
    known = {(field, kind, name) for field, kind, name, _ in CASES}
    assert {
        ("reviews", "filter", "user_id"),
        ("vendors", "sort", "email"),
        ("payment_methods", "filter", "processor"),
        ("managers", "filter", "user_id"),
        ("orders", "filter", "shipping_method_id"),
        ("products", "filter", "tax_id"),
    } <= known


def test_every_filter_and_sort_reads_what_some_field_shows() -> None:
    """Else no field's rule would apply to it; `DERIVED` lists the reviewed exceptions."""
    unshown = {
        (field, name)
        for field, query, type_ in entity_lists()
        for shown in [shown_values(type_)]
        for _, name, read in public_filters_and_sorts(query.entity)
        if not read <= shown.keys()
    }
    assert unshown == DERIVED.keys()


def callers(records: StoreRecords) -> dict[str, Scope]:
    """Return every kind of caller, and administrators and apps with one right each."""
    some = {
        name: scope for name, scope in records.callers.items() if not name.endswith("_without") and name != "anonymous"
    }
    admins = {f"admin with view_{area}": records.as_admin(privileges=frozenset({f"view_{area}"})) for area in AREAS}
    apps = {
        f"app with {name}": records.as_actor(ActorKind.APP, app_id=1, scopes=frozenset({name}))
        for name in SCOPES
        if name.startswith("read_")
    }
    return some | admins | apps


@pytest.mark.parametrize("field, kind, name, shown", CASES, ids=lambda value: value if isinstance(value, str) else "")
async def test_a_caller_refused_a_value_is_refused_its_filters_and_sorts(
    field: str,
    kind: str,
    name: str,
    shown: list[list[Rules]],
    records: StoreRecords,
    execute_query: ExecuteQuery,
) -> None:
    query = next(query for listed, query, _ in entity_lists() if listed == field)
    assert SCHEMA.query_type is not None
    for listed in {field, f"{field.removesuffix('s')}_connection"} & SCHEMA.query_type.fields.keys():
        argument = f"sort: {name.upper()}_DESC"
        if kind == "filter":
            filters: Any = SCHEMA.query_type.fields[listed].args["filter"].type
            value = VALUES.get(str(filters.fields[name].type).strip("[]!"), '"x"')
            argument = f"filter: {{{name}: {value}}}"
        selection = "id" if listed == field else "edges { cursor }"
        for caller, scope in callers(records).items():
            answer = await execute_query(scope, f"{{ {listed}({argument}) {{ {selection} }} }}")
            allowed = is_allowed(query.access, scope) and all(
                any(all(is_allowed(rule, scope) for rule in rules) for rules in alternatives) for alternatives in shown
            )
            assert answer.codes() == ([] if allowed else ["FORBIDDEN"]), (caller, listed, argument)
            assert allowed or answer.data == {listed: None}


@pytest.mark.parametrize(
    "field, relation, name, caller",
    [
        ("managers", "user { id }", "user_id", "view_b2b"),
        ("manager_transactions", "order { id }", "order_id", "view_b2b"),
        ("mix_products", "product { id }", "product_id", "view_b2b"),
        ("call_requests", "product { id }", "product_id", "view_users"),
        ("users", "vendor { id }", "vendor_id", "view_users"),
        ("orders", "shipping_method { id }", "shipping_method_id", "read_orders"),
    ],
)
async def test_a_filter_needs_what_its_relation_needs(
    field: str, relation: str, name: str, caller: str, records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    """Compare with what the caller is shown, not with a rule."""
    rights = frozenset({caller})
    is_app = caller.startswith("read_")
    scope = records.as_actor(ActorKind.APP, app_id=1, scopes=rights) if is_app else records.as_admin(privileges=rights)
    read = await execute_query(scope, f"{{ {field} {{ id {relation} }} }}")
    assert set(read.codes()) == {"FORBIDDEN"}
    filtered = await execute_query(scope, f'{{ {field}(filter: {{{name}: "{UNKNOWN_ID}"}}) {{ id }} }}')
    assert filtered.codes() == ["FORBIDDEN"]


async def test_a_customer_filters_reviews_by_itself_only(sample: SampleStore) -> None:
    customer = await sample.client(sample.bia)
    await sample.execute("UPDATE discussion_posts SET user_id = $1", sample.bia.number)

    async def reviews(*users: str) -> Any:
        text = "query ($users: [ID!]) { reviews(filter: {user_id: $users}) { name } }"
        answer = await customer.post("/graphql", {"query": text, "variables": {"users": list(users)}})
        return answer.body

    own = (await reviews(sample.bia.id))["data"]["reviews"]
    assert own
    assert own == (await reviews(sample.bia.id.upper()))["data"]["reviews"]
    others = [(sample.owner.id,), (UNKNOWN_ID,), (sample.bia.id, sample.owner.id), ("x",), ("0",)]
    answers = [await reviews(*users) for users in (*others, (str(sample.bia.number),))]
    assert answers[0]["data"] == {"reviews": None}
    assert answers[0]["errors"][0]["extensions"]["code"] == "FORBIDDEN"
    assert all(answer == answers[0] for answer in answers)  # whether or not the user exists


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
        assert json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))[1] == own, edge
        node = edge["node"]
        assert (node["total_cents"], node["discount_cents"], node["refunded_cents"]) == (own, 0, 0), edge


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
