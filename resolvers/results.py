"""Return results: objects that the domain calculates. The records that they refer to are loaded as far as they are selected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from models.queries import Row
from models.row_reads import link_rows
from schema.selection import selected_relations


def linked(info: Any, records: Iterable[Mapping[str, Any]], *path: str) -> Any:
    """Return results as rows; `path` is where they are below the resolved field. One statement loads each relation of all of them."""
    rows = [Row(record) for record in records]
    link_rows(info.context.scope, rows, selected_relations(info, *path))
    return rows


def linked_cart(info: Any, record: Mapping[str, Any] | None) -> Any:
    """Return the record of a cart (`domain.carts.record`) with its relations; None for none."""
    if record is None:
        return None
    option, items = record["shipping_option"], linked(info, record["items"], "items")
    choices = iter(linked(info, [choice for item in items for choice in item["choices"]], "items", "choices"))
    for item in items:
        item["choices"] = [next(choices) for _ in item["choices"]]
    return {
        **record,
        "items": items,
        "gifts": linked(info, record["gifts"], "gifts"),
        "shipping_option": None if option is None else linked(info, [option], "shipping_option")[0],
    }
