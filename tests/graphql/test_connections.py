"""Connections page in both directions: of every entity and of the records of another, compiled and by the executor alike."""

from __future__ import annotations

from typing import Any

import pytest
from graphql import GraphQLObjectType, get_named_type

from kernel.scope import Scope, active_scope
from models.connection import database
from models.reading.response_shapes import NotCompiled
from models.tables.catalog import ProductCategory
from resolvers import root
from resolvers.engine.compile import QueryCompiler
from resolvers.engine.executor import ExecutionContext, execute_document
from resolvers.engine.prepare import prepare_document
from resolvers.entity_queries import ENTITY_QUERY
from schema.fields import strawberry_field
from tests.graphql.conftest import ExecuteQuery, StoreRecords
from tests.harness.sample_store import SampleStore

PAGE_ARGUMENTS = {"first", "after", "last", "before"}
SCHEMA = root.public_schema()
assert SCHEMA.query_type is not None
ROOTS = SCHEMA.query_type.fields
INFO = "page_info { has_next_page has_previous_page start_cursor end_cursor }"


def _lists() -> dict[str, str]:
    """Return the name of the connection by that of each list of an entity."""
    lists = {}
    for name, field in ROOTS.items():
        declared = strawberry_field(field)
        query = declared.metadata.get(ENTITY_QUERY) if declared is not None else None
        if query is not None and query.kind == "list":
            type_ = get_named_type(field.type).name
            [lists[name]] = [
                key for key, each in ROOTS.items() if get_named_type(each.type).name == f"{type_}Connection"
            ]
    return lists


def test_every_entity_has_a_connection() -> None:
    lists = _lists()
    assert len(lists) > 40
    assert {name for name in ROOTS if name.endswith("_connection")} == set(lists.values())


def test_every_connection_pages_in_both_directions() -> None:
    connections = [
        (f"{type_.name}.{name}", set(field.args))
        for type_ in SCHEMA.type_map.values()
        if isinstance(type_, GraphQLObjectType)
        for name, field in type_.fields.items()
        if get_named_type(field.type).name.endswith("Connection")
    ]
    # The event feed is followed forward.
    assert [name for name, arguments in connections if not arguments >= PAGE_ARGUMENTS] == ["Query.events"]
    assert {"Category.products", "User.orders", "User.reviews"} <= {name for name, _ in connections}


async def _run(scope: Scope, text: str, **variables: Any) -> tuple[dict[str, Any], int]:
    """Execute a document, which must compile, in both ways; return the equal answer and the statements of the compiled one."""
    prepared = prepare_document(SCHEMA, text, limited=True)
    operation = prepared.operation(None)
    assert prepared.errors == ()
    assert operation is not None
    compiled = QueryCompiler(SCHEMA, native=False).compile_query(prepared, operation, variables)
    assert compiled is not None, text
    with active_scope(scope):
        with database.count_statements() as counted:
            data = await compiled.run(scope)
        executed = await execute_document(SCHEMA, prepared, ExecutionContext(scope), variables)
    assert executed.errors is None
    assert executed.data == data
    return data, counted.count


@pytest.mark.parametrize("name", _lists())
async def test_pages_from_either_end_are_those_of_the_list(name: str, records: StoreRecords) -> None:
    scope, connection = records.callers["admin"], _lists()[name]
    id_ = "id" if "id" in get_named_type(ROOTS[name].type).fields else "__typename"
    listed, _ = await _run(scope, f"{{ all: {name}(limit: 1000) {{ {id_} }} }}")
    expected = [row[id_] for row in listed["all"]]
    document = "query($after: String, $before: String) {{ page: {0}({1}) {{ edges {{ cursor node {{ {2} }} }} {3} }} }}"
    for size, cursor, more in (("first", "after", "has_next_page"), ("last", "before", "has_previous_page")):
        text = document.format(connection, f"{size}: 1, after: $after, before: $before", id_, INFO)
        seen: list[Any] = []
        position, has_more = None, bool(expected)
        while has_more:
            data, _ = await _run(scope, text, **{cursor: position})
            [edge] = data["page"]["edges"]
            info = data["page"]["page_info"]
            seen.append(edge["node"][id_])
            has_more, position = info[more], edge["cursor"]
            assert (info["start_cursor"], info["end_cursor"]) == (position, position), (size, cursor, more)
        assert seen == (expected if size == "first" else expected[::-1]), name


@pytest.mark.parametrize("name", _lists())
async def test_sort_keys_have_the_type_of_the_keys_in_cursors(name: str, records: StoreRecords) -> None:
    """A page after another compares them: PostgreSQL refuses the statement for other types, whatever the rows."""
    declared = strawberry_field(ROOTS[name])
    assert declared is not None
    entity, scope = declared.metadata[ENTITY_QUERY].entity, records.callers["admin"]
    with active_scope(scope):
        for sort in entity.sorts.values():
            key = sort.sql.replace("{tenant}", str(scope.store.id))
            await database.fetch(f"SELECT FROM {entity.table} t WHERE ({key}, t.id) > (null::{sort.cast}, 0::bigint)")


@pytest.mark.parametrize("name", _lists())
async def test_the_total_is_that_of_the_list_for_one_statement_more(name: str, records: StoreRecords) -> None:
    scope, connection = records.callers["admin"], _lists()[name]
    page = f"page: {connection}(first: 1) {{ edges {{ node {{ __typename }} }}"
    listed, _ = await _run(scope, f"{{ all: {name}(limit: 1000) {{ __typename }} }}")
    _, without = await _run(scope, f"{{ {page} }} }}")
    counted, statements = await _run(scope, f"{{ {page} total_count }} }}")
    assert counted["page"]["total_count"] == len(listed["all"])
    assert statements == without + 1


@pytest.fixture
async def categories(sample: SampleStore) -> dict[str, Any]:
    """Return two categories with seven products each, in an order of their own."""
    created_categories = {}
    for name in ("Xícaras", "Pratos"):
        created = await sample.post("/api/v1/admin/categories", {"name": name}, auth="bearer")
        number = await sample.value("SELECT id FROM categories WHERE public_id = $1", created.body["id"])
        names = []
        for position in range(7):
            product = await sample.add_product(
                name=f"{name} {position * 3 % 7}", price_cents=100 * (position * 3 % 7 + 1)
            )
            await sample.add(ProductCategory, product_id=product.number, category_id=number, position=position)
            names.append(f"{name} {position * 3 % 7}")
        created_categories[created.body["id"]] = names
    return created_categories


CATEGORY = """query($ids: [ID!], $first: Int, $after: String, $last: Int, $before: String, $sort: ProductSort) {
    categories(filter: {id: $ids}, sort: ID_ASC) { id
        products(first: $first, after: $after, last: $last, before: $before, sort: $sort) {
            edges { cursor node { name category { name } } } page_info { has_next_page has_previous_page } } } }"""


def _names(category: dict[str, Any]) -> list[str]:
    return [edge["node"]["name"] for edge in category["products"]["edges"]]


async def test_a_category_shows_pages_of_its_products_with_as_many_statements_for_any_number(
    sample: SampleStore, categories: dict[str, Any]
) -> None:
    counts = []
    for ids, size in ((list(categories)[:1], 1), (list(categories), 5)):
        data, count = await _run(sample.scope, CATEGORY, ids=ids, first=size)
        counts.append(count)
        for category in data["categories"]:
            assert _names(category) == categories[category["id"]][:size]
            assert category["products"]["page_info"] == {"has_next_page": True, "has_previous_page": False}
    assert counts[0] == counts[1]


@pytest.mark.parametrize("sort", [None, "PRICE_DESC", "NAME_ASC"])
async def test_the_products_of_a_category_page_in_both_directions(
    sort: str | None, sample: SampleStore, categories: dict[str, Any]
) -> None:
    id_, names = next(iter(categories.items()))
    expected = names if sort is None else sorted(names, reverse=sort == "PRICE_DESC")
    for size, cursor, end, more in (
        ("first", "after", -1, "has_next_page"),
        ("last", "before", 0, "has_previous_page"),
    ):
        pages: list[list[str]] = []
        position, has_more = None, True
        while has_more:
            data, _ = await _run(sample.scope, CATEGORY, ids=[id_], sort=sort, **{size: 3, cursor: position})
            [category] = data["categories"]
            pages.append(_names(category))
            position = category["products"]["edges"][end]["cursor"]
            has_more = category["products"]["page_info"][more]
        ordered = pages if size == "first" else pages[::-1]
        assert [name for page in ordered for name in page] == expected, (size, cursor, end, more)
        assert len(pages[-1]) == 1, (size, cursor, end, more)


async def test_a_range_between_two_cursors_is_read(sample: SampleStore, categories: dict[str, Any]) -> None:
    id_, names = next(iter(categories.items()))
    data, _ = await _run(sample.scope, CATEGORY, ids=[id_], first=7)
    cursors = [edge["cursor"] for edge in data["categories"][0]["products"]["edges"]]
    for size in ("first", "last"):
        data, _ = await _run(sample.scope, CATEGORY, ids=[id_], after=cursors[1], before=cursors[5], **{size: 2})
        assert _names(data["categories"][0]) == (names[2:4] if size == "first" else names[3:5])


async def test_products_of_a_category_are_filtered_by_any_of_several_values(
    sample: SampleStore, categories: dict[str, Any]
) -> None:
    id_, names = next(iter(categories.items()))
    text = """query($id: ID!, $of: [ProductStatus!]) {
        category(id: $id) { products(filter: {status: $of}) { edges { node { name } } } } }"""
    for statuses, expected in ((["A", "H"], names), (["D"], [])):
        data, _ = await _run(sample.scope, text, id=id_, of=statuses)
        assert _names(data["category"]) == expected


async def test_filtered_products_of_a_category_and_hidden_ones(sample: SampleStore, categories: dict[str, Any]) -> None:
    id_, names = next(iter(categories.items()))
    await sample.execute("UPDATE products SET status = 'H' WHERE name = $1", names[0])
    text = "query($id: ID!) { category(id: $id) { product_count products(filter: {price_from: 300}) { edges { node { name } } } } }"
    seen = {}
    for caller, scope in (
        ("admin", sample.scope),
        ("key", sample.as_storefront(scopes=frozenset({"storefront:read"}))),
    ):
        data, _ = await _run(scope, text, id=id_)
        seen[caller] = (_names(data["category"]), data["category"]["product_count"])
    expected = [name for name in names if int(name[-1]) >= 2]
    assert seen == {"admin": (expected, 7), "key": ([name for name in expected if name != names[0]], 6)}


@pytest.mark.parametrize(
    "arguments,field",
    [
        ("first: 101", "first"),
        ("last: -1", "last"),
        ("first: 1, last: 1", "last"),
        ('after: "x"', "after"),
        ('before: "x"', "before"),
    ],
)
async def test_an_invalid_page_of_products_is_an_error_at_its_field(
    arguments: str, field: str, records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    text = f"query($id: ID!) {{ category(id: $id) {{ products({arguments}) {{ edges {{ node {{ id }} }} }} }} }}"
    answer = await execute_query(records.callers["admin"], text, id=records.ids["category"])
    [error] = answer.errors
    assert (error["extensions"]["code"], error["extensions"]["field"]) == ("VALIDATION_FAILED", field)
    assert error["path"] == ["category", "products"]


@pytest.mark.parametrize(
    "selection, path",
    [
        ("category(id: $id) { id some: products(first: 101) { page_info { end_cursor } } }", ["category", "some"]),
        ("categories { products(first: 101) { edges { cursor } } }", ["categories", 0, "products"]),
        ("products { name reviews(limit: 101) { rating } }", ["products", 0, "reviews"]),
        ("product_page { items { reviews(limit: 0) { rating } } }", ["product_page", "items", 0, "reviews"]),
        (
            "category(id: $id) { products { edges { node { reviews(limit: 101) { rating } } } } }",
            ["category", "products", "edges", 0, "node", "reviews"],
        ),
    ],
)
async def test_the_error_of_a_relations_size_is_at_the_relation(
    selection: str, path: list[Any], records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    root = selection.partition(" ")[0].partition("(")[0]
    variables = {"id": records.ids["category"]} if "$id" in selection else {}
    text = f"query{'($id: ID!)' if variables else ''} {{ {selection} store {{ name }} }}"
    answer = await execute_query(records.callers["admin"], text, **variables)
    assert [error["path"] for error in answer.errors] == [path]
    assert answer.data[root] is None
    assert answer.data["store"]["name"]


async def test_a_relation_with_an_invalid_size_that_no_record_has_is_no_error(
    records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    text = "{ categories(limit: 0) { products(first: 101) { edges { cursor } } } }"
    answer = await execute_query(records.callers["admin"], text)
    assert (answer.data, answer.errors) == ({"categories": []}, [])


async def test_products_under_two_keys_are_left_to_the_executor(records: StoreRecords) -> None:
    text = "{ categories { products { a: edges { node { id } } b: edges { node { name } } } } }"
    prepared = prepare_document(SCHEMA, text, limited=True)
    operation = prepared.operation(None)
    assert operation is not None
    assert QueryCompiler(SCHEMA, native=False).compile_query(prepared, operation, {}) is None
    scope = records.callers["admin"]
    with active_scope(scope):
        result = await execute_document(SCHEMA, prepared, ExecutionContext(scope))
    assert result.errors is None
    products = [category["products"] for category in result.data["categories"]]  # type: ignore[index]
    assert any(page["a"] for page in products)
    assert all(len(page["a"]) == len(page["b"]) for page in products)


async def test_a_sort_that_the_caller_may_not_use_is_refused_in_a_connection(records: StoreRecords) -> None:
    text = "{ vendor_connection(sort: EMAIL_ASC) { edges { node { id } } } }"
    scope = records.callers["storefront"]
    prepared = prepare_document(SCHEMA, text, limited=True)
    operation = prepared.operation(None)
    assert operation is not None
    compiled = QueryCompiler(SCHEMA, native=False).compile_query(prepared, operation, {})
    assert compiled is not None
    with active_scope(scope), pytest.raises(NotCompiled):
        await compiled.run(scope)
