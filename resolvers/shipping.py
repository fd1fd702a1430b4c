"""Assemble what can be asked and done about shipping methods and shipments."""

from __future__ import annotations

from auth.access import Access
from domain.shipping.read import SHIPMENTS, SHIPPING_METHODS
from resolvers.reads import reads
from schema.types.orders import Shipment, ShippingMethod

_METHODS = Access(
    privileges=("view_shipping",), app_scope="read_shipping", vendor=True, customer=True, storefront="storefront:read"
)

QUERIES = (
    reads(ShippingMethod, SHIPPING_METHODS, "shipping_method", "shipping_methods", access=_METHODS),
    reads(Shipment, SHIPMENTS, "shipment", "shipments"),
)
