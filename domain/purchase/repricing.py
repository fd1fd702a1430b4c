"""Recalculate the totals of an order that changes before it is paid.

An order keeps its terms: line prices stay, and only the promotions it already has are evaluated again, expired ones included. An
explicit discount replaces them and releases their uses. Imported orders have no taxes or promotions of ours: only the totals are
recalculated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import orjson

from domain.catalog.product_options import OptionCombination
from domain.destinations.matching import destination_address
from domain.ledger.old_lines import RATE_OF_OLD_LINES, RATE_TYPE_OF_OLD_LINES
from domain.orders.locked import LockedOrder
from domain.promotions.rewards import delete_uses, load_order_promotions
from domain.purchase.chosen_methods import with_carrier_price, with_quoted_price
from domain.purchase.draft import BILLING, ORDER_FIELDS, SHIPPING, parse_addresses
from domain.purchase.lines import Offer, PricedLine
from domain.purchase.option_selection import OptionSelection
from domain.purchase.order_rows import tax_rows
from domain.purchase.pricing import PricingResult, price_purchase
from domain.purchase.references import ChosenShippingMethod, OrderReferences, load_references
from domain.purchase.terms import Purchase, fill_missing_address
from domain.purchase.totals import NO_POINTS, OrderTotals, PointsRequest, calculate_totals
from kernel.fields import InputValues, read_fields
from kernel.scope import Scope
from models.connection.database import fetch, fetchval
from models.rows import json_text, replace_rows

_LINES = f"""
SELECT l.id, l.product_id, l.public_id, l.vendor_id, l.product_name, l.product_code, l.quantity, l.price_cents, l.base_price_cents,
    l.tracked, l.in_advance, l.weight_grams, l.combination_id, l.options::text AS options, l.extra::text AS extra,
    coalesce(p.is_edp, false) AS is_edp, coalesce(c.shipping_freight_cents, p.shipping_freight_cents, 0) AS freight_cents,
    coalesce(p.free_shipping, false) OR (l.price_cents = 0 AND l.extra ? 'promotion_id') AS free_shipping,
    coalesce(l.commission, {RATE_OF_OLD_LINES}) AS commission,
    coalesce(l.commission_type, {RATE_TYPE_OF_OLD_LINES}) AS commission_type
FROM order_lines l LEFT JOIN products p ON p.tenant_id = l.tenant_id AND p.id = l.product_id
LEFT JOIN combinations c ON c.tenant_id = l.tenant_id AND c.id = l.combination_id
LEFT JOIN vendors v ON v.tenant_id = l.tenant_id AND v.id = l.vendor_id
WHERE l.tenant_id = $1 AND l.order_id = $2 ORDER BY l.position, l.id
"""
_ADDRESSES = (
    "SELECT kind, country, state, city, zipcode, phone FROM order_addresses WHERE tenant_id = $1 AND order_id = $2"
)
_INTEREST = """
SELECT coalesce(sum(surcharge_cents), 0)::bigint FROM payments
WHERE tenant_id = $1 AND order_id = $2 AND status NOT IN ('FAILED', 'CANCELLED', 'EXPIRED')
"""


async def load_lines(scope: Scope, locked: LockedOrder) -> list[PricedLine]:
    """Load the current lines of an order at their agreed prices; a deleted product has the id 0."""
    return [_line(line) for line in await fetch(_LINES, scope.store.id, locked.id)]


def _line(line: Mapping[str, Any]) -> PricedLine:
    offer = Offer(
        id=line["product_id"] or 0,
        public_id=line["public_id"],
        vendor_id=line["vendor_id"],
        name=line["product_name"],
        sku=line["product_code"],
        price_cents=line["price_cents"],
        stock=0,
        tracking="B",
        weight_grams=line["weight_grams"],
        freight_cents=line["freight_cents"],
        is_edp=line["is_edp"],
        free_shipping=line["free_shipping"],
        min_quantity=0,
        max_quantity=0,
        quantity_step=0,
        is_on_sale=True,
        commission=line["commission"],
        commission_type=line["commission_type"],
    )
    return PricedLine(
        offer=offer,
        quantity=line["quantity"],
        price_cents=line["price_cents"],
        base_price_cents=line["base_price_cents"],
        tracked=line["tracked"],
        in_advance=line["in_advance"],
        extra=orjson.loads(line["extra"]),
        selection=_agreed_selection(orjson.loads(line["options"]), line["combination_id"]),
        line_id=line["id"],
    )


def _agreed_selection(options: list[dict[str, Any]], combination_id: int | None) -> OptionSelection | None:
    """Return the selected options of a line as far as price and stock depend on them."""
    if not options:
        return None
    combination = OptionCombination(combination_id, frozenset(), "", 0, 0) if combination_id is not None else None
    return OptionSelection(price_cents=0, combination=combination, options=options, extra={})


async def _updated_addresses(
    scope: Scope, locked: LockedOrder, changes: InputValues
) -> tuple[dict[str, dict[str, Any]], bool]:
    """Return the addresses after the changes, by kind, and whether these may change the destination."""
    stored = await load_addresses(scope, locked)
    changed = parse_addresses(changes.get("addresses") or {})
    updated = {
        kind: {**stored.get(kind, {}), **changed.get(kind, {})}
        for kind in (BILLING, SHIPPING)
        if kind in stored or kind in changed
    }
    return updated, any(
        destination_address(stored.get(kind)) != destination_address(address) for kind, address in updated.items()
    )


async def load_addresses(scope: Scope, locked: LockedOrder) -> dict[str, dict[str, Any]]:
    """Load the billing and shipping addresses as far as prices depend on them."""
    return {address["kind"]: dict(address) for address in await fetch(_ADDRESSES, scope.store.id, locked.id)}


async def changes_destination(scope: Scope, locked: LockedOrder, changes: InputValues) -> bool:
    """Return whether an address change may change the destination."""
    return bool(changes.get("addresses")) and (await _updated_addresses(scope, locked, changes))[1]


async def release_replaced_promotions(scope: Scope, locked: LockedOrder, changes: InputValues) -> None:
    """Release promotion uses replaced by an explicit discount; before any product is locked."""
    if locked.has_promotions and _explicit_discount(changes) is not None:
        await delete_uses(scope, locked.id)


def _explicit_discount(changes: InputValues) -> int | None:
    fields = read_fields({"discount_cents": ORDER_FIELDS["discount_cents"]}, changes)
    discount: int | None = fields.get("discount_cents")
    return discount


async def recalculate_totals(
    scope: Scope,
    locked: LockedOrder,
    references: OrderReferences,
    changes: InputValues,
    lines: Sequence[PricedLine],
) -> dict[str, Any]:
    """Return the amounts of the order with these lines, and replace its tax rows."""
    totals, priced, method = await _calculate(scope, locked, references, changes, lines)
    if priced is None:
        return asdict(totals)
    await replace_rows(scope, "order_taxes", "order_id", [locked.id], tax_rows(locked.id, priced.taxes))
    return asdict(totals) | priced.point_columns | _quote_columns(method)


async def total_with_method(scope: Scope, locked: LockedOrder, payment_method: int) -> int:
    """Return the total that the order would have with a payment method, without the interest of instalments, in cents."""
    references = await load_references(
        scope,
        payment_method=payment_method,
        shipping_method=locked.shipping_method_id,
        current_payment_method=payment_method,
        current_shipping_method=locked.shipping_method_id,
    )
    changes = {"payment_method": payment_method}
    totals, _, _ = await _calculate(scope, locked, references, changes, await load_lines(scope, locked), interest=0)
    return totals.total_cents


async def _calculate(
    scope: Scope,
    locked: LockedOrder,
    references: OrderReferences,
    changes: InputValues,
    lines: Sequence[PricedLine],
    interest: int | None = None,
) -> tuple[OrderTotals, PricingResult | None, ChosenShippingMethod | None]:
    """Return the amounts of the order with these lines, what they were calculated from (None of an imported order), and its shipping.

    `interest`, by default that of the instalments of its payments, is part of the surcharge.
    """
    if interest is None:
        interest = await fetchval(_INTEREST, scope.store.id, locked.id)
    explicit_discount = _explicit_discount(changes)
    if locked.imported:
        imported = _imported_totals(locked, references, changes, lines, explicit_discount)
        return _with_interest(imported, interest), None, None
    keeps_promotions = locked.has_promotions and explicit_discount is None
    if not keeps_promotions and explicit_discount is None:
        explicit_discount = locked.discount_cents - locked.points_cents
    updated, has_other_destination = await _updated_addresses(scope, locked, changes)
    addresses = fill_missing_address(updated)
    if has_other_destination or {"shipping_method", "lines"} & changes.keys() or locked.shipping_quote is None:
        references = await with_carrier_price(scope, references, lines, addresses.get(SHIPPING))
    else:
        references = _at_quoted_price(references, locked.shipping_quote)
    priced: PricingResult = await price_purchase(
        scope,
        Purchase(
            lines=lines,
            references=references,
            addresses=addresses,
            user_id=references.customer.id if references.customer else locked.user_id,
            coupon_code=locked.coupon_code,
            discount_cents=explicit_discount,
            prices_agreed=True,
            order_promotions=await load_order_promotions(scope, locked.id) if keeps_promotions else (),
            order_id=locked.id,
            fixed_shipping_cents=0 if "shipping_method" in changes else locked.shipping_cents,
            points=_agreed_points(locked),
        ),
    )
    return _with_interest(priced.totals, interest), priced, references.shipping_method


def _with_interest(totals: OrderTotals, cents: int) -> OrderTotals:
    return replace(totals, surcharge_cents=totals.surcharge_cents + cents, total_cents=totals.total_cents + cents)


def _at_quoted_price(references: OrderReferences, quote: str) -> OrderReferences:
    """Return the references with the shipping method at the price that an order keeps of a carrier's quote."""
    if references.shipping_method is None:
        return references
    return replace(references, shipping_method=with_quoted_price(references.shipping_method, orjson.loads(quote)))


def _quote_columns(method: ChosenShippingMethod | None) -> dict[str, Any]:
    """Return the columns of what a carrier quoted."""
    record = method.carrier_record if method is not None else None
    times = {} if method is None or record is None else {"delivery_time": method.delivery_time}
    return {"shipping_quote": json_text(record) if record is not None else None, **times}


def _agreed_points(locked: LockedOrder) -> PointsRequest:
    """Return the points that the order spent, at the rate of then; what it no longer needs goes back (`domain.points.orders`)."""
    if not locked.points_spent:
        return NO_POINTS
    return PointsRequest(locked.points_spent, locked.points_cents // locked.points_spent, agreed=True)


def _imported_totals(
    locked: LockedOrder,
    references: OrderReferences,
    changes: InputValues,
    lines: Sequence[PricedLine],
    explicit_discount: int | None,
) -> OrderTotals:
    return calculate_totals(
        [line.totals_line for line in lines],
        rate=references.shipping_method.rate if references.shipping_method else None,
        surcharge=references.payment_method.surcharge if references.payment_method else None,
        discount_cents=locked.discount_cents if explicit_discount is None else explicit_discount,
        tax_cents=locked.tax_cents,
        fixed_shipping_cents=0 if "shipping_method" in changes else locked.shipping_cents,
    )
