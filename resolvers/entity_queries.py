"""Build the query fields of an entity: one record, a list, a numbered page, a connection (cursor pagination).

The signatures of their resolvers are built from the entity, so that the executor and compiled reads (`resolvers/engine/compiled_fields.py`)
evaluate the same arguments in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import Any, Optional

from graphql.pyutils import camel_to_snake
from strawberry import Info

from auth.access import Access
from kernel.errors import ValidationFailed
from kernel.scope import Scope
from kernel.text import has_forbidden_characters, with_article
from models.reading import row_reads
from models.reading.queries import Condition, Entity, Row, by_id
from schema.connections import PageRequest
from schema.cursors import KeysetOrder
from schema.declaration import declare
from schema.fields import root_field
from schema.filters import ColumnGuards, build_conditions, build_filter_input, build_sort_enum, column_guards, sort_name
from schema.pagination import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, check_page_bounds, connection_type, page_type
from schema.scalars import FILTER_SCALARS, ID, parse_id
from schema.selection import is_requested, requested_shape

ENTITY_QUERY = "vitrine.read"

_PAGE_ARGUMENTS: Mapping[str, Any] = {
    "first": (Optional[int], None),  # noqa: UP045
    "after": (Optional[str], None),  # noqa: UP045
    "last": (Optional[int], None),  # noqa: UP045
    "before": (Optional[str], None),  # noqa: UP045
}

_MAX_KEY = 2_048
# The argument with the size of a list.
_SIZES = {"list": "limit", "page": "per_page"}


@dataclass(frozen=True, slots=True)
class ListRequest:
    """The evaluated arguments of a list."""

    conditions: list[Condition]
    sort: str | None
    limit: int
    offset: int
    page: int


@dataclass(frozen=True, slots=True)
class ConnectionRequest:
    """The evaluated arguments of a connection; `sort` is the order in which its rows are read, one more than the page has.

    `filters` are the conditions of all its records, `conditions` those of the page.
    """

    page: PageRequest
    order: KeysetOrder
    filters: list[Condition]
    conditions: list[Condition]

    @property
    def sort(self) -> str:
        """Return the name of the order in which the rows are read."""
        return self.page.sort_name(self.order)

    @property
    def limit(self) -> int:
        """Return the number of rows to read: one more than the page has shows whether there is another page."""
        return self.page.limit + 1


@dataclass(frozen=True)
class EntityQuery:
    """Marks a root field as a read of an entity; `kind` is `one`, `list`, `page` or `connection`.

    `type_` is the class of its records, `narrowed` a condition for all of its lists.
    """

    kind: str
    entity: Entity
    access: Access
    guards: ColumnGuards
    type_: Any
    narrowed: Condition | None = None

    def requested(self, values: Mapping[str, Any]) -> Condition | None:
        """Return the condition for the requested record; None for what no record can have.

        Raise `ValidationFailed` unless exactly one of the id and the other key is given.
        """
        id_ = values.get("id")
        name, condition = self.entity.text_key or ("", by_id)
        text = values.get(name)
        if (id_ is None) is (text is None):
            raise ValidationFailed(f"expected exactly one of id and {name}", field="id", code="required")
        if text is not None:
            return None if len(text) > _MAX_KEY or has_forbidden_characters(text) else condition(text)
        reference = parse_id(id_, numeric=self.entity.has_numeric_ids)
        return None if reference is None else self.entity.id_key(reference)

    def evaluate(self, scope: Scope, values: Mapping[str, Any]) -> ListRequest:
        """Evaluate the arguments of a list; raise the `DomainError` of an invalid one, or one that the caller may not use."""
        name = _SIZES[self.kind]
        limit, offset, page = values[name], values.get("offset", 0), values.get("page", 1)
        check_page_bounds(limit, offset, MAX_PAGE_SIZE, name)
        check_page_bounds(page, 0, 2**31 - 1, "page")
        page = max(page, 1)
        conditions = self._conditions(scope, values)
        sort = sort_name(scope, self.guards, values.get("sort"))
        if self.kind == "page":
            offset = (page - 1) * limit
        return ListRequest(conditions, sort, limit, offset, page)

    def evaluate_connection(self, scope: Scope, values: Mapping[str, Any]) -> ConnectionRequest:
        """Evaluate the arguments of a connection, as `evaluate`."""
        page = PageRequest.of(values, MAX_PAGE_SIZE)
        filters = self._conditions(scope, values)
        order = KeysetOrder.of(self.entity, sort_name(scope, self.guards, values.get("sort")))
        return ConnectionRequest(page, order, filters, filters + page.conditions(scope, order))

    def _conditions(self, scope: Scope, values: Mapping[str, Any]) -> list[Condition]:
        conditions = build_conditions(scope, self.entity, self.guards, values.get("filter"), values.get("status"))
        return conditions if self.narrowed is None else [*conditions, self.narrowed]


def singular_of(type_: Any) -> str:
    """Return the name of a GraphQL type in root fields: `product_box` of `ProductBox`."""
    return camel_to_snake(type_.__strawberry_definition__.name)


def _plural_of(singular: str) -> str:
    if singular.endswith(("s", "x")):
        return f"{singular}es"
    return f"{singular[:-1]}ies" if re.search("[^aeiou]y$", singular) else f"{singular}s"


def build_entity_queries(
    type_: Any, *, access: Access | None = None, narrowed: Condition | None = None, one: bool = True
) -> type:
    """Build a class with the fields `x(id)`, `xs(limit, offset, status, filter, sort)`, `x_page(…)` and `x_connection(…)`.

    `x` is the name of the type in snake case; without `one` it is left to the caller. `access` is the access rule of the root fields; it
    defaults to that of the type's entity. `narrowed` is a condition for all lists.
    """
    entity: Entity = type_.__entity__
    name: str = type_.__strawberry_definition__.name
    singular = singular_of(type_)
    rule: Access = access or entity.visible.access  # type: ignore[attr-defined]
    guards = column_guards(type_, entity)
    label = singular.replace("_", " ")
    narrowing = {
        "filter": (Optional[build_filter_input(entity, f"{name}Filter")], None),  # noqa: UP045  # a class made here
        "sort": (Optional[build_sort_enum(entity, f"{name}Sort")], None),  # noqa: UP045
    }
    statuses: dict[str, Any] = {}
    if "status" in entity.filters:
        scalar = FILTER_SCALARS[entity.filters["status"].value_type]
        statuses["status"] = (Optional[scalar], None)  # noqa: UP045

    def field(
        kind: str, build: Callable[[EntityQuery], Any], result: Any, arguments: Mapping[str, Any], description: str
    ) -> Any:
        query = EntityQuery(kind, entity, rule, guards, type_, narrowed)
        resolver = _with_signature(build(query), result, arguments)
        return root_field(rule, description, metadata={ENTITY_QUERY: query})(resolver)

    size, offset, page = (int, DEFAULT_PAGE_SIZE), (int, 0), (int, 1)
    fields = {
        singular: field(
            "one",
            _one_resolver,
            Optional[type_],  # noqa: UP045
            _one_arguments(entity),
            f"Returns {with_article(singular)} by {_identified_by(entity)}; null if it doesn't exist.",
        ),
        _plural_of(singular): field(
            "list",
            _list_resolver,
            list[type_],
            {"limit": size, "offset": offset, **statuses, **narrowing},
            f"Returns a list of {label} records.",
        ),
        f"{singular}_page": field(
            "page",
            _page_resolver,
            page_type(type_, f"{name}Page"),
            {"page": page, "per_page": size, **narrowing},
            f"Returns a numbered page of {label} records with the total count (offset pagination).",
        ),
        f"{singular}_connection": field(
            "connection",
            _connection_resolver,
            connection_type(type_, name),
            {**_PAGE_ARGUMENTS, **narrowing},
            f"Returns a page of {label} records (cursor pagination); every page has the same cost.",
        ),
    }
    if not one:
        del fields[singular]
    return declare(type(f"{name}Queries", (), fields))


def _one_arguments(entity: Entity) -> dict[str, Any]:
    if entity.text_key is None:
        return {"id": (ID, Parameter.empty)}
    return {"id": (Optional[ID], None), entity.text_key[0]: (Optional[str], None)}  # noqa: UP045


def _identified_by(entity: Entity) -> str:
    return "ID" if entity.text_key is None else f"ID or {entity.text_key[0]}, exactly one of them"


def _with_signature(resolver: Any, result: Any, arguments: Mapping[str, Any]) -> Any:
    """Set the types and defaults of a resolver's arguments, which Strawberry reads from its signature."""
    declared = {"info": (Info, Parameter.empty), **arguments}
    parameters = [
        Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=type_)
        for name, (type_, default) in declared.items()
    ]
    resolver.__annotations__ = {name: type_ for name, (type_, _) in declared.items()} | {"return": result}
    resolver.__signature__ = Signature(parameters, return_annotation=result)
    return resolver


def _one_resolver(query: EntityQuery) -> Any:
    async def one(info: Any, **arguments: Any) -> Any:
        condition = query.requested(arguments)
        if condition is None:
            return None
        return await row_reads.fetch_first(info.context.scope, requested_shape(info), condition)

    return one


def _list_resolver(query: EntityQuery) -> Any:
    async def records(info: Any, **arguments: Any) -> Any:
        return await _read(info, query.evaluate(info.context.scope, arguments))

    return records


def _page_resolver(query: EntityQuery) -> Any:
    async def page(info: Any, **arguments: Any) -> Any:
        scope = info.context.scope
        request = query.evaluate(scope, arguments)
        result = Row(page=request.page, per_page=request.limit)
        if is_requested(info, "items"):
            result["items"] = await _read(info, request, "items")
        if is_requested(info, "total"):
            result["total"] = await row_reads.count_rows(scope, query.entity, request.conditions)
        return result

    return page


def _connection_resolver(query: EntityQuery) -> Any:
    async def connection(info: Any, **arguments: Any) -> Any:
        scope = info.context.scope
        request = query.evaluate_connection(scope, arguments)
        rows, keys = await row_reads.fetch_with_keys(
            scope,
            requested_shape(info, "edges", "node"),
            conditions=request.conditions,
            sort=request.sort,
            limit=request.limit,
        )
        is_counted = is_requested(info, "total_count")
        total = await row_reads.count_rows(scope, query.entity, request.filters) if is_counted else None
        return request.page.connection(request.order, list(zip(rows, keys, strict=True)), total_count=total)

    return connection


async def _read(info: Any, request: ListRequest, *path: str) -> list[Row]:
    return await row_reads.fetch_many(
        info.context.scope,
        requested_shape(info, *path),
        conditions=request.conditions,
        sort=request.sort,
        limit=request.limit,
        offset=request.offset,
    )
