"""Serve the vendor app's mutations: delete products, update an order and record its shipment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from kernel.errors import ValidationFailed
from kernel.text import repr_value
from resolvers.execute import FacadeOperation, authorize
from rest_facade.bodies import read_legacy
from rest_facade.legacy.engine import execute_mutation, render_ids, sent_back_reader
from rest_facade.legacy.reshape import body_parser, message_renamer
from rest_facade.legacy.resource import RecordField
from rest_facade.legacy.resources.orders import ORDERS
from rest_facade.legacy.resources.products import PRODUCTS
from rest_facade.legacy.round_trip import changes_of
from rest_facade.legacy.value_types import ORDER_STATUS, TEXT, as_list
from rest_facade.responses import json_response
from rest_facade.routing import SCOPE, Handler

_IDS = "product_ids"
_ORDER = (
    RecordField("status", ORDER_STATUS, "status"),
    RecordField("tracking_number", TEXT, "tracking_number"),
    RecordField("carrier", TEXT, "carrier"),
)
_CHANGES = {"status", "tracking_number"}


def delete_products(operation: FacadeOperation) -> Handler:
    """Build the handler that deletes several of the vendor's products and reports the ones not found."""
    rename = message_renamer((), {"ids": _IDS})

    async def handler(request: web.Request) -> web.Response:
        scope = authorize(request[SCOPE], operation)
        ids = _parse_ids((await read_legacy(request)).get(_IDS))
        done = await execute_mutation(scope, operation, {"ids": ids}, rename, PRODUCTS)
        deleted = [str(number) for number in done["deleted"]]
        return json_response({"deleted": deleted, "not_found": done["not_found"]})

    return handler


def _parse_ids(value: Any) -> list[str]:
    """Parse ids from a list, PHP's map with numeric keys, or one comma-separated text."""
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    entries = as_list([] if value is None else value)
    invalid = [entry for entry in entries if isinstance(entry, Mapping | list | bool) or entry is None]
    if invalid:
        raise ValidationFailed(f"{_IDS} holds {repr_value(invalid[0])}; expected ids", field=_IDS)
    return [str(entry) for entry in entries]


def update_order(operation: FacadeOperation, show: FacadeOperation) -> Handler:
    """Build the handler that updates an order's status and records a shipment; what equals the record that `show` reads changes nothing."""
    parse, rename = body_parser(_ORDER), message_renamer(_ORDER, {})
    read_sent_back = sent_back_reader(ORDERS, show)

    async def handler(request: web.Request) -> web.Response:
        scope = authorize(request[SCOPE], operation)
        body = await read_legacy(request)
        record = await read_sent_back(request, scope, body)
        changes = body if record is None else changes_of(ORDERS, body, record)
        values = parse({name: value for name, value in changes.items() if value != ""})
        if record is not None and not values.keys() & _CHANGES:
            return json_response(render_ids(scope, {"order_id": int(record["order_id"])}))
        variables = {**values, "id": request.match_info["id"]}
        done = await execute_mutation(scope, operation, variables, rename, ORDERS)
        return json_response(render_ids(scope, {"order_id": done["order_id"]}))

    return handler
