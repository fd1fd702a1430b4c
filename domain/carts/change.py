"""Create a cart, and change its address, shipping option, coupon, points or customer e-mail; its lines: `domain.carts.lines`.

Every change locks the cart, recalculates and stores its totals, extends its expiry, and emits `cart.updated` (`domain.carts.events`). Each
function returns the cart's record after the change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from domain.addresses import ADDRESS, check_address
from domain.carts import events
from domain.carts.locked import SAVE_ITEM_PRICES, LockedCart, item_price_columns, lock_cart, lock_open_cart
from domain.carts.messages import ERROR_TEXTS, portuguese_error
from domain.carts.record import cart_record
from domain.carts.requested_items import MAX_ITEMS, RequestedItem, checked_quantity, parse_items, too_many_items_error
from domain.carts.totals import (
    CartTotals,
    calculate_cart_totals,
    find_coupon_refusal,
    shipping_options_for,
)
from domain.carts.warnings import CartWarning
from domain.points.ledger import POINTS_UNAVAILABLE
from domain.promotions.rewards import coupon_key
from domain.store_settings import setting
from kernel.errors import Forbidden, RuleViolation
from kernel.fields import InputField, InputValues, email_text, integer, read_fields, short_text
from kernel.geography import BRAZIL
from kernel.ids import parse_uuid
from kernel.scope import ActorKind, Scope
from kernel.text import InvalidValue
from models.connection.database import Plans, execute, fetch, fetchval, transaction
from models.rows import insert_row, insert_sql, json_text, rows_json, update_row

MAX_COUPON = 64
SECOND_COUPON = "coupon_already_applied"
# Customers; staff may change a cart for a customer who calls.
_MAY_CHANGE = (ActorKind.STOREFRONT, ActorKind.CUSTOMER, ActorKind.ADMIN, ActorKind.SYSTEM)

_EMAIL: Mapping[str, InputField] = {"customer_email": InputField("customer_email", email_text, code="email_invalid")}


_INSERT_ITEMS = f"""
{insert_sql("cart_items", ("cart_id", "product_id", "quantity", "options", "options_key"))}
ON CONFLICT (tenant_id, cart_id, product_id, options_key)
    DO UPDATE SET quantity = cart_items.quantity + excluded.quantity, added_price_cents = NULL
"""
_QUANTITIES = "SELECT product_id, options_key, quantity FROM cart_items WHERE tenant_id = $1 AND cart_id = $2"
_BALANCE = "SELECT points FROM users WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL"
# A customer who signs in becomes the cart's owner; the currency is the store's current one. Requests are serialized by the row lock, so a
# later one may carry an earlier time.
_EXTEND = """
UPDATE carts SET expires_at = greatest(expires_at, $3), updated_at = greatest(updated_at, $4), user_id = coalesce(user_id, $5),
    currency = $6, abandoned_at = NULL
WHERE tenant_id = $1 AND public_id = $2
"""


async def create_cart(scope: Scope, values: InputValues) -> dict[str, Any]:
    """Create a cart with optional `items [{product, quantity, options?}]` and `customer_email`."""
    check_caller(scope)
    email = read_fields(_EMAIL, values).get("customer_email", "")
    items = await parse_items(scope, values.get("items") or (), field="items")
    async with transaction(scope, Plans.REUSED):
        public_id, cart_id = await insert_cart(scope, email)
        await insert_items(scope, cart_id, items)
        return await complete_change(scope, public_id, emit_event=bool(items))


async def set_address(scope: Scope, cart: object, values: InputValues) -> dict[str, Any]:
    """Set the shipping address as a whole; `zipcode` suffices for a quote, a checkout also needs `name` and `city`."""
    check_caller(scope)
    sent = {name: value for name, value in values.items() if value is not None}
    address = {"country": BRAZIL, **read_fields(ADDRESS, sent, creating=True)}
    check_address(address)
    async with transaction(scope, Plans.REUSED):
        locked = await lock_open_cart(scope, cart)
        return await _set(scope, locked, address=json_text(address))


async def set_shipping_option(scope: Scope, cart: object, shipping: object) -> dict[str, Any]:
    """Select one of the cart's shipping options; raises RuleViolation `shipping_unavailable` for any other."""
    check_caller(scope)
    async with transaction(scope, Plans.REUSED):
        locked = await lock_open_cart(scope, cart)
        public_id = parse_uuid(shipping)
        options = await shipping_options_for(scope, locked)
        option = next((option for option in options if option.public_id == public_id), None)
        if option is None:
            raise RuleViolation(
                "A forma de entrega escolhida não está disponível para este carrinho.",
                reason="shipping_unavailable",
            )
        return await _set(scope, locked, shipping_method_id=option.shipping_method_id)


async def apply_coupon(scope: Scope, cart: object, code: object) -> dict[str, Any]:
    """Set the coupon of a cart, which has one at most; an empty code removes it.

    Raises RuleViolation `coupon_unavailable`, and `coupon_already_applied` for a second one.
    """
    check_caller(scope)
    text = str(read_fields(_COUPON, {"code": code})["code"]).strip()
    async with transaction(scope, Plans.REUSED):
        locked = await lock_open_cart(scope, cart)
        if text and locked.coupon_code and coupon_key(text) != coupon_key(locked.coupon_code):
            raise RuleViolation(
                f"O carrinho já tem o cupom {locked.coupon_code}. Remova-o para usar outro.",
                reason=SECOND_COUPON,
                details={"coupon_code": locked.coupon_code},
            )
        return await _set(scope, locked, needs_coupon=bool(text), coupon_code=text)


async def set_points(scope: Scope, cart: object, points: object) -> dict[str, Any]:
    """Set how many reward points of its customer a cart spends; 0 for none.

    The order spends as many of them as the account then has and the order needs. Raises RuleViolation `points_unavailable` for more than
    the account has, and for a cart without an account.
    """
    check_caller(scope)
    number: int = read_fields(_POINTS, {"points": points})["points"]
    async with transaction(scope, Plans.REUSED):
        locked = await lock_open_cart(scope, cart)
        customer = locked.user_id or _customer_id(scope)
        balance = await fetchval(_BALANCE, scope.store.id, customer) if customer is not None else 0
        if number > (balance or 0):
            raise RuleViolation(
                ERROR_TEXTS[POINTS_UNAVAILABLE], reason=POINTS_UNAVAILABLE, details={"points": balance or 0}
            )
        return await _set(scope, locked, points_to_use=number)


async def set_customer_email(scope: Scope, cart: object, email: object) -> dict[str, Any]:
    """Set the customer's e-mail of a cart; an empty one removes it."""
    check_caller(scope)
    customer_email = read_fields(_EMAIL, {"customer_email": email})["customer_email"]
    async with transaction(scope, Plans.REUSED):
        locked = await lock_open_cart(scope, cart)
        return await _set(scope, locked, customer_email=customer_email)


def _coupon_text(value: object) -> object:
    text = str(short_text(value)).strip()
    if len(text) > MAX_COUPON:
        raise InvalidValue(f"has {len(text)} characters; expected at most {MAX_COUPON}")
    return text


_POINTS: Mapping[str, InputField] = {"points": InputField("points", integer(), code="points_invalid")}
_COUPON: Mapping[str, InputField] = {"code": InputField("code", _coupon_text, code="code_invalid")}


def check_caller(scope: Scope) -> None:
    """Raise Forbidden for callers that don't change carts."""
    if scope.actor.kind not in _MAY_CHANGE:
        raise Forbidden("insufficient permissions")


async def insert_cart(scope: Scope, customer_email: object = "") -> tuple[UUID, int]:
    """Insert an empty cart; return its public and its internal id."""
    # Version 4: the id alone authorizes access, so it must not be guessable from its time.
    public_id = uuid4()
    times: dict[str, Any] = dict.fromkeys(("expires_at", "created_at", "updated_at"), scope.now)
    cart_id = await insert_row(
        scope,
        "carts",
        public_id=public_id,
        user_id=_customer_id(scope),
        currency=scope.store.currency,
        customer_email=customer_email,
        **times,
    )
    return public_id, int(cart_id)


def _customer_id(scope: Scope) -> int | None:
    """Return the customer's account, when the request carries a customer's own token."""
    is_customer = scope.actor.kind in (ActorKind.STOREFRONT, ActorKind.CUSTOMER)
    return scope.actor.user_id if is_customer else None


async def insert_items(scope: Scope, cart_id: int, items: Sequence[RequestedItem]) -> None:
    """Add items to a locked cart; raises ValidationFailed beyond 200 items or the largest quantity."""
    if not items:
        return
    quantities = {
        (item["product_id"], item["options_key"]): item["quantity"]
        for item in await fetch(_QUANTITIES, scope.store.id, cart_id)
    }
    for item in items:
        checked_quantity(quantities.get((item.offer.id, item.options_key), 0) + item.quantity)
    if len(quantities | {(item.offer.id, item.options_key): 0 for item in items}) > MAX_ITEMS:
        raise too_many_items_error()
    rows = [
        {
            "cart_id": cart_id,
            "product_id": item.offer.id,
            "quantity": item.quantity,
            "options": item.options,
            "options_key": item.options_key,
        }
        for item in items
    ]
    await execute(_INSERT_ITEMS, scope.store.id, rows_json(rows))


async def _set(scope: Scope, cart: LockedCart, *, needs_coupon: bool = False, **columns: Any) -> dict[str, Any]:
    """Set columns of a locked cart, and return its record."""
    changed = await update_row(scope, "carts", cart.id, **columns)
    return await complete(scope, cart, changed=changed, needs_coupon=needs_coupon)


async def complete(scope: Scope, cart: LockedCart, *, changed: bool, needs_coupon: bool = False) -> dict[str, Any]:
    """Complete a request that may have changed a cart; also one that changes nothing extends its expiry, but emits no event."""
    is_taken_over = cart.user_id is None and _customer_id(scope) is not None
    return await complete_change(scope, cart.public_id, emit_event=changed or is_taken_over, needs_coupon=needs_coupon)


async def complete_change(
    scope: Scope,
    public_id: UUID,
    *,
    emit_event: bool = True,
    needs_coupon: bool = False,
    warnings: Sequence[CartWarning] = (),
) -> dict[str, Any]:
    """Extend the expiry of a changed cart, calculate and store its totals, emit the event, and return its record.

    `warnings` are those of the change itself, shown before the cart's own.
    """
    expires_at = scope.now + timedelta(days=setting(scope, "cart_days"))
    await execute(_EXTEND, scope.store.id, public_id, expires_at, scope.now, _customer_id(scope), scope.store.currency)
    cart = await lock_cart(scope, public_id)
    totals = await calculate_cart_totals(scope, cart)
    coupon_refusal = await find_coupon_refusal(scope, cart, totals)
    if needs_coupon and coupon_refusal is not None:
        raise portuguese_error(scope, coupon_refusal)
    await save_totals(scope, cart, totals)
    if emit_event:
        await events.emit_updated(scope, cart, totals)
    return cart_record(scope, cart, totals, warnings, coupon_refusal=coupon_refusal)


async def save_totals(scope: Scope, cart: LockedCart, totals: CartTotals) -> None:
    """Store a cart's amounts and its items' names and prices."""
    await update_row(
        scope,
        "carts",
        cart.id,
        subtotal_cents=totals.subtotal_cents,
        discount_cents=totals.discount_cents,
        shipping_cents=totals.shipping_cents,
        total_cents=totals.total_cents,
    )
    await execute(SAVE_ITEM_PRICES, scope.store.id, cart.id, *item_price_columns(totals.items))
