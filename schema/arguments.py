"""Describe the arguments of fields, by `arguments.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path

from graphql import GraphQLObjectType, GraphQLSchema


def describe_arguments(schema: GraphQLSchema) -> None:
    """Set the descriptions of the arguments that don't declare one; a test refuses public ones that are listed nowhere."""
    described = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    for type_ in schema.type_map.values():
        if not isinstance(type_, GraphQLObjectType) or type_.name.startswith("__"):
            continue
        for name, field in type_.fields.items():
            for key, argument in field.args.items():
                if argument.description is None:
                    argument.description = described["fields"].get(f"{name}.{key}") or described["names"].get(key)
