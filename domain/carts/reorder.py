"""Put the lines of an order into a cart again, at today's prices. What is not sold or in stock any more is reported as a warning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from auth.secrets import is_order_token
from domain.carts.change import check_caller, complete_change, insert_cart, insert_items
from domain.carts.files import copy_files
from domain.carts.locked import lock_open_cart
from domain.carts.requested_items import MAX_ITEMS, RequestedItem
from domain.carts.warnings import LESS_AVAILABLE, OUT_OF_STOCK, UNAVAILABLE, CartWarning, available_units
from domain.purchase.draft import MAX_UNITS, DraftLine
from domain.purchase.lines import PricedLine, load_offers, price_lines
from domain.purchase.option_selection import selection_input, selection_key
from kernel.errors import NotFound, RuleViolation, ValidationFailed
from kernel.ids import parse_uuid
from kernel.scope import STAFF, Scope, active_scope
from models.connection.database import Plans, fetch, fetchrow, transaction

_ORDER = "SELECT id, user_id FROM orders WHERE tenant_id = $1 AND public_id = $2 AND deleted_at IS NULL"
# Gifts are not bought: the promotion gives them again, or doesn't.
_LINES = """
SELECT l.product_id, p.public_id, l.product_name, l.quantity, l.options::text AS options
FROM order_lines l LEFT JOIN products p ON p.tenant_id = l.tenant_id AND p.id = l.product_id
WHERE l.tenant_id = $1 AND l.order_id = $2 AND NOT (l.price_cents = 0 AND l.extra ? 'promotion_id')
ORDER BY l.position
"""


async def reorder(scope: Scope, order: object, cart: object | None = None, token: str | None = None) -> dict[str, Any]:
    """Add the lines of an order to `cart`, by default a new one, and return the cart's record.

    Customers reorder their own orders, the holder of its `token` any order, staff all of the store. Raises NotFound for other orders and
    carts, and what adding items does.
    """
    check_caller(scope)
    with active_scope(scope):
        order_id = await _find_order(scope, order, token)
        lines = await fetch(_LINES, scope.store.id, order_id)
        items, warnings = await _sellable(scope, lines)
    async with transaction(scope, Plans.REUSED):
        if cart is None:
            public_id, cart_id = await insert_cart(scope)
        else:
            locked = await lock_open_cart(scope, cart)
            public_id, cart_id = locked.public_id, locked.id
        await insert_items(scope, cart_id, items)
        await copy_files(scope, order_id, cart_id, [item.options for item in items])
        return await complete_change(scope, public_id, emit_event=bool(items), warnings=warnings)


async def _find_order(scope: Scope, order: object, token: str | None) -> int:
    public_id, actor = parse_uuid(order), scope.actor
    row = await fetchrow(_ORDER, scope.store.id, public_id) if public_id is not None else None
    if row is None:
        raise NotFound("order")
    is_own = actor.user_id is not None and actor.user_id == row["user_id"]
    if not (is_own or actor.kind in STAFF or (token is not None and is_order_token(scope, public_id, token))):
        raise NotFound("order")
    return int(row["id"])


async def _sellable(scope: Scope, lines: Sequence[Mapping[str, Any]]) -> tuple[list[RequestedItem], list[CartWarning]]:
    """Return the items that can be ordered today, in their quantities, and warnings for the others."""
    offers = await load_offers(scope, [line["product_id"] for line in lines if line["product_id"]], skip_missing=True)
    items: dict[tuple[int, str], RequestedItem] = {}
    warnings: list[CartWarning] = []
    for line in lines:
        about = {"name": line["product_name"], "product_id": line["public_id"], "product": line["product_id"]}
        priced = _priced(line, offers)
        if priced is None or len(items) >= MAX_ITEMS:
            warnings.append(CartWarning(code=UNAVAILABLE, quantity=line["quantity"], available_quantity=0, **about))
            continue
        key = (priced.offer.id, selection_key(priced.selection))
        taken = items[key].quantity if key in items else 0
        available = available_units(priced) if priced.tracked and not priced.offer.sells_in_advance else MAX_UNITS
        quantity = min(taken + line["quantity"], available)
        if quantity < taken + line["quantity"]:
            code = LESS_AVAILABLE if quantity > taken else OUT_OF_STOCK
            left = max(0, available - taken)
            warnings.append(CartWarning(code=code, quantity=line["quantity"], available_quantity=left, **about))
        if quantity > taken:
            options = tuple(priced.selection.options) if priced.selection is not None else ()
            items[key] = RequestedItem(priced.offer, quantity, options, key[1])
    return list(items.values()), warnings


def _priced(line: Mapping[str, Any], offers: Mapping[Any, Any]) -> PricedLine | None:
    """Return the line as it would be ordered today; None when its product or options are no longer sold."""
    offer = offers.get(line["product_id"])
    if offer is None or not offer.is_on_sale:
        return None
    options = selection_input(orjson.loads(line["options"]))
    draft = DraftLine(line["product_id"], min(line["quantity"], MAX_UNITS), options=options)
    try:
        [priced] = price_lines([draft], offers, trusted=False)
    except (ValidationFailed, RuleViolation):
        return None
    return priced
