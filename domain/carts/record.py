"""Build the cart record of docs/reference/current.md#carts; customer data is limited to what requests put into the cart.

`product`, `combination`, `option`, `variant` and `shipping_method` are internal ids, by which GraphQL finds the records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from domain.carts.locked import OPEN, LockedCart, PricedCartItem, find_cart_with_items, items_of
from domain.carts.messages import portuguese_error
from domain.carts.totals import CartTotals, calculate_cart_totals, find_coupon_refusal
from domain.carts.warnings import COUPON_UNAVAILABLE, SHIPPING_UNAVAILABLE, CartWarning, item_warnings
from domain.media.option_files import option_file_record
from domain.purchase.option_selection import option_values
from domain.shipping.quotes import Quote
from kernel.errors import NotFound, RuleViolation
from kernel.scope import Scope
from models.reading.related_columns import BoundColumn

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


async def load_cart_record(scope: Scope, cart: object, column: BoundColumn | None = None) -> dict[str, Any] | None:
    """Return a cart's record with current totals; None when the caller has no such cart. Items have the `column` as `further`."""
    try:
        locked, rows = await find_cart_with_items(scope, cart, column)
    except NotFound:
        return None
    further = []
    if column is not None:
        further, rows = [row[-1] for row in rows], [row[:-1] for row in rows]
    items = await items_of(scope, rows, closed=locked.status_at(scope.now) != OPEN)
    totals = await calculate_cart_totals(scope, locked, items)
    record = cart_record(scope, locked, totals, coupon_refusal=await find_coupon_refusal(scope, locked, totals))
    for item, value in zip(record["items"], further, strict=False):
        item["further"] = value
    return record


def cart_record(
    scope: Scope,
    cart: LockedCart,
    totals: CartTotals,
    warnings: Sequence[CartWarning] = (),
    *,
    coupon_refusal: RuleViolation | None = None,
) -> dict[str, Any]:
    """Return the record of a cart with its totals; an open cart uses the store's current currency.

    `warnings` are those of the change that is answered. `coupon_refusal`: no payment method makes the coupon usable.
    """
    status = cart.status_at(scope.now)
    shown = [warning.record() for warning in (*warnings, *_warnings(scope, cart, totals, status, coupon_refusal))]
    return {
        "id": cart.public_id,
        "status": status,
        "currency": scope.store.currency if status == OPEN else cart.currency,
        "items": [
            _item(scope, item, [warning for warning in shown if warning["item_id"] == item.public_id])
            for item in totals.items
        ],
        "quantity_total": sum(item.quantity for item in totals.items),
        "gifts": [
            {
                "product_id": gift.offer.public_id,
                "product": gift.offer.id,
                "name": gift.offer.name,
                "quantity": gift.quantity,
            }
            for gift in totals.gifts
        ],
        # Only values from requests, never the account's.
        "customer_email": cart.customer_email or None,
        "address": _address(cart.address),
        "shipping_option": shipping_option_record(totals.shipping_option)
        if totals.shipping_option is not None
        else None,
        "coupon_code": cart.coupon_code or None,
        "warnings": shown,
        "points_to_use": cart.points_to_use,
        "points_spent": totals.points.points,
        "points_cents": totals.points.cents,
        "points_earned": totals.points_earned,
        "subtotal_cents": totals.subtotal_cents,
        "discount_cents": totals.discount_cents,
        "shipping_cents": totals.shipping_cents,
        "tax_cents": totals.tax_cents,
        "total_cents": totals.total_cents,
        "updated_at": cart.updated_at,
        "expires_at": cart.expires_at,
    }


def _warnings(
    scope: Scope, cart: LockedCart, totals: CartTotals, status: str, coupon_refusal: RuleViolation | None
) -> list[CartWarning]:
    """Return what the checkout of an open cart would refuse or change."""
    if status != OPEN:
        return []
    warnings = item_warnings(totals.items)
    if coupon_refusal is not None:
        message = portuguese_error(scope, coupon_refusal).message
        warnings.append(CartWarning(code=COUPON_UNAVAILABLE, name=cart.coupon_code, message=message))
    if cart.shipping_method_id is not None and totals.shipping_option is None and totals.items:
        warnings.append(CartWarning(code=SHIPPING_UNAVAILABLE))
    return warnings


def shipping_option_record(option: Quote) -> dict[str, Any]:
    """Return the record of a shipping option."""
    return {
        "shipping_id": option.public_id,
        "shipping_method": option.shipping_method_id,
        "name": option.name,
        "price_cents": option.price_cents,
        "delivery_time": option.delivery_time,
    }


def _item(scope: Scope, item: PricedCartItem, warnings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    selection = item.line.selection if item.line is not None else None
    combination = selection.combination if selection is not None else None
    return {
        "id": item.public_id,
        "product_id": item.product_public_id,
        "product": item.product_id,
        "combination_id": combination.public_id if combination is not None else None,
        "combination": combination.id if combination is not None else None,
        "name": item.name,
        "quantity": item.quantity,
        "price_cents": item.price_cents,
        "total_cents": item.total_cents,
        "options": _options(scope, item),
        "option_values": option_values(item.options),
        "chosen": item.options,
        "is_available": item.line is not None and item.line.offer.is_on_sale,
        "warnings": warnings,
    }


def _options(scope: Scope, item: PricedCartItem) -> list[dict[str, Any]]:
    selection = item.line.selection if item.line is not None else None
    # Both are in the order of the product's options.
    numbers = list(selection.extra["product_options"].items()) if selection is not None else []
    options = []
    for place, option in enumerate(item.options):
        number, value = numbers[place] if numbers else (None, None)
        options.append(
            {
                **option,
                "option": int(number) if number is not None else None,
                "variant": int(value) if value is not None and option["variant_id"] is not None else None,
                "file": option_file_record(scope, option),
            }
        )
    return options


def _address(address: Mapping[str, str] | None) -> dict[str, str] | None:
    return None if address is None else {name: address.get(name, "") for name in ADDRESS_FIELDS}
