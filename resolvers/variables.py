"""Determine which variables of an operation affect its query plan, and which are only arguments of root fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLField,
    NamedTypeNode,
    Node,
    NonNullTypeNode,
    OperationDefinitionNode,
    VariableNode,
    Visitor,
    visit,
)
from graphql.execution.values import VariableValues, get_argument_values

from schema.documents import PreparedDocument
from schema.scalars import is_plain_id

# The structural variables, and the type check of each variable (None if one needs coercion by graphql-core).
VariableUsage: TypeAlias = tuple[tuple[str, ...], tuple[tuple[str, Callable[[Any], bool]], ...] | None]


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


# Values of these types that need no coercion; graphql-core coerces all others, and null or missing values.
_TYPE_CHECKS: dict[str, Callable[[Any], bool]] = {
    "ID": is_plain_id,
    "String": lambda value: type(value) is str,
    "Boolean": lambda value: type(value) is bool,
    "Int": lambda value: type(value) is int and -(2**31) <= value < 2**31,
}


def type_checks_of(operation: OperationDefinitionNode) -> tuple[tuple[str, Callable[[Any], bool]], ...] | None:
    """Return the type check of each variable of an operation; None if a variable has another type."""
    checks = []
    for definition in operation.variable_definitions or ():
        type_ = definition.type.type if isinstance(definition.type, NonNullTypeNode) else definition.type
        check = _TYPE_CHECKS.get(type_.name.value) if isinstance(type_, NamedTypeNode) else None
        if check is None:
            return None
        checks.append((definition.variable.name.value, check))
    return tuple(checks)


def accepts_integers(operation: OperationDefinitionNode) -> bool:
    """Return whether a variable of the operation may be an integer."""
    types = [
        definition.type.type if isinstance(definition.type, NonNullTypeNode) else definition.type
        for definition in operation.variable_definitions or ()
    ]
    return any(not isinstance(type_, NamedTypeNode) or type_.name.value not in _NON_INTEGER_TYPES for type_ in types)


_NON_INTEGER_TYPES = ("ID", "String", "Boolean")
