"""Price an order that isn't placed: what it would cost now, and which promotions apply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from domain.promotions.calculation import ActivePromotion
from domain.promotions.rewards import Reward
from domain.purchase.draft import parse_draft
from domain.purchase.lines import PricedLine
from domain.purchase.placement import check_draft, load_purchase, reject_other_vendors
from domain.purchase.pricing import price_purchase
from domain.purchase.references import reject_unavailable, reject_unsaleable
from domain.purchase.terms import load_terms
from kernel.scope import Scope, active_scope
from models.references import PROMOTION, find_public_ids


async def preview_order(scope: Scope, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return lines, discounts by promotion and totals of an order, which needs neither customer, shipping method nor stock.

    Limits of orders aren't checked; otherwise raises as `placement.place_order`.
    """
    draft = parse_draft(values)
    check_draft(scope, draft, has_lines=bool(draft.lines), needs_customer=False)
    with active_scope(scope):
        purchase = await load_purchase(scope, draft)
        await reject_other_vendors(scope, draft, purchase.lines)
        reject_unsaleable(purchase.lines)
        reject_unavailable(scope, purchase.references, purchase.lines, needs_method=False)
        terms = await load_terms(scope, purchase)
        priced = await price_purchase(scope, purchase, terms)
        discounts = await _discounts(scope, terms.promotions, priced.reward)
    return {
        "lines": [_line(line) for line in priced.lines],
        "discounts": discounts,
        **asdict(priced.totals),
        **priced.point_columns,
    }


def _line(line: PricedLine) -> dict[str, Any]:
    return {
        "product_id": line.offer.public_id,
        "product": line.offer.id,
        "name": line.offer.name,
        "quantity": line.quantity,
        "base_price_cents": line.base_price_cents,
        "price_cents": line.price_cents,
        "total_cents": line.price_cents * line.quantity,
        "is_gift": "promotion_id" in line.extra,
    }


async def _discounts(scope: Scope, promotions: Iterable[ActivePromotion], reward: Reward) -> list[dict[str, Any]]:
    names = {promotion.id: promotion.name for promotion in promotions}
    ids = await find_public_ids(scope, PROMOTION, reward.promotions) if reward.promotions else {}
    return [
        {
            "promotion_id": ids[number],
            "promotion": number,
            "name": names[number],
            "amount_cents": reward.amounts.get(number, 0),
        }
        for number in reward.promotions
    ]
