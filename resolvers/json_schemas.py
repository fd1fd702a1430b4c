"""Derive JSON Schemas of an operation's response and variables, for the OpenAPI documents of the REST families.

Inputs and enums are named schemas (`kernel.json_schema`), named as in GraphQL. So are objects, though they have the selected fields only;
an object within another, of which mostly a few fields are selected, has the other's name in front: `ProductCategory`. A selection that is
one fragment has the fragment's name if it ends with the type's: `StorefrontProduct`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from graphql import (
    FieldNode,
    FragmentSpreadNode,
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLObjectType,
    InlineFragmentNode,
    SelectionSetNode,
    get_named_type,
    is_list_type,
    is_non_null_type,
)
from graphql.language import FragmentDefinitionNode

from kernel.json_schema import (
    BOOLEAN,
    DATE_TIME,
    FREE_OBJECT,
    INTEGER,
    NUMBER,
    STRING,
    array,
    described,
    enum,
    named,
    nullable,
)
from resolvers.execute import FacadeOperation
from resolvers.json_fields import JSON_FIELDS
from schema.fields import TEXT_INTERNALLY, strawberry_field

Schema: TypeAlias = dict[str, Any]

_SCALARS: dict[str, Any] = {
    "ID": STRING,
    "String": STRING,
    "Boolean": BOOLEAN,
    "Int": INTEGER,
    "BigInt": {"type": "integer", "format": "int64"},
    "Float": NUMBER,
    "DateTime": DATE_TIME,
    "ProcessorParams": FREE_OBJECT,
    "RateParams": FREE_OBJECT,
}
# Codes that a store can add to; input accepts their labels too.
_OPEN_CODES = ("OrderStatus", "ShipmentStatus")
_CODE_PATTERN = "^[A-Z]$"


def response_schema(operation: FacadeOperation, field: str | None = None) -> Schema:
    """Return the schema of a root field's response: the named field, by default the first."""
    from resolvers.root import internal_schema

    schema = internal_schema()
    root = schema.mutation_type if operation.is_mutation else schema.query_type
    assert root is not None
    response: Schema = _object(root, operation.definition.selection_set, operation.prepared.fragments)
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
    owner: str = "",
) -> Schema:
    name = type_.name if type_.name.startswith(owner) else f"{owner}{type_.name}"
    [first, *others] = selection_set.selections if selection_set is not None else [None]
    if isinstance(first, FragmentSpreadNode) and not others and first.name.value.endswith(type_.name):
        name = first.name.value
    properties: dict[str, Schema] = {}
    certain: set[str] = set()
    _collect(type_, selection_set, fragments, properties, certain, False)
    required = [name for name in properties if name in certain]
    return named(name, {"type": "object", "properties": properties, "required": required})


def _collect(
    type_: GraphQLObjectType,
    selection_set: SelectionSetNode | None,
    fragments: dict[str, FragmentDefinitionNode],
    properties: dict[str, Schema],
    certain: set[str],
    conditional: bool,
) -> None:
    for node in selection_set.selections if selection_set is not None else ():
        # Fields may be missing that are selected with `@include` or `@skip` only.
        is_optional = conditional or bool(node.directives)
        if isinstance(node, FieldNode):
            key = node.alias.value if node.alias else node.name.value
            if node.name.value == "__typename":
                properties[key] = dict(STRING)
                certain.add(key)
                continue
            properties[key] = _output(type_, node, fragments)
            if not is_optional:
                certain.add(key)
        elif isinstance(node, FragmentSpreadNode):
            fragment = fragments[node.name.value]
            _collect(type_, fragment.selection_set, fragments, properties, certain, is_optional)
        else:
            assert isinstance(node, InlineFragmentNode)
            _collect(type_, node.selection_set, fragments, properties, certain, is_optional)


def _output(type_: GraphQLObjectType, node: FieldNode, fragments: dict[str, FragmentDefinitionNode]) -> Schema:
    field: GraphQLField = type_.fields[node.name.value]
    named_type = get_named_type(field.type)
    if isinstance(named_type, GraphQLObjectType):
        owner = "" if type_.name.endswith(("Page", "Query", "Mutation")) else type_.name
        return _wrapped(field.type, _object(named_type, node.selection_set, fragments, owner))
    leaf = _leaf(named_type, type_.name, node.name.value)
    if named_type.name in _OPEN_CODES:
        leaf = named(named_type.name, {**STRING, "pattern": _CODE_PATTERN}, named_type.description or "")
    return _described(_wrapped(field.type, leaf), field.description)


def _described(schema: Schema, description: str | None) -> Schema:
    """Describe a field by the first paragraph of its description."""
    return schema if not description or "description" in schema else described(schema, description.split("\n\n")[0])


def _wrapped(type_: Any, leaf: Schema) -> Schema:
    is_nullable = not is_non_null_type(type_)
    inner = type_ if is_nullable else type_.of_type
    schema = array(_wrapped(inner.of_type, leaf)) if is_list_type(inner) else leaf
    return nullable(schema) if is_nullable else schema


def _leaf(type_: Any, owner: str, field: str) -> Schema:
    """Describe a scalar or an enum; `owner` and `field` say what a `JSON` holds."""
    if isinstance(type_, GraphQLEnumType):
        return named(type_.name, enum(type_.values), type_.description or "")
    if type_.name == "JSON":
        return dict(JSON_FIELDS[owner, field])
    return dict(_SCALARS.get(type_.name, STRING))


def _declared_type(owner: str, name: str, member: GraphQLInputField) -> Any:
    """Return the type of an input field, the enum of one that is a text in the internal schema."""
    from resolvers.root import public_schema

    declared = strawberry_field(member)
    is_text = declared is not None and declared.metadata.get(TEXT_INTERNALLY)
    public = public_schema().type_map.get(owner) if is_text else None
    return public.fields.get(name, member).type if isinstance(public, GraphQLInputObjectType) else member.type


def _input(type_: Any, owners: tuple[str, ...] = (), field: str = "") -> Schema:
    """Describe an input; `owners` are the types around it, the nearest last."""
    named_type = get_named_type(type_)
    if not isinstance(named_type, GraphQLInputObjectType):
        return _wrapped(type_, _leaf(named_type, owners[-1] if owners else "", field))
    if named_type.name in owners:
        return _wrapped(type_, dict(FREE_OBJECT))
    properties = {
        name: _described(
            _input(_declared_type(named_type.name, name, member), (*owners, named_type.name), name), member.description
        )
        for name, member in named_type.fields.items()
        if get_named_type(member.type).name != "Upload"  # no part of a JSON body
    }
    required = [name for name, member in named_type.fields.items() if is_non_null_type(member.type)]
    schema: Schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
    return _wrapped(type_, named(named_type.name, schema))
