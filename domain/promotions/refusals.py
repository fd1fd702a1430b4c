"""State why a coupon gives nothing, as far as that says nothing of other customers.

Only what the coupon's own rule asks of every customer is stated: its minimum, its dates, and that it is valid once per customer, which the
refusal of the next price says too. A coupon that is unknown, used up, for certain customers or of a disabled promotion is just unavailable.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from domain.promotions.calculation import ActivePromotion, lowered_lines
from domain.promotions.conditions import CATALOG
from domain.promotions.rules import Rule, RuleContext, evaluate
from kernel.clock import format_rfc3339
from kernel.scope import Scope
from models.connection.database import fetch

_DATES = """
SELECT from_at, to_at FROM promotions
WHERE tenant_id = $1 AND coupon_key = $2 AND status = 'A' AND deleted_at IS NULL ORDER BY from_at NULLS FIRST, id
"""


class CouponCause(StrEnum):
    """Why a coupon gives nothing; each holds whatever the payment method."""

    BELOW_MINIMUM = "below_minimum"
    ALREADY_USED = "already_used"
    NOT_YET_VALID = "not_yet_valid"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class CouponRefusal:
    """Why a coupon gives nothing: the smallest subtotal in cents, or the time from or until which it is valid, where one is the cause."""

    cause: CouponCause
    minimum_cents: int | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None

    @property
    def details(self) -> dict[str, Any]:
        """Return the refusal as clients see it."""
        details: dict[str, Any] = {"cause": self.cause.value}
        if self.minimum_cents is not None:
            details["minimum_cents"] = self.minimum_cents
        for name, at in (("valid_from", self.valid_from), ("valid_until", self.valid_until)):
            if at is not None:
                details[name] = format_rfc3339(at)
        return details


def explain_refusal(promotions: Iterable[ActivePromotion], context: RuleContext) -> CouponRefusal | None:
    """Return why none of the promotions of the context's coupon applies; None where the cause is not stated."""
    promotions = list(promotions)
    of_coupon = [promotion for promotion in promotions if promotion.accepts_coupon(context.coupon)]
    context = replace(context, lines=[line for line, _ in lowered_lines(promotions, context)])
    refusals = [_refusal(promotion, context) for promotion in of_coupon]
    stated = [refusal for refusal in refusals if refusal is not None]
    if not stated or len(stated) < len(refusals):
        return None
    return min(stated, key=lambda refusal: refusal.minimum_cents or 0)


async def find_refusal_by_dates(scope: Scope, coupon: str) -> CouponRefusal | None:
    """Return the refusal of a coupon (folded) that is not valid now; None where its dates are not the cause."""
    refusals = []
    for row in await fetch(_DATES, scope.store.id, coupon):
        if row["from_at"] is not None and row["from_at"] > scope.now:
            refusals.append(CouponRefusal(CouponCause.NOT_YET_VALID, valid_from=row["from_at"]))
        elif row["to_at"] is not None and row["to_at"] < scope.now:
            refusals.append(CouponRefusal(CouponCause.EXPIRED, valid_until=row["to_at"]))
        else:
            return None
    return refusals[0] if refusals else None


def _refusal(promotion: ActivePromotion, context: RuleContext) -> CouponRefusal | None:
    if promotion.zone == CATALOG or promotion.is_used_up:
        return None
    unmet = _unmet_tests(promotion.rule, context, promotion.id)
    if not unmet:
        return None
    minimums = [_minimum_cents(test) for test in unmet if test["test"] != "once_per_customer"]
    if None in minimums:
        return None
    if len(minimums) < len(unmet):
        return CouponRefusal(CouponCause.ALREADY_USED)
    return CouponRefusal(CouponCause.BELOW_MINIMUM, minimum_cents=max(cents for cents in minimums if cents is not None))


def _unmet_tests(rule: Rule, context: RuleContext, promotion_id: int) -> list[Rule] | None:
    """Return the tests that a purchase would have to meet besides, None where the rule leaves a choice."""
    if evaluate(rule, context, promotion_id):
        return []
    if "set" not in rule:
        return [rule]
    if rule["set"] != "all" or not rule["holds"]:
        return None
    unmet = [_unmet_tests(part, context, promotion_id) for part in rule["of"]]
    return None if None in unmet else [test for tests in unmet for test in tests or ()]


def _minimum_cents(test: Rule) -> int | None:
    """Return the smallest subtotal that meets a test, None for a test of anything else."""
    if test["test"] != "subtotal" or test["op"] not in ("gte", "gt"):
        return None
    minimum: int = test["value"]
    return minimum + 1 if test["op"] == "gt" else minimum
