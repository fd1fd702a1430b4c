"""Detect operations that return a secret; their responses are never stored (docs/reference/shared.md#idempotency)."""

from __future__ import annotations

from collections.abc import Iterator

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLSchema,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
)

from resolvers.engine.prepare import PreparedDocument
from schema.fields import SECRET, strawberry_field


def returns_secret(schema: GraphQLSchema, prepared: PreparedDocument, operation: OperationDefinitionNode) -> bool:
    """Return whether a mutation selects a root field that returns a secret, directly or through fragments."""
    root = schema.mutation_type
    if root is None or prepared.document is None:
        return False
    for name in _root_field_names(operation.selection_set, prepared.fragments):
        declared = strawberry_field(root.fields[name]) if name in root.fields else None
        if declared is not None and declared.metadata.get(SECRET):
            return True
    return False


def _root_field_names(selections: SelectionSetNode, fragments: dict[str, FragmentDefinitionNode]) -> Iterator[str]:
    """Yield the names of the root fields; a validated document has no fragment cycles."""
    for node in selections.selections:
        if isinstance(node, FieldNode):
            yield node.name.value
        elif isinstance(node, InlineFragmentNode):
            yield from _root_field_names(node.selection_set, fragments)
        elif isinstance(node, FragmentSpreadNode) and node.name.value in fragments:
            yield from _root_field_names(fragments[node.name.value].selection_set, fragments)
