"""The compiled conversion of variables returns what graphql-core coerces them to, or leaves them to it."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLSchema,
    OperationDefinitionNode,
    parse,
)
from graphql.execution.values import VariableValues, get_variable_values

from kernel.clock import now
from kernel.ids import uuid7
from kernel.scope import SYSTEM, Scope, Store, active_scope
from resolvers import root
from resolvers.engine.conversions import conversion_of

WRONG: tuple[Any, ...] = (
    None,
    "",
    "x",
    "12",
    12,
    -1,
    2**40,
    2**70,
    1.0,
    1.5,
    True,
    [],
    {},
    {"unknown": 1},
    [[1]],
    b"body",
)
BY_TYPE: dict[str, tuple[Any, ...]] = {
    "ID": ("12", 7, "01990000-0000-7000-8000-000000000000", "none"),
    "String": ("Caneca", "á", ""),
    "Int": (0, 12, 1.0),
    "BigInt": (0, 2**40, 3.0),
    "Float": (1.5, 2),
    "Boolean": (True, False),
    "DateTime": ("2026-11-20T18:00:00Z", "2026-11-20"),
    "JSON": ({"a": [1]}, "text"),
    "Bytes": (b"body",),
}


def value_of(type_: GraphQLInputType, rng: random.Random, depth: int = 0) -> Any:
    """Return a value that is valid, mostly."""
    if rng.random() < 0.03:
        return rng.choice(WRONG)
    if isinstance(type_, GraphQLNonNull):
        return value_of(type_.of_type, rng, depth)
    if rng.random() < 0.1:
        return None
    if isinstance(type_, GraphQLList):
        return [value_of(type_.of_type, rng, depth + 1) for _ in range(rng.randrange(3))]
    if isinstance(type_, GraphQLInputObjectType):
        names = [name for name in type_.fields if rng.random() < (0.5 if depth < 3 else 0.1)]
        rng.shuffle(names)
        return {name: value_of(type_.fields[name].type, rng, depth + 1) for name in names}
    if isinstance(type_, GraphQLEnumType):
        return rng.choice([*type_.values, "none"])
    return rng.choice(BY_TYPE.get(type_.name, ("A", "x", 1)))


def operation_of(schema: GraphQLSchema, name: str) -> tuple[OperationDefinitionNode, dict[str, GraphQLInputType]]:
    """Return an operation whose variables are the arguments of a mutation, and their types."""
    assert schema.mutation_type is not None
    types = {argument: declared.type for argument, declared in schema.mutation_type.fields[name].args.items()}
    definitions = ", ".join(f"${argument}: {type_}" for argument, type_ in types.items())
    [operation] = parse(f"mutation ({definitions}) {{ {name} }}").definitions
    assert isinstance(operation, OperationDefinitionNode)
    return operation, types


def shown(value: Any) -> Any:
    """Return a value with the types of what is in it; of ids, those that are numbers need the one by which no number is a record."""
    if isinstance(value, dict):
        return {name: shown(item) for name, item in value.items()}
    if isinstance(value, list):
        return [shown(item) for item in value]
    return value if isinstance(value, str) and not value.isdecimal() else (type(value), value)


@pytest.mark.parametrize("family", ["graphql", "legacy"])
@pytest.mark.parametrize("which", ["public", "internal"])
def test_variables_are_converted_as_by_graphql_core(which: str, family: str) -> None:
    schema = root.public_schema() if which == "public" else root.internal_schema()
    scope, rng, outcomes = (
        Scope(Store(1, uuid7(), "Loja"), SYSTEM, "request", now(), family),
        random.Random(f"{which}{family}"),
        Counter[str](),
    )
    assert schema.mutation_type is not None
    for name, field in schema.mutation_type.fields.items():
        if not field.args:
            continue
        operation, types = operation_of(schema, name)
        convert = conversion_of(schema, operation)
        for _ in range(30):
            values = {argument: value_of(type_, rng) for argument, type_ in types.items() if rng.random() < 0.9}
            with active_scope(scope):
                converted = convert(values)
                coerced = get_variable_values(schema, operation.variable_definitions or (), values)
            if converted is None:
                outcomes["left"] += isinstance(coerced, VariableValues)
                outcomes["refused"] += not isinstance(coerced, VariableValues)
            else:
                outcomes["converted"] += 1
                assert isinstance(coerced, VariableValues), (name, values)
                assert list(converted.coerced) == list(coerced.coerced), (name, values)
                assert repr(shown(converted.coerced)) == repr(shown(coerced.coerced)), (name, values)
    assert outcomes["converted"] > 5 * outcomes["left"], outcomes
    assert outcomes["refused"] > 100, outcomes
