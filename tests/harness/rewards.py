"""Evaluate the active promotions of a store for a purchase, as pricing does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from domain.destinations.matching import destination_address, find_destination
from domain.promotions.calculation import Reward
from domain.promotions.conditions import has_test
from domain.promotions.rewards import (
    PromotedLine,
    PromotionContext,
    active_sql,
    coupon_key,
    evaluate_promotions,
    promotions_from,
)
from kernel.scope import Scope, active_scope
from models.connection.database import fetch

_ACTIVE = active_sql("$2", "$3")


async def find_reward(
    scope: Scope,
    lines: Sequence[PromotedLine],
    *,
    coupon_code: str | None = None,
    user_id: int | None = None,
    email: str = "",
    payment_method_id: int | None = None,
    shipping_method_id: int | None = None,
    address: Mapping[str, Any] | None = None,
) -> Reward:
    """Return the reward of a purchase, without counting a use; `address` has an order address's keys."""
    with active_scope(scope):
        promotions = promotions_from(await fetch(_ACTIVE, scope.store.id, scope.now, coupon_key(coupon_code)))
        parsed = destination_address(address)
        needs_destination = any(has_test(promotion.rule, "destinations") for promotion in promotions)
        destination = await find_destination(scope, parsed) if needs_destination else None
        context = PromotionContext(user_id, email, payment_method_id, shipping_method_id, parsed, destination)
        reward, _ = await evaluate_promotions(scope, promotions, lines, context, coupon_code=coupon_code)
        return reward
