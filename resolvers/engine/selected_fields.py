"""List the fields that an operation selects, and recognize those that return a secret."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLSchema,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionNode,
    get_named_type,
)

from schema.fields import SECRET, strawberry_field


def selected_fields(
    schema: GraphQLSchema, operation: OperationDefinitionNode, fragments: Mapping[str, FragmentDefinitionNode]
) -> Iterator[tuple[object, FieldNode]]:
    """Yield each field that a valid operation selects with the type that it is selected on; those of a fragment once."""
    root = schema.get_root_type(operation.operation)
    pending: list[tuple[object, tuple[SelectionNode, ...]]] = [(root, tuple(operation.selection_set.selections))]
    seen: set[str] = set()
    while pending:
        parent, selections = pending.pop()
        for node in selections:
            if isinstance(node, FieldNode):
                yield parent, node
                field = getattr(parent, "fields", {}).get(node.name.value)
                if node.selection_set is not None and field is not None:
                    pending.append((get_named_type(field.type), tuple(node.selection_set.selections)))
            elif isinstance(node, InlineFragmentNode):
                named = node.type_condition and schema.type_map[node.type_condition.name.value]
                pending.append((named or parent, tuple(node.selection_set.selections)))
            elif isinstance(node, FragmentSpreadNode) and node.name.value not in seen:
                seen.add(node.name.value)
                fragment = fragments[node.name.value]
                condition = schema.type_map[fragment.type_condition.name.value]
                pending.append((condition, tuple(fragment.selection_set.selections)))


def returns_secret(
    schema: GraphQLSchema, operation: OperationDefinitionNode, fragments: Mapping[str, FragmentDefinitionNode]
) -> bool:
    """Return whether a mutation selects a root field that returns a secret; such a response is never stored
    (docs/reference/shared.md#idempotency).
    """
    root = schema.mutation_type
    assert root is not None
    names = (node.name.value for parent, node in selected_fields(schema, operation, fragments) if parent is root)
    declared = (strawberry_field(root.fields[name]) for name in names if name in root.fields)
    return any(field is not None and field.metadata.get(SECRET) for field in declared)
