"""The variables of an operation: which of them affect its query plan, and how their values are converted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    GraphQLEnumType,
    GraphQLError,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLScalarType,
    GraphQLSchema,
    NamedTypeNode,
    Node,
    NonNullTypeNode,
    OperationDefinitionNode,
    Undefined,
    VariableDefinitionNode,
    VariableNode,
    Visitor,
    is_input_type,
    is_required_input_field,
    type_from_ast,
    visit,
)
from graphql.execution.values import VariableValues, get_argument_values

from kernel.scope import requires_uuid
from resolvers.engine.prepare import PreparedDocument


def constant_arguments(
    field: GraphQLField, node: FieldNode, variables: VariableValues
) -> tuple[dict[str, Any], list[tuple[str, str]]] | None:
    """Return the constant arguments, and the arguments that are variables; None if a variable is nested in an argument."""
    nodes = {argument.name.value: argument.value for argument in node.arguments or ()}
    from_variables = [(name, value.name.value) for name, value in nodes.items() if isinstance(value, VariableNode)]
    if any(not isinstance(value, VariableNode) and _variables_in(value) for value in nodes.values()):
        return None
    try:
        values = get_argument_values(field, node, variables)
    except GraphQLError:
        return None
    return {name: value for name, value in values.items() if name not in dict(from_variables)}, from_variables


def _variables_in(node: Node) -> set[str]:
    """Return the names of the variables used in a node."""
    names: set[str] = set()

    class Variables(Visitor):
        def enter_variable(self, node: VariableNode, *_: Any) -> None:
            names.add(node.name.value)

    visit(node, Variables())
    return names


def structural_variables(prepared: PreparedDocument, operation: OperationDefinitionNode) -> tuple[str, ...]:
    """Return the variables that affect the query plan: all except those used only in arguments of root fields."""
    names: set[str] = set()
    for selection in operation.selection_set.selections:
        if isinstance(selection, FieldNode):
            for directive in selection.directives or ():
                names |= _variables_in(directive)
            if selection.selection_set is not None:
                names |= _variables_in(selection.selection_set)
        else:
            names |= _variables_in(selection)
    assert prepared.document is not None
    for definition in prepared.document.definitions:
        if isinstance(definition, FragmentDefinitionNode):
            names |= _variables_in(definition)
    return tuple(sorted(names))


# Variables with more values are coerced in a thread: a value takes up to 50 microseconds.
MAX_VALUES_ON_LOOP = 200


def has_many_values(variables: Mapping[str, Any] | None) -> bool:
    """Return whether the coercion of variables takes so long that it is done in a thread."""
    pending: list[Any] = [variables]
    count = 0
    while pending:
        value = pending.pop()
        if isinstance(value, list | dict):
            count += len(value)
            if count > MAX_VALUES_ON_LOOP:
                return True
            pending += value.values() if isinstance(value, dict) else value
    return False


# --- Conversion ---------------------------------------------------------------------------------------------------------------

Convert: TypeAlias = Callable[[Any], Any]
VariableConversion: TypeAlias = Callable[[Mapping[str, Any]], VariableValues | None]


class NotConverted(Exception):
    """A value that graphql-core must coerce: an error, which it words, or what clients rarely send, such as one item for a list."""


def conversion_of(schema: GraphQLSchema, operation: OperationDefinitionNode) -> VariableConversion:
    """Return the function that converts the variables of an operation as graphql-core does, or returns None if that must do it.

    It is compiled of the types once, while graphql-core looks at them for each value.
    """
    definitions = operation.variable_definitions or ()
    variables = [
        (node.variable.name.value, _convert_variable(schema, node), _may_be_absent(node)) for node in definitions
    ]

    def convert_all(values: Mapping[str, Any]) -> VariableValues | None:
        coerced = {}
        try:
            for name, convert, may_be_absent in variables:
                if name in values:
                    coerced[name] = convert(values[name])
                elif not may_be_absent:
                    return None
        except NotConverted:
            return None
        return VariableValues({}, coerced)

    return convert_all


def _may_be_absent(node: VariableDefinitionNode) -> bool:
    return node.default_value is None and not isinstance(node.type, NonNullTypeNode)


def _convert_variable(schema: GraphQLSchema, node: VariableDefinitionNode) -> Convert:
    type_ = type_from_ast(schema, node.type)
    return _reject if type_ is None or not is_input_type(type_) else _converter(type_)


def _reject(value: Any) -> Any:
    raise NotConverted


@cache
def _converter(type_: GraphQLInputType, parents: tuple[GraphQLInputType, ...] = ()) -> Convert:
    """Return the function that converts a value of a type; `parents` are the input objects around it."""
    if isinstance(type_, GraphQLNonNull):
        inner = type_.of_type
        if isinstance(inner, GraphQLScalarType | GraphQLEnumType):
            return _leaf(inner, is_nullable=False)
        return _required(_converter(inner, parents))
    if isinstance(type_, GraphQLList):
        return _list(_converter(type_.of_type, parents))
    if isinstance(type_, GraphQLScalarType | GraphQLEnumType):
        return _leaf(type_, is_nullable=True)
    # How deep an object in itself may be is for graphql-core to check.
    return _reject if type_.is_one_of or type_ in parents else _object(type_, (*parents, type_))


def _required(convert: Convert) -> Convert:
    def convert_required(value: Any) -> Any:
        if value is None:
            raise NotConverted
        return convert(value)

    return convert_required


def _list(convert: Convert) -> Convert:
    def convert_list(value: Any) -> Any:
        if value is None:
            return None
        if type(value) is not list:
            raise NotConverted
        return [convert(item) for item in value]

    return convert_list


def _object(type_: GraphQLInputObjectType, parents: tuple[GraphQLInputType, ...]) -> Convert:
    fields = [(name, field.out_name or name, _converter(field.type, parents)) for name, field in type_.fields.items()]
    needed = {name for name, field in type_.fields.items() if is_required_input_field(field) or _has_default(field)}
    build = type_.out_type

    def convert_object(value: Any) -> Any:
        if value is None:
            return None
        if type(value) is not dict or not needed <= value.keys():
            raise NotConverted
        converted = {out_name: convert(value[name]) for name, out_name, convert in fields if name in value}
        if len(converted) < len(value):  # there are unknown fields
            raise NotConverted
        return build(converted)

    return convert_object


def _has_default(field: GraphQLInputField) -> bool:
    return field.default is not None or field.default_value is not Undefined


def _leaf(type_: GraphQLScalarType | GraphQLEnumType, *, is_nullable: bool) -> Convert:
    is_plain, coerce = _PLAIN.get(type_.name, _never), type_.coerce_input_value

    def convert_leaf(value: Any) -> Any:
        if is_plain(value):
            return value
        if value is None:
            return None if is_nullable else _reject(value)
        try:
            return coerce(value)
        except Exception as error:  # whatever a scalar raises means that the value is invalid
            raise NotConverted from error

    return convert_leaf


def _never(_: Any) -> bool:
    return False


# Values that need no coercion.
_PLAIN: Mapping[str, Callable[[Any], bool]] = {
    "ID": lambda value: type(value) is str and not (value.isdecimal() and requires_uuid()),
    "String": lambda value: type(value) is str,
    "Boolean": lambda value: type(value) is bool,
    "Int": lambda value: type(value) is int and -(2**31) <= value < 2**31,
    "BigInt": lambda value: type(value) is int and -(2**63) <= value < 2**63,
    "Bytes": lambda value: type(value) is bytes,
}


def accepts_integers(operation: OperationDefinitionNode) -> bool:
    """Return whether a variable of the operation may be an integer."""
    types = [
        definition.type.type if isinstance(definition.type, NonNullTypeNode) else definition.type
        for definition in operation.variable_definitions or ()
    ]
    return any(not isinstance(type_, NamedTypeNode) or type_.name.value not in _NON_INTEGER_TYPES for type_ in types)


_NON_INTEGER_TYPES = ("ID", "String", "Boolean")
