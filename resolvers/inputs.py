"""What the variables of an operation decide: its structure, or no more than the arguments of its root fields."""

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

from schema.documents import Prepared

# The names of the variables on which the structure depends, and the look that each variable needs.
Depends: TypeAlias = tuple[tuple[str, ...], tuple[tuple[str, Callable[[Any], bool]], ...] | None]


def known_arguments(
    field: GraphQLField, node: FieldNode, variables: VariableValues
) -> tuple[dict[str, Any], list[tuple[str, str]]] | None:
    """Give the arguments that are the same for all who send the document, and which are variables; None where a part of one is."""
    given = {argument.name.value: argument.value for argument in node.arguments or ()}
    from_variables = [
        (name, value.name.value) for name, value in given.items() if isinstance(value, VariableNode)
    ]
    if any(not isinstance(value, VariableNode) and _variables_in(value) for value in given.values()):
        return None
    try:
        known = get_argument_values(field, node, variables)
    except GraphQLError:
        return None
    return {name: value for name, value in known.items() if name not in dict(from_variables)}, from_variables


def _variables_in(node: Node) -> set[str]:
    """Name the variables used below a node."""
    names: set[str] = set()

    class Variables(Visitor):
        def enter_variable(self, node: VariableNode, *_: Any) -> None:
            names.add(node.name.value)

    visit(node, Variables())
    return names


def structural(prepared: Prepared, operation: OperationDefinitionNode) -> tuple[str, ...]:
    """Name the variables on which the structure depends: all but those that stand only in the arguments of root fields."""
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


# Variables of these types need no more than a look; any other value, and whatever is left out or null, is for graphql-core.
_LOOKED_AT: dict[str, Callable[[Any], bool]] = {
    "ID": lambda value: type(value) is str,
    "String": lambda value: type(value) is str,
    "Boolean": lambda value: type(value) is bool,
    "Int": lambda value: type(value) is int and -(2**31) <= value < 2**31,
}


def looks(operation: OperationDefinitionNode) -> tuple[tuple[str, Callable[[Any], bool]], ...] | None:
    """Give the look that each variable of an operation needs; None when one needs more."""
    found = []
    for definition in operation.variable_definitions or ():
        type_ = definition.type.type if isinstance(definition.type, NonNullTypeNode) else definition.type
        look = _LOOKED_AT.get(type_.name.value) if isinstance(type_, NamedTypeNode) else None
        if look is None:
            return None
        found.append((definition.variable.name.value, look))
    return tuple(found)


def takes_integers(operation: OperationDefinitionNode) -> bool:
    """Say whether a variable of the operation may be a whole number."""
    types = [
        definition.type.type if isinstance(definition.type, NonNullTypeNode) else definition.type
        for definition in operation.variable_definitions or ()
    ]
    return any(
        not isinstance(type_, NamedTypeNode) or type_.name.value not in _NO_INTEGERS for type_ in types
    )


_NO_INTEGERS = ("ID", "String", "Boolean")
