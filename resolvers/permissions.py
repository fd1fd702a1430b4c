"""Resolve what the caller may do, from the access rules that the schema declares."""

from __future__ import annotations

from collections.abc import Iterator

import strawberry
from graphql import GraphQLField, GraphQLObjectType, GraphQLSchema, get_named_type, is_introspection_type
from strawberry import Info

from auth.access import Access
from kernel.scope import Scope
from models.reading.queries import Row
from schema.fields import ACCESS, access_of, root_field, strawberry_field
from schema.types.permissions import ANYBODY, PermissionsObject


@strawberry.type
class PermissionQueries:
    """Queries about the caller's rights."""

    @root_field(ANYBODY)
    async def permissions(self, info: Info) -> PermissionsObject:
        """Return what the caller may do in the store as it is now, by the same rules that every operation is checked by. A client shows
        what is named here.
        """
        scope: Scope = info.context.scope
        schema: GraphQLSchema = info.schema._schema
        return Row(  # type: ignore[return-value]
            privileges=sorted(scope.actor.privileges),
            queries=_allowed(scope, schema.query_type),
            mutations=_allowed(scope, schema.mutation_type),
            refused_fields=[
                f"{type_.name}.{name}"
                for type_, name, field in _fields(schema)
                if not all(rule.allows(scope) for rule in _rules(field))
            ],
        )


def _allowed(scope: Scope, root: GraphQLObjectType | None) -> list[str]:
    assert root is not None
    rules = {name: strawberry_field(field) for name, field in root.fields.items()}
    return sorted(name for name, field in rules.items() if field is not None and field.metadata[ACCESS].allows(scope))


def _fields(schema: GraphQLSchema) -> Iterator[tuple[GraphQLObjectType, str, GraphQLField]]:
    """Yield the fields of all types but the roots."""
    roots = (schema.query_type, schema.mutation_type, schema.subscription_type)
    for _, type_ in sorted(schema.type_map.items()):
        if isinstance(type_, GraphQLObjectType) and type_ not in roots and not is_introspection_type(type_):
            yield from ((type_, name, field) for name, field in type_.fields.items())


def _rules(field: GraphQLField) -> Iterator[Access]:
    """Yield the access rules of a field: its own, and that of its type."""
    declared = strawberry_field(field)
    if declared is not None and ACCESS in declared.metadata:
        yield declared.metadata[ACCESS]
    type_ = get_named_type(field.type)
    if isinstance(type_, GraphQLObjectType) and (of_type := access_of(type_)) is not None:
        yield of_type


QUERIES = (PermissionQueries,)
