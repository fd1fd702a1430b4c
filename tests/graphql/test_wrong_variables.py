"""What is wrong with a body is told in words that need no schema to be understood."""

import pytest
from graphql import build_schema, graphql_sync

from resolvers.wrong_variables import error_of

SCHEMA = build_schema(
    "type Query { a(input: I!): Int } input I { n: Int! l: [Int!] o: J b: Boolean s: String id: ID f: Float } input J { x: Int! }"
)


@pytest.mark.parametrize(
    "given,fields,message",
    [
        ({}, {"n": "required"}, "n is required"),
        ({"n": None}, {"n": "invalid"}, "n: expected a value, got null"),
        ({"n": "x"}, {"n": "invalid"}, "n: expected an integer, got 'x'"),
        ({"n": 2**40}, {"n": "invalid"}, "n: expected an integer of 32 bits, got 1099511627776"),
        ({"n": 1, "l": [1, None]}, {"l": "invalid"}, "l: expected a value, got null"),
        ({"n": 1, "o": 5}, {"o": "invalid"}, "o: expected an object, got 5"),
        ({"n": 1, "o": {}}, {"o.x": "required"}, "o.x is required"),
        ({"n": 1, "b": "x"}, {"b": "invalid"}, "b: expected true or false, got 'x'"),
        (
            {"n": 1, "s": 5, "f": "y"},
            {"s": "invalid", "f": "invalid"},
            "s: expected a text, got 5; f: expected a number, got 'y'",
        ),
        ({"n": 1, "id": 1.5}, {"id": "invalid"}, "id: expected an id, got 1.5"),
        (5, {"input": "invalid"}, "expected an object, got 5"),
    ],
)
def test_each_wrong_value_is_named_plainly(given: object, fields: dict[str, str], message: str) -> None:
    result = graphql_sync(SCHEMA, "query($input: I!) { a(input: $input) }", variable_values={"input": given})
    refusal = error_of(error.message for error in result.errors or [])
    assert refusal.fields == fields
    assert set(refusal.message.split("; ")) == set(message.split("; "))
