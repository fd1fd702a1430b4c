"""Describe the data of every event, as data: what is documented, and the order in which it is sent.

The outbox keeps data as `jsonb`, which forgets the order of keys; a receiver should find them as they are documented.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from domain import events


@dataclass(frozen=True, slots=True)
class Member:
    """One key of an object: its type as documented, what it says, and the members of what it holds."""

    name: str
    type: str
    text: str
    of: tuple[Member, ...] = ()


_UUID, _TEXT, _COUNT, _TIME = "string (UUID)", "string", "integer", "string (RFC 3339, UTC)"

_CUSTOMER = (
    Member("id", f"{_UUID} or null", "The customer's account; null for a guest."),
    Member("name", _TEXT, "Their name."),
    Member("email", _TEXT, "Their e-mail."),
)
_ITEMS = (
    Member("product_id", f"{_UUID} or null", "The product; null for what was imported without one."),
    Member("name", _TEXT, "Its name when it was sold."),
    Member("quantity", _COUNT, "How many."),
    Member("price_cents", _COUNT, "The price of one, in cents."),
)
_ORDER = (
    Member("id", _UUID, "The order."),
    Member("status", _TEXT, "Its status letter."),
    Member("total_cents", _COUNT, "The total, in cents."),
    Member("currency", _TEXT, "ISO 4217."),
    Member("customer", "object", "Who bought.", _CUSTOMER),
    Member("items", "array of objects", "What was bought.", _ITEMS),
    Member("created_at", _TIME, "When it was placed."),
    Member("previous_status", f"{_TEXT} or null", "The letter it had before, when its status changed."),
    Member("tracking_code", f"{_TEXT} or null", "The parcel's code."),
)
_PRODUCT = (
    Member("id", _UUID, "The product."),
    Member("name", _TEXT, "Its name."),
    Member("sku", _TEXT, "The store's code for it."),
    Member("slug", _TEXT, "Its name in addresses."),
    Member("description", _TEXT, "HTML as the store gave it."),
    Member("short_description", _TEXT, "The same, shorter."),
    Member("status", _TEXT, "Its status letter."),
    Member("price_cents", _COUNT, "The price, in cents."),
    Member("compare_at_cents", f"{_COUNT} or null", "The price it is compared with."),
    Member("currency", _TEXT, "ISO 4217."),
    Member("stock", _COUNT, "What can still be sold."),
    Member("category_id", f"{_UUID} or null", "The main category."),
    Member(
        "category",
        "object or null",
        "The same with its name.",
        (Member("id", _UUID, "The category."), Member("name", _TEXT, "Its name.")),
    ),
    Member(
        "images",
        "array of objects",
        "Pictures, the main one first.",
        (Member("url", _TEXT, "Where it lies."), Member("alt", _TEXT, "What it shows.")),
    ),
    Member("created_at", _TIME, "When it was created."),
    Member("updated_at", _TIME, "When it was last changed."),
)
_PRODUCT_DELETED = (
    Member("id", _UUID, "The product."),
    Member("deleted_at", _TIME, "When it was removed."),
)
_USER = (
    Member("id", _UUID, "The user."),
    Member("name", _TEXT, "Their name."),
    Member("email", _TEXT, "Their e-mail."),
    Member("role", _TEXT, "`admin`, `vendor` or `customer`."),
    Member("created_at", _TIME, "When the account was made."),
)
_CHECKOUT = (
    Member("cart_id", _UUID, "The cart."),
    Member("order_id", _UUID, "The order it became."),
    Member("total_cents", _COUNT, "The total, in cents."),
    Member("currency", _TEXT, "ISO 4217."),
    Member("customer", "object", "Who bought.", _CUSTOMER),
    Member("items", "array of objects", "What was bought.", _ITEMS),
    Member("completed_at", _TIME, "When the checkout finished."),
)
_CART = (
    Member("id", _UUID, "The cart."),
    Member("customer", "object or null", "Who shops, once that is known.", _CUSTOMER),
    Member("items", "array of objects", "What lies in it.", _ITEMS),
    Member("total_cents", _COUNT, "The total, in cents."),
    Member("currency", _TEXT, "ISO 4217."),
    Member("updated_at", _TIME, "When it changed."),
)
_PING = (
    Member("endpoint_id", _UUID, "The endpoint that is tried out."),
    Member("events", "array of strings", "What it is subscribed to."),
)

SHAPES: Mapping[str, tuple[Member, ...]] = {
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


def in_order(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Give an event's data with its keys as they are documented; keys that are not come behind."""
    return _arranged(SHAPES.get(name, ()), data)


def _arranged(members: tuple[Member, ...], data: Mapping[str, Any]) -> dict[str, Any]:
    arranged = {member.name: _inside(member, data[member.name]) for member in members if member.name in data}
    return arranged | {name: value for name, value in data.items() if name not in arranged}


def _inside(member: Member, value: Any) -> Any:
    if not member.of:
        return value
    if isinstance(value, dict):
        return _arranged(member.of, value)
    if isinstance(value, list):
        return [_arranged(member.of, item) if isinstance(item, dict) else item for item in value]
    return value
