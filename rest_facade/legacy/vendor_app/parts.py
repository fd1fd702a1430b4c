"""Show what belongs to one of the vendor's products: options, files, and the products it is sold with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from aiohttp import web

from kernel.errors import NotFound, ValidationFailed
from resolvers.execute import FacadeOperation, authorize, execute
from rest_facade.legacy.queries import parameters
from rest_facade.legacy.reshape import row_shower
from rest_facade.legacy.resource import Record, RecordField
from rest_facade.legacy.resources.options import OPTIONS
from rest_facade.legacy.resources.products import PRODUCTS
from rest_facade.legacy.value_types import ID, NUMBER
from rest_facade.responses import json_response
from rest_facade.routing import Handler, scope_of

Shape: TypeAlias = Callable[[list[Record]], Any]

_PRODUCT = "product_id"
_show_option = row_shower(OPTIONS.fields, prepare=OPTIONS.prepare)
_show_product = row_shower(PRODUCTS.fields, prepare=PRODUCTS.prepare)
_show_attachment = row_shower((RecordField("attachment_id", ID), RecordField("filesize", NUMBER)))


def options(operation: FacadeOperation) -> Handler:
    """Make the handler that shows a product's options, by their id."""
    return _part(
        operation, "options", lambda rows: {row["option_id"]: row for row in map(_show_option, rows)}
    )


def attachments(operation: FacadeOperation) -> Handler:
    """Make the handler that lists the files that go with a product."""
    return _part(operation, "attachments", lambda rows: [_show_attachment(row) for row in rows])


def required_products(operation: FacadeOperation) -> Handler:
    """Make the handler that lists the products that a product is sold with, those of them that are the vendor's."""
    return _part(operation, "required_products", lambda rows: [_show_product(row) for row in rows])


def _part(operation: FacadeOperation, name: str, shape: Shape) -> Handler:
    async def handler(request: web.Request) -> web.Response:
        scope = scope_of(request)
        authorize(scope, operation)
        named = parameters(request.rel_url.raw_query_string).get(_PRODUCT)
        if not isinstance(named, str) or not named.strip():
            raise ValidationFailed(f"{_PRODUCT} is required", field=_PRODUCT, code="required")
        product = (await execute(scope, operation, {"id": named.strip()}))["product"]
        if product is None:
            raise NotFound(PRODUCTS.thing)
        return json_response({name: shape(product[name])})

    return handler
