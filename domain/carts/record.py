"""Show a cart as decisions section 6 describes it, no more of its customer than requests have put into it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain.carts.items import PricedCartItem
from domain.carts.locked import OPEN, LockedCart, find_cart
from domain.carts.shipping import Way
from domain.carts.totals import Reckoned, reckon
from domain.orders.choosing import as_asked
from kernel.errors import NotFound
from kernel.scope import Scope

ADDRESS_FIELDS = (
    "name",
    "street",
    "number",
    "complement",
    "district",
    "city",
    "state",
    "zipcode",
    "country",
    "phone",
)


async def show_cart(scope: Scope, cart: object) -> dict[str, Any] | None:
    """Give a cart's record, added up now; null where the caller finds none."""
    try:
        found = await find_cart(scope, cart)
    except NotFound:
        return None
    return record(scope, found, await reckon(scope, found))


def record(scope: Scope, cart: LockedCart, reckoned: Reckoned) -> dict[str, Any]:
    """Give the record of a cart that was added up; an open one is in the store's currency of today."""
    status = cart.status_at(scope.now)
    return {
        "id": cart.public_id,
        "status": status,
        "currency": scope.store.currency if status == OPEN else cart.currency,
        "items": [_item(item) for item in reckoned.items],
        "gifts": [
            {"product_id": gift.offer.public_id, "name": gift.offer.name, "quantity": gift.quantity}
            for gift in reckoned.gifts
        ],
        # What requests gave, never what an account holds.
        "customer_email": cart.customer_email or None,
        "address": _address(cart.address),
        "shipping_option": way_record(reckoned.way) if reckoned.way is not None else None,
        "coupon_code": cart.coupon_code or None,
        "subtotal_cents": reckoned.subtotal_cents,
        "discount_cents": reckoned.discount_cents,
        "shipping_cents": reckoned.shipping_cents,
        "tax_cents": reckoned.tax_cents,
        "total_cents": reckoned.total_cents,
        "updated_at": cart.updated_at,
        "expires_at": cart.expires_at,
    }


def way_record(way: Way) -> dict[str, Any]:
    """Give the record of a way to deliver."""
    return {
        "shipping_id": way.public_id,
        "name": way.name,
        "price_cents": way.price_cents,
        "delivery_time": way.delivery_time,
    }


def _item(item: PricedCartItem) -> dict[str, Any]:
    return {
        "id": item.public_id,
        "product_id": item.product_public_id,
        "name": item.name,
        "quantity": item.quantity,
        "price_cents": item.price_cents,
        "total_cents": item.total_cents,
        "options": as_asked(item.options),
        "chosen": item.options,
        "is_available": item.line is not None and item.line.offer.is_on_sale,
    }


def _address(address: Mapping[str, str] | None) -> dict[str, str] | None:
    return None if address is None else {name: address.get(name, "") for name in ADDRESS_FIELDS}
