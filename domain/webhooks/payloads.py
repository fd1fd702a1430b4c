"""Describe the `data` object of every event: for documentation, and for the order of its keys.

The outbox stores data as `jsonb`, which loses the key order; receivers get the documented order (docs/reference/shared.md#event-data).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain import events
from kernel.payload_fields import INTEGER, OBJECTS, TEXT, TIME, UUID_TEXT, PayloadField
from kernel.product_fields import PRODUCT_RECORD

_CUSTOMER = (
    PayloadField("id", f"{UUID_TEXT} or null", "The customer's account; null for a guest."),
    PayloadField("name", TEXT, "The name."),
    PayloadField("email", TEXT, "The e-mail address."),
)
_ITEMS = (
    PayloadField("product_id", f"{UUID_TEXT} or null", "The product; null for a line imported without one."),
    PayloadField("name", TEXT, "The product's name when it was sold."),
    PayloadField("quantity", INTEGER, "The quantity."),
    PayloadField("price_cents", INTEGER, "The unit price, in cents."),
)
_FISCAL = (
    PayloadField("link_nota", f"{TEXT} or null", "The address of the invoice page."),
    PayloadField("codigo_pedido_erp", f"{TEXT} or null", "The order's id in the ERP."),
    PayloadField("chave_nota", f"{TEXT} or null", "The access key, 44 digits, with letters in the CNPJ only."),
    PayloadField("pdf_nota", f"{TEXT} or null", "The address of the PDF."),
    PayloadField("nota_fiscal", f"{TEXT} or null", "The invoice number."),
    PayloadField("chave_nota_valid", "boolean or null", "Whether the check digit of the access key is right."),
)
_ORDER = (
    PayloadField("id", UUID_TEXT, "The order."),
    PayloadField("status", TEXT, "The status code."),
    PayloadField("total_cents", INTEGER, "The total, in cents."),
    PayloadField("currency", TEXT, "ISO 4217."),
    PayloadField("customer", "object", "The customer.", _CUSTOMER),
    PayloadField("items", OBJECTS, "The order lines.", _ITEMS),
    PayloadField("created_at", TIME, "When it was placed."),
    PayloadField("previous_status", f"{TEXT} or null", "The previous status code, if the status changed."),
    PayloadField("tracking_code", f"{TEXT} or null", "The tracking code of the shipment."),
    PayloadField(
        "fiscal_data",
        "object",
        "The invoice (nota fiscal) without its XML; its members are null where there is none.",
        _FISCAL,
    ),
)


def _deleted(record: str) -> tuple[PayloadField, ...]:
    return (PayloadField("id", UUID_TEXT, f"The {record}."), PayloadField("deleted_at", TIME, "When it was deleted."))


_PRODUCT_DELETED = _deleted("product")
_USER = (
    PayloadField("id", UUID_TEXT, "The user."),
    PayloadField("name", TEXT, "The name."),
    PayloadField("email", TEXT, "The e-mail address."),
    PayloadField("role", TEXT, "`admin`, `vendor` or `customer`."),
    PayloadField("created_at", TIME, "When the account was created."),
)
_CHECKOUT = (
    PayloadField("cart_id", UUID_TEXT, "The cart."),
    PayloadField("order_id", UUID_TEXT, "The order it became."),
    PayloadField("total_cents", INTEGER, "The total, in cents."),
    PayloadField("currency", TEXT, "ISO 4217."),
    PayloadField("customer", "object", "The customer.", _CUSTOMER),
    PayloadField("items", OBJECTS, "The order lines.", _ITEMS),
    PayloadField("completed_at", TIME, "When the checkout finished."),
)
_CART = (
    PayloadField("id", UUID_TEXT, "The cart."),
    PayloadField("customer", "object or null", "The customer, null while unknown.", _CUSTOMER),
    PayloadField("items", OBJECTS, "The cart's items.", _ITEMS),
    PayloadField("total_cents", INTEGER, "The total, in cents."),
    PayloadField("currency", TEXT, "ISO 4217."),
    PayloadField("updated_at", TIME, "When it was last changed."),
)
_IMAGE = (PayloadField("url", TEXT, "The address."), PayloadField("alt", TEXT, "The alternative text."))
_CATEGORY = (
    PayloadField("id", UUID_TEXT, "The category."),
    PayloadField("name", TEXT, "The name."),
    PayloadField("slug", TEXT, "The name in addresses."),
    PayloadField("parent_id", f"{UUID_TEXT} or null", "The category above; null for a root category."),
    PayloadField("position", INTEGER, "The position among its siblings."),
    PayloadField("status", TEXT, "`A` active, `D` disabled, `H` hidden."),
    PayloadField("description", TEXT, "The description, HTML."),
    PayloadField("image", "object or null", "The image.", _IMAGE),
    PayloadField("created_at", TIME, "When it was created."),
    PayloadField("updated_at", TIME, "When it was last changed."),
)
_CUSTOMER_RECORD = (
    PayloadField("id", UUID_TEXT, "The customer."),
    PayloadField("name", TEXT, "The name; empty once anonymized."),
    PayloadField("email", TEXT, "The e-mail address; empty for none."),
    PayloadField("status", TEXT, "`A` active, `D` disabled, `P` pending."),
    PayloadField("created_at", TIME, "When the account was created."),
    PayloadField("updated_at", TIME, "When it was last changed."),
)
_SHIPPED_ITEMS = (
    PayloadField("product_id", f"{UUID_TEXT} or null", "The product; null for a line imported without one."),
    PayloadField("name", TEXT, "The product's name when it was sold."),
    PayloadField("quantity", INTEGER, "The units in this shipment."),
)
_SHIPMENT = (
    PayloadField("id", UUID_TEXT, "The shipment."),
    PayloadField("order_id", UUID_TEXT, "The order."),
    PayloadField("status", TEXT, "The status code."),
    PayloadField("carrier", TEXT, "The carrier."),
    PayloadField("tracking_number", TEXT, "The tracking code."),
    PayloadField("items", OBJECTS, "What was sent.", _SHIPPED_ITEMS),
    PayloadField("created_at", TIME, "When it was recorded."),
    PayloadField("updated_at", TIME, "When it was last changed."),
)
_REFUND = (
    PayloadField("id", UUID_TEXT, "The refund."),
    PayloadField("order_id", UUID_TEXT, "The order."),
    PayloadField("amount_cents", INTEGER, "What was returned now, in cents."),
    PayloadField("refunded_cents", INTEGER, "What was returned for the order in all, in cents."),
    PayloadField("currency", TEXT, "ISO 4217."),
    PayloadField("payment_status", TEXT, "The payment status of the order after it."),
    PayloadField("refunded_at", TIME, "When it was recorded."),
)
_COMBINATIONS = (
    PayloadField("id", UUID_TEXT, "The combination."),
    PayloadField("sku", TEXT, "Its SKU."),
    PayloadField("stock", INTEGER, "The units that can still be sold."),
)
_STOCK = (
    PayloadField("id", UUID_TEXT, "The product."),
    PayloadField("sku", f"{TEXT} or null", "Its SKU."),
    PayloadField("stock", INTEGER, "The units that can still be sold."),
    PayloadField("combinations", OBJECTS, "The combinations of its options.", _COMBINATIONS),
)
_PING = (
    PayloadField("endpoint_id", UUID_TEXT, "The endpoint being tested."),
    PayloadField("events", "array of strings", "The events it is subscribed to."),
)

PAYLOADS: Mapping[str, tuple[PayloadField, ...]] = {
    events.ORDER_CREATED: _ORDER,
    events.ORDER_UPDATED: _ORDER,
    events.ORDER_CANCELLED: _ORDER,
    events.PRODUCT_CREATED: PRODUCT_RECORD,
    events.PRODUCT_UPDATED: PRODUCT_RECORD,
    events.PRODUCT_DELETED: _PRODUCT_DELETED,
    events.USER_REGISTERED: _USER,
    events.CHECKOUT_COMPLETED: _CHECKOUT,
    events.CART_UPDATED: _CART,
    events.CART_ABANDONED: _CART,
    events.CATEGORY_CREATED: _CATEGORY,
    events.CATEGORY_UPDATED: _CATEGORY,
    events.CATEGORY_DELETED: _deleted("category"),
    events.CUSTOMER_CREATED: _CUSTOMER_RECORD,
    events.CUSTOMER_UPDATED: _CUSTOMER_RECORD,
    events.CUSTOMER_DELETED: _deleted("customer"),
    events.SHIPMENT_CREATED: _SHIPMENT,
    events.SHIPMENT_UPDATED: _SHIPMENT,
    events.SHIPMENT_DELETED: _deleted("shipment"),
    events.REFUND_CREATED: _REFUND,
    events.STOCK_CHANGED: _STOCK,
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
