"""Describe shipments: parcels of orders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernel.clock import from_unix, rfc3339
from kernel.codes import SHIPMENT_STATUSES
from kernel.text import Malformed, shown
from rest_facade.legacy.resource import Record, RecordField, Resource, Together, id_field
from rest_facade.legacy.resources.order_parts import placed_within
from rest_facade.legacy.value_types import (
    ABSENT,
    ID,
    ORDER_STATUS,
    TEXT,
    UNIX,
    ValueType,
    id_from,
    open_code,
    shown_with,
    text_from,
    whole_from,
)


def _products_shown(lines: list[Record]) -> Record:
    """Show what a parcel holds: item_id → amount."""
    return {str(line["line_number"]): str(line["quantity"]) for line in lines}


def _products_from(value: Any, label: str) -> list[dict[str, Any]]:
    """Read what a parcel holds: a map of item ids to amounts, or an array of `{item_id, amount}` (contract, Shipment).

    An amount of 0 says that nothing of the item goes: CS-Cart's own forms send it.
    """
    if isinstance(value, Mapping):
        entries = [_entry(key, given, label) for key, given in value.items()]
    elif isinstance(value, list):
        entries = [_entry(None, given, label) for given in value]
    else:
        raise Malformed(f"{label} is {shown(value)}; expected an object or an array")
    return [entry for entry in entries if entry["quantity"]]


def _entry(key: str | None, given: Any, label: str) -> dict[str, Any]:
    if isinstance(given, Mapping):
        key, given = given.get("item_id", key), given.get("amount")
    elif key is None:
        raise Malformed(f"{label} holds {shown(given)}; expected objects such as {{item_id, amount}}")
    item = id_from(key, f"{label}: item_id")
    if item is None or item is ABSENT:
        raise Malformed(f"{label}: item_id is required")
    if given in (None, ""):
        raise Malformed(f"{label}: amount is required")
    return {"line_id": item, "quantity": whole_from(given, f"{label}: amount")}


def _optional_id_from(value: Any, label: str) -> Any:
    found = id_from(value, label)
    return ABSENT if found is None else found


def _optional_text_from(value: Any, label: str) -> Any:
    return text_from(value, label) or ABSENT


def _moment_from(value: Any, label: str) -> Any:
    if value in (None, "", 0, "0"):
        return ABSENT
    return rfc3339(from_unix(value, field=label))


# What is left out, or as good as left out, is the contract's default.
_METHOD = ValueType(show=str, read=_optional_id_from, seek=str)
_METHOD_NAME = ValueType(read=_optional_text_from, seek=TEXT.seek)
_ORDER_TIME = ValueType(show=str, read=_moment_from, seek=UNIX.seek)

SHIPMENTS = Resource(
    path="shipments",
    key="shipment_id",
    thing="shipment",
    area="orders",
    operations="Shipment",
    open_to_vendors=True,
    fields=(
        id_field("shipment_id"),
        RecordField("order_id", ID, "order_id", "order_id"),
        RecordField("products", shown_with(_products_shown, _products_from), "lines"),
        RecordField("shipping_id", _METHOD, "shipping_method_id", "shipping_method_id"),
        RecordField("shipping", _METHOD_NAME, "shipping_name", "shipping_name"),
        RecordField("carrier", TEXT, "carrier", "carrier"),
        RecordField("user_id", ID, "user_id", "user_id"),
        RecordField("tracking_number", TEXT, "tracking_number", "tracking_number"),
        RecordField("comments", TEXT, "comments", "comments"),
        RecordField("group_key", TEXT, "group_key", "group_key"),
        RecordField("order_timestamp", _ORDER_TIME, "order_placed_at", "order_placed_at"),
        RecordField("timestamp", UNIX, filters="created_at"),
        RecordField("status", open_code(SHIPMENT_STATUSES), "status", "status"),
    ),
    inputs=(RecordField("order_status", ORDER_STATUS, "order_status"),),
    # `shipping_id`, `shipping` and `carrier` are required too, but never missing: they have defaults.
    required={
        "order_id": "order_id is required",
        "products": "products is required",
        "user_id": "user_id is required",
    },
    says={"order": "order_id", "user": "user_id", "shipping method": "shipping_id"},
    filters=(Together(("period", "time_from", "time_to"), placed_within),),
    sorts={
        "timestamp": "CREATED_AT",
        "date": "CREATED_AT",
        "shipment_id": "ID",
        "id": "ID",
        "order_id": "ORDER",
    },
    default_sort=("timestamp", "desc"),
    default_order="desc",
)
