"""Resolve shipping methods and shipments."""

from __future__ import annotations

from typing import Any

from strawberry import Info

from auth.access import Access, open_to_shoppers
from domain.orders import shipments
from domain.orders.tracking_events import add_tracking_events
from domain.shipping.methods import SHIPPING_METHOD_RECORDS
from kernel.errors import ValidationFailed
from resolvers.engine.complete import load_record
from resolvers.entity_mutations import build_entity_mutations
from resolvers.entity_queries import build_entity_queries
from resolvers.mutation_helpers import delete_field, rename_error_fields, rename_fields, unless_changed
from resolvers.pricing import rename_destination_ids
from schema.declaration import declare
from schema.fields import root_field
from schema.inputs import provided_fields
from schema.scalars import ID
from schema.types.order_records import ShipmentObject
from schema.types.orders import ShipmentInput
from schema.types.pricing import ShippingMethodInput, ShippingMethodObject
from schema.types.tracking import TrackingEventInput

_READ_METHODS = open_to_shoppers("view_shipping", "read_shipping")
_WRITE_METHODS = Access(privileges=("manage_shipping",), app_scope="write_shipping")
_WRITE_SHIPMENTS = Access(
    privileges=("manage_orders",),
    app_scope="write_orders",
    vendor=True,
    note="Vendors can ship only their own order lines.",
)
_REPORT_TRACKING = Access(privileges=("manage_orders",), app_scope="write_orders")

_SHIPMENT_FIELD_NAMES = {"shipping_method_id": "shipping_method", "order_id": "order", "user_id": "user"}


def _shipment_fields(input: ShipmentInput) -> tuple[Any, list[tuple[object, int]] | None, dict[str, Any]]:
    fields = rename_fields(input, _SHIPMENT_FIELD_NAMES)
    order, lines = fields.pop("order", None), fields.pop("lines", None)
    units = None if lines is None else [(line["line_id"], line["quantity"]) for line in lines]
    return order, units, fields


@declare
class ShippingMutations:
    """Mutations of shipments."""

    @root_field(_WRITE_SHIPMENTS)
    async def shipment_create(self, info: Info, input: ShipmentInput) -> ShipmentObject | None:
        """Record a shipment of an order; without `lines` it contains all unshipped units."""
        order, units, fields = _shipment_fields(input)
        if order is None:
            raise ValidationFailed("order_id is required", field="order_id", code="required")
        with rename_error_fields(_SHIPMENT_FIELD_NAMES):
            number = await shipments.create_shipment(info.context.scope, order, units, fields)
        return await load_record(info, number)

    @root_field(_WRITE_SHIPMENTS)
    @unless_changed(ShipmentObject)
    async def shipment_update(self, info: Info, id: ID, input: ShipmentInput) -> ShipmentObject | None:
        """Update a shipment; omitted fields stay unchanged, the order can't be changed."""
        _, units, fields = _shipment_fields(input)
        with rename_error_fields(_SHIPMENT_FIELD_NAMES):
            number = await shipments.update_shipment(info.context.scope, id, fields, units)
        return await load_record(info, number)

    @root_field(_REPORT_TRACKING)
    async def shipment_add_tracking_events(
        self, info: Info, id: ID, events: list[TrackingEventInput]
    ) -> ShipmentObject | None:
        """Add what a carrier reported of a shipment, up to 100 events; those that it has already are left out."""
        values = [provided_fields(event) for event in events]
        number = await add_tracking_events(info.context.scope, id, values)
        return await load_record(info, number)

    shipment_delete = delete_field(_WRITE_SHIPMENTS, "Delete a shipment.", shipments.delete_shipment)


QUERIES = (
    build_entity_queries(ShippingMethodObject, access=_READ_METHODS),
    build_entity_queries(ShipmentObject),
)
MUTATIONS = (
    ShippingMutations,
    build_entity_mutations(
        ShippingMethodObject,
        ShippingMethodInput,
        SHIPPING_METHOD_RECORDS,
        _WRITE_METHODS,
        field_names={"tax_ids": "taxes", "destination_id": "destination"},
        transform=rename_destination_ids,
        delete_description="Delete a shipping method; it remains visible on existing orders.",
    ),
)
