"""Serve the details of a vendor's product: options, attachments and required products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from aiohttp import web

from kernel.errors import NotFound, ValidationFailed
from resolvers.execute import FacadeOperation, authorize, execute
from rest_facade.legacy.queries import parse_query
from rest_facade.legacy.reshape import dialect_renderer, record_renderer
from rest_facade.legacy.resource import Record, RecordField
from rest_facade.legacy.resources.options import OPTIONS
from rest_facade.legacy.resources.products import PRODUCTS
from rest_facade.legacy.value_types import BIGINT, ID
from rest_facade.responses import json_response
from rest_facade.routing import SCOPE, Handler

RenderRows: TypeAlias = Callable[[list[Record]], Any]

_PRODUCT = "product_id"
_render_option = record_renderer(OPTIONS.fields, prepare=OPTIONS.prepare)
_render_product = dialect_renderer(PRODUCTS).contract
_render_attachment = record_renderer((RecordField("attachment_id", ID), RecordField("filesize", BIGINT)))


def options(operation: FacadeOperation) -> Handler:
    """Build the handler that returns a product's options by id."""
    return _detail_handler(
        operation, "options", lambda rows: {row["option_id"]: row for row in map(_render_option, rows)}
    )


def attachments(operation: FacadeOperation) -> Handler:
    """Build the handler that lists a product's attachments."""
    return _detail_handler(operation, "attachments", lambda rows: [_render_attachment(row) for row in rows])


def required_products(operation: FacadeOperation) -> Handler:
    """Build the handler that lists a product's required products that belong to the vendor."""
    return _detail_handler(operation, "required_products", lambda rows: [_render_product(row) for row in rows])


def _detail_handler(operation: FacadeOperation, name: str, render: RenderRows) -> Handler:
    async def handler(request: web.Request) -> web.Response:
        scope = authorize(request[SCOPE], operation)
        reference = parse_query(request.rel_url.raw_query_string).get(_PRODUCT)
        if not isinstance(reference, str) or not reference.strip():
            raise ValidationFailed(f"{_PRODUCT} is required", field=_PRODUCT, code="required")
        product = (await execute(scope, operation, {"id": reference.strip()}))["product"]
        if product is None:
            raise NotFound(PRODUCTS.display_name)
        return json_response({name: render(product[name])})

    return handler
