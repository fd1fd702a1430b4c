"""Say what it costs to send a product to a postal code, `GET delivery_methods`, and who does, `GET sellers_availability`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web

from kernel.errors import ValidationFailed
from kernel.text import Malformed
from resolvers.execute import FacadeOperation, execute
from rest_facade.legacy import engine
from rest_facade.legacy.queries import parameters
from rest_facade.legacy.reshape import renamer, row_shower
from rest_facade.legacy.resource import RecordField
from rest_facade.legacy.value_types import FLAG, ID, MONEY, NUMBER, id_from, whole_from
from rest_facade.responses import json_response
from rest_facade.routing import Needs, Route

_show_quote = row_shower(
    (
        RecordField("shipping_id", ID),
        RecordField("price", MONEY),
        RecordField("company_id", ID),
        RecordField("warehouse_id", ID),
    )
)
_show_seller = row_shower(
    (
        RecordField("company_id", ID),
        RecordField("product_id", ID),
        RecordField("price", MONEY),
        RecordField("amount", NUMBER),
        RecordField("delivers", FLAG),
    )
)
# Words of messages from below that the legacy layer says differently.
_rename = renamer((), {"product": "product_id", "quantity": "amount"})


def routes(operations: Mapping[str, FacadeOperation]) -> list[Route]:
    """List the two routes."""
    return [
        Route("GET", "/api/delivery_methods", _quotes(operations["DeliveryMethods"]), Needs.LEGACY_ADMIN),
        Route(
            "GET",
            "/api/sellers_availability",
            _sellers(operations["SellersAvailability"]),
            Needs.LEGACY_ADMIN,
        ),
    ]


def _quotes(operation: FacadeOperation) -> Callable[[web.Request], Any]:
    async def quoted(request: web.Request) -> web.Response:
        scope = engine.admit_to(request, "shipping", engine.VIEW, operation)
        given = parameters(request.rel_url.raw_query_string)
        asked = _asked(given)
        amount = _read(whole_from, given.get("amount") or "1", "amount")
        found = await _executed(scope, operation, {**asked, "amount": amount})
        shown = [_show_quote(row) for row in found["quotes"]]
        return json_response({"delivery_methods": shown, "params": {**asked, "amount": str(amount)}})

    return quoted


def _sellers(operation: FacadeOperation) -> Callable[[web.Request], Any]:
    async def listed(request: web.Request) -> web.Response:
        scope = engine.admit_to(request, "marketplace", engine.VIEW, operation)
        asked = _asked(parameters(request.rel_url.raw_query_string))
        found = await _executed(scope, operation, asked)
        return json_response({"sellers": [_show_seller(row) for row in found["sellers"]]})

    return listed


def _asked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Read which product is asked about, and where it is to go."""
    for name in ("product_id", "zipcode"):
        if given.get(name) in (None, ""):
            raise ValidationFailed(f"{name} is required", field=name, code="required")
    product = _read(id_from, given["product_id"], "product_id")
    zipcode = given["zipcode"]
    if product is None:
        raise ValidationFailed("product_id is required", field="product_id", code="required")
    if not isinstance(zipcode, str):
        raise ValidationFailed("zipcode is a list; expected a CEP of 8 digits", field="zipcode")
    return {"product_id": product, "zipcode": zipcode}


def _read(read: Callable[[Any, str], Any], value: Any, label: str) -> Any:
    try:
        return read(value, label)
    except Malformed as error:
        raise ValidationFailed(str(error), field=label) from error


async def _executed(scope: Any, operation: FacadeOperation, variables: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return await execute(scope, operation, variables)
    except ValidationFailed as refusal:
        raise ValidationFailed(_rename(refusal.message), fields=refusal.fields) from refusal
