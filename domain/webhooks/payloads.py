"""Describe the `data` object of every event: for documentation, and for the order of its keys.

The outbox stores data as `jsonb`, which loses the key order; receivers get the documented order (docs/reference/shared.md#event-data).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from domain import events


@dataclass(frozen=True, slots=True)
class PayloadField:
    """A key of an object: its documented type and description, and the fields of a nested object."""

    name: str
    type: str
    text: str
    fields: tuple[PayloadField, ...] = ()


_UUID, _TEXT, _COUNT, _TIME = "string (UUID)", "string", "integer", "string (RFC 3339, UTC)"

_CUSTOMER = (
    PayloadField("id", f"{_UUID} or null", "The customer's account; null for a guest."),
    PayloadField("name", _TEXT, "The name."),
    PayloadField("email", _TEXT, "The e-mail address."),
)
_ITEMS = (
    PayloadField("product_id", f"{_UUID} or null", "The product; null for a line imported without one."),
    PayloadField("name", _TEXT, "The product's name when it was sold."),
    PayloadField("quantity", _COUNT, "The quantity."),
    PayloadField("price_cents", _COUNT, "The unit price, in cents."),
)
_ORDER = (
    PayloadField("id", _UUID, "The order."),
    PayloadField("status", _TEXT, "The status code."),
    PayloadField("total_cents", _COUNT, "The total, in cents."),
    PayloadField("currency", _TEXT, "ISO 4217."),
    PayloadField("customer", "object", "The customer.", _CUSTOMER),
    PayloadField("items", "array of objects", "The order lines.", _ITEMS),
    PayloadField("created_at", _TIME, "When it was placed."),
    PayloadField("previous_status", f"{_TEXT} or null", "The previous status code, if the status changed."),
    PayloadField("tracking_code", f"{_TEXT} or null", "The tracking code of the shipment."),
)
_PRODUCT = (
    PayloadField("id", _UUID, "The product."),
    PayloadField("name", _TEXT, "Its name."),
    PayloadField("sku", _TEXT, "The SKU."),
    PayloadField("slug", _TEXT, "The part of the URL that identifies it."),
    PayloadField("description", _TEXT, "HTML, unmodified."),
    PayloadField("short_description", _TEXT, "A short description, HTML."),
    PayloadField("status", _TEXT, "The status code."),
    PayloadField("price_cents", _COUNT, "The price, in cents."),
    PayloadField("compare_at_cents", f"{_COUNT} or null", "The compare-at price, in cents."),
    PayloadField("currency", _TEXT, "ISO 4217."),
    PayloadField("stock", _COUNT, "The available stock."),
    PayloadField("category_id", f"{_UUID} or null", "The main category."),
    PayloadField(
        "category",
        "object or null",
        "The main category with its name.",
        (PayloadField("id", _UUID, "The category."), PayloadField("name", _TEXT, "Its name.")),
    ),
    PayloadField(
        "images",
        "array of objects",
        "The images, the main one first.",
        (PayloadField("url", _TEXT, "The image's URL."), PayloadField("alt", _TEXT, "The alternative text.")),
    ),
    PayloadField("created_at", _TIME, "When it was created."),
    PayloadField("updated_at", _TIME, "When it was last changed."),
)
_PRODUCT_DELETED = (
    PayloadField("id", _UUID, "The product."),
    PayloadField("deleted_at", _TIME, "When it was deleted."),
)
_USER = (
    PayloadField("id", _UUID, "The user."),
    PayloadField("name", _TEXT, "The name."),
    PayloadField("email", _TEXT, "The e-mail address."),
    PayloadField("role", _TEXT, "`admin`, `vendor` or `customer`."),
    PayloadField("created_at", _TIME, "When the account was created."),
)
_CHECKOUT = (
    PayloadField("cart_id", _UUID, "The cart."),
    PayloadField("order_id", _UUID, "The order it became."),
    PayloadField("total_cents", _COUNT, "The total, in cents."),
    PayloadField("currency", _TEXT, "ISO 4217."),
    PayloadField("customer", "object", "The customer.", _CUSTOMER),
    PayloadField("items", "array of objects", "The order lines.", _ITEMS),
    PayloadField("completed_at", _TIME, "When the checkout finished."),
)
_CART = (
    PayloadField("id", _UUID, "The cart."),
    PayloadField("customer", "object or null", "The customer, null while unknown.", _CUSTOMER),
    PayloadField("items", "array of objects", "The cart's items.", _ITEMS),
    PayloadField("total_cents", _COUNT, "The total, in cents."),
    PayloadField("currency", _TEXT, "ISO 4217."),
    PayloadField("updated_at", _TIME, "When it was last changed."),
)
_PING = (
    PayloadField("endpoint_id", _UUID, "The endpoint being tested."),
    PayloadField("events", "array of strings", "The events it is subscribed to."),
)

PAYLOADS: Mapping[str, tuple[PayloadField, ...]] = {
    events.ORDER_CREATED: _ORDER,
    events.ORDER_UPDATED: _ORDER,
    events.ORDER_CANCELLED: _ORDER,
    events.PRODUCT_CREATED: _PRODUCT,
    events.PRODUCT_UPDATED: _PRODUCT,
    events.PRODUCT_DELETED: _PRODUCT_DELETED,
    events.USER_REGISTERED: _USER,
    events.CHECKOUT_COMPLETED: _CHECKOUT,
    events.CART_UPDATED: _CART,
    "ping": _PING,
}


def order_keys(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event's data with its keys in the documented order; undocumented ones come last."""
    return _order_fields(PAYLOADS.get(name, ()), data)


def _order_fields(fields: tuple[PayloadField, ...], data: Mapping[str, Any]) -> dict[str, Any]:
    ordered = {field.name: _order_value(field, data[field.name]) for field in fields if field.name in data}
    return ordered | {name: value for name, value in data.items() if name not in ordered}


def _order_value(field: PayloadField, value: Any) -> Any:
    if not field.fields:
        return value
    if isinstance(value, dict):
        return _order_fields(field.fields, value)
    if isinstance(value, list):
        return [_order_fields(field.fields, item) if isinstance(item, dict) else item for item in value]
    return value
