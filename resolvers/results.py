"""Return results: objects that the domain calculates. The records that they refer to are loaded as far as they are selected."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Mapping
from typing import Any

from domain.carts.locked import OPEN, find_cart
from domain.carts.record import load_cart_record, shipping_option_record
from domain.carts.totals import shipping_options_for
from domain.payments.read import ACCEPTED
from kernel.errors import DomainError
from kernel.scope import Scope
from models.reading import row_reads
from models.reading.queries import Row
from models.reading.related_columns import BoundColumn
from models.reading.row_reads import link_rows
from schema.selection import is_requested, requested_shape, selected_relations


def linked(info: Any, records: Iterable[Mapping[str, Any]], *path: str) -> Any:
    """Return results as rows; `path` is where they are below the resolved field. One statement loads each relation of all of them."""
    rows, context = [Row(record) for record in records], info.context

    def link() -> None:
        link_rows(context.scope, rows, selected_relations(info, *path))

    if context.readers is None:
        link()
    else:
        context.links.append(link)
    return rows


async def cart_result(info: Any, record: Mapping[str, Any] | None) -> Any:
    """Return the record of a cart (`domain.carts.record`) with its relations and what else is selected; None for none."""
    if record is None:
        return None
    option, warnings = record["shipping_option"], linked(info, record["warnings"], "warnings")
    # The lines of warnings have a selection of their own.
    by_id = {item["id"]: item for item in record["items"]}
    about = [by_id[warning["item_id"]] for warning in warnings if warning["item_id"] in by_id]
    shown = iter(_linked_items(info, about, "warnings", "item"))
    for warning in warnings:
        warning["item"] = next(shown) if warning["item_id"] in by_id else None
    return {
        **record,
        "items": _linked_items(info, record["items"], "items"),
        "warnings": warnings,
        "payment_methods": await _selected(info, "payment_methods", _payment_methods(info, record)),
        "shipping_options": await _selected(info, "shipping_options", _shipping_options(info, record)),
        "gifts": linked(info, record["gifts"], "gifts"),
        "shipping_option": None if option is None else linked(info, [option], "shipping_option")[0],
    }


def _linked_items(info: Any, records: Iterable[Mapping[str, Any]], *path: str) -> Any:
    items = linked(info, records, *path)
    options = iter(linked(info, [option for item in items for option in item["options"]], *path, "options"))
    for item in items:
        item["options"] = [next(options) for _ in item["options"]]
    return items


async def load_linked_cart(scope: Scope, id: object, column: BoundColumn | None = None) -> dict[str, Any] | None:
    """Return the record of a cart whose warnings contain the lines that they are about; None for none."""
    record = await load_cart_record(scope, id, column)
    if record is None:
        return None
    by_id = {item["id"]: item for item in record["items"]}
    warnings = [{**warning, "item": by_id.get(warning["item_id"])} for warning in record["warnings"]]
    return {**record, "warnings": warnings}


async def _selected(info: Any, name: str, load: Coroutine[Any, Any, Any]) -> Any:
    """Return what a field shows if it is selected, or its error in its place: the rest of the cart, maybe just changed, is shown."""
    if not is_requested(info, name):
        load.close()
        return None
    try:
        return await load
    except DomainError as error:
        return error


async def _payment_methods(info: Any, record: Mapping[str, Any]) -> list[Row]:
    if record["status"] != OPEN:
        return []
    shape = requested_shape(info, "payment_methods")
    return await row_reads.fetch_many(info.context.scope, shape, conditions=[ACCEPTED], sort="position", limit=100)


async def _shipping_options(info: Any, record: Mapping[str, Any]) -> Any:
    scope = info.context.scope
    if record["status"] != OPEN:
        return []
    options = await shipping_options_for(scope, await find_cart(scope, record["id"]))
    return linked(info, map(shipping_option_record, options), "shipping_options")
