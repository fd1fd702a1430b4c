"""Lists filtered by ids, right after a store's records were written: how long they take doesn't depend on statistics.

PostgreSQL plans for the statistics of the last ANALYZE, by default minutes old. Here the tables have none, or those of a few rows.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import asyncpg
import pytest
from aiohttp import web
from graphql import GraphQLEnumType, GraphQLObjectType, get_named_type, is_leaf_type, is_required_argument

from kernel.settings import Settings
from kernel.text import MAX_FILTER_VALUES
from models.connection import database as db
from models.connection.binding import Plans
from resolvers import root
from server.embedded_postgres import EmbeddedServer
from tests.harness.database import connected_to_new_database
from tests.harness.http import HttpClient, Response, ServeApplication
from tests.harness.sample_store import SampleStore, filled_store
from tests.harness.store_sizes import ORDERS, PRODUCTS, USERS, analyze, fill_like_olist

_FIRST_STORE = 3_000_000
# Each row of the store a few times, as by a loop over products that finds the category of each.
MAX_ROWS_READ = 5 * (PRODUCTS + ORDERS + USERS)

_TAG_ALL = """
INSERT INTO product_tags (public_id, product_id, tag) SELECT gen_random_uuid(), id, 'tag' || id % 800 FROM products WHERE deleted_at IS NULL
"""

_captured: list[tuple[str, Sequence[Any], Plans]] = []


@web.middleware
async def _capture(request: web.Request, handler: Any) -> web.StreamResponse:
    with db.count_statements() as counted:
        response = await handler(request)
    statements = zip(counted.statements, counted.arguments, strict=True)
    _captured.extend([(sql, arguments, counted.plans[sql]) for sql, arguments in statements])
    return response


@pytest.fixture(scope="module", params=["none", "of few rows"])
async def sample(
    request: pytest.FixtureRequest,
    postgres: EmbeddedServer,
    database: db.DatabaseSettings,
    serve_application: ServeApplication,
) -> AsyncIterator[SampleStore]:
    """Return a store whose records were written since the last ANALYZE, in a database of its own."""
    async with connected_to_new_database(postgres, database, first_store=_FIRST_STORE) as url:
        await _disable_autovacuum(postgres.superuser_url(urlsplit(url).path.removeprefix("/")))
        client: HttpClient = await serve_application(Settings(ip_rate=0, failed_auth_rate=0), _capture)
        sample = await filled_store(client)
        if request.param == "of few rows":
            await analyze(url)
        await fill_like_olist(url, sample)
        await sample.execute(_TAG_ALL)
        yield sample


async def _disable_autovacuum(superuser_url: str) -> None:
    connection = await asyncpg.connect(superuser_url)
    tables = "select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace"
    for table in await connection.fetch(tables):
        await connection.execute(f"alter table {table['relname']} set (autovacuum_enabled = off)")
    await connection.close()


LISTS = [
    ("vendors", "products(limit: 1000, filter: {vendor_id: $ids}) { id }"),
    ("vendors", "product_page(per_page: 20, filter: {vendor_id: $ids}) { total items { id vendor { name } } }"),
    ("vendors", "products(limit: 20, sort: PRICE_ASC, filter: {vendor_id: $ids}) { id }"),
    ("categories", "product_page(per_page: 1000, filter: {category_id: $ids}) { total items { id } }"),
    ("categories", "product_page(per_page: 1000, filter: {below_category_id: $ids}) { total items { id } }"),
    ("categories", "product_page(per_page: 20, filter: {category_id: $ids}) { total items { id category { name } } }"),
    ("products", "product_page(per_page: 1000, filter: {id: $ids}) { total items { id } }"),
    ("products", "products(limit: 300, filter: {id: $ids}) { id categories { id } images { url } features { value } }"),
    ("products", "combination_page(per_page: 1000, filter: {product_id: $ids}) { total items { id } }"),
    ("products", "option_page(per_page: 1000, filter: {offered_by: $ids}) { total items { id } }"),
    ("products", "review_page(per_page: 1000, filter: {product_id: $ids}) { total items { id } }"),
    ("vendors", "order_page(per_page: 1000, filter: {vendor_id: $ids}) { total items { id } }"),
    ("users", "order_page(per_page: 1000, filter: {customer_id: $ids}) { total items { id } }"),
]

COUNTS = [
    ("categories", "category_page(per_page: 100, filter: {id: $ids}) { total items { id product_count } }"),
    (
        "categories",
        "category_page(per_page: 100, filter: {id: $ids}) { items { id product_count(include_descendants: true) } }",
    ),
    ("vendors", "vendor_page(per_page: 300, filter: {id: $ids}) { items { id product_count } }"),
    ("vendors", "vendor_page(per_page: 300, filter: {id: $ids}) { items { id average_rating review_count } }"),
]
LINKED = [
    ("products", "products(limit: 50, filter: {id: $ids}) { id related(first: 5) { id } }"),
    ("products", "products(limit: 100, filter: {id: $ids}) { combinations { id } options { id } attachments { id } }"),
    ("products", "products(limit: 100, filter: {id: $ids}) { id average_rating review_count }"),
]
SEARCHES = [
    (query, selection)
    for query in ("null", '"produto"')
    for selection in (
        "total edges { node { id } } facets { tags { name count } vendors { count } }",
        "edges { node { id tags } }",
    )
]
OF_SHOPPERS = [(table, text) for table, text in [*LISTS, *COUNTS, *LINKED] if "order" not in text]
TEXTS = [
    ("products", "sku", "products(limit: 1000, filter: {sku: $texts}) { id }"),
    ("products", "name", "product_page(per_page: 20, filter: {name: $texts}) { total items { id } }"),
    ("product_tags", "tag", "product_page(per_page: 20, filter: {tag: $texts}) { total items { id tags } }"),
]
SEARCH_VALUES = 100
_FACETS = (
    "facets { categories { count } features { values { count } } vendors { count } prices { count } ratings { count } }"
)
SEARCHES_AMONG = [
    (
        table,
        f"product_search(first: 20, filter: {{{condition}}}{arguments}) {{ total edges {{ node {{ id category {{ name }} }} }} {facets} }}",
    )
    for table, condition in (
        ("categories", "category_id: $ids"),
        ("categories", "below_category_id: $ids"),
        ("categories", "below_category_id: $ids, include_descendants: false"),
        ("vendors", "vendor_id: $ids"),
        ("vendors", "vendor_id: $ids, price_from: 1000, rating_from: 1, is_available: true"),
        (
            "categories",
            'category_id: $ids, status: A, created_from: "2016-01-01T00:00:00Z", created_before: "2027-01-01T00:00:00Z"',
        ),
    )
    for arguments, facets in (
        ("", _FACETS),
        (', query: "produto"', _FACETS),
        (', query: "bom barato", sort: PRICE_ASC', ""),
        (", sort: STOCK_ASC", ""),
    )
]


@cache
def _pages() -> dict[str, list[str]]:
    """Return selections of each list of the schema: each relation, each sort order, each filter of a closed list by one of its values."""
    schema = root.public_schema()
    assert schema.query_type is not None
    pages = {}
    for name, field in schema.query_type.fields.items():
        if name.endswith("_page") and not any(map(is_required_argument, field.args.values())):
            item = get_named_type(get_named_type(field.type).fields["items"].type)
            related = [
                f"{name}(per_page: 100) {{ items {{ {relation}{_selection(related.type)} }} }}"
                for relation, related in item.fields.items()
                if not any(map(is_required_argument, related.args.values()))
            ]
            sorts = getattr(get_named_type(field.args["sort"].type), "values", ()) if "sort" in field.args else ()
            filters = get_named_type(field.args["filter"].type).fields.items() if "filter" in field.args else ()
            arguments = [f"sort: {sort}" for sort in sorts]
            for condition, wanted in filters:
                if isinstance(choice := get_named_type(wanted.type), GraphQLEnumType):
                    arguments += [f"filter: {{ {condition}: {value} }}" for value in choice.values]
            pages[name] = related + [f"{name}(per_page: 20, {argument}) {{ items {{ id }} }}" for argument in arguments]
    return pages


def _selection(type_: Any) -> str:
    named = get_named_type(type_)
    if is_leaf_type(named):
        return ""
    if not isinstance(named, GraphQLObjectType):
        return " { __typename }"
    if "edges" in named.fields:
        return f" {{ edges {{ node{_selection(get_named_type(named.fields['edges'].type).fields['node'].type)} }} }}"
    leaves = [
        name for name, field in named.fields.items() if is_leaf_type(get_named_type(field.type)) and not field.args
    ]
    return f" {{ {leaves[0] if leaves else '__typename'} }}"


@pytest.mark.parametrize("number", [1, MAX_FILTER_VALUES], ids=["one id", "as many ids as a filter takes"])
@pytest.mark.parametrize("table, list_field", [*LISTS, *COUNTS, *LINKED])
async def test_a_list_of_new_records_looks_ids_up_once(
    sample: SampleStore, table: str, list_field: str, number: int
) -> None:
    document = f"query ($ids: [ID!]) {{ {list_field} }}"
    await _check(sample, document, {"ids": await _ids(sample, table, number)}, auth="bearer")


@pytest.mark.parametrize("number", [1, MAX_FILTER_VALUES], ids=["one id", "as many ids as a filter takes"])
@pytest.mark.parametrize("table, list_field", OF_SHOPPERS)
async def test_a_list_of_new_products_looks_ids_up_once_for_shoppers(
    sample: SampleStore, table: str, list_field: str, number: int
) -> None:
    document = f"query ($ids: [ID!]) {{ {list_field} }}"
    await _check(sample, document, {"ids": await _ids(sample, table, number)}, auth=None)


@pytest.mark.parametrize("auth", ["bearer", None], ids=["administrator", "shopper"])
@pytest.mark.parametrize("table, search", SEARCHES_AMONG)
async def test_a_search_among_new_products_compares_none_with_each_other(
    sample: SampleStore, table: str, search: str, auth: str | None
) -> None:
    if auth is None and "status" in search:
        search = search.replace("status: A, ", "")
    document = f"query ($ids: [ID!]) {{ {search} }}"
    # Each facet reads all entries that match.
    at_most = 2 * MAX_ROWS_READ if _FACETS in search else MAX_ROWS_READ
    await _check(sample, document, {"ids": await _ids(sample, table, SEARCH_VALUES)}, auth, at_most)


@pytest.mark.parametrize("auth", ["bearer", None], ids=["administrator", "shopper"])
@pytest.mark.parametrize("page", sorted(_pages()))
async def test_a_page_of_new_records_looks_related_ones_up_by_their_keys(
    sample: SampleStore, page: str, auth: str | None
) -> None:
    statements: dict[str, tuple[str, Sequence[Any], Plans]] = {}
    for list_field in _pages()[page]:
        response = await _send(sample, f"{{ {list_field} }}", {}, auth)
        codes = {error["extensions"]["code"] for error in response.body.get("errors", ())}
        assert codes <= {"FORBIDDEN"}, (list_field, response.raw)
        statements |= {sql: (sql, arguments, plans) for sql, arguments, plans in _captured}
    await _check_statements(sample, statements.values())


@pytest.mark.parametrize("number", [1, MAX_FILTER_VALUES], ids=["one text", "as many texts as a filter takes"])
@pytest.mark.parametrize("table, column, list_field", TEXTS)
async def test_a_list_of_new_products_looks_texts_up_once(
    sample: SampleStore, table: str, column: str, list_field: str, number: int
) -> None:
    rows = await sample.rows(
        f"select distinct {column} as text from {table} where {column} <> '' limit {min(number, 600)}"
    )
    texts = [row["text"] for row in rows]
    texts += [f"unknown {unknown}" for unknown in range(number - len(texts))]
    await _check(sample, f"query ($texts: [String!]) {{ {list_field} }}", {"texts": texts}, auth=None)


@pytest.mark.parametrize("query, selection", SEARCHES)
async def test_a_search_of_new_products_by_tags_compares_each_once(
    sample: SampleStore, query: str, selection: str
) -> None:
    document = (
        f"query ($tags: [String!]) {{ product_search(query: {query}, filter: {{tag: $tags}}) {{ {selection} }} }}"
    )
    await _check(sample, document, {"tags": [f"tag{number}" for number in range(100)]}, auth=None)


async def _ids(sample: SampleStore, table: str, number: int) -> list[str]:
    """Return ids of records, and of as many unknown ones as are missing."""
    rows = await sample.rows(f"select public_id from {table} order by id desc limit {min(number, 600)}")
    ids = [str(row["public_id"]) for row in rows]
    return ids + [str(UUID(int=unknown)) for unknown in range(number - len(ids))]


async def _check(
    sample: SampleStore, document: str, variables: Mapping[str, Any], auth: str | None, at_most: int = MAX_ROWS_READ
) -> None:
    """Send a document as an administrator or with a storefront key, and check what its statements read."""
    response = await _send(sample, document, variables, auth)
    assert "errors" not in response.body, response.raw
    assert _captured
    await _check_statements(sample, _captured, at_most)


async def _send(sample: SampleStore, document: str, variables: Mapping[str, Any], auth: str | None) -> Response:
    _captured.clear()
    client = sample if auth else await sample.shopper()
    return await client.post(
        "/graphql", {"query": document, "variables": variables}, **({"auth": auth} if auth else {})
    )


async def _check_statements(
    sample: SampleStore, statements: Iterable[tuple[str, Sequence[Any], Plans]], at_most: int = MAX_ROWS_READ
) -> None:
    for sql, arguments, plans in list(statements):
        # The first executions are planned for their values, later ones for any.
        for mode in (Plans.FOR_VALUES, Plans.REUSED) if plans is Plans.AUTOMATIC else (plans,):
            plan = await _executed_plan(sample, mode, sql, arguments)
            read = sum(_rows_read(node) for node in _nodes(plan))
            assert read <= at_most, f"{mode}: {read} rows\n{sql}\n{json.dumps(plan, indent=1)}"


async def _executed_plan(sample: SampleStore, plans: Plans, sql: str, arguments: Sequence[Any]) -> dict[str, Any]:
    values = ", ".join([_literal(argument) for argument in arguments])
    async with db.transaction(sample.scope):
        await db.execute(f"set local plan_cache_mode = {plans.value}")
        await db.execute(f"prepare explained as {sql}")
        try:
            explained = await db.fetchval(f"explain (analyze, timing off, format json) execute explained ({values})")
        finally:
            await db.execute("deallocate explained")
    plan: dict[str, Any] = json.loads(explained)[0]["Plan"]
    return plan


def _rows_read(node: dict[str, Any]) -> int:
    """Return how many rows a node read from a table, or compared by a join."""
    read = node["Actual Rows"] if "Relation Name" in node else 0
    read += node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Join Filter", 0)
    return int(read * node["Actual Loops"])


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def _literal(value: Any) -> str:
    if isinstance(value, list | tuple):
        value = "{" + ",".join(map(str, value)) + "}"
    return "'" + str(value).replace("'", "''") + "'"
