"""Recognize operations that read nothing but the catalogue: their answers depend on the store's catalogue version and the key alone."""

from __future__ import annotations

from collections.abc import Mapping

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    OperationDefinitionNode,
    OperationType,
    SelectionSetNode,
    get_named_type,
)

from models.connection.catalog_versions import TABLES
from resolvers.engine.prepare import PreparedDocument
from resolvers.entity_queries import ENTITY_QUERY
from schema.fields import entity_of, strawberry_field

# Root fields of the catalogue that are no reads of one entity.
_OTHER_ROOT_FIELDS = {"store", "product_search", "product_tags"}


def is_catalogue_read(schema: GraphQLSchema, prepared: PreparedDocument, operation: OperationDefinitionNode) -> bool:
    """Return whether an operation of a valid document is a query of the catalogue alone; the result is kept with the document."""
    name = operation.name.value if operation.name else None
    known = prepared.catalogue_reads.get(name)
    if known is None:
        known = prepared.catalogue_reads[name] = _is_catalogue_read(schema, prepared, operation)
    return known


def _is_catalogue_read(schema: GraphQLSchema, prepared: PreparedDocument, operation: OperationDefinitionNode) -> bool:
    root = schema.query_type
    if operation.operation is not OperationType.QUERY or prepared.document is None or root is None:
        return False
    return _selects_catalogue(root, operation.selection_set, prepared.fragments, is_root=True)


def _selects_catalogue(
    type_: GraphQLObjectType,
    selection_set: SelectionSetNode,
    fragments: Mapping[str, FragmentDefinitionNode],
    *,
    is_root: bool = False,
) -> bool:
    for node in selection_set.selections:
        if isinstance(node, FragmentSpreadNode):
            if not _selects_catalogue(type_, fragments[node.name.value].selection_set, fragments, is_root=is_root):
                return False
        elif isinstance(node, InlineFragmentNode):
            if not _selects_catalogue(type_, node.selection_set, fragments, is_root=is_root):
                return False
        elif isinstance(node, FieldNode) and not _is_of_catalogue(type_, node, fragments, is_root=is_root):
            return False
    return True


def _is_of_catalogue(
    type_: GraphQLObjectType, node: FieldNode, fragments: Mapping[str, FragmentDefinitionNode], *, is_root: bool
) -> bool:
    name = node.name.value
    if name == "__typename":
        return True
    field = type_.fields.get(name)
    if field is None:  # introspection
        return False
    if is_root and name not in _OTHER_ROOT_FIELDS:
        declared = strawberry_field(field)
        query = declared.metadata.get(ENTITY_QUERY) if declared is not None else None
        if query is None or query.access.storefront is None or query.entity.table not in TABLES:
            return False
    target = get_named_type(field.type)
    if not isinstance(target, GraphQLObjectType) or node.selection_set is None:
        return True
    entity = entity_of(target)
    return (entity is None or entity.table in TABLES) and _selects_catalogue(target, node.selection_set, fragments)
