"""Documents over a query limit (depth, aliases, tokens, cost) are rejected before execution."""

from __future__ import annotations

import pytest
from graphql import get_introspection_query

from kernel.errors import TooComplex, ValidationFailed
from resolvers import root
from resolvers.engine.costs import calculate_cost
from resolvers.engine.limits import MAX_COST
from resolvers.engine.prepare import DocumentCache, coerced_variables, prepare_document


def _prepare(text: str) -> object:
    return prepare_document(root.public_schema(), text, limited=True)


def _deep(levels: int) -> str:
    """Nest categories to the given depth."""
    inner = "id"
    for _ in range(levels - 2):
        inner = "parent { " + inner + " }"
    return "{ categories { " + inner + " } }"


def _cost(text: str, variables: dict[str, object] | None = None) -> int:
    schema = root.public_schema()
    prepared = prepare_document(schema, text, limited=True)
    assert prepared.errors == ()
    operation = prepared.operation(None)
    assert operation is not None
    return calculate_cost(schema, prepared, operation, variables or {}).fields.total()


def test_twelve_levels_pass_and_thirteen_do_not() -> None:
    _prepare(_deep(12))
    with pytest.raises(TooComplex, match="13 levels"):
        _prepare(_deep(13))


def test_depth_counts_through_fragments() -> None:
    text = "{ categories { ...more } } fragment more on Category { " + "parent { " * 10 + "id" + " }" * 11
    _prepare(text)
    with pytest.raises(TooComplex, match="13 levels"):
        _prepare(text.replace("id }", "parent { id } }", 1))


def test_a_hundred_aliases_pass_and_one_more_does_not() -> None:

    hundred = " ".join(f"a{i}: name" for i in range(100))
    _prepare("{ store { " + hundred + " } }")
    with pytest.raises(TooComplex, match="101 aliases"):
        _prepare("{ store { " + hundred + " b: name } }")


def test_aliases_in_a_fragment_count_each_time_it_is_used() -> None:
    aliases = " ".join(f"a{i}: name" for i in range(30))
    spreads = " ".join(f"s{i}: store {{ ...many }}" for i in range(4))
    with pytest.raises(TooComplex, match="aliases"):
        _prepare("{ " + spreads + " } fragment many on Store { " + aliases + " }")


def test_fifty_repeats_of_a_response_key_pass_and_one_more_does_not() -> None:
    _prepare("{ store { " + "name " * 50 + "} }")
    with pytest.raises(TooComplex, match="51 times"):
        _prepare("{ store { " + "name " * 51 + "} }")


def test_repeats_count_through_fragments() -> None:
    with pytest.raises(TooComplex, match="times"):
        _prepare("{ store { ...a ...a ...a } } fragment a on Store { " + "name " * 20 + "}")


def test_two_thousand_tokens_pass_and_more_do_not() -> None:
    with pytest.raises(TooComplex, match="2000 tokens"):
        _prepare("{ " + " ".join("store { id name }" for _ in range(500)) + " }")


def test_fragment_bombs_are_rejected_in_linear_time() -> None:
    fragments = " ".join(
        f"fragment f{i} on Category {{ parent {{ ...f{i + 1} ...f{i + 1} ...f{i + 1} }} }}" for i in range(30)
    )
    with pytest.raises(TooComplex):
        _prepare("{ categories { ...f0 } } " + fragments + " fragment f30 on Category { id }")


def test_a_fragment_cycle_is_reported_and_not_followed() -> None:
    prepared = prepare_document(
        root.public_schema(),
        "{ categories { ...a } } fragment a on Category { ...b } fragment b on Category { ...a }",
        limited=True,
    )
    assert "itself" in prepared.errors[0].message


def test_the_standard_introspection_query_passes() -> None:
    prepared = prepare_document(
        root.public_schema(), get_introspection_query(input_value_deprecation=True), limited=True
    )
    assert prepared.errors == ()
    operation = prepared.operation(None)
    assert operation is not None
    assert calculate_cost(root.public_schema(), prepared, operation, {}).fields.total() == 0


def test_values_that_are_equal_in_python_alone_are_coerced_apart() -> None:
    schema = root.public_schema()
    prepared = prepare_document(schema, "query($n: Int = 7) { products(limit: $n) { id } }", limited=True)
    operation = prepared.operation(None)
    assert operation is not None
    for repetition in range(2):  # the second time as they are kept
        coerced = [
            coerced_variables(schema, prepared, operation, values) for values in ({"n": 1}, {"n": True}, {}, {"n": 1.5})
        ]
        assert [None if each is None else each.coerced for each in coerced] == [{"n": 1}, None, {"n": 7}, None], (
            repetition
        )
        assert calculate_cost(schema, prepared, operation, {"n": 1}).fields.total() == 1, repetition
        assert calculate_cost(schema, prepared, operation, {}).fields.total() == 7, repetition


def test_introspection_has_its_own_depth_limit() -> None:
    inner = "name"
    for _ in range(21):
        inner = "ofType { " + inner + " }"
    with pytest.raises(TooComplex, match="introspection"):
        _prepare('{ __type(name: "Product") { ' + inner + " } }")


@pytest.mark.parametrize(
    "text,cost",
    [
        ("{ store { name } }", 1),
        ("{ __typename }", 0),
        ("{ products { name } }", 20),
        ("{ products(limit: 50) { name category { id } images { url } } }", 50 * (1 + 1 + 10)),
        ("{ product_page(per_page: 5) { total items { id } } }", 1 + 5),
        ("{ product_page { items { id images { url } } } }", 1 + 20 * (1 + 10)),
        (
            "{ product_connection(first: 3) { edges { node { id } } page_info { end_cursor } } }",
            1 + 3 * (1 + 1) + 1,
        ),
        ("{ categories(limit: 2) { products(first: 7) { edges { node { id } } } } }", 2 * (1 + 1 + 7 * (1 + 1))),
        ("{ categories(limit: 2) { products(last: 7) { edges { node { id } } } } }", 2 * (1 + 1 + 7 * (1 + 1))),
        ("{ categories(limit: 2) { products { edges { node { id } } } } }", 2 * (1 + 1 + 20 * (1 + 1))),
    ],
)
def test_the_query_cost_is_calculated_as_documented(text: str, cost: int) -> None:
    assert _cost(text) == cost


def test_a_list_size_in_a_variable_counts_with_its_value_or_default() -> None:
    text = "query ($n: Int = 4) { products(limit: $n) { id } }"
    assert _cost(text) == 4
    assert _cost(text, {"n": 9}) == 9


def test_a_null_list_size_costs_what_the_executor_reads_for_it_whatever_its_default() -> None:
    connection = "product_connection{} {{ edges {{ node {{ id }} }} }}".format
    for sizes, same in (("(first: $n)", ""), ("(first: $n, last: 3)", "(last: 3)")):
        expected = _cost(f"{{ {connection(same)} }}")
        assert _cost(f"query ($n: Int = 0) {{ {connection(sizes)} }}", {"n": None}) == expected, sizes


@pytest.mark.parametrize(
    "text",
    [
        "{ products(limit: 2147483647) { images { url } } }",
        "{ products(limit: 500) { categories { products(first: 500) { edges { node { id } } } } } }",
        "query ($n: Int!) { products(limit: $n) { images { id } } }",
        "query ($m: Int = 5000) { products(limit: $m) { images { id } } }",
        "{ " + " ".join(f"p{i}: products(limit: 500) {{ id name slug sku }}" for i in range(99)) + " }",
    ],
)
def test_an_expensive_document_exceeds_the_cost_limit(text: str) -> None:
    assert _cost(text, {"n": 50_000}) > MAX_COST


def test_nul_in_a_string_of_the_document_is_refused() -> None:
    with pytest.raises(ValidationFailed, match="NUL"):
        _prepare('{ products(filter: {search: "a\\u0000b"}) { id } }')


@pytest.mark.parametrize("number", ["1e400", "-1e400", "9223372036854775808", "-9223372036854775809"])
def test_a_number_that_a_body_cannot_hold_is_refused_in_a_json_value(number: str) -> None:
    text = f'mutation {{ block_create(input: {{type: "t", name: "n", content: {{a: [{number}]}}}}) {{ id }} }}'
    errors = prepare_document(root.public_schema(), text, limited=True).errors
    assert [error.message for error in errors] == ["a number must be a 64-bit integer or float"]


def test_the_document_cache_evicts_the_least_recently_used() -> None:
    documents = DocumentCache(root.public_schema(), max_documents=2, max_length=60)
    first = documents.prepare_now("{ store { id } }")
    documents.prepare_now("{ store { name } }")
    assert documents.prepare_now("{ store { id } }") is first
    documents.prepare_now("{ store { currency } }")
    assert documents.prepare_now("{ store { id } }") is first
    long = "{ store { id } } #" + "x" * 60
    assert documents.prepare_now(long) is not documents.prepare_now(long)
