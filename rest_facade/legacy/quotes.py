"""Serve shipping quotes, `GET delivery_methods`, and vendor availability, `GET sellers_availability`, for a postal code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web

from kernel.errors import ValidationFailed
from kernel.text import InvalidValue
from resolvers.execute import FacadeOperation, execute
from rest_facade.legacy import engine
from rest_facade.legacy.queries import parse_query
from rest_facade.legacy.reshape import message_renamer, record_renderer
from rest_facade.legacy.resource import RecordField
from rest_facade.legacy.value_types import BIGINT, FLAG, ID, MONEY, parse_id, parse_integer
from rest_facade.responses import json_response
from rest_facade.routing import Credential, Route

QUOTE_FIELDS = (
    RecordField("shipping_id", ID),
    RecordField("price", MONEY),
    RecordField("company_id", ID),
    RecordField("warehouse_id", ID),
)
VENDOR_FIELDS = (
    RecordField("company_id", ID),
    RecordField("product_id", ID),
    RecordField("price", MONEY),
    RecordField("amount", BIGINT),
    RecordField("delivers", FLAG),
)
_render_quote = record_renderer(QUOTE_FIELDS)
_render_vendor = record_renderer(VENDOR_FIELDS)
# Terms of GraphQL error messages renamed for the legacy API.
_rename = message_renamer((), {"product": "product_id", "quantity": "amount"})


def routes(operations: Mapping[str, FacadeOperation]) -> list[Route]:
    """List the two routes."""
    quotes, vendors = (operations[name] for name in ("DeliveryMethods", "VendorAvailability"))
    return [
        Route("GET", "/api/delivery_methods", _quotes_handler(quotes), Credential.LEGACY_ADMIN),
        Route("GET", "/api/sellers_availability", _vendors_handler(vendors), Credential.LEGACY_ADMIN),
    ]


def _quotes_handler(operation: FacadeOperation) -> Callable[[web.Request], Any]:
    async def list_quotes(request: web.Request) -> web.Response:
        scope = engine.authorize_area(request, "shipping", engine.VIEW, operation)
        parameters = parse_query(request.rel_url.raw_query_string)
        destination = _parse_destination(parameters)
        amount = _parse(parse_integer, parameters.get("amount") or "1", "amount")
        data = await _execute(scope, operation, {**destination, "amount": amount})
        quotes = [_render_quote(row) for row in data["quotes"]]
        return json_response({"delivery_methods": quotes, "params": {**destination, "amount": str(amount)}})

    return list_quotes


def _vendors_handler(operation: FacadeOperation) -> Callable[[web.Request], Any]:
    async def list_vendors(request: web.Request) -> web.Response:
        scope = engine.authorize_area(request, "marketplace", engine.VIEW, operation)
        destination = _parse_destination(parse_query(request.rel_url.raw_query_string))
        data = await _execute(scope, operation, destination)
        return json_response({"sellers": [_render_vendor(row) for row in data["vendors"]]})

    return list_vendors


def _parse_destination(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parse the product and its destination postal code."""
    for name in ("product_id", "zipcode"):
        if parameters.get(name) in (None, ""):
            raise ValidationFailed(f"{name} is required", field=name, code="required")
    product = _parse(parse_id, parameters["product_id"], "product_id")
    zipcode = parameters["zipcode"]
    if product is None:
        raise ValidationFailed("product_id is required", field="product_id", code="required")
    if not isinstance(zipcode, str):
        raise ValidationFailed("zipcode is a list; expected a CEP of 8 digits", field="zipcode")
    return {"product_id": product, "zipcode": zipcode}


def _parse(parse: Callable[[Any, str], Any], value: Any, label: str) -> Any:
    try:
        return parse(value, label)
    except InvalidValue as error:
        raise ValidationFailed(str(error), field=label) from error


async def _execute(scope: Any, operation: FacadeOperation, variables: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return await execute(scope, operation, variables)
    except ValidationFailed as error:
        raise ValidationFailed(_rename(error.message), fields=error.fields) from error
