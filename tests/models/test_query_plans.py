"""Query plans: no filter or sort of a list needs a sequential scan of products, orders, users or order lines.

Statements that PostgreSQL plans once per connection (`Plans.REUSED`) read about the pages of those planned for their parameters, in a store
of thousands of rows and in one of a few. Lists by a status are planned for its value.

The statements are captured from requests to the whole application, in a store as large as the Olist marketplace next to a smaller one and
1,500 of a few products each, and explained as the serving role.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest
from aiohttp import web

from kernel.scope import active_scope
from kernel.settings import Settings
from models.connection import catalog_versions
from models.connection import database as db
from models.connection.binding import Plans
from models.reading.queries import Sort
from rest_facade import collections
from rest_facade.list_parameters import DIRECTIONS
from schema.cursors import KeysetOrder
from server.embedded_postgres import EmbeddedServer
from tests.harness.database import connected_to_new_database
from tests.harness.http import HttpClient, ServeApplication
from tests.harness.records import Record
from tests.harness.sample_store import SampleStore, filled_store
from tests.harness.store_sizes import analyze, copy_many_times, fill_like_olist

BIG = ("products", "orders", "order_lines", "users")
_FIRST_STORE = 1_000_000
SMALL_STORES = 1_500

_captured: list[tuple[str, Sequence[Any]]] = []
_plans: dict[str, Plans] = {}


@web.middleware
async def _capture(request: web.Request, handler: Any) -> web.StreamResponse:
    with db.count_statements() as counted:
        response = await handler(request)
    _captured.extend(zip(counted.statements, counted.arguments, strict=True))
    _plans.update(counted.plans)
    return response


@pytest.fixture(scope="module")
async def own_database_url(postgres: EmbeddedServer, database: db.DatabaseSettings) -> AsyncIterator[str]:
    """Connect this process with a database of the module's own: a plan for any store suits the average of all its stores."""
    async with connected_to_new_database(postgres, database, first_store=_FIRST_STORE) as url:
        yield url


@pytest.fixture(scope="module")
async def client(own_database_url: str, serve_application: ServeApplication) -> HttpClient:
    """Serve the application and capture the statements of each request with their parameters."""
    return await serve_application(Settings(ip_rate=0, failed_auth_rate=0), _capture)


@pytest.fixture(scope="module")
async def big_sample(client: HttpClient, postgres: EmbeddedServer, own_database_url: str) -> SampleStore:
    """Return a store with as many records as Olist's; a smaller one and many of a few records exist next to it."""
    *stores, small = [await filled_store(client) for _ in range(3)]
    # A plan that is used again suits the average of all stores: without the many, the large one would be the average.
    superuser_url = postgres.superuser_url(urlsplit(own_database_url).path.removeprefix("/"))
    await copy_many_times(superuser_url, small.store, SMALL_STORES)
    for sample, share in zip(stores, (1, 10), strict=True):
        await fill_like_olist(own_database_url, sample, share)
    await analyze(own_database_url)
    return stores[0]


@pytest.fixture
def captured() -> Iterator[list[tuple[str, Sequence[Any]]]]:
    _captured.clear()
    yield _captured
    _captured.clear()


# --- Requests -----------------------------------------------------------------------------------------------------------

# {vendor}, {category} and {user} are placeholders for records of the store: internal id, or (…_id) UUID.
LEGACY = [
    *(f"/api/products?{query}" for query in (
        "", "company_id={vendor}", "category_id={category}", "status=A", "status=H", "q=Produto c4ca", "product_code=SKU77",
        "sort_by=product", "sort_by=product&sort_order=desc", "sort_by=price",
        "sort_by=timestamp", "sort_by=timestamp&page=40", "sort_by=code", "sort_by=status", "sort_by=updated_timestamp",
        "company_id={vendor}&status=A&sort_by=price", "items_per_page=250", "category_id={category}&q=produto",
    )),
    *(f"/api/orders?{query}" for query in (
        "", "status=O", "status=C", "user_id={user}", "company_id={vendor}", "period=D", "period=W", "q=pessoa77@exemplo.com.br",
        "time_from=1480000000&time_to=1480600000", "period=C&time_from=1480000000&time_to=1480600000",
        "sort_by=order_id", "sort_by=status", "sort_by=total", "sort_by=updated_at", "email=pessoa77@exemplo.com.br",
    )),
    *(f"/api/users?{query}" for query in (
        "", "user_type=C", "user_type=V", "status=A", "status=D", "company_id={vendor}", "q=pessoa77", "email=pessoa77@exemplo.com.br",
        "sort_by=user_id", "sort_by=email", "sort_by=name", "sort_by=status", "sort_by=timestamp",
    )),
    "/api/products/{product}", "/api/orders/{order}", "/api/users/{user}",
    "/api/categories/{category}/products", "/api/categories",
]  # fmt: skip

# Sorts that read all records of the store: used too rarely to justify an index each, which every write would maintain.
UNINDEXED = {
    ("products", "description"),
    ("products", "short_description"),
    ("products", "category_id"),
    ("products", "stock"),  # of combinations, where a product has some
    ("orders", "currency"),
    ("orders", "delivery_time"),
    ("orders", "tracking_code"),
}

CURRENT = [
    *(f"/api/v1/admin/products?{query}" for query in (
        "", "search=produto c4ca", "status=A", "status=H", "category_id={category_id}", "vendor_id={vendor_id}",
        "created_from=2016-06-10&created_to=2016-06-12", "sort_by=price_cents", "sort_by=name", "sort_by=created_at&page=50",
    )),
    *(f"/api/v1/admin/orders?{query}" for query in (
        "", "search=pessoa77@exemplo.com.br", "status=O", "customer_id={user_id}", "created_from=2016-10-10&created_to=2016-10-12",
        "sort_by=total_cents", "sort_by=created_at", "sort_by=updated_at",
    )),
    *(f"/api/v1/admin/users?{query}" for query in (
        "", "search=pessoa77", "role=vendor", "role=customer", "status=A", "status=D", "sort_by=name", "sort_by=email",
        "sort_by=created_at",
    )),
    # Every sort field, in both directions.
    *(f"/api/v1/admin/{collection.name}?sort_by={field}&sort_order={direction}"
      for collection in (collections.PRODUCTS, collections.ORDERS, collections.USERS, collections.CUSTOMERS)
      for field in collection.list_definition.sorts if (collection.name, field) not in UNINDEXED
      for direction in DIRECTIONS),
]  # fmt: skip


def _sorts(names: str) -> list[str]:
    return [f"{name}_{direction}" for name in names.split() for direction in ("ASC", "DESC")]


GRAPHQL = [
    "{ product_page(filter: {search: \"produto c4ca\"}) { total items { id } } }",
    "{ product_page(filter: {status: [\"A\"], category_id: [\"{category_id}\"]}) { total items { id category { name } images { url } } } }",
    "{ product_page(filter: {created_from: \"2016-06-10T00:00:00Z\", created_before: \"2016-06-12T00:00:00Z\"}) { total items { id } } }",
    "{ product_page(filter: {sku: [\"SKU77\"]}) { total items { id } } }",
    "{ product_page(filter: {vendor_id: [\"{vendor_id}\"]}) { total items { id } } }",
    "{ product_page(filter: {below_category_id: [\"{category_id}\"]}) { total items { id } } }",
    "{ product_page(filter: {price_from: 900, price_to: 990}) { total items { id } } }",
    "{ product_search(query: \"produto c4ca\") { total edges { node { id } } facets { vendors { count } categories { count } } } }",
    "{ product_search(query: \"sku77\", sort: NAME_ASC) { total edges { node { id } } } }",
    "{ product_search(query: \"produtu\", first: 3) { corrected_query edges { node { id } } } }",
    "{ order_page(filter: {status: [\"O\"]}) { total items { id customer { name } items { quantity product { name } } } } }",
    "{ order_page(filter: {vendor_id: [\"{vendor_id}\"]}) { total items { id } } }",
    "{ order_page(filter: {created_from: \"2016-10-10T00:00:00Z\", created_before: \"2016-10-12T00:00:00Z\"}) { total items { id } } }",
    "{ order_page(filter: {total_from: 2000, total_to: 2100}) { total items { id } } }",
    "{ order_page(filter: {customer_id: [\"{user_id}\"]}) { total items { id } } }",
    "{ user_page(filter: {search: \"pessoa77\"}) { total items { id } } }",
    "{ user_page(filter: {role: [\"vendor\"]}) { total items { id } } }",
    "{ product(id: \"{product_id}\") { id name category { id } images { url } } }",
    "{ order(id: \"{order_id}\") { id items { quantity product { id } } customer { name } } }",
    *(f"{{ products(limit: 50, offset: 100, sort: {sort}) {{ id }} }}"
      for sort in _sorts("CREATED_AT UPDATED_AT NAME PRICE STOCK SKU STATUS ID")),
    *(f"{{ orders(limit: 50, sort: {sort}) {{ id }} }}" for sort in _sorts("CREATED_AT UPDATED_AT TOTAL STATUS NUMBER")),
    *(f"{{ users(limit: 50, sort: {sort}) {{ id }} }}" for sort in _sorts("CREATED_AT NAME EMAIL STATUS ID")),
]  # fmt: skip


def _fill_placeholders(sample: SampleStore, text: str) -> str:
    """Replace the placeholders by ids."""
    for name, made in sample.some.items():
        text = text.replace(f"{{{name}}}", str(made.number)).replace(f"{{{name}_id}}", made.id)
    return text


@pytest.fixture(scope="module")
async def sample(big_sample: SampleStore) -> SampleStore:
    """Return the large store with the records for the placeholders."""

    async def first(sql: str) -> Record:
        row = (await big_sample.rows(sql))[0]
        return Record(row["id"], str(row["public_id"]))

    big_sample.records["some"] = {
        "vendor": await first("select id, public_id from vendors where name = 'Loja 50'"),
        "category": await first("select id, public_id from categories where name = 'Categoria 9'"),
        "user": await first("select id, public_id from users where email = 'pessoa77@exemplo.com.br'"),
        "product": await first("select id, public_id from products where sku = 'SKU77'"),
        "order": await first("select id, public_id from orders order by id desc limit 1"),
    }
    return big_sample


@pytest.mark.parametrize("path", LEGACY)
async def test_legacy_lists_have_no_sequential_scan(
    sample: SampleStore, path: str, captured: list[tuple[str, Sequence[Any]]]
) -> None:
    response = await sample.get(_fill_placeholders(sample, path))
    assert response.status == 200, response.raw
    await _check(sample, captured)


@pytest.mark.parametrize("path", CURRENT)
async def test_lists_of_the_current_api_have_no_sequential_scan(
    sample: SampleStore, path: str, captured: list[tuple[str, Sequence[Any]]]
) -> None:
    response = await sample.get(_fill_placeholders(sample, path), auth="bearer")
    assert response.status == 200, response.raw
    await _check(sample, captured)


@pytest.mark.parametrize("document", GRAPHQL)
async def test_graphql_queries_have_no_sequential_scan(
    sample: SampleStore, document: str, captured: list[tuple[str, Sequence[Any]]]
) -> None:
    response = await sample.post("/graphql", {"query": _fill_placeholders(sample, document)}, auth="bearer")
    assert "errors" not in response.body, response.raw
    await _check(sample, captured)


@pytest.fixture(scope="module")
async def small_sample(sample: SampleStore, client: HttpClient) -> SampleStore:
    """Return a store with a few rows, next to the large one."""
    small = await filled_store(client)
    ids = {name: (await small.rows(f"select id, public_id from {table} order by id limit 1"))[0] for name, table in (
        ("vendor", "vendors"), ("category", "categories"), ("user", "users"), ("product", "products"), ("order", "orders"),
    )}  # fmt: skip
    small.records["some"] = {name: Record(row["id"], str(row["public_id"])) for name, row in ids.items()}
    return small


_PRODUCT = (
    "id name category { id name } categories { name } vendor { name } images { url } features { value feature { name } }"
    " reviews(limit: 3) { rating } options { name } combinations { id } related(first: 5) { id name images { url } }"
)
BY_KEYS = [
    f'{{ product(id: "{{product_id}}") {{ {_PRODUCT} }} }}',
    f"{{ products(limit: 50) {{ {_PRODUCT} }} }}",
    '{ order(id: "{order_id}") { id items { quantity product { id name } } customer { name email } } }',
    "{ orders(limit: 50) { id items { quantity product { id category { name } } } customer { name } } }",
    '{ user(id: "{user_id}") { id name email } }',
    '{ category(id: "{category_id}") { id name parent { name } children { id name } } }',
    '{ vendor(id: "{vendor_id}") { id name } }',
]
# Of two good plans one may read a few times the pages of the other: a small table is read as a whole or searched for each key, about four
# pages (index and row) each. A plan that scans a table, for each parent or once, reads hundreds more.
_TIMES, _MORE_PAGES, _PAGES_PER_KEY = 3, 40, 4


@pytest.mark.parametrize("document", BY_KEYS)
async def test_a_plan_that_is_used_again_is_as_good_as_one_for_the_parameters(
    sample: SampleStore, small_sample: SampleStore, document: str, captured: list[tuple[str, Sequence[Any]]]
) -> None:
    for store in (sample, small_sample):
        captured.clear()
        response = await store.post("/graphql", {"query": _fill_placeholders(store, document)}, auth="bearer")
        assert "errors" not in response.body, (store, response.raw)
        statements = [(sql, arguments) for sql, arguments in captured if _plans[sql] is Plans.REUSED]
        assert statements, store
        for sql, arguments in statements:
            reused, own = [
                await _executed_plan(store, plans, sql, arguments) for plans in (Plans.REUSED, Plans.FOR_VALUES)
            ]
            allowed = _TIMES * _pages(own) + _MORE_PAGES + _PAGES_PER_KEY * _count_keys(arguments)
            assert _pages(reused) <= allowed, f"{sql}\n{_format_plan(reused)}\n{_format_plan(own)}"


@pytest.mark.parametrize(
    "document", ["{{ product(id: {}) {{ {} }} }}", "{{ products(limit: 3, filter: {{id: [{}]}}) {{ {} }} }}"]
)
async def test_related_products_are_found_in_their_order(
    sample: SampleStore, document: str, captured: list[tuple[str, Sequence[Any]]]
) -> None:
    rows = await sample.rows(
        "select p.public_id, c.n from products p join (select category_id, count(*) as n from products group by 1) c"
        " using (category_id) order by c.n desc limit 1"
    )
    assert rows[0]["n"] > 80
    text = document.format(f'"{rows[0]["public_id"]}"', "related(first: 3) { id name }")
    response = await sample.post("/graphql", {"query": text}, auth="bearer")
    assert "errors" not in response.body, response.raw
    sql, arguments = next((sql, arguments) for sql, arguments in captured if "SELECT o.category_id" in sql)
    plan = await _executed_plan(sample, Plans.REUSED, sql, arguments)
    read = sum(
        node["Actual Rows"] + node.get("Rows Removed by Filter", 0) for node in _nodes(plan) if "Relation Name" in node
    )
    assert read < 30, _format_plan(plan)


LISTS_BY_STATUS = [
    ("/api/orders", "status=O"),
    ("/api/products", "status=A"),
    ("/graphql", "{{ orders{filter} {{ id }} }}"),
    ("/graphql", "{{ order_connection{filter} {{ edges {{ node {{ id }} }} }} }}"),
]


@pytest.mark.parametrize("path, request_text", LISTS_BY_STATUS)
async def test_only_lists_by_a_status_are_planned_for_its_value(
    sample: SampleStore, path: str, request_text: str, captured: list[tuple[str, Sequence[Any]]]
) -> None:
    for filtered in (True, False):
        captured.clear()
        _plans.clear()
        if path == "/graphql":
            document = request_text.format(filter='(filter: {status: ["O"]})' if filtered else "")
            response = await sample.post(path, {"query": document}, auth="bearer")
            assert "errors" not in response.body, (filtered, response.raw)
        else:
            response = await sample.get(f"{path}?{request_text}" if filtered else path)
        assert response.status == 200, (filtered, response.raw)
        by_status = [plans for sql, plans in _plans.items() if "t.status = ANY" in sql]
        for_values = [sql for sql, plans in _plans.items() if plans is Plans.FOR_VALUES]
        assert by_status == [Plans.FOR_VALUES] * len(for_values), filtered
        assert bool(by_status) is filtered


async def _executed_plan(sample: SampleStore, plans: Plans, sql: str, arguments: Sequence[Any]) -> dict[str, Any]:
    """Execute a statement that is planned like this, and return its plan."""
    values = ", ".join([_literal(argument) for argument in arguments])
    async with db.transaction(sample.scope):
        await db.execute(f"set local plan_cache_mode = {plans.value}")
        await db.execute(f"prepare explained as {sql}")
        try:
            explained = await db.fetchval(
                f"explain (analyze, buffers, timing off, format json) execute explained ({values})"
            )
        finally:
            await db.execute("deallocate explained")
    plan: dict[str, Any] = json.loads(explained)[0]["Plan"]
    return plan


def _count_keys(arguments: Sequence[Any]) -> int:
    """Return how many keys the array among the arguments holds."""
    return max(text.count(",") + 1 for text in map(_literal, arguments))


def _pages(plan: dict[str, Any]) -> int:
    """Return the pages that an executed plan read."""
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def _literal(value: Any) -> str:
    if isinstance(value, list | tuple):
        value = "{" + ",".join(map(str, value)) + "}"
    return "'" + str(value).replace("'", "''") + "'"


@pytest.mark.parametrize(
    "name, sort, key",
    [
        ("product", "CREATED_AT_DESC", "created_at"),
        ("product", "NAME_ASC", "name_folded"),
        ("product", "PRICE_ASC", "price_cents"),
        ("order", "CREATED_AT_DESC", "created_at"),
        ("order", "TOTAL_DESC", "total_cents"),
        ("user", "CREATED_AT_DESC", "created_at"),
    ],
)
async def test_keyset_pagination_uses_an_index_condition_without_a_sort(
    sample: SampleStore, captured: list[tuple[str, Sequence[Any]]], name: str, sort: str, key: str
) -> None:
    column, _, direction = sort.lower().rpartition("_")
    order = f"{'-' if direction == 'desc' else ''}{column}"
    row = (
        await sample.rows(
            f"select {key}, id from {name}s where deleted_at is null order by {key} {direction}, id {direction}"
            " limit 1 offset 4990"
        )
    )[0]
    after = KeysetOrder(f"{name}s", order, Sort("", "", "")).encode(row[key], row["id"])
    document = f'{{ {name}_connection(first: 10, sort: {sort}, after: "{after}") {{ edges {{ node {{ id }} }} }} }}'
    response = await sample.post("/graphql", {"query": document}, auth="bearer")
    assert len(response.body["data"][f"{name}_connection"]["edges"]) == 10, response.raw
    await _check(sample, captured)
    for sql, arguments in list(captured):
        plan = await _plan(sample, sql, arguments)
        assert not [node for node in _nodes(plan) if "Sort" in node["Node Type"]], (sql, arguments, _format_plan(plan))
        assert [node for node in _nodes(plan) if f"ROW({key}, id)" in node.get("Index Cond", "")], (
            sql,
            arguments,
            _format_plan(plan),
        )


@pytest.mark.parametrize("function, word", [("search_products", "sku77"), ("search_users", "pessoa77")])
async def test_a_search_uses_its_index(sample: SampleStore, own_database_url: str, function: str, word: str) -> None:
    connection = await asyncpg.connect(own_database_url)
    try:
        body = await connection.fetchval("select prosrc from pg_proc where proname = $1", function)
        await connection.execute("set role vitrine_search")
        await connection.execute("select set_config('vitrine.tenant', $1, false)", str(sample.store.id))
        sql = re.sub(r"\bwanted\b", f"to_tsquery('simple', '{word}:*')", body)
        plan = json.loads(await connection.fetchval(f"explain (format json) {sql}"))[0]["Plan"]
    finally:
        await connection.close()
    assert [node for node in _nodes(plan) if node.get("Index Name", "").endswith("_search_idx")], _format_plan(plan)
    assert not [node for node in _nodes(plan) if node["Node Type"] == "Seq Scan"], _format_plan(plan)


async def test_a_search_for_a_rare_word_reads_only_what_it_finds(
    sample: SampleStore, captured: list[tuple[str, Sequence[Any]]]
) -> None:
    document = '{ product_search(query: "sku77") { total edges { node { id } } facets { vendors { count } } } }'
    response = await sample.post("/graphql", {"query": document}, auth="bearer")
    assert response.body["data"]["product_search"]["total"] > 0, response.raw
    statement, arguments = next((sql, values) for sql, values in captured if "search_entries" in sql)
    plan = await _plan(sample, statement, arguments)
    scans = [node for node in _nodes(plan) if node.get("Relation Name") == "search_entries"]
    assert scans, _format_plan(plan)
    assert all("product_id" in node.get("Index Cond", "") for node in scans), _format_plan(plan)


@pytest.fixture(scope="module")
async def signed_in_sample(sample: SampleStore, own_database_url: str) -> SampleStore:
    """Return the large store with 20,000 sessions."""
    await sample.execute(
        "insert into sessions (public_id, user_id, created_at, last_used_at, expires_at) select gen_random_uuid(), u.id,"
        " now() - n * interval '1 minute', now() - n * 7919 % 20000 * interval '1 minute', now() + interval '30 days'"
        " from (select id, row_number() over (order by id) - 1 as place from users) u"
        " join generate_series(1, 20000) n on n % 8000 = u.place"
    )
    await analyze(own_database_url)
    return sample


@pytest.mark.parametrize("sort", _sorts("LAST_USED_AT CREATED_AT ID"))
async def test_sessions_are_read_in_the_order_of_an_index(
    signed_in_sample: SampleStore, captured: list[tuple[str, Sequence[Any]]], sort: str
) -> None:
    document = f"{{ user_session_page(per_page: 50, sort: {sort}) {{ items {{ id user {{ id name }} }} }} }}"
    response = await signed_in_sample.post("/graphql", {"query": document}, auth="bearer")
    assert len(response.body["data"]["user_session_page"]["items"]) == 50, response.raw
    [(sql, arguments)] = [each for each in captured if "FROM sessions t" in each[0] and "ORDER BY" in each[0]]
    plan = await _plan(signed_in_sample, sql, arguments)
    assert not [node for node in _nodes(plan) if node["Node Type"] in ("Sort", "Seq Scan")], _format_plan(plan)


async def test_the_version_of_a_catalogue_costs_no_more_with_many_dates_of_products(sample: SampleStore) -> None:
    moment = "now() + (id % 1000 - 900) * interval '1 hour'"
    await sample.execute(f"update products set available_since = {moment} where id % 10 = 0")
    plan = await _executed_plan(sample, Plans.REUSED, catalog_versions.READ, [sample.store.id])
    rows = [node["Actual Rows"] for node in _nodes(plan) if node.get("Relation Name") == "products"]
    assert rows == [1, 1], _format_plan(plan)


async def _check(sample: SampleStore, captured: list[tuple[str, Sequence[Any]]]) -> None:
    assert captured
    for sql, arguments in list(captured):
        plan = await _plan(sample, sql, arguments)
        scanned = {node["Relation Name"] for node in _nodes(plan) if node["Node Type"] == "Seq Scan"} & set(BIG)
        assert not scanned, f"sequential scan of {scanned}: {sql}\n{_format_plan(plan)}"


async def _plan(sample: SampleStore, sql: str, arguments: Sequence[Any]) -> dict[str, Any]:
    with active_scope(sample.scope):
        assert await db.fetchval("select current_user") == "vitrine_app"
        explained = await db.fetchval(f"explain (format json) {sql}", *arguments)
    plan: dict[str, Any] = json.loads(explained)[0]["Plan"]
    return plan


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def _format_plan(plan: dict[str, Any], depth: int = 0) -> str:
    words = (
        plan["Node Type"],
        plan.get("Relation Name"),
        plan.get("Index Name"),
        plan.get("Filter"),
        plan.get("Index Cond"),
    )
    pages = f" pages={_pages(plan)}" if "Shared Hit Blocks" in plan else ""
    line = "  " * depth + " ".join(str(word) for word in words if word) + f" rows={plan['Plan Rows']}{pages}\n"
    return line + "".join(_format_plan(child, depth + 1) for child in plan.get("Plans", ()))
