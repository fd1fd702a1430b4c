"""The types of events: one table says of each its name, subject, scope, data and when it is emitted (docs/events.md).

Everything else derives from it: subscriptions, the event feed, the order of the data's keys, the documentation. A type that lacks a part
fails when this module is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from auth.app_scopes import APP_SCOPES
from kernel.errors import ValidationFailed
from kernel.payload_fields import INTEGER, OBJECTS, TEXT, TIME, UUID_TEXT, PayloadField
from kernel.product_fields import PRODUCT_RECORD

ORDER_CREATED = "order.created"
ORDER_UPDATED = "order.updated"
ORDER_CANCELLED = "order.cancelled"
PRODUCT_CREATED = "product.created"
PRODUCT_UPDATED = "product.updated"
PRODUCT_DELETED = "product.deleted"
USER_REGISTERED = "user.registered"
CHECKOUT_COMPLETED = "checkout.completed"
CART_UPDATED = "cart.updated"
CART_ABANDONED = "cart.abandoned"
CATEGORY_CREATED = "category.created"
CATEGORY_UPDATED = "category.updated"
CATEGORY_DELETED = "category.deleted"
COLLECTION_CREATED = "collection.created"
COLLECTION_UPDATED = "collection.updated"
COLLECTION_DELETED = "collection.deleted"
CUSTOMER_CREATED = "customer.created"
CUSTOMER_UPDATED = "customer.updated"
CUSTOMER_DELETED = "customer.deleted"
SHIPMENT_CREATED = "shipment.created"
SHIPMENT_UPDATED = "shipment.updated"
SHIPMENT_DELETED = "shipment.deleted"
REFUND_CREATED = "refund.created"
PAYOUT_CREATED = "payout.created"
PAYOUT_PAID = "payout.paid"
PAYMENT_CREATED = "payment.created"
PAYMENT_PAID = "payment.paid"
PAYMENT_FAILED = "payment.failed"
PAYMENT_REFUNDED = "payment.refunded"
PAYMENT_CANCELLED = "payment.cancelled"
PAYMENT_DISPUTED = "payment.disputed"
PAYMENT_EVENTS = (
    PAYMENT_CREATED,
    PAYMENT_PAID,
    PAYMENT_FAILED,
    PAYMENT_CANCELLED,
    PAYMENT_REFUNDED,
    PAYMENT_DISPUTED,
)
STOCK_CHANGED = "stock.changed"
PING = "ping"
"""The event that tests an endpoint; not subscribable, and allowed without scopes."""

ORDER, PRODUCT, USER, CART = "order", "product", "user", "cart"
# Events with other data than those of the record have subjects, and therefore sequences, of their own: a receiver drops stale ones.
CATEGORY, COLLECTION, CUSTOMER = "category", "collection", "customer"
SHIPMENT, REFUND, PAYMENT = "shipment", "refund", "payment"
PAYOUT, STOCK = "payout", "stock"

# --- Data ------------------------------------------------------------------------------------------------------------------

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
_COLLECTION = (
    PayloadField("id", UUID_TEXT, "The collection."),
    PayloadField("name", TEXT, "The name."),
    PayloadField("slug", TEXT, "The name in addresses."),
    PayloadField("position", INTEGER, "The position among the collections."),
    PayloadField("status", TEXT, "`A` active, `D` disabled."),
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
_PAYOUT = (
    PayloadField("id", UUID_TEXT, "The payout."),
    PayloadField("number", INTEGER, "Its number in the store."),
    PayloadField("vendor_id", UUID_TEXT, "The vendor."),
    PayloadField("amount_cents", INTEGER, "The amount, in cents."),
    PayloadField("currency", TEXT, "ISO 4217."),
    PayloadField("status", TEXT, "`pending` or `paid`."),
    PayloadField("created_at", TIME, "When it was created."),
    PayloadField("paid_at", f"{TIME} or null", "When it was transferred."),
)
_FAILURE = (
    PayloadField("code", TEXT, "`declined`, `technical`, or a word of the gateway."),
    PayloadField("message", TEXT, "What the customer may read."),
)
_PAYMENT = (
    PayloadField("id", UUID_TEXT, "The payment."),
    PayloadField("order_id", UUID_TEXT, "The order."),
    PayloadField("number", TEXT, "Its number: the order's, and its own within it."),
    PayloadField("kind", TEXT, "`PIX`, `BOLETO`, `CARD` or `OFFLINE`."),
    PayloadField("status", TEXT, "Its status after the change."),
    PayloadField("amount_cents", INTEGER, "The amount, in cents."),
    PayloadField("refunded_cents", INTEGER, "What was refunded of it in all, in cents."),
    PayloadField("currency", TEXT, "ISO 4217."),
    PayloadField("installments", INTEGER, "The number of instalments."),
    PayloadField("gateway", TEXT, "The gateway; empty for none."),
    PayloadField("gateway_charge_id", f"{TEXT} or null", "The gateway's charge."),
    PayloadField("failure", "object or null", "Why it failed.", _FAILURE),
    PayloadField("expires_at", f"{TIME} or null", "Until when it can be paid."),
    PayloadField("paid_at", f"{TIME} or null", "When it was paid."),
    PayloadField("created_at", TIME, "When it was created."),
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


# --- Types -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EventType:
    """A type of event: the app scope that reads it ("" for all apps), its data, when it is emitted, and the type of its subject."""

    name: str
    scope: str
    data: tuple[PayloadField, ...]
    emitted_when: str
    subject: str = ""

    def __post_init__(self) -> None:
        """Complete the subject, which is the name's beginning by default; raise `ValueError` for a type that lacks a part."""
        object.__setattr__(self, "subject", self.subject or self.name.partition(".")[0])
        if not (self.data and self.emitted_when) or (self.name != PING and self.scope not in APP_SCOPES):
            raise ValueError(
                f"the event type {self.name} needs a scope that reads it, data, and a sentence about when it is emitted"
            )


_TYPES = (
    EventType(ORDER_CREATED, "read_orders", _ORDER, "A new order is created."),
    EventType(ORDER_UPDATED, "read_orders", _ORDER, "An order is updated: status, tracking code, lines, payment, …"),
    EventType(
        ORDER_CANCELLED,
        "read_orders",
        _ORDER,
        "An order is cancelled, or deleted; `order.updated` comes right before it.",
    ),
    EventType(PRODUCT_CREATED, "read_products", PRODUCT_RECORD, "A product is created."),
    EventType(
        PRODUCT_UPDATED,
        "read_products",
        PRODUCT_RECORD,
        "A product or a combination of it is updated; stock changes by orders emit nothing.",
    ),
    EventType(PRODUCT_DELETED, "read_products", _PRODUCT_DELETED, "A product is deleted."),
    EventType(USER_REGISTERED, "read_users", _USER, "A user registers, or is created in any other way."),
    EventType(
        CHECKOUT_COMPLETED, "read_orders", _CHECKOUT, "A checkout finishes; its subject is the cart.", subject=CART
    ),
    EventType(
        CART_UPDATED,
        "read_orders",
        _CART,
        "A cart changes; at most once in 5 seconds for each cart, the last state always.",
    ),
    EventType(
        CART_ABANDONED,
        "read_orders",
        _CART,
        "An open cart with items was not changed for a day (setting `cart_abandoned_hours`); again after each later change.",
    ),
    EventType(CATEGORY_CREATED, "read_categories", _CATEGORY, "A category is created."),
    EventType(CATEGORY_UPDATED, "read_categories", _CATEGORY, "A category is updated."),
    EventType(CATEGORY_DELETED, "read_categories", _deleted("category"), "A category is deleted."),
    EventType(COLLECTION_CREATED, "read_categories", _COLLECTION, "A collection is created."),
    EventType(
        COLLECTION_UPDATED, "read_categories", _COLLECTION, "A collection, its products or their order is updated."
    ),
    EventType(COLLECTION_DELETED, "read_categories", _deleted("collection"), "A collection is deleted."),
    EventType(
        CUSTOMER_CREATED, "read_users", _CUSTOMER_RECORD, "A customer is created, right after `user.registered`."
    ),
    EventType(CUSTOMER_UPDATED, "read_users", _CUSTOMER_RECORD, "The data of a customer change, or are anonymized."),
    EventType(
        CUSTOMER_DELETED, "read_users", _deleted("customer"), "A customer is deleted, or gets another type of account."
    ),
    EventType(SHIPMENT_CREATED, "read_orders", _SHIPMENT, "A shipment is recorded."),
    EventType(SHIPMENT_UPDATED, "read_orders", _SHIPMENT, "A shipment is updated."),
    EventType(
        SHIPMENT_DELETED,
        "read_orders",
        _deleted("shipment"),
        "A shipment is deleted: its units count as unshipped again.",
    ),
    EventType(REFUND_CREATED, "read_orders", _REFUND, "Money of an order is returned."),
    EventType(PAYOUT_CREATED, "read_orders", _PAYOUT, "A payout to a vendor is created, to be transferred."),
    EventType(PAYOUT_PAID, "read_orders", _PAYOUT, "A payout to a vendor was transferred."),
    EventType(PAYMENT_CREATED, "read_orders", _PAYMENT, "A payment is created, before its gateway is called."),
    EventType(PAYMENT_PAID, "read_orders", _PAYMENT, "A payment that was created here is paid."),
    EventType(PAYMENT_FAILED, "read_orders", _PAYMENT, "A payment that was created here fails or expires."),
    EventType(
        PAYMENT_CANCELLED,
        "read_orders",
        _PAYMENT,
        "A payment that was created here is cancelled: by the shop, by its gateway, or because another replaces it.",
    ),
    EventType(
        PAYMENT_DISPUTED,
        "read_orders",
        _PAYMENT,
        "A payment that was created here is charged back by the customer's bank.",
    ),
    EventType(
        PAYMENT_REFUNDED, "read_orders", _PAYMENT, "A payment that was created here is refunded, or a part of it."
    ),
    EventType(
        STOCK_CHANGED,
        "read_products",
        _STOCK,
        "What can be sold of a product or its combinations changes, for whatever reason; about once in 5 seconds, with the last state.",
    ),
    EventType(PING, "", _PING, "An endpoint is tested; not subscribable."),
)
EVENT_TYPES: Mapping[str, EventType] = MappingProxyType({each.name: each for each in _TYPES})
NAMES = tuple(name for name in EVENT_TYPES if name != PING)
"""The events that can be subscribed to."""


def check_names(field: str, names: Iterable[str]) -> None:
    """Raise `ValidationFailed` for the first name in a field that is of no event to subscribe to."""
    for name in names:
        if name not in NAMES:
            message = f"{field} holds {name[:60]!r}; expected any of {', '.join(NAMES)}"
            raise ValidationFailed(message, field=field, code="event_unknown")


def order_keys(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event's data with its keys in the documented order, which `jsonb` loses; undocumented ones come last."""
    known = EVENT_TYPES.get(name)
    return _order_fields(known.data if known is not None else (), data)


def _order_fields(fields: Sequence[PayloadField], data: Mapping[str, Any]) -> dict[str, Any]:
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
