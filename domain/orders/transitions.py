"""Say which way an order may go, and what of the stock it holds where it arrives. Decided here, done in `lifecycle`.

Source: decisions section 1 (Order transitions, Stock) and decisions-legacy section 4 (vendors).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from domain.catalog.stock import DEDUCTED, NOTHING, RESERVED
from kernel.errors import RuleViolation, ValidationFailed
from kernel.letters import ORDER_LETTERS

OPEN, PROCESSED, COMPLETE = "O", "P", "C"
DECLINED, FAILED, CANCELLED, BACKORDERED = "D", "F", "I", "B"

# Lines, and with them totals and stock, may change only before anybody paid for them.
EDITABLE = (OPEN, BACKORDERED)
# An order that still has something coming: its vendor can't be deleted.
UNFINISHED = (OPEN, PROCESSED, BACKORDERED)

TRANSITIONS: Mapping[str, tuple[str, ...]] = {
    OPEN: (
        PROCESSED,  # the payment came in, or somebody approved the order by hand
        DECLINED,  # the payer's side refused the payment
        FAILED,  # the payment broke for technical reasons, or its time ran out
        CANCELLED,  # called off before it was paid
        BACKORDERED,  # accepted, but goods must come in first; they stay set aside
        COMPLETE,  # paid at the door: handed over without ever having been marked as paid
    ),
    BACKORDERED: (
        OPEN,  # the goods came in; it waits for its payment again
        PROCESSED,  # the goods came in and it is paid
        COMPLETE,  # the goods came in and went straight to the buyer
        CANCELLED,  # the buyer wouldn't wait
    ),
    DECLINED: (
        OPEN,  # the buyer tries another payment: the stock is taken again
        PROCESSED,  # the payment came in after all: the stock is taken again
        CANCELLED,  # given up for good
    ),
    FAILED: (
        OPEN,  # the buyer tries again: the stock is taken again
        PROCESSED,  # a late payment arrived: the stock is taken again
        CANCELLED,  # given up for good
    ),
    PROCESSED: (
        COMPLETE,  # shipped or handed over
        BACKORDERED,  # paid, but something is missing: back on the shelf, set aside
        CANCELLED,  # refunded before it left: the goods go back to the shelf
    ),
    COMPLETE: (
        CANCELLED,  # returned or refunded; the goods come back only when the caller says so
    ),
    CANCELLED: (),  # final; only a forced change leads out
}

HOLDS: Mapping[str, str] = {
    OPEN: RESERVED,
    BACKORDERED: RESERVED,
    PROCESSED: DEDUCTED,
    COMPLETE: DEDUCTED,
    DECLINED: NOTHING,
    FAILED: NOTHING,
    CANCELLED: NOTHING,
}

# A vendor may call off what nobody has paid yet; what was paid is the shop's to refund.
VENDOR_CANCELS_FROM = (OPEN, BACKORDERED)


@dataclass(frozen=True, slots=True)
class Step:
    """Describe a decided change: where to, what the order will hold, whether goods move, and whether it was forced."""

    to_status: str
    stock_state: str
    moves_goods: bool
    forced: bool


def allowed_from(status: str, *, by_vendor: bool = False) -> tuple[str, ...]:
    """List the letters an order with this one may go to."""
    onward = TRANSITIONS.get(status, ())
    if by_vendor and status not in VENDOR_CANCELS_FROM:
        return tuple(letter for letter in onward if letter != CANCELLED)
    return onward


def decide(
    from_status: str, to_status: str, *, force: bool = False, by_vendor: bool = False, restock: bool = False
) -> Step | None:
    """Decide a change of status: the step to take, or None when the order is there already.

    `force` goes where the table doesn't lead (never together with `by_vendor`). Raises RuleViolation with the letters `allowed`,
    ValidationFailed for a letter that is none.
    """
    check_letter(to_status)
    if to_status == from_status:
        return None
    allowed = allowed_from(from_status, by_vendor=by_vendor)
    forced = to_status not in allowed
    if forced and not force:
        raise RuleViolation(
            f"an order can't go from {from_status} to {to_status}; allowed: {', '.join(allowed) or 'nothing'}",
            reason="transition_forbidden",
            details={"allowed": list(allowed)},
        )
    left_the_house = from_status == COMPLETE and to_status == CANCELLED
    return Step(to_status, HOLDS[to_status], moves_goods=restock or not left_the_house, forced=forced)


def check_letter(status: str) -> None:
    """Refuse what is not a letter of an order."""
    if status not in HOLDS:
        raise ValidationFailed(
            f"status is {status!r}; expected one of {', '.join(ORDER_LETTERS.letters)}",
            field="status",
            code="status_invalid",
        )
