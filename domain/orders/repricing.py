"""Work out anew what an order costs that is changed before anybody paid for it.

An order keeps to the terms it was placed with: its lines' prices stay, and of promotions only those it has are looked at again, also
when they are over by now; no other joins. A discount given by hand takes their place and gives their uses back. What was imported
has no taxes and promotions of ours: its amounts are added up as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from domain.destinations.places import place_of
from domain.fields import Given, read_fields
from domain.orders.choosing import Kept, OptionSelection
from domain.orders.draft import BILLING, ORDER_FIELDS, SHIPPING, addresses_from
from domain.orders.lines import Offer, PricedLine
from domain.orders.locked import LockedOrder
from domain.orders.parties import Parties
from domain.orders.pricing import Price, Purchase, price
from domain.orders.totals import Totals, add_up
from domain.orders.writing import tax_rows
from domain.promotions.applying import forget, kept_promotions
from kernel.scope import Scope
from models.database import execute, rows

_OLD_LINES = """
SELECT l.product_id, l.public_id, l.vendor_id, l.product_name, l.product_code, l.quantity, l.price_cents, l.base_price_cents,
    l.tracked, l.weight_grams, l.combination_id, l.options::text AS options, l.extra::text AS extra,
    coalesce(p.is_edp, false) AS is_edp,
    coalesce(p.free_shipping, false) OR (l.price_cents = 0 AND l.extra ? 'promotion_id') AS free_shipping
FROM order_lines l LEFT JOIN products p ON p.tenant_id = l.tenant_id AND p.id = l.product_id
WHERE l.tenant_id = $1 AND l.order_id = $2 ORDER BY l.position, l.id
"""
_ADDRESSES = (
    "SELECT kind, country, state, city, zipcode FROM order_addresses WHERE tenant_id = $1 AND order_id = $2"
)
_REPLACE_TAXES = """
WITH dropped AS (DELETE FROM order_taxes WHERE tenant_id = $1 AND order_id = $2)
INSERT INTO order_taxes (tenant_id, public_id, order_id, tax_id, name, rate_type, rate_value, included, amount_cents, position)
SELECT $1, x.public_id, $2, x.tax_id, x.name, x.rate_type, x.rate_value, x.included, x.amount_cents, x.position
FROM jsonb_populate_recordset(NULL::order_taxes, $3::text::jsonb) AS x
"""


async def old_lines(scope: Scope, held: LockedOrder) -> list[PricedLine]:
    """Read the lines an order has, as they were agreed; a product that is gone has the number 0."""
    return [_old_line(line) for line in await rows(_OLD_LINES, scope.store.id, held.id)]


def _old_line(line: Mapping[str, Any]) -> PricedLine:
    offer = Offer(
        id=line["product_id"] or 0,
        public_id=line["public_id"],
        vendor_id=line["vendor_id"],
        name=line["product_name"],
        sku=line["product_code"],
        status="A",
        price_cents=line["price_cents"],
        stock=0,
        tracking="B",
        weight_grams=line["weight_grams"],
        is_edp=line["is_edp"],
        free_shipping=line["free_shipping"],
        min_quantity=0,
        max_quantity=0,
        vendor_sells=True,
    )
    return PricedLine(
        offer=offer,
        quantity=line["quantity"],
        price_cents=line["price_cents"],
        base_price_cents=line["base_price_cents"],
        tracked=line["tracked"],
        extra=orjson.loads(line["extra"]),
        choice=_as_sold(orjson.loads(line["options"]), line["combination_id"]),
    )


def _as_sold(options: list[dict[str, Any]], combination_id: int | None) -> OptionSelection | None:
    """Give what was chosen of a line as far as its price and its units ask for it."""
    if not options:
        return None
    kept = Kept(combination_id, frozenset(), "", 0, 0) if combination_id is not None else None
    return OptionSelection(price_cents=0, combination=kept, options=options, extra={})


async def addresses_after(scope: Scope, held: LockedOrder, changes: Given) -> dict[str, dict[str, Any]]:
    """Give the addresses an order will have, by their kinds."""
    stored = await stored_addresses(scope, held)
    changed = addresses_from(changes.get("addresses") or {})
    return {
        kind: {**stored.get(kind, {}), **changed.get(kind, {})}
        for kind in (BILLING, SHIPPING)
        if kind in stored or kind in changed
    }


async def stored_addresses(scope: Scope, held: LockedOrder) -> dict[str, dict[str, Any]]:
    """Read where an order is billed and shipped, as far as prices depend on it."""
    return {found["kind"]: dict(found) for found in await rows(_ADDRESSES, scope.store.id, held.id)}


async def moves(scope: Scope, held: LockedOrder, changes: Given) -> bool:
    """Say whether a change of addresses brings the order to another place."""
    if not changes.get("addresses"):
        return False
    before, after = await stored_addresses(scope, held), await addresses_after(scope, held, changes)
    return any(place_of(before.get(kind)) != place_of(after.get(kind)) for kind in (BILLING, SHIPPING))


async def let_go_of_promotions(scope: Scope, held: LockedOrder, changes: Given) -> None:
    """Give the uses of promotions back when a discount by hand takes their place; no product is locked yet, for these come after."""
    if held.has_promotions and _by_hand(changes) is not None:
        await forget(scope, held.id)


def _by_hand(changes: Given) -> int | None:
    given = read_fields({"discount_cents": ORDER_FIELDS["discount_cents"]}, changes)
    found: int | None = given.get("discount_cents")
    return found


async def amounts(
    scope: Scope, held: LockedOrder, parties: Parties, changes: Given, lines: Sequence[PricedLine]
) -> dict[str, Any]:
    """Give the amounts of the order with these lines, and keep what the taxes took."""
    by_hand = _by_hand(changes)
    if held.imported:
        return _columns(_added_up(held, parties, changes, lines, by_hand))
    keeps = held.has_promotions and by_hand is None
    if not keeps and by_hand is None:
        by_hand = held.discount_cents
    priced: Price = await price(
        scope,
        Purchase(
            lines=lines,
            parties=parties,
            addresses=await addresses_after(scope, held, changes),
            user_id=parties.buyer.id if parties.buyer else held.user_id,
            coupon_code=held.coupon_code,
            discount_cents=by_hand,
            settled=True,
            kept=await kept_promotions(scope, held.id) if keeps else (),
            order_id=held.id,
            known_shipping_cents=0 if "shipping_method" in changes else held.shipping_cents,
        ),
    )
    await execute(_REPLACE_TAXES, scope.store.id, held.id, orjson.dumps(tax_rows(priced.taxes)).decode())
    return _columns(priced.totals)


def _added_up(
    held: LockedOrder, parties: Parties, changes: Given, lines: Sequence[PricedLine], by_hand: int | None
) -> Totals:
    return add_up(
        [line.goods for line in lines],
        rate=parties.shipping.rate if parties.shipping else None,
        surcharge=parties.payment.surcharge if parties.payment else None,
        discount_cents=held.discount_cents if by_hand is None else by_hand,
        tax_cents=held.tax_cents,
        known_shipping_cents=0 if "shipping_method" in changes else held.shipping_cents,
    )


def _columns(totals: Totals) -> dict[str, Any]:
    return {
        "subtotal_cents": totals.subtotal_cents,
        "discount_cents": totals.discount_cents,
        "shipping_cents": totals.shipping_cents,
        "surcharge_cents": totals.surcharge_cents,
        "tax_cents": totals.tax_cents,
        "total_cents": totals.total_cents,
    }
