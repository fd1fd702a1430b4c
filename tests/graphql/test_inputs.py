"""Inputs are built of the fields that a request provides; Strawberry's own conversion, of all fields, is the reference."""

from __future__ import annotations

from typing import Any

import pytest
from graphql import GraphQLInputObjectType, get_named_type, get_nullable_type, is_list_type
from strawberry import UNSET
from strawberry.types.arguments import convert_argument

from resolvers.root import internal
from schema.inputs import provided_fields


def _input_types() -> list[GraphQLInputObjectType]:
    types = internal()._schema.type_map.values()
    return [type_ for type_ in types if isinstance(type_, GraphQLInputObjectType)]


def _sample(type_: Any, depth: int = 0) -> Any:
    """Return a value of a type; what it is does not matter, conversion leaves leaves as they are."""
    type_ = get_nullable_type(type_)
    named = get_named_type(type_)
    if is_list_type(type_):
        is_too_deep = depth >= 3 and isinstance(named, GraphQLInputObjectType)
        return [] if is_too_deep else [_sample(type_.of_type, depth)] * 2
    if not isinstance(named, GraphQLInputObjectType):
        return f"{named.name}?"
    return _all_fields(named, depth + 1)


def _all_fields(type_: GraphQLInputObjectType, depth: int = 0) -> dict[str, Any]:
    """Return all fields of an input, those that are required of one too deep: an omitted one is null for Strawberry."""
    return {
        name: _sample(field.type, depth)
        for name, field in type_.fields.items()
        if depth <= 3 or field.type is not get_nullable_type(field.type)
    }


def _convert(type_: GraphQLInputObjectType, value: dict[str, Any]) -> Any:
    schema = internal()
    origin = type_.extensions["strawberry-definition"].origin
    return convert_argument(value, origin, schema.schema_converter.scalar_registry, schema.config)


@pytest.mark.parametrize("type_", _input_types(), ids=lambda type_: type_.name)
def test_an_input_is_what_strawberry_makes_of_it(
    type_: GraphQLInputObjectType, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = _all_fields(type_)
    first = next(iter(everything))
    values = [everything, {first: everything[first]}, dict.fromkeys(everything), {}]
    built = [_convert(type_, value) for value in values]
    for each in _input_types():
        definition = each.extensions["strawberry-definition"]
        monkeypatch.setattr(definition, "from_input", None)
        # What Strawberry's own decorator would generate.
        monkeypatch.setattr(definition.origin, "__init__", lambda self, **fields: self.__dict__.update(fields))
    # Strawberry has null for an omitted required field, which graphql-core refuses before.
    required = [name for name, field in type_.fields.items() if field.type is not get_nullable_type(field.type)]
    for value, ours in zip(values, built, strict=True):
        theirs = provided_fields(_convert(type_, value))
        assert provided_fields(ours) == {
            name: item for name, item in theirs.items() if name in value or name not in required
        }
        omitted = set(everything) - set(value) - set(required)
        assert all(getattr(ours, name) is UNSET for name in omitted)
