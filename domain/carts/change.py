"""Change a cart: what is in it, where it goes, how it travels, which coupon it bears.

Every change locks the cart, does its work, adds everything up, keeps the amounts, moves the cart's end away, and tells the apps
(`domain.carts.events`). Each function gives the cart's record as it is afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import orjson

from domain.carts import events
from domain.carts.items import (
    MAX_ITEMS,
    Wanted,
    checked_quantity,
    read_quantity,
    too_many,
    wanted,
)
from domain.carts.locked import LockedCart, lock_cart, lock_open_cart
from domain.carts.record import record
from domain.carts.totals import Reckoned, coupon_refusal, may_take_coupon, reckon, ways_for
from domain.fields import Given, InputField, read_fields, short_text
from domain.orders.draft import cep_text, email_text
from domain.store_settings import setting
from kernel.documents import normalise_cep
from kernel.errors import Forbidden, NotFound, RuleViolation, ValidationFailed
from kernel.ids import parse_uuid, uuid7
from kernel.scope import ActorKind, Scope
from kernel.text import Malformed, shown
from models.database import execute, rows, transaction, value

MAX_COUPON = 64
_BRAZIL = "BR"
# Whoever shops; staff may look into carts and change them for a shopper who calls.
_CHANGES_CARTS = (ActorKind.STOREFRONT, ActorKind.CUSTOMER, ActorKind.ADMIN, ActorKind.SYSTEM)

_EMAIL: Mapping[str, InputField] = {
    "customer_email": InputField("customer_email", email_text, code="email_invalid")
}


def _country(value: object) -> object:
    """Read a country: two letters (ISO 3166), Brazil unless said."""
    given = str(short_text(value)).strip().upper()
    if given and not (len(given) == 2 and given.isascii() and given.isalpha()):
        raise Malformed(f"is {shown(value)}; expected a country's code of two letters")
    return given or _BRAZIL


ADDRESS: Mapping[str, InputField] = {
    **{
        name: InputField(name, short_text)
        for name in ("name", "street", "number", "complement", "district", "city", "state", "phone")
    },
    "zipcode": InputField("zipcode", cep_text, code="zipcode_invalid", required="required"),
    "country": InputField("country", _country, code="country_invalid"),
}

_INSERT = """
INSERT INTO carts (tenant_id, public_id, user_id, currency, customer_email, expires_at, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $6, $6) RETURNING id
"""
_PUT_IN = """
INSERT INTO cart_items (tenant_id, public_id, cart_id, product_id, quantity, options, options_key)
SELECT $1, w.public_id, $2, w.product_id, w.quantity, w.options::jsonb, w.options_key
FROM unnest($3::uuid[], $4::bigint[], $5::bigint[], $6::text[], $7::text[])
    WITH ORDINALITY AS w (public_id, product_id, quantity, options, options_key, place)
ORDER BY w.place
ON CONFLICT (tenant_id, cart_id, product_id, options_key)
    DO UPDATE SET quantity = cart_items.quantity + excluded.quantity
"""
_HOW_MANY = "SELECT product_id, options_key, quantity FROM cart_items WHERE tenant_id = $1 AND cart_id = $2"
_SET_QUANTITY = "UPDATE cart_items SET quantity = $4 WHERE tenant_id = $1 AND cart_id = $2 AND public_id = $3"
_TAKE_OUT = "DELETE FROM cart_items WHERE tenant_id = $1 AND cart_id = $2 AND public_id = $3"
_SET_ADDRESS = "UPDATE carts SET address = $3::text::jsonb WHERE tenant_id = $1 AND id = $2"
_SET_WAY = "UPDATE carts SET shipping_method_id = $3 WHERE tenant_id = $1 AND id = $2"
_SET_COUPON = "UPDATE carts SET coupon_code = $3 WHERE tenant_id = $1 AND id = $2"
_SET_EMAIL = "UPDATE carts SET customer_email = $3 WHERE tenant_id = $1 AND id = $2"
# A shopper who signs in takes the cart along, and its money is the store's of today. Requests wait for each other, so a later one may
# bring an earlier moment.
_EXTEND = """
UPDATE carts SET expires_at = greatest(expires_at, $3), updated_at = greatest(updated_at, $4), user_id = coalesce(user_id, $5),
    currency = $6
WHERE tenant_id = $1 AND public_id = $2
"""
_KEEP = """
UPDATE carts SET subtotal_cents = $3, discount_cents = $4, shipping_cents = $5, total_cents = $6
WHERE tenant_id = $1 AND id = $2
"""
_KEEP_ITEMS = """
UPDATE cart_items i SET product_name = k.name, price_cents = k.price
FROM unnest($3::bigint[], $4::text[], $5::bigint[]) AS k (id, name, price)
WHERE i.tenant_id = $1 AND i.cart_id = $2 AND i.id = k.id
    AND (i.product_name, i.price_cents) IS DISTINCT FROM (k.name, k.price)
"""


async def create_cart(scope: Scope, given: Given) -> dict[str, Any]:
    """Make a cart: `items [{product, quantity, options?}]`, `customer_email`; both may be left out."""
    _refuse_outsiders(scope)
    email = read_fields(_EMAIL, given).get("customer_email", "")
    items = await wanted(scope, given.get("items") or (), field="items")
    async with transaction(scope):
        # Version 4: the id alone opens the cart, so nothing about it may be guessed from its time.
        public_id = uuid4()
        cart_id = await value(
            _INSERT, scope.store.id, public_id, _owner(scope), scope.store.currency, email, scope.now
        )
        await _put_in(scope, cart_id, items)
        return await _changed(scope, public_id, is_news=bool(items))


async def add_item(scope: Scope, cart: object, given: Given) -> dict[str, Any]:
    """Put units of a product into a cart; more of what is in it already becomes one item with the sum."""
    _refuse_outsiders(scope)
    items = await wanted(scope, [given])
    async with transaction(scope):
        held = await lock_open_cart(scope, cart)
        await _put_in(scope, held.id, items)
        return await _changed(scope, held.public_id)


async def update_item(scope: Scope, cart: object, item: object, given: Given) -> dict[str, Any]:
    """Set how many units an item holds, 1 or more."""
    _refuse_outsiders(scope)
    quantity = read_quantity(given)
    async with transaction(scope):
        held = await lock_open_cart(scope, cart)
        await _touch_item(scope, held, item, _SET_QUANTITY, quantity)
        return await _changed(scope, held.public_id)


async def remove_item(scope: Scope, cart: object, item: object) -> dict[str, Any]:
    """Take an item out of a cart."""
    _refuse_outsiders(scope)
    async with transaction(scope):
        held = await lock_open_cart(scope, cart)
        await _touch_item(scope, held, item, _TAKE_OUT)
        return await _changed(scope, held.public_id)


async def set_address(scope: Scope, cart: object, given: Given) -> dict[str, Any]:
    """Say where a cart goes; the whole address, of which only `zipcode` must be there."""
    _refuse_outsiders(scope)
    address = {"country": _BRAZIL, **read_fields(ADDRESS, given, creating=True)}
    if address["country"] == _BRAZIL and normalise_cep(address["zipcode"]) is None:
        raise ValidationFailed(
            f"zipcode is {shown(given['zipcode'])}; expected a CEP of eight digits",
            field="zipcode",
            code="zipcode_invalid",
        )
    async with transaction(scope):
        held = await lock_open_cart(scope, cart)
        await execute(_SET_ADDRESS, scope.store.id, held.id, orjson.dumps(address).decode())
        return await _changed(scope, held.public_id)


async def set_shipping_option(scope: Scope, cart: object, shipping: object) -> dict[str, Any]:
    """Choose one of the ways that are offered for the cart; raises RuleViolation `shipping_unavailable` for any other."""
    _refuse_outsiders(scope)
    async with transaction(scope):
        held = await lock_open_cart(scope, cart)
        chosen = parse_uuid(shipping)
        way = next((way for way in await ways_for(scope, held) if way.public_id == chosen), None)
        if way is None:
            raise RuleViolation(
                "A forma de entrega escolhida não está disponível para este carrinho.",
                reason="shipping_unavailable",
            )
        await execute(_SET_WAY, scope.store.id, held.id, way.shipping_method_id)
        return await _changed(scope, held.public_id)


async def apply_coupon(scope: Scope, cart: object, code: object) -> dict[str, Any]:
    """Let a cart bear a coupon; an empty code takes it off. Raises RuleViolation `coupon_unavailable`."""
    _refuse_outsiders(scope)
    text = str(read_fields(_COUPON, {"code": code})["code"]).strip()
    async with transaction(scope):
        held = await lock_open_cart(scope, cart)
        await execute(_SET_COUPON, scope.store.id, held.id, text)
        return await _changed(scope, held.public_id, needs_coupon=bool(text))


async def set_customer_email(scope: Scope, cart: object, email: object) -> dict[str, Any]:
    """Say whose cart it is, by e-mail; an empty one takes it off."""
    _refuse_outsiders(scope)
    given = read_fields(_EMAIL, {"customer_email": email})["customer_email"]
    async with transaction(scope):
        held = await lock_open_cart(scope, cart)
        await execute(_SET_EMAIL, scope.store.id, held.id, given)
        return await _changed(scope, held.public_id)


def _coupon_text(value: object) -> object:
    text = str(short_text(value)).strip()
    if len(text) > MAX_COUPON:
        raise Malformed(f"has {len(text)} characters; expected at most {MAX_COUPON}")
    return text


_COUPON: Mapping[str, InputField] = {"code": InputField("code", _coupon_text, code="code_invalid")}


def _refuse_outsiders(scope: Scope) -> None:
    if scope.actor.kind not in _CHANGES_CARTS:
        raise Forbidden("insufficient permissions")


def _owner(scope: Scope) -> int | None:
    """Give the account of the shopper, where a customer's own token came with the request."""
    is_shopper = scope.actor.kind in (ActorKind.STOREFRONT, ActorKind.CUSTOMER)
    return scope.actor.user_id if is_shopper else None


async def _put_in(scope: Scope, cart_id: int, items: Sequence[Wanted]) -> None:
    if not items:
        return
    there = {
        (found["product_id"], found["options_key"]): found["quantity"]
        for found in await rows(_HOW_MANY, scope.store.id, cart_id)
    }
    for item in items:
        checked_quantity(there.get((item.offer.id, item.options_key), 0) + item.quantity)
    if len(there | {(item.offer.id, item.options_key): 0 for item in items}) > MAX_ITEMS:
        raise too_many()
    await execute(
        _PUT_IN,
        scope.store.id,
        cart_id,
        [uuid7() for _ in items],
        [item.offer.id for item in items],
        [item.quantity for item in items],
        [orjson.dumps(list(item.options)).decode() for item in items],
        [item.options_key for item in items],
    )


async def _touch_item(scope: Scope, cart: LockedCart, item: object, sql: str, *more: object) -> None:
    public_id = parse_uuid(item)
    if public_id is None or not await execute(sql, scope.store.id, cart.id, public_id, *more):
        raise NotFound("item")


async def _changed(
    scope: Scope, public_id: UUID, *, is_news: bool = True, needs_coupon: bool = False
) -> dict[str, Any]:
    """Move the end of a cart that was just changed away, add it up, keep what came out, tell of it, and give its record."""
    expires_at = scope.now + timedelta(days=setting(scope, "cart_days"))
    await execute(
        _EXTEND, scope.store.id, public_id, expires_at, scope.now, _owner(scope), scope.store.currency
    )
    cart = await lock_cart(scope, public_id)
    reckoned = await reckon(scope, cart)
    if needs_coupon and not reckoned.coupon_is_good and not await may_take_coupon(scope, cart):
        raise coupon_refusal()
    await keep(scope, cart, reckoned)
    if is_news:
        await events.tell(scope, cart, reckoned)
    return record(scope, cart, reckoned)


async def keep(scope: Scope, cart: LockedCart, reckoned: Reckoned) -> None:
    """Keep what a cart came to, and at which names and prices."""
    await execute(
        _KEEP,
        scope.store.id,
        cart.id,
        reckoned.subtotal_cents,
        reckoned.discount_cents,
        reckoned.shipping_cents,
        reckoned.total_cents,
    )
    await execute(
        _KEEP_ITEMS,
        scope.store.id,
        cart.id,
        [item.id for item in reckoned.items],
        [item.name for item in reckoned.items],
        [item.price_cents for item in reckoned.items],
    )
