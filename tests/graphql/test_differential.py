"""What is answered without an executor is what the executor answers: same data, same order of keys, same errors."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from kernel.errors import TooComplex
from kernel.scope import Scope, entered
from models.shapes import NotCompiled
from resolvers import compiled as compiled_module
from resolvers import root
from resolvers.compiled import Compiler
from schema.documents import Prepared, cost_of, prepare
from schema.execution import ExecutionContext, run
from tests.graphql.conftest import Filled
from tests.graphql.documents import Writer, Written

AS_SHOWN = orjson.OPT_UTC_Z | orjson.OPT_OMIT_MICROSECONDS
CALLERS = ("admin", "admin", "admin", "vendor", "customer", "app", "storefront", "clerk")


@pytest.fixture(autouse=True)
def _compiled() -> Iterator[None]:
    """Compile here even when the suite runs without."""
    was = compiled_module._is_on
    compiled_module.switch(True)
    yield
    compiled_module.switch(was)


async def _reference(
    prepared: Prepared, written: Written, scope: Scope, schema: Any
) -> tuple[Any, list[Any]]:
    result = await run(schema, prepared, ExecutionContext(scope, public=False), written.variables)
    return result.data, [(error.message, error.path) for error in result.errors or ()]


def _document(schema: Any, written: Written) -> Prepared:
    prepared = prepare(schema, written.text, limited=False)
    assert prepared.errors == (), (written.text, prepared.errors)
    return prepared


@pytest.mark.parametrize("which", ["public", "internal"])
@pytest.mark.parametrize("block", range(6))
async def test_compiled_answers_are_the_executors(block: int, which: str, filled: Filled) -> None:
    schema = root.public_schema() if which == "public" else root.internal_schema()
    native, plain = Compiler(schema, native=True), Compiler(schema, native=False)
    outcomes: Counter[str] = Counter()
    for seed in range(block * 60, block * 60 + 60):
        chance = random.Random(f"{which}{seed}")
        written = Writer(schema, filled.ids, chance).write()
        prepared = _document(schema, written)
        operation = prepared.operation(None)
        assert operation is not None
        if cost_of(schema, prepared, operation, written.variables) > 20_000:
            continue
        scope = filled.callers[chance.choice(CALLERS)]
        with entered(scope):
            expected, errors = await _reference(prepared, written, scope, schema)
            compiled = native.get(prepared, operation, written.variables)
            also = plain.get(prepared, operation, written.variables)
            assert (compiled is None) == (also is None)
            if compiled is None or also is None:
                outcomes["left to the executor"] += 1
                continue
            try:
                answered = orjson.loads(orjson.dumps(await compiled.run(scope), option=AS_SHOWN))
                in_process = await also.run(scope)
            except NotCompiled:
                outcomes["left at run time"] += 1
                continue
        assert errors == [], (written.text, errors)
        assert _listed(answered) == _listed(orjson.loads(orjson.dumps(expected))), written.text
        assert _listed(in_process) == _listed(expected), written.text
        outcomes["compiled"] += 1
    # The rest asks for what its caller may not see: the more the schema holds of such, the more documents it takes.
    assert outcomes["compiled"] >= 15, outcomes


def _listed(value: Any) -> Any:
    """Write objects as lists of pairs, so that the order of their keys counts."""
    if isinstance(value, dict):
        return [(key, _listed(item)) for key, item in value.items()]
    return [_listed(item) for item in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize(
    "text",
    [
        "{ products { name on_hand } }",
        "{ products { vendor { name cnpj } } }",
        "{ products { vendor { cnpj } } }",
    ],
)
async def test_a_caller_without_a_right_is_left_to_the_executor(text: str, filled: Filled) -> None:
    schema = root.public_schema()
    prepared = prepare(schema, text, limited=True)
    operation = prepared.operation(None)
    assert operation is not None
    compiled = Compiler(schema, native=True).get(prepared, operation, None)
    assert compiled is not None
    for caller in ("customer", "storefront", "anonymous", "nobody_admin", "app_without"):
        with entered(filled.callers[caller]), pytest.raises(NotCompiled):
            await compiled.run(filled.callers[caller])


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
async def test_what_is_refused_or_no_plain_read_is_left_to_the_executor(text: str, filled: Filled) -> None:
    schema = root.public_schema()
    prepared = prepare(schema, text, limited=True)
    operation = prepared.operation(None)
    assert operation is not None
    compiled = Compiler(schema, native=True).get(prepared, operation, None)
    if compiled is not None:
        scope = filled.callers["admin"]
        with entered(scope), pytest.raises(NotCompiled):
            await compiled.run(scope)


async def test_ids_in_variables_share_what_was_compiled(filled: Filled) -> None:
    schema = root.public_schema()
    prepared = prepare(schema, "query($id: ID!) { product(id: $id) { name } }", limited=True)
    operation = prepared.operation(None)
    assert operation is not None
    compiler, scope = Compiler(schema, native=True), filled.callers["admin"]
    shown = []
    for name in ("product", "draft", "vendor"):
        compiled = compiler.get(prepared, operation, {"id": filled.ids[name]})
        assert compiled is not None
        with entered(scope):
            shown.append((await compiled.run(scope))["product"])
    assert shown == [{"name": "Caneca de Ágata"}, {"name": "Prato"}, None]
    assert len(compiler._kept) == 1


@pytest.mark.parametrize(
    "text",
    [
        "query($limit: Int, $offset: Int) { products(limit: $limit, offset: $offset) { id } }",
        "query($limit: Int = 2, $offset: Int = 1) { products(limit: $limit, offset: $offset) { id } }",
        "query($limit: Int!) { products(offset: 1, limit: $limit) { id } }",
    ],
)
async def test_variables_of_every_kind_are_taken_as_the_executor_takes_them(
    text: str, filled: Filled
) -> None:
    schema = root.public_schema()
    prepared = prepare(schema, text, limited=True)
    operation = prepared.operation(None)
    assert operation is not None
    assert prepared.errors == ()
    compiler, scope = Compiler(schema, native=True), filled.callers["admin"]
    answered = 0
    limit: Any
    for limit in (1, 3, 0, -1, 1001, 2**31, 2.0, 2.5, "2", True, None, [1], {}):
        for rest in ({}, {"offset": 1}, {"offset": None}, {"offset": "1"}):
            for variables in ({"limit": limit, **rest}, rest):
                written = Written(text, variables)
                with entered(scope):
                    expected, errors = await _reference(prepared, written, scope, schema)
                    compiled = compiler.get(prepared, operation, variables)
                    try:
                        shown = None if compiled is None else await compiled.run(scope)
                    except NotCompiled:
                        shown = None
                if shown is not None:
                    assert errors == []
                    assert orjson.loads(orjson.dumps(shown, option=AS_SHOWN)) == expected
                    answered += 1
    assert answered >= 10


async def test_a_list_takes_one_statement_a_level_and_records_few_in_number_one_in_all(
    filled: Filled,
) -> None:
    from models import database

    schema = root.public_schema()
    compiler = Compiler(schema, native=True)
    scope = filled.callers["admin"]
    below = "number items { name product { name images { url } } } customer { name } history { at }"
    record = f'{{ order(id: "{filled.ids["order"]}") {{ {below} }} }}'
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
        prepared = prepare(schema, text, limited=True)
        operation = prepared.operation(None)
        assert operation is not None
        compiled = compiler.get(prepared, operation, None)
        assert compiled is not None
        with entered(scope), database.counting() as counted:
            await compiled.run(scope)
        assert counted.count == statements, (text, counted.statements)


def test_kept_variants_are_bounded() -> None:
    """A document has as many structures as its nested sizes and directives have values."""
    schema = root.public_schema()
    compiler = Compiler(schema, native=True)
    text = "query($s: Boolean!, $n: Int!) { categories { name @skip(if: $s) products(limit: $n) { id } } }"
    prepared = prepare(schema, text, limited=True)
    operation = prepared.operation(None)
    assert operation is not None
    for size in range(1, 100):
        for skipped in (True, False):
            compiler.get(prepared, operation, {"n": size, "s": skipped})
    assert 100 < len(compiler._kept) <= 2000


def test_too_complex_documents_never_reach_the_compiler() -> None:
    with pytest.raises(TooComplex):
        prepare(root.public_schema(), "{ store { " + "name " * 60 + "} }", limited=True)
