"""Derive JSON Schemas of an operation's response and variables, for the OpenAPI documents of the REST families."""

from __future__ import annotations

from typing import Any, TypeAlias

from graphql import (
    FieldNode,
    FragmentSpreadNode,
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLObjectType,
    InlineFragmentNode,
    SelectionSetNode,
    get_named_type,
    is_list_type,
    is_non_null_type,
)
from graphql.language import FragmentDefinitionNode

from resolvers.execute import FacadeOperation

Schema: TypeAlias = dict[str, Any]

_SCALARS: dict[str, Schema] = {
    "ID": {"type": "string"},
    "String": {"type": "string"},
    "Boolean": {"type": "boolean"},
    "Int": {"type": "integer"},
    "BigInt": {"type": "integer"},
    "Float": {"type": "number"},
    "JSON": {},
}
# Other scalars, such as code tables, are strings; their descriptions list the values.
_STRING: Schema = {"type": "string"}


def response_schema(operation: FacadeOperation, field: str | None = None) -> Schema:
    """Return the schema of a root field's response: the named field, by default the first."""
    from resolvers.root import internal_schema

    schema = internal_schema()
    root = schema.mutation_type if operation.is_mutation else schema.query_type
    assert root is not None
    assert operation.prepared.document is not None
    fragments = {
        node.name.value: node
        for node in operation.prepared.document.definitions
        if isinstance(node, FragmentDefinitionNode)
    }
    response: Schema = _object(root, operation.definition.selection_set, fragments)
    properties: dict[str, Schema] = response["properties"]
    return properties[field or operation.fields[0]]


def variable_schemas(operation: FacadeOperation) -> dict[str, Schema]:
    """Return the schema of each variable of the operation."""
    from graphql import type_from_ast

    from resolvers.root import internal_schema

    schema = internal_schema()
    return {
        node.variable.name.value: _input(type_from_ast(schema, node.type))
        for node in operation.definition.variable_definitions or ()
    }


def _object(
    type_: GraphQLObjectType,
    selection_set: SelectionSetNode | None,
    fragments: dict[str, FragmentDefinitionNode],
) -> Schema:
    properties: dict[str, Schema] = {}
    optional: set[str] = set()
    _collect(type_, selection_set, fragments, properties, optional, False)
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
    }


def _collect(
    type_: GraphQLObjectType,
    selection_set: SelectionSetNode | None,
    fragments: dict[str, FragmentDefinitionNode],
    properties: dict[str, Schema],
    optional: set[str],
    conditional: bool,
) -> None:
    for node in selection_set.selections if selection_set is not None else ():
        # Fields with `@include` or `@skip` may be missing.
        is_optional = conditional or bool(node.directives)
        if isinstance(node, FieldNode):
            key = node.alias.value if node.alias else node.name.value
            if node.name.value == "__typename":
                properties[key] = {"type": "string"}
                continue
            properties[key] = _output(type_.fields[node.name.value], node, fragments)
            if is_optional:
                optional.add(key)
        elif isinstance(node, FragmentSpreadNode):
            fragment = fragments[node.name.value]
            _collect(type_, fragment.selection_set, fragments, properties, optional, is_optional)
        else:
            assert isinstance(node, InlineFragmentNode)
            _collect(type_, node.selection_set, fragments, properties, optional, is_optional)


def _output(field: GraphQLField, node: FieldNode, fragments: dict[str, FragmentDefinitionNode]) -> Schema:
    named = get_named_type(field.type)
    if isinstance(named, GraphQLObjectType):
        leaf = _object(named, node.selection_set, fragments)
    else:
        leaf = _leaf(named)
    schema = _wrapped(field.type, leaf)
    if field.description and not isinstance(named, GraphQLObjectType):
        schema = {**schema, "description": field.description.split("\n\n")[0]}
    return schema


def _wrapped(type_: Any, leaf: Schema) -> Schema:
    is_nullable = not is_non_null_type(type_)
    inner = type_ if is_nullable else type_.of_type
    schema = {"type": "array", "items": _wrapped(inner.of_type, leaf)} if is_list_type(inner) else leaf
    return nullable(schema) if is_nullable else schema


def nullable(schema: Schema) -> Schema:
    """Return the schema that also allows null."""
    if not schema:
        return schema
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def _leaf(named: Any) -> Schema:
    if isinstance(named, GraphQLEnumType):
        return {"type": "string", "enum": list(named.values)}
    return dict(_SCALARS.get(named.name, _STRING))


def _input(type_: Any, depth: int = 0) -> Schema:
    named = get_named_type(type_)
    if isinstance(named, GraphQLInputObjectType):
        # Recursive inputs are truncated.
        leaf: Schema = {"type": "object"}
        if depth < 4:
            leaf["properties"] = {
                name: {
                    **_input(field.type, depth + 1),
                    **({"description": field.description} if field.description else {}),
                }
                for name, field in named.fields.items()
            }
    else:
        leaf = _leaf(named)
    return _wrapped(type_, leaf)
