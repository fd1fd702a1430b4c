"""Resolve what the caller may do, from the access rules that the schema declares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from graphql import GraphQLField, GraphQLObjectType, GraphQLSchema, get_named_type, is_introspection_type
from strawberry import Info

from auth.access import Access
from kernel.scope import Scope
from models.reading.queries import Row
from schema.declaration import declare
from schema.fields import ACCESS, access_of, root_field, strawberry_field
from schema.types.permissions import ANYBODY, PermissionsObject


@declare
class PermissionQueries:
    """Queries about the caller's rights."""

    @root_field(ANYBODY)
    async def permissions(self, info: Info) -> PermissionsObject:
        """Return what the caller may do in the store as it is now, by the same rules that every operation is checked by. A client shows
        what is named here.
        """
        scope: Scope = info.context.scope
        rules = _rules(info.schema._schema)
        refused = {number for number, rule in enumerate(rules.distinct) if not rule.allows(scope)}
        return Row(  # type: ignore[return-value]
            privileges=sorted(scope.actor.privileges),
            queries=[name for name, number in rules.queries if number not in refused],
            mutations=[name for name, number in rules.mutations if number not in refused],
            refused_fields=[name for name, numbers in rules.fields if not refused.isdisjoint(numbers)],
        )


@dataclass(frozen=True, slots=True)
class _Rules:
    """The distinct access rules of a schema, and by their numbers those of root fields and of other fields, sorted by name."""

    distinct: Sequence[Access]
    queries: Sequence[tuple[str, int]]
    mutations: Sequence[tuple[str, int]]
    fields: Sequence[tuple[str, Sequence[int]]]


@lru_cache(maxsize=2)
def _rules(schema: GraphQLSchema) -> _Rules:
    """Return the rules of a schema: about a thousand fields have a hundred different ones, each checked once for a caller."""
    numbers: dict[Access, int] = {}

    def number(rule: Access) -> int:
        return numbers.setdefault(rule, len(numbers))

    queries, mutations = (
        sorted((name, number(rule)) for name, rule in _rules_of_root(root))
        for root in (schema.query_type, schema.mutation_type)
    )
    named = [(f"{type_.name}.{name}", list(map(number, _rules_of(field)))) for type_, name, field in _fields(schema)]
    fields = [(name, of_field) for name, of_field in named if of_field]
    return _Rules(list(numbers), queries, mutations, fields)


def _rules_of_root(root: GraphQLObjectType | None) -> Iterator[tuple[str, Access]]:
    assert root is not None
    for name, field in root.fields.items():
        declared = strawberry_field(field)
        if declared is not None:
            yield name, declared.metadata[ACCESS]


def _fields(schema: GraphQLSchema) -> Iterator[tuple[GraphQLObjectType, str, GraphQLField]]:
    """Yield the fields of all types but the roots."""
    roots = (schema.query_type, schema.mutation_type, schema.subscription_type)
    for _, type_ in sorted(schema.type_map.items()):
        if isinstance(type_, GraphQLObjectType) and type_ not in roots and not is_introspection_type(type_):
            yield from ((type_, name, field) for name, field in type_.fields.items())


def _rules_of(field: GraphQLField) -> Iterator[Access]:
    """Yield the access rules of a field: its own, and that of its type."""
    declared = strawberry_field(field)
    if declared is not None and ACCESS in declared.metadata:
        yield declared.metadata[ACCESS]
    type_ = get_named_type(field.type)
    if isinstance(type_, GraphQLObjectType) and (of_type := access_of(type_)) is not None:
        yield of_type


QUERIES = (PermissionQueries,)
