"""Compiled queries return what the executor returns: same data, same key order, same errors."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from kernel.errors import TooComplex
from kernel.scope import Scope, active_scope
from models.reading.response_shapes import NotCompiled
from resolvers import root
from resolvers.engine import compile as query_compiler
from resolvers.engine.compile import QueryCompiler
from resolvers.engine.costs import StoreCost, calculate_cost
from resolvers.engine.executor import ExecutionContext, execute_document
from resolvers.engine.prepare import PreparedDocument, prepare_document
from tests.graphql.conftest import StoreRecords
from tests.graphql.random_documents import DocumentGenerator, GeneratedDocument
from tests.harness.sample_store import SampleStore

JSON_OPTIONS = orjson.OPT_UTC_Z | orjson.OPT_OMIT_MICROSECONDS
CALLERS = ("admin", "admin", "admin", "vendor", "customer", "app", "storefront", "clerk")


@pytest.fixture(autouse=True)
def _compiled() -> Iterator[None]:
    """Enable compiled reads even if the suite runs without them."""
    previous = query_compiler._enabled
    query_compiler.set_enabled(True)
    yield
    query_compiler.set_enabled(previous)


async def _reference(
    prepared: PreparedDocument, generated: GeneratedDocument, scope: Scope, schema: Any
) -> tuple[Any, list[Any]]:
    result = await execute_document(schema, prepared, ExecutionContext(scope, public=False), generated.variables)
    return result.data, [(error.message, error.path) for error in result.errors or ()]


def _document(schema: Any, generated: GeneratedDocument) -> PreparedDocument:
    prepared = prepare_document(schema, generated.text, limited=False)
    assert prepared.errors == (), (generated.text, prepared.errors)
    return prepared


@pytest.mark.parametrize("which", ["public", "internal"])
@pytest.mark.parametrize("block", range(6))
async def test_compiled_queries_return_the_data_of_the_executor(block: int, which: str, records: StoreRecords) -> None:
    schema = root.public_schema() if which == "public" else root.internal_schema()
    native, plain = QueryCompiler(schema, native=True), QueryCompiler(schema, native=False)
    outcomes: Counter[str] = Counter()
    for seed in range(block * 60, block * 60 + 60):
        rng = random.Random(f"{which}{seed}")
        generated = DocumentGenerator(schema, records.ids, rng).generate()
        prepared = _document(schema, generated)
        operation = prepared.operation(None)
        assert operation is not None, seed
        if calculate_cost(schema, prepared, operation, generated.variables).fields.total() > 20_000:
            continue
        scope = records.callers[rng.choice(CALLERS)]
        with active_scope(scope):
            expected, errors = await _reference(prepared, generated, scope, schema)
            compiled = native.compile_query(prepared, operation, generated.variables)
            compiled_plain = plain.compile_query(prepared, operation, generated.variables)
            assert (compiled is None) == (compiled_plain is None), seed
            if compiled is None or compiled_plain is None:
                outcomes["left to the executor"] += 1
                continue
            try:
                data = orjson.loads(orjson.dumps(await compiled.run(scope), option=JSON_OPTIONS))
                plain_data = await compiled_plain.run(scope)
            except NotCompiled:
                outcomes["left at run time"] += 1
                continue
        assert errors == [], (seed, (generated.text, errors))
        assert _as_pairs(data) == _as_pairs(orjson.loads(orjson.dumps(expected))), (seed, generated.text)
        assert _as_pairs(plain_data) == _as_pairs(expected), (seed, generated.text)
        outcomes["compiled"] += 1
    # The other documents select fields the caller may not see.
    assert outcomes["compiled"] >= 8, outcomes


def _as_pairs(value: Any) -> Any:
    """Convert objects to lists of pairs, so that the key order is compared."""
    if isinstance(value, dict):
        return [(key, _as_pairs(item)) for key, item in value.items()]
    return [_as_pairs(item) for item in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize(
    "text",
    [
        "{ products { name on_hand } }",
        "{ products { vendor { name cnpj } } }",
        "{ products { vendor { cnpj } } }",
    ],
)
async def test_a_caller_without_access_is_left_to_the_executor(text: str, records: StoreRecords) -> None:
    schema = root.public_schema()
    prepared = prepare_document(schema, text, limited=True)
    operation = prepared.operation(None)
    assert operation is not None
    compiled = QueryCompiler(schema, native=True).compile_query(prepared, operation, None)
    assert compiled is not None
    for caller in ("customer", "storefront", "anonymous", "admin_without_privileges", "app_without"):
        with active_scope(records.callers[caller]), pytest.raises(NotCompiled):
            await compiled.run(records.callers[caller])


@pytest.mark.parametrize(
    "text",
    [
        "{ products(limit: -1) { id } }",
        "{ products(limit: 1001) { id } }",
        "{ products(offset: -1) { id } }",
        '{ product_connection(after: "nonsense") { edges { cursor } } }',
        "{ store { name } }",
        "{ products { id } store { name } }",
        "mutation { sign_out_everywhere { message } }",
    ],
)
async def test_errors_and_unsupported_operations_are_left_to_the_executor(text: str, records: StoreRecords) -> None:
    schema = root.public_schema()
    prepared = prepare_document(schema, text, limited=True)
    operation = prepared.operation(None)
    assert operation is not None
    compiled = QueryCompiler(schema, native=True).compile_query(prepared, operation, None)
    if compiled is not None:
        scope = records.callers["admin"]
        with active_scope(scope), pytest.raises(NotCompiled):
            await compiled.run(scope)


async def test_requests_with_different_id_variables_share_a_plan(records: StoreRecords) -> None:
    schema = root.public_schema()
    prepared = prepare_document(schema, "query($id: ID!) { product(id: $id) { name } }", limited=True)
    operation = prepared.operation(None)
    assert operation is not None
    compiler, scope = QueryCompiler(schema, native=True), records.callers["admin"]
    products = []
    for name in ("product", "draft", "vendor"):
        compiled = compiler.compile_query(prepared, operation, {"id": records.ids[name]})
        assert compiled is not None, name
        with active_scope(scope):
            products.append((await compiled.run(scope))["product"])
    assert products == [{"name": "Caneca de Ágata"}, {"name": "Prato"}, None]
    assert len(compiler._plans) == 1


@pytest.mark.parametrize(
    "text",
    [
        "query($limit: Int, $offset: Int) { products(limit: $limit, offset: $offset) { id } }",
        "query($limit: Int = 2, $offset: Int = 1) { products(limit: $limit, offset: $offset) { id } }",
        "query($limit: Int!) { products(offset: 1, limit: $limit) { id } }",
        "query($limit: Int, $offset: Int) { products(offset: $offset) { related(first: $limit) { id } } }",
        "query($limit: Boolean = true, $offset: Int) { products(offset: $offset) { id name @include(if: $limit) } }",
        "query($limit: Boolean = true, $offset: Int) { products(offset: $offset) @skip(if: $limit) { id } }",
    ],
)
async def test_variables_are_coerced_like_the_executor(text: str, records: StoreRecords) -> None:
    schema = root.public_schema()
    prepared = prepare_document(schema, text, limited=True)
    operation = prepared.operation(None)
    assert operation is not None
    assert prepared.errors == ()
    compiler, scope = QueryCompiler(schema, native=True), records.callers["admin"]
    compared = 0
    limit: Any
    for limit in (1, 3, 0, -1, 1001, 2**31, 2.0, 2.5, "2", True, None, [1], {}):
        for rest in ({}, {"offset": 1}, {"offset": None}, {"offset": "1"}):
            for variables in ({"limit": limit, **rest}, rest):
                generated = GeneratedDocument(text, variables)
                with active_scope(scope):
                    expected, errors = await _reference(prepared, generated, scope, schema)
                    compiled = compiler.compile_query(prepared, operation, variables)
                    try:
                        data = None if compiled is None else await compiled.run(scope)
                    except NotCompiled:
                        data = None
                if data is not None:
                    assert errors == [], (limit, rest, variables)
                    assert orjson.loads(orjson.dumps(data, option=JSON_OPTIONS)) == expected, (limit, rest, variables)
                    compared += 1
    assert compared >= 10


async def test_a_long_list_takes_one_statement_per_level_and_a_short_one_a_single_statement(
    records: StoreRecords,
) -> None:
    from models.connection import database

    schema = root.public_schema()
    compiler = QueryCompiler(schema, native=True)
    scope = records.callers["admin"]
    below = "number items { name product { name images { url } } } customer { name } history { at }"
    record = f'{{ order(id: "{records.ids["order"]}") {{ {below} }} }}'
    for text, statements in (
        ("{ products(limit: 50) { name category { name } images { url } } }", 2),
        ("{ products(limit: 50) { name category { parent { name } } images { url } } }", 3),
        ("{ products(limit: 25) { name category { parent { name } } images { url } } }", 1),
        ("{ products(limit: 25, offset: 1) { name category { parent { name } } images { url } } }", 3),
        ("{ product_page { items { name category { parent { name } } } total } }", 2),
        ("{ product_page(page: 2, per_page: 1) { items { name category { parent { name } } } total } }", 3),
        ("{ product_connection(first: 50) { edges { node { images { url } } } } }", 2),
        ("{ product_connection { edges { node { images { url } } } } }", 1),
        (record, 1),
    ):
        prepared = prepare_document(schema, text, limited=True)
        operation = prepared.operation(None)
        assert operation is not None, (text, statements)
        compiled = compiler.compile_query(prepared, operation, None)
        assert compiled is not None, (text, statements)
        with active_scope(scope), database.count_statements() as counted:
            await compiled.run(scope)
        assert counted.count == statements, (text, counted.statements)


def test_cached_plans_of_a_document_are_bounded() -> None:
    """A document has as many plans as its nested list sizes and directives have values."""
    schema = root.public_schema()
    compiler = QueryCompiler(schema, native=True)
    text = "query($s: Boolean!, $n: Int!) { categories { name @skip(if: $s) products(first: $n) { edges { node { id } } } } }"
    prepared = prepare_document(schema, text, limited=True)
    operation = prepared.operation(None)
    assert operation is not None
    for size in range(1, 100):
        for skipped in (True, False):
            compiler.compile_query(prepared, operation, {"n": size, "s": skipped})
    assert 100 < len(compiler._plans) <= 2000


SIZED = """
query P($n: Int = 2, $sort: ProductSort, $filter: ProductFilter, $images: Boolean = true) {
  products(limit: $n, sort: $sort, filter: $filter) { id name images @include(if: $images) { url } }
}
"""


@pytest.mark.parametrize("name", [None, "P"])
async def test_a_plan_is_cached_for_the_variables_of_a_request(name: str | None, sample: SampleStore):
    """Sizes, enums, filters, defaults, structure: each request gets the answer of its own variables, cached or not."""
    for _ in range(3):
        await sample.add_product()
    requests: list[dict[str, Any]] = [
        {}, {"n": 1}, {"n": 3}, {"n": 3, "sort": "NAME_DESC"}, {"n": 3, "sort": "NAME_ASC"}, {"n": 1, "images": False},
        {"n": 3, "filter": {"id": [str(sample.mug.id)]}}, {"n": 3, "filter": {"id": []}}, {"n": None}, {"n": "1"}, {"n": 10**6},
        {"sort": "UNKNOWN"}, {"filter": {"unknown": 1}}, {"n": 1, "other": [1]},
    ]  # fmt: skip
    answers = []
    for _ in range(3):
        bodies = [{"query": SIZED, "variables": variables, "operationName": name} for variables in requests]
        answers.append([(await sample.post("/graphql", body, auth="bearer")).body for body in bodies])
    assert answers[0] == answers[1] == answers[2]
    sizes = [len((answer.get("data") or {}).get("products") or []) for answer in answers[0]]
    assert sizes == [2, 1, 3, 3, 3, 1, 1, 0, 0, 0, 0, 0, 0, 1]
    assert [number for number, answer in enumerate(answers[0]) if "errors" in answer] == [8, 9, 10, 11, 12]
    costs = [answer["extensions"]["cost"] for answer in answers[0][:3]]
    assert costs[1] < costs[0] < costs[2]
    other = await sample.post("/graphql", {"query": SIZED, "operationName": "Q"}, auth="bearer")
    assert other.body["errors"][0]["message"] == "the document has no operation named Q"


async def test_plans_cached_for_variables_are_bounded(sample: SampleStore):
    compiler = QueryCompiler(root.public_schema(), native=True)
    prepared = prepare_document(root.public_schema(), SIZED, limited=True)
    operation = prepared.operation(None)
    assert operation is not None
    for size in range(1, 90):
        compiled = compiler.compile_query(prepared, operation, {"n": size})
        assert compiled is not None, size
        compiler.cache_plan(sample.scope, prepared, operation, compiled, StoreCost(size, sample.scope.now), {"n": size})
        assert compiler.cached_plan(prepared, None, {"n": size}) is not None
    assert len(prepared.plans_by_variables) == 50
    assert compiler.cached_plan(prepared, None, {"n": 1}) is None
    assert compiled is not None
    compiler.cache_plan(
        sample.scope, prepared, operation, compiled, StoreCost(1, sample.scope.now), {"filter": {"search": "x" * 2_000}}
    )
    assert len(prepared.plans_by_variables) == 50


def test_too_complex_documents_never_reach_the_compiler() -> None:
    with pytest.raises(TooComplex):
        prepare_document(root.public_schema(), "{ store { " + "name " * 60 + "} }", limited=True)
