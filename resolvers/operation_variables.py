"""Complete the operations of facades: what a root field takes is passed from variables of the same names and types.

`query Product { product { name } }` stands for `query Product($id: ID, $slug: String) { product(id: $id, slug: $slug) { name } }`. An
operation that passes something else declares its variables, or names its arguments, itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphql import GraphQLArgument, GraphQLObjectType, Undefined, ast_from_value, parse_type
from graphql.language import (
    ArgumentNode,
    FieldNode,
    NameNode,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    VariableDefinitionNode,
    VariableNode,
)


def with_variables(operation: OperationDefinitionNode, root: GraphQLObjectType) -> OperationDefinitionNode:
    """Return an operation that declares no variables with those of its root fields that name no arguments."""
    if operation.variable_definitions:
        return operation
    definitions: dict[str, VariableDefinitionNode] = {}

    def complete(selections: tuple[SelectionNode, ...]) -> Iterator[SelectionNode]:
        for node in selections:
            field = root.fields.get(node.name.value) if isinstance(node, FieldNode) and not node.arguments else None
            if field is None or not isinstance(node, FieldNode):
                yield node
                continue
            for name, argument in field.args.items():
                definitions.setdefault(name, _definition(name, argument))
            yield FieldNode(
                alias=node.alias,
                name=node.name,
                arguments=tuple(ArgumentNode(name=_name(name), value=_variable(name)) for name in field.args),
                directives=node.directives,
                selection_set=node.selection_set,
            )

    selections = tuple(complete(operation.selection_set.selections))
    return OperationDefinitionNode(
        operation=operation.operation,
        name=operation.name,
        variable_definitions=tuple(definitions.values()),
        directives=operation.directives,
        selection_set=SelectionSetNode(selections=selections),
    )


def _definition(name: str, argument: GraphQLArgument) -> VariableDefinitionNode:
    has_default = argument.default_value is not Undefined and argument.default_value is not None
    return VariableDefinitionNode(
        variable=_variable(name),
        type=parse_type(str(argument.type)),
        default_value=ast_from_value(argument.default_value, argument.type) if has_default else None,
        directives=(),
    )


def _variable(name: str) -> VariableNode:
    return VariableNode(name=_name(name))


def _name(name: str) -> NameNode:
    return NameNode(value=name)
