"""Documents made to be dear are refused before anything dear is done, and nothing that is kept of documents grows without end.

Work is counted, never timed: what is over a limit must be neither parsed nor validated, and every walk over the rest takes a bounded
number of steps.
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
    Lexer,
    OperationDefinitionNode,
    SelectionSetNode,
    Source,
    TokenKind,
    build_schema,
    get_introspection_query,
    parse,
    print_ast,
    validate,
)
from graphql.validation import OverlappingFieldsCanBeMergedRule
from hypothesis import given
from hypothesis import strategies as st

from kernel.errors import TooComplex
from resolvers import compiled, root
from resolvers.compiled import Compiler
from schema import documents
from schema.documents import Documents, Prepared, prepare
from schema.lexing import QuickLexer, parse_quickly
from schema.outline import SIZE_ARGUMENTS, Inline, OutlineField, Spread, outline_of
from schema.overlapping import FieldsMergeRule


def _chain(count: int, type_: str, body: str, last: str) -> str:
    """Make fragments of which each uses the next twice."""
    made = [f"fragment F{i} on {type_} {{ {body.replace('NEXT', f'...F{i + 1}')} }}" for i in range(count)]
    return " ".join([*made, f"fragment F{count} on {type_} {{ {last} }}"])


OVER_A_LIMIT = {
    "2000 of one field": "{products{" + "id " * 1990 + "}}",
    "tokens without end": "{products{" + "id " * 100_000 + "}}",
    "comments without end": "{products{id " + "#\n" * 1_000_000 + "}}",
    "a bomb of spreads": "{...F0}" + _chain(18, "Query", "NEXT NEXT", "__typename"),
    "a bomb of fields": "{categories(limit:0){...F0}}"
    + _chain(9, "Category", "parent{NEXT NEXT} children{NEXT}", "id name slug position"),
    "a bomb in the introspection": "{__schema{types{...F0}}}"
    + _chain(16, "__Type", "ofType{NEXT} ofType{NEXT}", "name"),
    "a bomb no operation uses": "{products{id}} " + _chain(40, "Product", "NEXT NEXT", "id"),
    "a wide fragment handed on": "{products{...F0}}"
    + " ".join(f"fragment F{i} on Product{{...F{i + 1} k{i}:id}}" for i in range(90))
    + " fragment F90 on Product{"
    + " ".join(f"f{i}" for i in range(900))
    + "}",
    "a chain of fragments": "{products{...F0}}" + _chain(150, "Product", "NEXT", "id"),
    "deep": "{categories{" + "parent{" * 150 + "id" + "}" * 152,
    "deep, in fragments": "{categories{...F0}}" + _chain(20, "Category", "parent{NEXT}", "id"),
    "dear": "{products(limit:500){categories{products(limit:500){id}}}}",
    "dear, by a variable": "query($n:Int!){products(limit:$n){images{id}}}",
    "dear, by a default": "query($m:Int=5000){products(limit:$m){images{id}}}",
    "dear, and wide": "{"
    + " ".join(f"p{i}:products(limit:500){{id name slug sku}}" for i in range(99))
    + "}",
    "dear, of unknown fields": "{products(limit:500){images{"
    + " ".join(f"x{i}" for i in range(900))
    + "} i:images{id}}}",
}


@pytest.mark.parametrize("name", OVER_A_LIMIT)
def test_a_document_over_a_limit_is_refused_before_it_is_parsed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for dear in ("parse_quickly", "validate"):
        monkeypatch.setattr(documents, dear, _must_not_be_called)
    with pytest.raises(TooComplex):
        prepare(root.public_schema(), OVER_A_LIMIT[name], limited=True, variables={"n": 50_000})


def _must_not_be_called(*_args: Any, **_named: Any) -> Any:
    raise AssertionError("this is too dear for a document over a limit")


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
def test_a_cycle_of_fragments_is_told_as_validation_would_without_it(
    text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for dear in ("parse_quickly", "validate"):
        monkeypatch.setattr(documents, dear, _must_not_be_called)
    prepared = prepare(root.public_schema(), text, limited=True)
    assert [error.message for error in prepared.errors] == [message]
    assert prepared.errors[0].locations
    assert prepared.operations == {}


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
def test_what_is_nested_too_deeply_is_refused(text: str) -> None:
    try:
        prepared = prepare(root.public_schema(), text, limited=True)
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
def test_fields_are_merged_in_steps_that_grow_with_the_text(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []

    class Counted(FieldsMergeRule):
        def leave_document(self, *_args: Any) -> None:
            steps.append(self.steps)

    rules = [Counted if rule is FieldsMergeRule else rule for rule in documents._RULES]
    monkeypatch.setattr(documents, "_RULES", rules)
    text = WIDE[name]
    prepared = prepare(root.public_schema(), text, limited=True)
    assert prepared.errors == ()
    assert steps
    # A field is looked at once for the set it is merged in, and there are at most as many sets as levels.
    assert steps[0] <= 3 * prepared.size


@pytest.mark.parametrize("name", WIDE)
def test_weighing_takes_steps_that_grow_with_the_text(name: str) -> None:
    outline = outline_of(WIDE[name], max_tokens=None)
    assert outline is not None
    weigher = documents._Weigher(outline)
    weigher.check()
    assert weigher.steps <= 2 * outline.size


# --- the outline and the lexer agree with graphql-core ----------------------------------------------------------------------

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


@given(DOCUMENTS)
def test_the_outline_holds_what_the_parser_finds(text: str) -> None:
    try:
        parsed = parse(text)
    except GraphQLSyntaxError:
        return
    outline = outline_of(text, max_tokens=None)
    assert outline is not None
    assert [
        (name, operation.kind, operation.defaults, _plain(operation.below))
        for name, operation in outline.operations
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
    assert {name: (each.condition, _plain(each.below)) for name, each in outline.fragments.items()} == {
        node.name.value: (node.type_condition.name.value, _parsed(node.selection_set)) for node in fragments
    }


def _plain(selections: Any) -> list[Any]:
    found: list[Any] = []
    for node in selections:
        if isinstance(node, OutlineField):
            sizes = {name: (size.number, size.variable) for name, size in node.sizes.items()}
            found.append((node.name, node.key, sizes, None if node.below is None else _plain(node.below)))
        elif isinstance(node, Inline):
            found.append(("...", node.condition, _plain(node.below)))
        else:
            assert isinstance(node, Spread)
            found.append(("...", node.name, node.position))
    return found


def _parsed(selections: SelectionSetNode) -> list[Any]:
    found: list[Any] = []
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
            found.append((node.name.value, node.alias.value if node.alias else "", sizes, below))
        elif isinstance(node, InlineFragmentNode):
            condition = node.type_condition.name.value if node.type_condition else ""
            found.append(("...", condition, _parsed(node.selection_set)))
        else:
            assert node.loc is not None
            found.append(("...", node.name.value, node.loc.start))
    return found


def _whole(text: str) -> int:
    return int(text) if len(text) < 20 else 10**20


SOUP = st.lists(
    st.sampled_from(
        [
            "{",
            "}",
            "(",
            ")",
            "a",
            "on",
            "...",
            "..",
            "1",
            "01",
            "-",
            "1.",
            "1.5",
            "1e",
            '"',
            '"x"',
            '""',
            '"""',
            '"""a\n b"""',
        ]
        + [
            "#c",
            "\n",
            "\r\n",
            "\r",
            " ",
            ",",
            "\ufeff",
            "\\",
            '"\\u00e9"',
            '"\\q"',
            "é",
            "\x00",
            "$",
            "@",
            "[",
            "]",
            "&",
            "|",
            "=",
        ]
        + ["\ud800", "?", "1a", '"""\\""""""']
    ),
    max_size=25,
).map("".join)


@given(SOUP | DOCUMENTS)
def test_the_lexer_gives_the_tokens_and_errors_of_graphql_core(text: str) -> None:
    assert _tokens(QuickLexer(Source(text))) == _tokens(Lexer(Source(text)))


def _tokens(lexer: Lexer) -> list[Any]:
    found: list[Any] = []
    while True:
        try:
            token = lexer.advance()
        except GraphQLSyntaxError as error:
            return [*found, (error.message, error.locations)]
        found.append((token.kind, token.start, token.end, token.line, token.column, token.value))
        if token.kind is TokenKind.EOF:
            return found


@given(DOCUMENTS)
def test_a_document_is_parsed_as_by_graphql_core(text: str) -> None:
    def tried(parser: Any) -> tuple[Any, ...]:
        try:
            return print_ast(parser(text)), None
        except GraphQLSyntaxError as error:
            return None, error.message, error.locations

    assert tried(parse_quickly) == tried(parse)


def test_a_text_that_defines_types_is_told_so() -> None:
    prepared = prepare(root.public_schema(), "type A { a: Int }", limited=True)
    assert prepared.errors[0].message == "The 'A' definition is not executable."


# --- the rule on merged fields agrees with graphql-core's -------------------------------------------------------------------

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
def test_fields_merge_where_graphql_core_lets_them(one: str, two: str, three: str, four: str) -> None:
    text = (
        f"{{ a{one} a{two} node{one} any{two} b{four} a{{...F}} b{{...G}} node{{...H}} }} "
        f"fragment F on A {two} fragment G on B {three.replace('...F', '')} "
        f"fragment H on Node {four.replace('...F', '').replace('...G', '').replace('...H', '')}"
    ).replace("{}", "{id}")
    parsed = parse(text)
    assert bool(_problems(parsed, FieldsMergeRule)) == bool(
        _problems(parsed, OverlappingFieldsCanBeMergedRule)
    ), text


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
def test_a_conflict_is_told_in_the_words_of_graphql_core(text: str) -> None:
    parsed = parse(text)
    ours, theirs = (
        [error.message for error in _problems(parsed, rule)]
        for rule in (FieldsMergeRule, OverlappingFieldsCanBeMergedRule)
    )
    assert ours == theirs


# --- what is kept is bounded ----------------------------------------------------------------------------------------------


def test_documents_are_kept_up_to_a_number_a_size_and_a_weight() -> None:
    kept = Documents(root.public_schema(), size=10, longest=500, most_tokens=200)
    first = kept.get("{products(limit:1){id}}")
    for number in range(2, 30):
        kept.get(f"{{products(limit:{number}){{id}}}}")
    assert len(kept) == 10
    assert kept.get("{products(limit:29){id}}") is kept.get("{products(limit:29){id}}")
    assert kept.get("{products(limit:1){id}}") is not first
    for number in range(1, 9):
        kept.get(f"{{products(limit:{number}){{{'id ' * 40}}}}}")
        assert kept.weight <= 200
    assert len(kept) < 5
    before = len(kept)
    kept.get("{products{id " + "," * 500 + "}}")
    assert len(kept) == before


def test_a_document_over_a_limit_is_not_kept() -> None:
    kept = Documents(root.public_schema())
    with pytest.raises(TooComplex):
        kept.get("{products{" + "id " * 60 + "}}")
    assert len(kept) == 0


def test_compiled_operations_are_kept_up_to_a_number_and_a_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_is_on", True)  # whichever way the suite is run
    monkeypatch.setattr(compiled, "MOST_KEPT", 10)
    monkeypatch.setattr(compiled, "MOST_TOKENS", 300)
    compiler = Compiler(root.public_schema(), native=True)
    kept = Documents(root.public_schema())

    def compile_(prepared: Prepared, variables: dict[str, Any]) -> None:
        operation = prepared.operation(None)
        assert operation is not None
        compiler.get(prepared, operation, variables)

    for number in range(30):
        compile_(kept.get(f"{{products(limit:{number + 1}){{id}}}}"), {})
    assert len(compiler) == 10
    for number in range(30):
        compile_(kept.get(f"{{products(limit:{number + 1}){{{'id ' * 45}}}}}"), {})
    assert 1 <= len(compiler) <= 6
