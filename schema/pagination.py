"""Make the page and connection types of an entity."""

from __future__ import annotations

from typing import Any

import strawberry

from schema.fields import INHERITED, part
from schema.scalars import BigInt


@part("PageInfo", "Where a page of a connection lies.")
class PageInfo:
    """Relay's page information; cursors are opaque and bound to the sort they were made with."""

    has_next_page: bool = strawberry.field(description="Whether there are records after this page.")
    has_previous_page: bool = strawberry.field(description="Whether there are records before this page.")
    start_cursor: str | None = strawberry.field(
        description="The place of the first record, null on an empty page."
    )
    end_cursor: str | None = strawberry.field(
        description="The place of the last record, null on an empty page."
    )


def page_type(item: Any, name: str) -> Any:
    """Make `{items, total, page, per_page}` of a type."""
    annotations = {"items": list[item], "total": BigInt, "page": int, "per_page": int}
    namespace = {
        "__annotations__": annotations,
        "__access__": INHERITED,
        "items": strawberry.field(description="The records of this page."),
        "total": strawberry.field(description="How many records match; counted only when asked for."),
        "page": strawberry.field(description="The number of this page, from 1."),
        "per_page": strawberry.field(description="How many records a page holds."),
    }
    return strawberry.type(type(name, (), namespace), name=name, description="One page of a list.")


def connection_type(item: Any, name: str) -> Any:
    """Make the keyset connection of a type: `edges {cursor node} page_info {…}`."""
    edge = strawberry.type(
        type(
            f"{name}Edge",
            (),
            {
                "__annotations__": {"cursor": str, "node": item},
                "__access__": INHERITED,
                "cursor": strawberry.field(description="The place of the record in this order."),
                "node": strawberry.field(description="The record."),
            },
        ),
        name=f"{name}Edge",
        description="One record of a connection and its place.",
    )
    return strawberry.type(
        type(
            f"{name}Connection",
            (),
            {
                "__annotations__": {"edges": list[edge], "page_info": PageInfo},
                "__access__": INHERITED,
                "edges": strawberry.field(description="The records of this page."),
                "page_info": strawberry.field(description="Where the page lies."),
            },
        ),
        name=f"{name}Connection",
        description="A part of a list, found by the place of its first record.",
    )
