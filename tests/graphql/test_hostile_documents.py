"""Expensive documents are rejected before expensive work is done, and the document caches are bounded.

Work is counted, never timed: a document over a limit must be neither parsed nor validated, and all checks take a bounded number of steps.
"""

from __future__ import annotations

from typing import Any

import pytest
from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLSyntaxError,
    InlineFragmentNode,
    IntValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    build_schema,
    get_introspection_query,
    parse,
    validate,
)
from graphql.validation import OverlappingFieldsCanBeMergedRule
from hypothesis import given
from hypothesis import strategies as st

from kernel.errors import TooComplex
from resolvers import root
from resolvers.engine import compile as query_compiler
from resolvers.engine import prepare as documents
from resolvers.engine.compile import QueryCompiler
from resolvers.engine.field_merging import FieldsMergeRule
from resolvers.engine.limits import LimitChecker
from resolvers.engine.prepare import DocumentCache, PreparedDocument, prepare_document
from resolvers.engine.scanner import SIZE_ARGUMENTS, ScannedField, ScannedInlineFragment, ScannedSpread, scan_document


def _chain(count: int, type_: str, body: str, last: str) -> str:
    """Create a chain of fragments, each using the next."""
    made = [f"fragment F{i} on {type_} {{ {body.replace('NEXT', f'...F{i + 1}')} }}" for i in range(count)]
    return " ".join([*made, f"fragment F{count} on {type_} {{ {last} }}"])


OVER_A_LIMIT = {
    "2000 of one field": "{products{" + "id " * 1990 + "}}",
    "100,000 tokens": "{products{" + "id " * 100_000 + "}}",
    "a million comments": "{products{id " + "#\n" * 1_000_000 + "}}",
    "a fragment spread bomb": "{...F0}" + _chain(18, "Query", "NEXT NEXT", "__typename"),
    "a bomb of fragments without a field": "{products{...F0}}" + _chain(14, "Product", "NEXT NEXT", ""),
    "a chain of fragments in each of many fields": "{"
    + " ".join(f"a{i}:products{{...M}}" for i in range(90))
    + "} fragment M on Product{"
    + "...F0 " * 49
    + "}"
    + _chain(90, "Product", "NEXT", "id"),
    "a fragment field bomb": "{categories(limit:0){...F0}}"
    + _chain(9, "Category", "parent{NEXT NEXT} children{NEXT}", "id name slug position"),
    "a fragment bomb in introspection": "{__schema{types{...F0}}}"
    + _chain(16, "__Type", "ofType{NEXT} ofType{NEXT}", "name"),
    "a bomb of unused fragments": "{products{id}} " + _chain(40, "Product", "NEXT NEXT", "id"),
    "a wide fragment in a chain": "{products{...F0}}"
    + " ".join(f"fragment F{i} on Product{{...F{i + 1} k{i}:id}}" for i in range(90))
    + " fragment F90 on Product{"
    + " ".join(f"f{i}" for i in range(900))
    + "}",
    "a chain of fragments": "{products{...F0}}" + _chain(150, "Product", "NEXT", "id"),
    "deep": "{categories{" + "parent{" * 150 + "id" + "}" * 152,
    "deep, in fragments": "{categories{...F0}}" + _chain(20, "Category", "parent{NEXT}", "id"),
}


@pytest.mark.parametrize("name", OVER_A_LIMIT)
def test_a_document_over_a_limit_is_rejected_before_parsing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for expensive in ("parse", "validate"):
        monkeypatch.setattr(documents, expensive, _must_not_be_called)
    with pytest.raises(TooComplex):
        prepare_document(root.public_schema(), OVER_A_LIMIT[name], limited=True)


def _must_not_be_called(*_args: Any, **_named: Any) -> Any:
    raise AssertionError("too expensive for a document over a limit")


@pytest.mark.parametrize(
    "text, message",
    [
        ("{products{...A}} fragment A on Product{...A}", "Cannot spread fragment 'A' within itself."),
        (
            "{products{...A}} fragment A on Product{...B} fragment B on Product{id ...A}",
            "Cannot spread fragment 'A' within itself via 'B'.",
        ),
        (
            "{products{id}} fragment A on Product{...B} fragment B on Product{category{...C}} "
            "fragment C on Category{products{...B}}",
            "Cannot spread fragment 'B' within itself via 'C'.",
        ),
    ],
)
def test_a_fragment_cycle_is_reported_like_validation_without_validating(
    text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for expensive in ("parse", "validate"):
        monkeypatch.setattr(documents, expensive, _must_not_be_called)
    prepared = prepare_document(root.public_schema(), text, limited=True)
    assert [error.message for error in prepared.errors] == [message]
    assert prepared.errors[0].locations
    assert prepared.operations == {}


@pytest.mark.parametrize(
    "text",
    [
        "query NAME { products(limit: $a) { id } }",
        "{ products { NAME } }",
        "{ products { ...NAME } }",
        "{ products { ...NAME } } fragment NAME on Product { ...NAME }",
        "type NAME { id: ID }",
    ],
)
def test_an_error_of_a_document_quotes_a_part_of_a_long_name(text: str) -> None:
    prepared = prepare_document(root.public_schema(), text.replace("NAME", "x" * 30_000), limited=True)
    assert prepared.errors
    assert all("xxx" in error.message and len(error.message) < 600 for error in prepared.errors)


@pytest.mark.parametrize(
    "text",
    [
        "{products(filter:" + "[" * 900 + "]" * 900 + "){id}}",
        "query($a:" + "[" * 900 + "Int" + "]" * 900 + "){products{id}}",
        "{products{" + "... on Product{" * 390 + "id" + "}" * 392,
        "query($a:[Int]=" + "[" * 900 + "]" * 900 + "){products{id}}",
    ],
    ids=["values", "types", "inline fragments", "defaults"],
)
def test_a_too_deeply_nested_document_is_rejected(text: str) -> None:
    try:
        prepared = prepare_document(root.public_schema(), text, limited=True)
    except TooComplex:
        return
    assert prepared.errors


WIDE = {
    "many selections of one list": "{" + ("products{" + "id " * 40 + "}") * 45 + "}",
    "many selections of one record": "{products{" + ("category{" + "id name " * 18 + "}") * 49 + "}}",
    "many fragments alike": "{products{"
    + " ".join(f"...F{i}" for i in range(49))
    + "}} "
    + " ".join(f"fragment F{i} on Product{{id name category{{id name}} images{{url}}}}" for i in range(49)),
    "nested alike": "{products{" + "category{parent{parent{parent{id}}}}" * 49 + "}}",
    "introspection": get_introspection_query(),
}


@pytest.mark.parametrize("name", WIDE)
def test_field_merging_takes_linear_steps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = []

    class Counted(FieldsMergeRule):
        def leave_document(self, *_args: Any) -> None:
            steps.append(self.steps)

    rules = [Counted if issubclass(rule, FieldsMergeRule) else rule for rule in documents.RULES]
    monkeypatch.setattr(documents, "RULES", rules)
    text = WIDE[name]
    prepared = prepare_document(root.public_schema(), text, limited=True)
    assert prepared.errors == ()
    assert steps
    # A field is checked once per merged set, and there are at most as many sets as levels.
    assert steps[0] <= 3 * prepared.size


@pytest.mark.parametrize("name", WIDE)
def test_limit_checks_take_linear_steps(name: str) -> None:
    document = scan_document(WIDE[name], max_tokens=None)
    assert document is not None
    checker = LimitChecker(document)
    checker.check()
    assert checker.steps <= 2 * document.size


# --- the scanner and the lexer agree with graphql-core ----------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "on", "query", "fragment", "limit", "first", "true", "null", "id"])
VALUES = st.recursive(
    st.sampled_from(
        [
            "1",
            "-7",
            "0",
            "1.5e3",
            "2E-4",
            '"x"',
            '""',
            '"a\\n\\u00e9"',
            '"""b"c\n  d"""',
            '"""\\""" """',
            "$v",
            "A",
            "null",
        ]
        + ['"limit: 3"', "99999999999999999999999"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[" + " ".join(items) + "]")
        | st.lists(st.tuples(NAMES, inner), max_size=2).map(
            lambda items: "{" + ",".join(f"{name}:{value}" for name, value in items) + "}"
        )
    ),
    max_leaves=4,
)
ARGUMENTS = st.lists(st.tuples(NAMES, VALUES), min_size=1, max_size=3).map(
    lambda items: "(" + " ".join(f"{name}: {value}" for name, value in items) + ")"
)
MAYBE_ARGUMENTS = st.just("") | ARGUMENTS
DIRECTIVES = st.just("") | st.tuples(NAMES, MAYBE_ARGUMENTS).map(lambda pair: f"@{pair[0]}{pair[1]}")


def _selections(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    below = st.just("") | inner
    field = st.builds(
        lambda alias, name, arguments, directives, more: f"{alias}{name}{arguments} {directives}{more}",
        st.just("") | NAMES.map(lambda name: name + " : "),
        NAMES,
        MAYBE_ARGUMENTS,
        DIRECTIVES,
        below,
    )
    spread = st.builds(
        lambda name, directives: f"...{name} {directives}",
        NAMES.filter(lambda name: name != "on"),
        DIRECTIVES,
    )
    inline = st.builds(
        lambda condition, directives, more: f"... {condition} {directives} {more}",
        st.just("") | NAMES.map(lambda name: f"on {name}"),
        DIRECTIVES,
        inner,
    )
    return st.lists(field | spread | inline, min_size=1, max_size=4).map(
        lambda parts: "{" + " #c{\n,".join(parts) + "}"
    )


SELECTIONS = st.recursive(_selections(st.just("{id}")), _selections, max_leaves=6)
VARIABLES = st.just("") | st.lists(
    st.tuples(NAMES, st.sampled_from(["Int", "[a!]!"]), st.just("") | VALUES.filter(lambda v: "$" not in v)),
    min_size=1,
    max_size=3,
).map(lambda items: "(" + " ".join(f"${n}: {t}{' = ' + v if v else ''}" for n, t, v in items) + ")")
DEFINITIONS = (
    SELECTIONS
    | st.builds(
        lambda kind, name, variables, directives, body: f"{kind} {name}{variables} {directives}{body}",
        st.sampled_from(["query", "mutation", "subscription"]),
        st.just("") | NAMES,
        VARIABLES,
        DIRECTIVES,
        SELECTIONS,
    )
    | st.builds(
        lambda name, type_, directives, body: f"fragment {name} on {type_} {directives}{body}",
        NAMES.filter(lambda name: name != "on"),
        NAMES,
        DIRECTIVES,
        SELECTIONS,
    )
)
DOCUMENTS = st.lists(DEFINITIONS, min_size=1, max_size=3).map("\r\n".join)


# One test, since documents take longer to generate than to parse.
@given(DOCUMENTS)
def test_the_scanner_agrees_with_graphql_core(text: str) -> None:
    try:
        parsed = parse(text)
    except GraphQLSyntaxError:
        return
    document = scan_document(text, max_tokens=None)
    assert document is not None
    assert [
        (name, operation.kind, operation.defaults, _plain(operation.selections))
        for name, operation in document.operations
    ] == [
        (
            node.name.value if node.name else None,
            node.operation.value,
            {
                each.variable.name.value: _whole(each.default_value.value)
                for each in node.variable_definitions or ()
                if isinstance(each.default_value, IntValueNode)
            },
            _parsed(node.selection_set),
        )
        for node in parsed.definitions
        if isinstance(node, OperationDefinitionNode)
    ]
    fragments = [node for node in parsed.definitions if isinstance(node, FragmentDefinitionNode)]
    assert {name: (each.condition, _plain(each.selections)) for name, each in document.fragments.items()} == {
        node.name.value: (node.type_condition.name.value, _parsed(node.selection_set)) for node in fragments
    }


def _plain(selections: Any) -> list[Any]:
    matches: list[Any] = []
    for node in selections:
        if isinstance(node, ScannedField):
            sizes = {name: (size.number, size.variable) for name, size in node.sizes.items()}
            matches.append((node.name, node.alias, sizes, None if node.selections is None else _plain(node.selections)))
        elif isinstance(node, ScannedInlineFragment):
            matches.append(("...", node.condition, _plain(node.selections)))
        else:
            assert isinstance(node, ScannedSpread)
            matches.append(("...", node.name, node.position))
    return matches


def _parsed(selections: SelectionSetNode) -> list[Any]:
    matches: list[Any] = []
    node: Any
    for node in selections.selections:
        if isinstance(node, FieldNode):
            sizes = {}
            for argument in node.arguments or ():
                value: Any = argument.value
                if argument.name.value in SIZE_ARGUMENTS:
                    number = _whole(value.value) if value.kind == "int_value" else None
                    variable = value.name.value if value.kind == "variable" else None
                    sizes[argument.name.value] = (number, variable)
            below = _parsed(node.selection_set) if node.selection_set else None
            matches.append((node.name.value, node.alias.value if node.alias else "", sizes, below))
        elif isinstance(node, InlineFragmentNode):
            condition = node.type_condition.name.value if node.type_condition else ""
            matches.append(("...", condition, _parsed(node.selection_set)))
        else:
            assert node.loc is not None
            matches.append(("...", node.name.value, node.loc.start))
    return matches


def _whole(text: str) -> int:
    return int(text) if len(text) < 20 else 10**20


def test_a_type_definition_is_reported_as_not_executable() -> None:
    prepared = prepare_document(root.public_schema(), "type A { a: Int }", limited=True)
    assert prepared.errors[0].message == "The 'A' definition is not executable."


# --- the field merging rule agrees with graphql-core's -------------------------------------------------------------------

SCHEMA = build_schema("""
    interface Node { id: ID  next(n: Int): Node  name: String }
    type A implements Node { id: ID  next(n: Int): A  name: String  some: [A!]  any: Any  size(unit: Unit): Int }
    type B implements Node { id: ID  next(n: Int): B  name: String  some: [B]  any: Any  size: String }
    union Any = A | B
    input Unit { a: Int b: [Int] }
    type Query { node: Node  any: Any  a: A  b: B }
""")
FIELDS = [
    "id",
    "name",
    "size",
    "size(unit:{a:1,b:[1]})",
    "size(unit:{b:[1],a:1})",
    "x:id",
    "x:name",
    "x:size",
]
OBJECTS = ["next", "next(n:1)", "next(n:2)", "some", "any", "y:next", "y:some", "y:any"]


def _merging(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    nested = st.builds(lambda name, more: name + more, st.sampled_from(OBJECTS), inner)
    inline = st.builds(
        lambda type_, more: f"...{type_}{more}",
        st.sampled_from(["", " on A", " on B", " on Node", " on Any"]),
        inner,
    )
    spread = st.sampled_from(["...F", "...G", "...H"])
    return st.lists(st.sampled_from(FIELDS) | nested | inline | spread, min_size=1, max_size=5).map(
        lambda parts: "{" + " ".join(parts) + "}"
    )


MERGING = st.recursive(_merging(st.just("{id}")), _merging, max_leaves=8)


@given(MERGING, MERGING, MERGING, MERGING)
def test_field_merging_agrees_with_graphql_core(one: str, two: str, three: str, four: str) -> None:
    text = (
        f"{{ a{one} a{two} node{one} any{two} b{four} a{{...F}} b{{...G}} node{{...H}} }} "
        f"fragment F on A {two} fragment G on B {three.replace('...F', '')} "
        f"fragment H on Node {four.replace('...F', '').replace('...G', '').replace('...H', '')}"
    ).replace("{}", "{id}")
    parsed = parse(text)
    assert bool(_problems(parsed, FieldsMergeRule)) == bool(_problems(parsed, OverlappingFieldsCanBeMergedRule)), text


def _problems(parsed: Any, rule: Any) -> list[GraphQLError]:
    return validate(SCHEMA, parsed, [rule], max_errors=1000)


@pytest.mark.parametrize(
    "text",
    [
        "{a{x:id x:name}}",
        "{a{next{x:id}} a{next{x:name}}}",
        "{a{next(n:1){id} next(n:2){id}}}",
        "{node{... on A{x:size} ... on B{x:size}}}",
    ],
)
def test_a_field_conflict_has_the_message_of_graphql_core(text: str) -> None:
    parsed = parse(text)
    ours, theirs = (
        [error.message for error in _problems(parsed, rule)]
        for rule in (FieldsMergeRule, OverlappingFieldsCanBeMergedRule)
    )
    assert ours == theirs


# --- the caches are bounded ----------------------------------------------------------------------------------------------


def test_the_document_cache_is_bounded_by_count_length_and_tokens() -> None:
    kept = DocumentCache(root.public_schema(), max_documents=10, max_length=500, max_tokens=200)
    first = kept.prepare_now("{products(limit:1){id}}")
    for number in range(2, 30):
        kept.prepare_now(f"{{products(limit:{number}){{id}}}}")
    assert len(kept) == 10
    assert kept.prepare_now("{products(limit:29){id}}") is kept.prepare_now("{products(limit:29){id}}")
    assert kept.prepare_now("{products(limit:1){id}}") is not first
    for number in range(1, 9):
        kept.prepare_now(f"{{products(limit:{number}){{{'id ' * 40}}}}}")
        assert kept._documents.weight <= 200, number
    assert len(kept) < 5
    before = len(kept)
    kept.prepare_now("{products{id " + "," * 500 + "}}")
    assert len(kept) == before


def test_a_document_over_a_limit_is_not_cached() -> None:
    kept = DocumentCache(root.public_schema())
    with pytest.raises(TooComplex):
        kept.prepare_now("{products{" + "id " * 60 + "}}")
    assert len(kept) == 0


def test_the_plan_cache_is_bounded_by_count_and_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_compiler, "_enabled", True)  # independent of how the suite is run
    monkeypatch.setattr(query_compiler, "MAX_CACHED_OPERATIONS", 10)
    monkeypatch.setattr(query_compiler, "MAX_CACHED_TOKENS", 300)
    compiler = QueryCompiler(root.public_schema(), native=True)
    kept = DocumentCache(root.public_schema())

    def compile_(prepared: PreparedDocument, variables: dict[str, Any]) -> None:
        operation = prepared.operation(None)
        assert operation is not None
        compiler.compile_query(prepared, operation, variables)

    for number in range(30):
        compile_(kept.prepare_now(f"{{products(limit:{number + 1}){{id}}}}"), {})
    assert len(compiler) == 10
    for number in range(30):
        compile_(kept.prepare_now(f"{{products(limit:{number + 1}){{{'id ' * 45}}}}}"), {})
    assert 1 <= len(compiler) <= 6
