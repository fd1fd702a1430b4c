"""Assemble what can be asked and done about shipping methods and shipments."""

from __future__ import annotations

from typing import Any

import strawberry
from strawberry import Info

from auth.access import Access
from domain.orders import shipments
from domain.shipping import methods
from domain.shipping.read import SHIPMENTS, SHIPPING_METHODS
from kernel.errors import ValidationFailed
from resolvers.changes import DeletedRecord, deleted, renamed, shown, words
from resolvers.pricing import with_destinations
from resolvers.reads import reads
from resolvers.writes import Writer, writes
from schema.fields import root
from schema.inputs.orders import ShipmentInput, ShippingMethodInput
from schema.scalars import Ident
from schema.types.orders import ShipmentObject, ShippingMethodObject

_READ_METHODS = Access(
    privileges=("view_shipping",),
    app_scope="read_shipping",
    vendor=True,
    customer=True,
    storefront="storefront:read",
)
_WRITE_METHODS = Access(privileges=("manage_shipping",), app_scope="write_shipping")
_WRITE_SHIPMENTS = Access(
    privileges=("manage_orders",),
    app_scope="write_orders",
    vendor=True,
    note="A vendor ships its own lines only.",
)

METHOD_WRITER = Writer(
    create=methods.create_shipping_method,
    update=methods.update_shipping_method,
    delete=methods.delete_shipping_method,
    access=_WRITE_METHODS,
    words={"vendor_id": "vendor", "tax_ids": "taxes", "destination_id": "destination"},
    adjust=with_destinations,
    texts=(
        "Make a way to deliver.",
        "Change a way to deliver.",
        "Delete a way to deliver; orders that travelled with it go on showing it.",
    ),
)
_SHIPMENT_WORDS = {"shipping_method_id": "shipping_method", "order_id": "order", "user_id": "user"}


def _shipment(input: ShipmentInput) -> tuple[Any, list[tuple[object, int]] | None, dict[str, Any]]:
    given = renamed(input, _SHIPMENT_WORDS)
    order, lines = given.pop("order", None), given.pop("lines", None)
    units = None if lines is None else [(line["line_id"], line["quantity"]) for line in lines]
    return order, units, given


@strawberry.type
class ShippingMutations:
    """What can be done with shipments."""

    @root(
        _WRITE_SHIPMENTS, "Record a parcel of an order; without `lines` it holds everything not yet shipped."
    )
    async def shipment_create(self, info: Info, input: ShipmentInput) -> ShipmentObject | None:
        """Record a shipment."""
        order, units, given = _shipment(input)
        if order is None:
            raise ValidationFailed("order_id is required", field="order_id", code="required")
        with words(_SHIPMENT_WORDS):
            made = await shipments.record_shipment(info.context.scope, order, units, given)
        return await shown(info, SHIPMENTS, made)

    @root(_WRITE_SHIPMENTS, "Change a shipment; its order stays.")
    async def shipment_update(self, info: Info, id: Ident, input: ShipmentInput) -> ShipmentObject | None:
        """Change a shipment."""
        _, units, given = _shipment(input)
        with words(_SHIPMENT_WORDS):
            changed = await shipments.update_shipment(info.context.scope, id, given, units)
        return await shown(info, SHIPMENTS, changed)

    @root(_WRITE_SHIPMENTS, "Withdraw a shipment.")
    async def shipment_delete(self, info: Info, id: Ident) -> DeletedRecord:
        """Delete a shipment."""
        await shipments.delete_shipment(info.context.scope, id)
        return deleted(id)


QUERIES = (
    reads(
        ShippingMethodObject, SHIPPING_METHODS, "shipping_method", "shipping_methods", access=_READ_METHODS
    ),
    reads(ShipmentObject, SHIPMENTS, "shipment", "shipments"),
)
MUTATIONS = (
    ShippingMutations,
    writes(ShippingMethodObject, SHIPPING_METHODS, "shipping_method", ShippingMethodInput, METHOD_WRITER),
)
