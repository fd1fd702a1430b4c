"""Know which operations answer a secret, shown this once: nothing may keep such an answer (decisions section 2, Idempotency-Key)."""

from __future__ import annotations

from collections.abc import Iterator

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLSchema,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
)

from schema.documents import Prepared
from schema.fields import SECRET, declared_field


def answers_secret(schema: GraphQLSchema, prepared: Prepared, operation: OperationDefinitionNode) -> bool:
    """Say whether a mutation asks a root field that shows a secret, by itself or through fragments."""
    root = schema.mutation_type
    if root is None or prepared.document is None:
        return False
    for name in _names(operation.selection_set, _fragments(prepared.document)):
        declared = declared_field(root.fields[name]) if name in root.fields else None
        if declared is not None and declared.metadata.get(SECRET):
            return True
    return False


def _fragments(document: DocumentNode) -> dict[str, FragmentDefinitionNode]:
    return {
        node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)
    }


def _names(selections: SelectionSetNode, fragments: dict[str, FragmentDefinitionNode]) -> Iterator[str]:
    """Give the names of the root fields; a validated document's fragments don't go in circles."""
    for node in selections.selections:
        if isinstance(node, FieldNode):
            yield node.name.value
        elif isinstance(node, InlineFragmentNode):
            yield from _names(node.selection_set, fragments)
        elif isinstance(node, FragmentSpreadNode) and node.name.value in fragments:
            yield from _names(fragments[node.name.value].selection_set, fragments)
