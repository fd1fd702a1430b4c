"""Make the read fields that every entity has: one, a list, a page, a connection.

No postponed annotations here: the resolvers' signatures are made of types that exist only inside the factory.
"""

from dataclasses import dataclass
from typing import Any

import strawberry
from strawberry import Info

from auth.access import Access
from models import reading
from models.reading import Entity, Row
from schema.fields import root
from schema.filters import conditions, filter_input, sort_enum, sort_name, window
from schema.pagination import connection_type, page_type
from schema.scalars import FILTER_KINDS, Ident, reference
from schema.selection import asked, selection_below

READ = "vitrine.read"


@dataclass(frozen=True)
class ReadRoot:
    """Say of a root field that it only reads: `one`, `list`, `page` or `connection` of an entity."""

    kind: str
    entity: Entity
    access: Access


MAX_PUBLIC = 1000
DEFAULT_SIZE = 20


def reads(
    type_: Any,
    entity: Entity,
    singular: str,
    plural: str,
    *,
    access: Access | None = None,
    connection: bool = False,
    internal: bool = False,
) -> type:
    """Make a class with the fields `x(id)`, `xs(limit, offset, status, filter, sort)`, `x_page(…)` and `x_connection(…)`.

    `access` is the right the root fields ask for; without it, the one the rows themselves ask for.
    """
    name: str = type_.__strawberry_definition__.name
    rule: Access = access or entity.visible.access  # type: ignore[attr-defined]
    filters = filter_input(entity, f"{name}Filter")
    sorts = sort_enum(entity, f"{name}Sort")
    page_of = page_type(type_, f"{name}Page")
    words = singular.replace("_", " ")

    async def one(info: Info, id: Ident) -> type_ | None:  # type: ignore[valid-type]
        named = reference(id)
        if named is None:
            return None
        return await reading.one(info.context.scope, selection_below(info), named)

    async def page(  # type: ignore[no-untyped-def]
        info: Info,
        page: int = 1,
        per_page: int = DEFAULT_SIZE,
        filter: filters | None = None,
        sort: sorts | None = None,
    ) -> page_of:
        window(per_page, 0, MAX_PUBLIC, "per_page")
        window(page, 0, 2**31 - 1, "page")
        page = max(page, 1)
        scope = info.context.scope
        found = conditions(entity, filter)
        result = Row(page=page, per_page=per_page)
        if asked(info, "items"):
            result["items"] = await reading.many(
                scope,
                selection_below(info, "items"),
                conditions=found,
                sort=sort_name(sort),
                limit=per_page,
                offset=(page - 1) * per_page,
            )
        if asked(info, "total"):
            result["total"] = await reading.count(scope, entity, found)
        return result

    def reads_as(kind: str) -> dict[str, Any]:
        return {READ: ReadRoot(kind, entity, rule)}

    fields: dict[str, Any] = {
        singular: root(
            rule,
            f"One {words} by its id; null when there is none.",
            internal=internal,
            metadata=reads_as("one"),
        )(one),
        plural: root(rule, f"A list of {words} records.", internal=internal, metadata=reads_as("list"))(
            _list_field(type_, entity, filters, sorts)
        ),
        f"{singular}_page": root(
            rule,
            f"A numbered page of {words} records, with their number.",
            internal=internal,
            metadata=reads_as("page"),
        )(page),
    }
    if connection:
        fields[f"{singular}_connection"] = root(
            rule,
            f"{words.capitalize()} records page by page; page 500 costs what page 1 costs.",
            internal=internal,
            metadata=reads_as("connection"),
        )(_connection_field(type_, entity, filters, sorts, name))
    return strawberry.type(type(f"{name}Reads", (), fields))


def _list_field(type_: Any, entity: Entity, filters: Any, sorts: Any) -> Any:
    if "status" not in entity.filters:

        async def listed(  # type: ignore[no-untyped-def]
            info: Info,
            limit: int = DEFAULT_SIZE,
            offset: int = 0,
            filter: filters | None = None,
            sort: sorts | None = None,
        ) -> list[type_]:
            window(limit, offset, MAX_PUBLIC)
            return await reading.many(
                info.context.scope,
                selection_below(info),
                conditions=conditions(entity, filter),
                sort=sort_name(sort),
                limit=limit,
                offset=offset,
            )

        return listed

    letter = FILTER_KINDS[entity.filters["status"].kind]

    async def listed_by_status(  # type: ignore[no-untyped-def]
        info: Info,
        limit: int = DEFAULT_SIZE,
        offset: int = 0,
        status: letter | None = None,  # type: ignore[valid-type]
        filter: filters | None = None,
        sort: sorts | None = None,
    ) -> list[type_]:
        window(limit, offset, MAX_PUBLIC)
        return await reading.many(
            info.context.scope,
            selection_below(info),
            conditions=conditions(entity, filter, status),
            sort=sort_name(sort),
            limit=limit,
            offset=offset,
        )

    return listed_by_status


def _connection_field(type_: Any, entity: Entity, filters: Any, sorts: Any, name: str) -> Any:
    connection_of = connection_type(type_, name)

    async def connection(  # type: ignore[no-untyped-def]
        info: Info,
        first: int = DEFAULT_SIZE,
        after: str | None = None,
        filter: filters | None = None,
        sort: sorts | None = None,
    ) -> connection_of:
        window(first, 0, MAX_PUBLIC, "first")
        order = sort_name(sort)
        found = conditions(entity, filter)
        if after is not None:
            found.append(reading.after_cursor(entity, order, after))
        wanted = selection_below(info, "edges", "node")
        keyed = reading.Selection(
            wanted.entity, (*wanted.columns, *reading.cursor_columns(entity, order)), wanted.children
        )
        rows = await reading.many(info.context.scope, keyed, conditions=found, sort=order, limit=first + 1)
        edges = [
            Row(cursor=reading.encode_cursor(order or entity.default_sort, row), node=row)
            for row in rows[:first]
        ]
        return Row(
            edges=edges,
            page_info=Row(
                has_next_page=len(rows) > first,
                has_previous_page=after is not None,
                start_cursor=edges[0]["cursor"] if edges else None,
                end_cursor=edges[-1]["cursor"] if edges else None,
            ),
        )

    return connection
