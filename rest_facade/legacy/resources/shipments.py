"""Describe shipments of orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kernel.clock import format_rfc3339, parse_unix
from kernel.codes import SHIPMENT_STATUSES
from kernel.json_schema import array, described, map_of, named, object_schema, one_of
from kernel.text import InvalidValue
from rest_facade.legacy import value_types as types
from rest_facade.legacy.resource import SEARCH, CombinedFilter, Record, RecordField, Resource, id_field, same_names
from rest_facade.legacy.resources.order_parts import parse_period
from rest_facade.legacy.value_schemas import TIME_INPUT


def _render_products(lines: list[Record]) -> Record:
    """Render the shipment lines: item_id → amount."""
    return {str(line["line_number"]): str(line["quantity"]) for line in lines}


def _parse_products(value: Any, label: str) -> list[dict[str, Any]]:
    """Parse shipment lines: a map of item ids to amounts, or an array of `{item_id, amount}`.

    Lines with an amount of 0 are omitted: CS-Cart's own forms send them.
    """
    if isinstance(value, Mapping):
        entries = [_parse_line(key, entry, label) for key, entry in value.items()]
    elif isinstance(value, list):
        entries = [_parse_line(None, entry, label) for entry in value]
    else:
        raise types.unexpected(label, value, "an object or an array")
    return [entry for entry in entries if entry["quantity"]]


def _parse_line(key: str | None, entry: Any, label: str) -> dict[str, Any]:
    if isinstance(entry, Mapping):
        key, entry = entry.get("item_id", key), entry.get("amount")
    elif key is None:
        raise types.unexpected(label, entry, "objects such as {item_id, amount}", verb="holds")
    item = types.parse_id(key, f"{label}: item_id")
    if item is None or item is types.ABSENT:
        raise InvalidValue(f"{label}: item_id is required")
    if entry in (None, ""):
        raise InvalidValue(f"{label}: amount is required")
    return {"line_id": item, "quantity": types.parse_integer(entry, f"{label}: amount")}


def _parse_optional_id(value: Any, label: str) -> Any:
    parsed = types.parse_id(value, label)
    return types.ABSENT if parsed is None else parsed


def _parse_optional_text(value: Any, label: str) -> Any:
    return types.parse_text(value, label) or types.ABSENT


def _parse_time(value: Any, label: str) -> Any:
    if value in (None, "", 0, "0"):
        return types.ABSENT
    return format_rfc3339(parse_unix(value, field=label))


# Missing and empty values get the defaults.
_METHOD = replace(types.ID, parse=_parse_optional_id)
_OPTIONAL_TEXT = types.ValueType(parse=_parse_optional_text, parse_filter=types.TEXT.parse_filter)
_ORDER_TIME = replace(types.UNIX_TIME, parse=_parse_time, body_schema=TIME_INPUT)
_PRODUCTS = described(map_of(types.INTEGER.schema), "The amount of each order line, by `item_id`.")
_LINE_INPUT = named("ShipmentLineBody", object_schema(item_id=types.ID.body_schema, amount=types.INTEGER.body_schema))
_PRODUCTS_INPUT = described(
    one_of(map_of(types.INTEGER.body_schema), array(_LINE_INPUT)), "The amount of each order line, by `item_id`."
)

SHIPMENTS = Resource(
    path="shipments",
    privilege_area="orders",
    open_to_vendors=True,
    fields=(
        id_field("shipment_id"),
        RecordField("order_id", types.ID, "order_id", "order_id"),
        RecordField(
            "products",
            types.rendered_by(_render_products, _parse_products, schema=_PRODUCTS, body_schema=_PRODUCTS_INPUT),
            "lines",
            source="lines { line_number quantity }",
        ),
        RecordField("shipping_id", _METHOD, "shipping_method_id", "shipping_method_id", source="shipping_number"),
        RecordField("shipping", _OPTIONAL_TEXT, "shipping_name", "shipping_name"),
        RecordField("carrier", types.TEXT, "carrier", "carrier"),
        RecordField("user_id", types.optional(types.ID), "user_id", "user_id"),
        *same_names(types.TEXT, "tracking_number", "comments"),
        RecordField("group_key", _OPTIONAL_TEXT, "group_key", "group_key"),
        RecordField("order_timestamp", _ORDER_TIME, "order_placed_at", "order_placed_at", source="order_unix"),
        RecordField("timestamp", types.UNIX_TIME, filter_name="created_at"),
        RecordField("status", types.optional(types.open_code(SHIPMENT_STATUSES)), "status", "status"),
    ),
    input_fields=(RecordField("order_status", types.optional(types.ORDER_STATUS), "order_status"),),
    # `shipping_id`, `shipping` and `carrier` are required too, but have defaults.
    required=("order_id", "products"),
    message_terms={"order": "order_id", "user": "user_id", "shipping method": "shipping_id"},
    filters=(
        SEARCH,
        CombinedFilter(("period", "time_from", "time_to"), parse_period),
    ),
    sorts=dict(timestamp="CREATED_AT", date="CREATED_AT", shipment_id="ID", id="ID", order_id="ORDER"),
    default_sort=("timestamp", "desc"),
    default_order="desc",
)
