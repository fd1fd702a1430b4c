"""Recognize operations that read nothing but the catalogue: their answers depend on the store's catalogue version and the key alone."""

from __future__ import annotations

from graphql import GraphQLObjectType, GraphQLSchema, OperationDefinitionNode, OperationType, get_named_type

from models.connection.catalog_versions import TABLES
from resolvers.engine.prepare import PreparedDocument
from resolvers.engine.selected_fields import selected_fields
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
    if operation.operation is not OperationType.QUERY or prepared.document is None:
        return False
    return all(
        _is_of_catalogue(parent, node.name.value, is_root=parent is schema.query_type)
        for parent, node in selected_fields(schema, operation, prepared.fragments)
    )


def _is_of_catalogue(type_: object, name: str, *, is_root: bool) -> bool:
    if name == "__typename":
        return True
    field = getattr(type_, "fields", {}).get(name)
    if field is None:  # introspection
        return False
    if is_root and name not in _OTHER_ROOT_FIELDS:
        declared = strawberry_field(field)
        query = declared.metadata.get(ENTITY_QUERY) if declared is not None else None
        if query is None or query.access.storefront is None or query.entity.table not in TABLES:
            return False
    target = get_named_type(field.type)
    entity = entity_of(target) if isinstance(target, GraphQLObjectType) else None
    return entity is None or entity.table in TABLES
