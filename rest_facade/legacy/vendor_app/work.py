"""Do a vendor's work: take products off the shelves, move orders, send parcels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from kernel.errors import ValidationFailed
from kernel.text import shown
from resolvers.execute import FacadeOperation, authorize
from rest_facade.bodies import read_legacy
from rest_facade.legacy.engine import change
from rest_facade.legacy.reshape import body_reader, renamer
from rest_facade.legacy.resource import RecordField
from rest_facade.legacy.resources.orders import ORDERS
from rest_facade.legacy.resources.products import PRODUCTS
from rest_facade.legacy.value_types import ORDER_STATUS, TEXT, listed
from rest_facade.responses import json_response
from rest_facade.routing import Handler, scope_of

_IDS = "product_ids"
_ORDER = (
    RecordField("status", ORDER_STATUS, "status"),
    RecordField("tracking_number", TEXT, "tracking_number"),
    RecordField("carrier", TEXT, "carrier"),
)


def delete_products(operation: FacadeOperation) -> Handler:
    """Make the handler that deletes several of the vendor's products at once, and tells which it has not."""
    rename = renamer((), {"ids": _IDS})

    async def handler(request: web.Request) -> web.Response:
        scope = scope_of(request)
        authorize(scope, operation)
        given = _ids_from((await read_legacy(request)).get(_IDS))
        done = await change(scope, operation, {"ids": given}, rename, PRODUCTS)
        deleted = [str(number) for number in done["deleted"]]
        return json_response({"deleted": deleted, "not_found": done["not_found"]})

    return handler


def _ids_from(value: Any) -> list[str]:
    """Read ids in a list, PHP's map with numbers as keys, or one text with commas; what can't be an id names no product."""
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    entries = listed([] if value is None else value)
    wrong = [each for each in entries if isinstance(each, Mapping | list | bool) or each is None]
    if wrong:
        raise ValidationFailed(f"{_IDS} holds {shown(wrong[0])}; expected ids", field=_IDS)
    return [str(each) for each in entries]


def change_order(operation: FacadeOperation) -> Handler:
    """Make the handler that moves an order and records a parcel."""
    read, rename = body_reader(_ORDER), renamer(_ORDER, {})

    async def handler(request: web.Request) -> web.Response:
        scope = scope_of(request)
        authorize(scope, operation)
        body = {name: value for name, value in (await read_legacy(request)).items() if value != ""}
        given = {**read(body), "id": request.match_info["id"]}
        done = await change(scope, operation, given, rename, ORDERS)
        return json_response({"order_id": str(done["order_id"])})

    return handler
