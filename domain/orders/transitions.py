"""Say which way an order may go, and what of the stock it holds where it arrives. Decided here, done in `lifecycle`.

Source: decisions section 1 (Order transitions, Stock) and decisions-legacy section 4 (vendors).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from domain.catalog.stock import DEDUCTED, NOTHING, RESERVED
from kernel.codes import order_statuses
from kernel.errors import RuleViolation, ValidationFailed

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

# A letter that a store added comes with what it does to the stock (`Store.order_statuses`); it leads to these and is reached from them.
Added: TypeAlias = Mapping[str, str]
NONE_ADDED: Added = MappingProxyType({})
BESIDE_ADDED = (OPEN, PROCESSED, BACKORDERED, COMPLETE, CANCELLED)
_HELD_BY_INVENTORY: Mapping[str, str] = {"D": DEDUCTED, "I": NOTHING}

# A vendor may call off what nobody has paid yet; what was paid is the shop's to refund.
VENDOR_CANCELS_FROM = (OPEN, BACKORDERED)


@dataclass(frozen=True, slots=True)
class Transition:
    """Describe a decided change: where to, what the order will hold, whether goods move, and whether it was forced."""

    to_status: str
    stock_state: str
    moves_goods: bool
    forced: bool


def holds(status: str, added: Added = NONE_ADDED) -> str:
    """Say what of the stock an order with the letter holds."""
    return HOLDS[status] if status in HOLDS else _HELD_BY_INVENTORY[added[status]]


def unfinished(added: Added = NONE_ADDED) -> list[str]:
    """List the letters of orders that still have something coming; an added one that holds stock does."""
    return [*UNFINISHED, *(letter for letter in added if holds(letter, added) != NOTHING)]


def allowed_from(status: str, added: Added = NONE_ADDED, *, by_vendor: bool = False) -> tuple[str, ...]:
    """List the letters an order with this one may go to."""
    if status in BESIDE_ADDED:
        onward = (*TRANSITIONS[status], *added)
    elif status in TRANSITIONS:
        onward = TRANSITIONS[status]
    else:
        onward = BESIDE_ADDED
    if by_vendor and status not in VENDOR_CANCELS_FROM:
        return tuple(letter for letter in onward if letter != CANCELLED)
    return onward


def decide(
    from_status: str,
    to_status: str,
    *,
    added: Added = NONE_ADDED,
    force: bool = False,
    by_vendor: bool = False,
    restock: bool = False,
) -> Transition | None:
    """Decide a change of status: the step to take, or None when the order is there already. `added` are the store's own letters.

    `force` goes where the table doesn't lead (never together with `by_vendor`). Raises RuleViolation with the letters `allowed`,
    ValidationFailed for a letter that is none.
    """
    check_status(to_status, added)
    if to_status == from_status:
        return None
    allowed = allowed_from(from_status, added, by_vendor=by_vendor)
    forced = to_status not in allowed
    if forced and not force:
        raise RuleViolation(
            f"an order can't go from {from_status} to {to_status}; allowed: {', '.join(allowed) or 'nothing'}",
            reason="transition_forbidden",
            details={"allowed": list(allowed)},
        )
    left_the_house = from_status == COMPLETE and to_status == CANCELLED
    return Transition(
        to_status, holds(to_status, added), moves_goods=restock or not left_the_house, forced=forced
    )


def check_status(status: str, added: Added = NONE_ADDED) -> None:
    """Refuse what is not a letter of an order."""
    if status not in HOLDS and status not in added:
        raise ValidationFailed(
            f"status is {status!r}; expected one of {', '.join(order_statuses(added).codes)}",
            field="status",
            code="status_invalid",
        )
