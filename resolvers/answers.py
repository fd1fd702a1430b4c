"""Say in JSON Schema what an operation answers and what its variables take, for the REST families' OpenAPI documents."""

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
    "Time": {"type": "string", "format": "date-time"},
    "JSON": {},
}
# Scalars that are a letter or a word of a few; which, the schema's own description of them says.
_WORD: Schema = {"type": "string"}


def answer_of(operation: FacadeOperation, field: str | None = None) -> Schema:
    """Describe what a root field of the operation answers: the one named, else the first."""
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
    object_ = _object(root, operation.definition.selection_set, fragments)
    found: Schema = object_["properties"][field or operation.fields[0]]
    return found


def variables_of(operation: FacadeOperation) -> dict[str, Schema]:
    """Describe what each variable of the operation takes."""
    from graphql import type_from_ast

    from resolvers.root import internal_schema

    schema = internal_schema()
    return {
        node.variable.name.value: _input(type_from_ast(schema, node.type))
        for node in operation.definition.variable_definitions or ()
    }


def _object(
    type_: GraphQLObjectType,
    selected: SelectionSetNode | None,
    fragments: dict[str, FragmentDefinitionNode],
) -> Schema:
    properties: dict[str, Schema] = {}
    optional: set[str] = set()
    _collect(type_, selected, fragments, properties, optional, False)
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
    }


def _collect(
    type_: GraphQLObjectType,
    selected: SelectionSetNode | None,
    fragments: dict[str, FragmentDefinitionNode],
    properties: dict[str, Schema],
    optional: set[str],
    conditional: bool,
) -> None:
    for node in selected.selections if selected is not None else ():
        # What `@include` and `@skip` decide may be missing.
        may_miss = conditional or bool(node.directives)
        if isinstance(node, FieldNode):
            key = node.alias.value if node.alias else node.name.value
            if node.name.value == "__typename":
                properties[key] = {"type": "string"}
                continue
            properties[key] = _output(type_.fields[node.name.value], node, fragments)
            if may_miss:
                optional.add(key)
        elif isinstance(node, FragmentSpreadNode):
            below = fragments[node.name.value].selection_set
            _collect(type_, below, fragments, properties, optional, may_miss)
        else:
            assert isinstance(node, InlineFragmentNode)
            _collect(type_, node.selection_set, fragments, properties, optional, may_miss)


def _output(field: GraphQLField, node: FieldNode, fragments: dict[str, FragmentDefinitionNode]) -> Schema:
    named = get_named_type(field.type)
    if isinstance(named, GraphQLObjectType):
        leaf = _object(named, node.selection_set, fragments)
    else:
        leaf = _leaf(named)
    described = _wrapped(field.type, leaf)
    if field.description and not isinstance(named, GraphQLObjectType):
        described = {**described, "description": field.description.split("\n\n")[0]}
    return described


def _wrapped(type_: Any, leaf: Schema) -> Schema:
    nullable = not is_non_null_type(type_)
    inner = type_ if nullable else type_.of_type
    described = {"type": "array", "items": _wrapped(inner.of_type, leaf)} if is_list_type(inner) else leaf
    return or_null(described) if nullable else described


def or_null(described: Schema) -> Schema:
    """Let a value be null too."""
    if not described:
        return described
    if isinstance(described.get("type"), str) and "enum" not in described:
        return {**described, "type": [described["type"], "null"]}
    return {"anyOf": [described, {"type": "null"}]}


def _leaf(named: Any) -> Schema:
    if isinstance(named, GraphQLEnumType):
        return {"type": "string", "enum": list(named.values)}
    return dict(_SCALARS.get(named.name, _WORD))


def _input(type_: Any, depth: int = 0) -> Schema:
    named = get_named_type(type_)
    if isinstance(named, GraphQLInputObjectType):
        # Inputs that hold themselves end somewhere.
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
