"""Resolve `node(id)`: a record of any type with a root field for one record by its ID, by the rule of that field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from uuid import UUID

from graphql import GraphQLObjectType, GraphQLSchema, get_named_type
from strawberry import Info

from auth.access import Access
from kernel.errors import DomainError
from kernel.ids import parse_uuid
from kernel.scope import Scope
from models.connection.database import Plans, fetchval
from models.reading import row_reads
from resolvers.entity_queries import ENTITY_QUERY, EntityQuery
from schema.declaration import declare
from schema.fields import root_field, strawberry_field
from schema.scalars import ID
from schema.selection import requested_record, requested_types
from schema.types.interfaces import RECORD_TYPE, NodeObject

_CALLERS = Access(
    any_app=True,
    vendor=True,
    customer=True,
    storefront="storefront:read",
    note="A record that the caller can't read by its own field is null.",
)


@declare
class NodeQueries:
    """The query of a record of any type."""

    @root_field(_CALLERS)
    async def node(self, info: Info, id: ID) -> NodeObject | None:
        """Return a record by its ID, whatever its type; null if it doesn't exist."""
        scope, schema, public_id = info.context.scope, info.schema._schema, parse_uuid(id)
        names = [name for name, query in _nodes(schema).items() if _may_read(scope, query)]
        if public_id is None or not names:
            return None
        # What clients that know the type select, such as Relay's: one statement.
        named = requested_types(info)
        likely = named & set(names) if len(named) == 1 else ()
        for name in likely:
            if (row := await _read(info, name, public_id)) is not None:
                return row
        name = await fetchval(_statement(schema, tuple(names)), scope.store.id, public_id, plans=Plans.REUSED)
        return None if name is None or name in likely else await _read(info, name, public_id)


async def _read(info: Info, name: str, public_id: UUID) -> Any:
    schema = info.schema._schema
    shape, condition = requested_record(info, schema.type_map[name]), _nodes(schema)[name].entity.id_key(public_id)
    row = await row_reads.fetch_first(info.context.scope, shape, condition)
    if row is not None:
        row[RECORD_TYPE] = name
    return row


def _may_read(scope: Scope, query: EntityQuery) -> bool:
    """Return whether the root field is open to the caller; an error would reveal that there is such a record."""
    try:
        query.access.check(scope)
        query.entity.visible(scope)
    except DomainError:
        return False
    return True


@lru_cache(maxsize=2)
def _nodes(schema: GraphQLSchema) -> Mapping[str, EntityQuery]:
    """Return the query of one record for each type of a schema that implements `Node`."""
    assert schema.query_type is not None
    return dict(_queries_of(schema.query_type))


def _queries_of(root: GraphQLObjectType) -> Iterator[tuple[str, EntityQuery]]:
    for field in root.fields.values():
        type_, declared = get_named_type(field.type), strawberry_field(field)
        query = declared.metadata.get(ENTITY_QUERY) if declared is not None else None
        is_node = isinstance(type_, GraphQLObjectType) and any(each.name == "Node" for each in type_.interfaces)
        if is_node and query is not None and query.kind == "one":
            yield type_.name, query


@lru_cache(maxsize=64)
def _statement(schema: GraphQLSchema, names: tuple[str, ...]) -> str:
    """Return the statement that finds the type of a record among those of these names: one look into an index for each."""
    tables = {name: _nodes(schema)[name].entity.table for name in names}
    return " UNION ALL ".join(
        f"SELECT '{name}' FROM {table} WHERE tenant_id = $1 AND public_id = $2" for name, table in tables.items()
    )


QUERIES = (NodeQueries,)
