"""Build the query fields of an entity: one record, a list, a numbered page, a connection (cursor pagination).

This module doesn't postpone annotations: the resolvers' signatures use types that are local to the factory.
"""

from dataclasses import dataclass
from typing import Any

import strawberry
from strawberry import Info

from auth.access import Access
from models import row_reads
from models.cursors import after_cursor, encode_cursors
from models.queries import Entity, Row
from schema.column_guards import ColumnGuards, column_guards
from schema.fields import root_field
from schema.filters import build_conditions, build_filter_input, build_sort_enum, sort_name
from schema.pagination import (
    DEFAULT_PAGE_SIZE,
    MAX_PAGE_SIZE,
    check_page_bounds,
    connection_type,
    page_info,
    page_type,
)
from schema.scalars import FILTER_SCALARS, ID, parse_id
from schema.selection import is_requested, requested_shape

ENTITY_QUERY = "vitrine.read"


@dataclass(frozen=True)
class EntityQuery:
    """Marks a root field as a read of an entity; `kind` is `one`, `list`, `page` or `connection`."""

    kind: str
    entity: Entity
    access: Access
    guards: ColumnGuards


def with_article(singular: str) -> str:
    """Return the name of an entity as prose: `an option`."""
    return f"{'an' if singular[0] in 'aeio' else 'a'} {singular.replace('_', ' ')}"


def build_entity_queries(
    type_: Any,
    entity: Entity,
    singular: str,
    plural: str,
    *,
    access: Access | None = None,
    connection: bool = False,
    internal: bool = False,
) -> type:
    """Build a class with the fields `x(id)`, `xs(limit, offset, status, filter, sort)`, `x_page(…)` and `x_connection(…)`.

    `access` is the access rule of the root fields; it defaults to the entity's rule.
    """
    name: str = type_.__strawberry_definition__.name
    rule: Access = access or entity.visible.access  # type: ignore[attr-defined]
    filters = build_filter_input(entity, f"{name}Filter")
    sorts = build_sort_enum(entity, f"{name}Sort")
    page_of = page_type(type_, f"{name}Page")
    guards = column_guards(type_, entity)
    label = singular.replace("_", " ")

    async def one(info: Info, id: ID) -> type_ | None:  # type: ignore[valid-type]
        reference = parse_id(id, numeric=entity.has_numeric_ids)
        if reference is None:
            return None
        return await row_reads.fetch_one(info.context.scope, requested_shape(info), reference)

    async def page(  # type: ignore[no-untyped-def]
        info: Info,
        page: int = 1,
        per_page: int = DEFAULT_PAGE_SIZE,
        filter: filters | None = None,
        sort: sorts | None = None,
    ) -> page_of:
        check_page_bounds(per_page, 0, MAX_PAGE_SIZE, "per_page")
        check_page_bounds(page, 0, 2**31 - 1, "page")
        page = max(page, 1)
        scope = info.context.scope
        conditions = build_conditions(scope, entity, guards, filter)
        order = sort_name(scope, guards, sort)
        result = Row(page=page, per_page=per_page)
        if is_requested(info, "items"):
            result["items"] = await row_reads.fetch_many(
                scope,
                requested_shape(info, "items"),
                conditions=conditions,
                sort=order,
                limit=per_page,
                offset=(page - 1) * per_page,
            )
        if is_requested(info, "total"):
            result["total"] = await row_reads.count_rows(scope, entity, conditions)
        return result

    def metadata(kind: str) -> dict[str, Any]:
        return {ENTITY_QUERY: EntityQuery(kind, entity, rule, guards)}

    fields: dict[str, Any] = {
        singular: root_field(
            rule,
            f"Returns {with_article(singular)} by ID; null if it doesn't exist.",
            internal=internal,
            metadata=metadata("one"),
        )(one),
        plural: root_field(rule, f"Returns a list of {label} records.", internal=internal, metadata=metadata("list"))(
            _list_field(type_, entity, guards, filters, sorts)
        ),
        f"{singular}_page": root_field(
            rule,
            f"Returns a numbered page of {label} records with the total count (offset pagination).",
            internal=internal,
            metadata=metadata("page"),
        )(page),
    }
    if connection:
        fields[f"{singular}_connection"] = root_field(
            rule,
            f"Returns a page of {label} records (cursor pagination); every page has the same cost.",
            internal=internal,
            metadata=metadata("connection"),
        )(_connection_field(type_, entity, guards, filters, sorts, name))
    return strawberry.type(type(f"{name}Queries", (), fields))


def _list_field(type_: Any, entity: Entity, guards: ColumnGuards, filters: Any, sorts: Any) -> Any:
    if "status" not in entity.filters:

        async def list_records(  # type: ignore[no-untyped-def]
            info: Info,
            limit: int = DEFAULT_PAGE_SIZE,
            offset: int = 0,
            filter: filters | None = None,
            sort: sorts | None = None,
        ) -> list[type_]:
            check_page_bounds(limit, offset, MAX_PAGE_SIZE)
            scope = info.context.scope
            return await row_reads.fetch_many(
                scope,
                requested_shape(info),
                conditions=build_conditions(scope, entity, guards, filter),
                sort=sort_name(scope, guards, sort),
                limit=limit,
                offset=offset,
            )

        return list_records

    status_scalar = FILTER_SCALARS[entity.filters["status"].value_type]

    async def list_records_by_status(  # type: ignore[no-untyped-def]
        info: Info,
        limit: int = DEFAULT_PAGE_SIZE,
        offset: int = 0,
        status: status_scalar | None = None,  # type: ignore[valid-type]
        filter: filters | None = None,
        sort: sorts | None = None,
    ) -> list[type_]:
        check_page_bounds(limit, offset, MAX_PAGE_SIZE)
        scope = info.context.scope
        return await row_reads.fetch_many(
            scope,
            requested_shape(info),
            conditions=build_conditions(scope, entity, guards, filter, status),
            sort=sort_name(scope, guards, sort),
            limit=limit,
            offset=offset,
        )

    return list_records_by_status


def _connection_field(type_: Any, entity: Entity, guards: ColumnGuards, filters: Any, sorts: Any, name: str) -> Any:
    connection_of = connection_type(type_, name)

    async def connection(  # type: ignore[no-untyped-def]
        info: Info,
        first: int = DEFAULT_PAGE_SIZE,
        after: str | None = None,
        filter: filters | None = None,
        sort: sorts | None = None,
    ) -> connection_of:
        check_page_bounds(first, 0, MAX_PAGE_SIZE, "first")
        scope = info.context.scope
        order = sort_name(scope, guards, sort)
        conditions = build_conditions(scope, entity, guards, filter)
        if after is not None:
            conditions.append(after_cursor(scope, entity, order, after))
        shape = requested_shape(info, "edges", "node")
        rows, keys = await row_reads.fetch_with_keys(scope, shape, conditions=conditions, sort=order, limit=first + 1)
        cursors = encode_cursors(entity, order, keys[:first])
        return Row(
            edges=[Row(cursor=cursor, node=row) for cursor, row in zip(cursors, rows, strict=False)],
            page_info=page_info(cursors, has_next=len(rows) > first, has_previous=after is not None),
        )

    return connection
