"""Errors of variables have plain messages without GraphQL type names in facades, and don't repeat what may be a password in `/graphql`."""

from typing import Any

import pytest
from graphql import build_schema, graphql_sync

from resolvers.variable_errors import to_validation_error
from tests.harness.sample_store import SampleStore

SCHEMA = build_schema(
    "type Query { a(input: I!): Int } input I { n: Int! l: [Int!] o: J b: Boolean s: String id: ID f: Float } input J { x: Int! }"
)


@pytest.mark.parametrize(
    "value,fields,message",
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
        ({"n": 1, "s": True}, {"s": "invalid"}, "s: expected a text, got true"),
        ({"n": 1, "s": [None, "None"]}, {"s": "invalid"}, "s: expected a text, got [null, 'None']"),
        ({"n": "x, got True"}, {"n": "invalid"}, "n: expected an integer, got 'x, got True'"),
        (5, {"input": "invalid"}, "expected an object, got 5"),
    ],
)
def test_each_invalid_value_has_a_plain_message(value: object, fields: dict[str, str], message: str) -> None:
    result = graphql_sync(SCHEMA, "query($input: I!) { a(input: $input) }", variable_values={"input": value})
    error = to_validation_error(error.message for error in result.errors or [])
    assert error.fields == fields
    assert set(error.message.split("; ")) == set(message.split("; "))


CREATE_USER = "mutation ($input: UserInput!) { user_create(input: $input) { id } }"


@pytest.mark.parametrize(
    "query, variables, message",
    [
        (
            CREATE_USER,
            {"input": {"email": "ana@example.com", "password": "segredo-123", "nick": "a"}},
            "Variable '$input' has invalid value:"
            " Expected value of type 'UserInput' not to include unknown field 'nick'.",
        ),
        (
            CREATE_USER,
            {"input": [{"password": "segredo-123"}]},
            "Variable '$input' has invalid value: Expected value of type 'UserInput' to be an object.",
        ),
        (
            CREATE_USER,
            {"input": {"password": ["segredo-123"]}},
            "Variable '$input' has invalid value at .password: String cannot represent a non string value.",
        ),
        (
            'mutation { user_create(input: {password: ["segredo-123"]}) { id } }',
            {},
            "String cannot represent a non string value.",
        ),
        (
            'mutation { user_create(input: {passwort: "segredo-123"}) { id } }',
            {},
            "Expected value of type 'UserInput' not to include unknown field 'passwort'. Did you mean 'password'?",
        ),
    ],
    ids=["unknown field", "no object", "no text", "literal that is no text", "literal with a suggestion"],
)
async def test_the_error_of_an_input_object_does_not_repeat_its_values(
    query: str, variables: dict[str, Any], message: str, sample: SampleStore
):
    answer = await sample.post("/graphql", {"query": query, "variables": variables}, auth="bearer")
    assert [error["message"] for error in answer.body["errors"]] == [message]
    assert "segredo" not in answer.raw.decode()
