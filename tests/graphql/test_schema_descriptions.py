"""The schema describes its arguments and scalars, as far as code generators and readers need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from graphql import (
    GraphQLArgument,
    GraphQLObjectType,
    GraphQLScalarType,
    is_required_argument,
    is_specified_scalar_type,
)

from resolvers import root

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "graphql.md"
TYPES = root.public_schema().type_map


def _scalars() -> list[GraphQLScalarType]:
    own = [type_ for type_ in TYPES.values() if isinstance(type_, GraphQLScalarType)]
    return [type_ for type_ in own if not is_specified_scalar_type(type_) and type_.name != "ID"]


def _arguments() -> Iterator[tuple[str, GraphQLArgument]]:
    for type_ in TYPES.values():
        if isinstance(type_, GraphQLObjectType) and not type_.name.startswith("__"):
            for name, field in type_.fields.items():
                yield from ((f"{type_.name}.{name}({key})", argument) for key, argument in field.args.items())


def test_every_argument_has_a_description() -> None:
    assert [name for name, argument in _arguments() if not argument.description] == []


def test_no_required_argument_is_described_with_a_default() -> None:
    required = [(name, argument) for name, argument in _arguments() if is_required_argument(argument)]
    assert [name for name, argument in required if "by default" in (argument.description or "")] == []


def test_every_scalar_names_its_format() -> None:
    assert [type_.name for type_ in _scalars() if not type_.specified_by_url] == []


def test_the_reference_maps_every_scalar_for_code_generators() -> None:
    [block] = re.findall(r"```yaml\n(.*?)```", REFERENCE.read_text(encoding="utf-8"), re.DOTALL)
    mapped = re.findall(r"^    (\w+):", block.partition("scalars:")[2], re.MULTILINE)
    assert mapped == sorted(type_.name for type_ in _scalars())
