"""Pagination: page bounds, numbered pages (offset pagination) and connections (keyset pagination with Relay cursors).

`schema.connections` evaluates the arguments of connections. See docs/reference/graphql.md#pagination.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from graphql import GraphQLObjectType, get_named_type

from kernel.errors import ValidationFailed
from schema.declaration import declare
from schema.fields import INHERITED, object_type, output_field
from schema.scalars import BigInt

MAX_PAGE_SIZE = 1000
DEFAULT_PAGE_SIZE = 20


def check_page_bounds(limit: int, offset: int, maximum: int, name: str = "limit") -> None:
    """Raise `ValidationFailed` for a limit outside 0 to `maximum`, or an invalid offset."""
    if not 0 <= limit <= maximum:
        raise ValidationFailed(f"{name} is {limit}; expected 0 to {maximum}", field=name)
    if not 0 <= offset < 2**31:
        raise ValidationFailed(f"offset is {offset}; expected 0 or more", field="offset")


@object_type("PageInfo", "Information about a page of a connection.")
class PageInfoObject:
    """Relay page information; a cursor is opaque and valid only for the sort order it was created with."""

    has_next_page: bool = output_field("Whether there are records after this page.")
    has_previous_page: bool = output_field("Whether there are records before this page.")
    start_cursor: str | None = output_field("The cursor of the first record; null on an empty page.")
    end_cursor: str | None = output_field("The cursor of the last record; null on an empty page.")


def page_type(item: Any, name: str) -> Any:
    """Create the page type `{items, total, page, per_page}` of an object type."""
    annotations = {"items": list[item], "total": BigInt, "page": int, "per_page": int}
    namespace = {
        "__annotations__": annotations,
        "__access__": INHERITED,
        "items": output_field("The records of this page."),
        "total": output_field("The total number of matching records; counted only when selected."),
        "page": output_field("The page number, starting at 1."),
        "per_page": output_field("The page size."),
    }
    return declare(type(name, (), namespace), name, "A page of a list (offset pagination).")


def node_type(connection: GraphQLObjectType) -> GraphQLObjectType:
    """Return the type of a connection's records."""
    edge = get_named_type(connection.fields["edges"].type)
    assert isinstance(edge, GraphQLObjectType)
    node = get_named_type(edge.fields["node"].type)
    assert isinstance(node, GraphQLObjectType)
    return node


@cache
def connection_type(item: Any, name: str) -> Any:
    """Create the connection type `{edges {cursor node} page_info {…}}` of an object type, for keyset pagination; its `__node__`."""
    edge: Any = declare(
        type(
            f"{name}Edge",
            (),
            {
                "__annotations__": {"cursor": str, "node": item},
                "__access__": INHERITED,
                "cursor": output_field("The cursor of the record, to be passed as `after` or `before`."),
                "node": output_field("The record."),
            },
        ),
        f"{name}Edge",
        "A record of a connection with its cursor.",
    )
    return declare(
        type(
            f"{name}Connection",
            (),
            {
                "__annotations__": {"edges": list[edge], "page_info": PageInfoObject, "total_count": BigInt | None},
                "__access__": INHERITED,
                "__node__": item,
                "edges": output_field("The records of this page with their cursors."),
                "page_info": output_field("Information about this page."),
                "total_count": output_field(
                    "The number of all records that match, for one statement more; null in connections of a record."
                ),
            },
        ),
        f"{name}Connection",
        "A page of a list (cursor pagination).",
    )
