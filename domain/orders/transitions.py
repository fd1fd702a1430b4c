"""Decide status transitions of an order, the stock state of each status, and the payment status; pure. `lifecycle` applies transitions.

See docs/reference/shared.md#order-lifecycle and, for vendors, docs/reference/legacy.md#vendor-app.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from domain.catalog.stock import DEDUCTED, RESERVED, UNRESERVED
from kernel.codes import order_statuses
from kernel.errors import RuleViolation, ValidationFailed

OPEN, PROCESSED, COMPLETE = "O", "P", "C"
DECLINED, FAILED, CANCELLED, BACKORDERED = "D", "F", "I", "B"

# Payment statuses, which don't depend on the order's.
UNPAID, PAID = "unpaid", "paid"
PARTIALLY_REFUNDED, REFUNDED, CHARGEBACK = "partially_refunded", "refunded", "chargeback"

# Lines, and with them totals and stock, may change only before the order is paid.
EDITABLE = (OPEN, BACKORDERED)
# Orders that came to nothing: they have no stock, and count against no limit.
UNSUCCESSFUL = (DECLINED, FAILED, CANCELLED)
# Orders that are still to be fulfilled: their vendor can't be deleted.
UNFINISHED = (OPEN, PROCESSED, BACKORDERED)

TRANSITIONS: Mapping[str, tuple[str, ...]] = {
    OPEN: (
        PROCESSED,  # the payment was received, or staff approved the order
        DECLINED,  # the payment was declined
        FAILED,  # the payment failed technically or expired
        CANCELLED,  # cancelled before it was paid
        BACKORDERED,  # accepted, but an item is out of stock; the stock stays reserved
        COMPLETE,  # paid on delivery: delivered without having been marked as paid
    ),
    BACKORDERED: (
        OPEN,  # restocked; waiting for its payment again
        PROCESSED,  # restocked and paid
        COMPLETE,  # restocked and delivered
        CANCELLED,  # the customer didn't wait
    ),
    DECLINED: (
        OPEN,  # the customer retries the payment: the stock is reserved again
        PROCESSED,  # a late payment was received: the stock is deducted again
        CANCELLED,  # abandoned
    ),
    FAILED: (
        OPEN,  # the customer retries: the stock is reserved again
        PROCESSED,  # a late payment was received: the stock is deducted
        CANCELLED,  # abandoned
    ),
    PROCESSED: (
        COMPLETE,  # shipped or handed over
        BACKORDERED,  # paid, but an item is missing: the stock is reserved instead of deducted
        CANCELLED,  # refunded before shipping: the stock is restored
    ),
    COMPLETE: (
        CANCELLED,  # returned or refunded; the stock is restored only with `restock`
    ),
    CANCELLED: (),  # final; only a forced change leaves it
}

STOCK_STATES: Mapping[str, str] = {
    OPEN: RESERVED,
    BACKORDERED: RESERVED,
    PROCESSED: DEDUCTED,
    COMPLETE: DEDUCTED,
    DECLINED: UNRESERVED,
    FAILED: UNRESERVED,
    CANCELLED: UNRESERVED,
}

# Custom status codes with their stock effect (`Store.order_statuses`).
CustomStatuses: TypeAlias = Mapping[str, str]
NO_CUSTOM_STATUSES: CustomStatuses = MappingProxyType({})
# Custom statuses are entered from these statuses, and left for them or for CANCELLED, which is final.
BEFORE_CUSTOM = (OPEN, PROCESSED, BACKORDERED, COMPLETE)
AFTER_CUSTOM = (*BEFORE_CUSTOM, CANCELLED)
_STOCK_STATE_BY_EFFECT: Mapping[str, str] = {"D": DEDUCTED, "I": UNRESERVED}

# A vendor may cancel unpaid orders; paid ones are for the store to refund.
VENDOR_CANCELS_FROM = (OPEN, BACKORDERED)


@dataclass(frozen=True, slots=True)
class Transition:
    """A decided status change: target status, resulting stock state, whether stock moves, and whether it was forced."""

    to_status: str
    stock_state: str
    moves_stock: bool
    forced: bool


def stock_state_of(status: str, custom: CustomStatuses = NO_CUSTOM_STATUSES) -> str:
    """Return the stock state of an order in a status."""
    return STOCK_STATES[status] if status in STOCK_STATES else _STOCK_STATE_BY_EFFECT[custom[status]]


def unfinished_statuses(custom: CustomStatuses = NO_CUSTOM_STATUSES) -> list[str]:
    """Return the statuses of orders still to be fulfilled; custom ones count when they reserve or deduct stock."""
    return [*UNFINISHED, *(code for code in custom if stock_state_of(code, custom) != UNRESERVED)]


def allowed_from(
    status: str, custom: CustomStatuses = NO_CUSTOM_STATUSES, *, by_vendor: bool = False
) -> tuple[str, ...]:
    """Return the statuses an order may change to from this one."""
    if status in BEFORE_CUSTOM:
        targets = (*TRANSITIONS[status], *custom)
    elif status in TRANSITIONS:
        targets = TRANSITIONS[status]
    else:
        targets = AFTER_CUSTOM
    if by_vendor and status not in VENDOR_CANCELS_FROM:
        return tuple(code for code in targets if code != CANCELLED)
    return targets


def allowed_sql(letter: str, custom: str) -> str:
    """Return the expression of `allowed_from` for the built-in or custom status in an expression; `custom` is that of the custom ones."""

    def array(codes: tuple[str, ...]) -> str:
        return f"ARRAY[{', '.join(map(repr, codes))}]::text[]"

    cases = " ".join(
        f"WHEN {code!r} THEN {array(targets)}{f' || {custom}' if code in BEFORE_CUSTOM else ''}"
        for code, targets in TRANSITIONS.items()
    )
    return f"CASE {letter} {cases} ELSE {array(AFTER_CUSTOM)} END"


def decide_transition(
    from_status: str,
    to_status: str,
    *,
    custom: CustomStatuses = NO_CUSTOM_STATUSES,
    force: bool = False,
    by_vendor: bool = False,
    restock: bool = False,
) -> Transition | None:
    """Return the transition between two statuses, None when they are equal; `custom` are the store's own status codes.

    `force` allows transitions outside the table (never together with `by_vendor`). Raises RuleViolation with the `allowed` statuses, and
    ValidationFailed for an unknown status.
    """
    check_status(to_status, custom)
    if to_status == from_status:
        return None
    allowed = allowed_from(from_status, custom, by_vendor=by_vendor)
    forced = to_status not in allowed
    if forced and not force:
        raise RuleViolation(
            f"an order can't go from {from_status} to {to_status}; allowed: {', '.join(allowed) or 'nothing'}",
            reason="transition_forbidden",
            details={"allowed": list(allowed)},
        )
    is_return = from_status == COMPLETE and to_status == CANCELLED
    return Transition(to_status, stock_state_of(to_status, custom), moves_stock=restock or not is_return, forced=forced)


def check_status(status: str, custom: CustomStatuses = NO_CUSTOM_STATUSES) -> None:
    """Raise ValidationFailed for an unknown order status."""
    if status not in STOCK_STATES and status not in custom:
        raise ValidationFailed(
            f"status is {status!r}; expected one of {', '.join(order_statuses(custom).codes)}",
            field="status",
            code="status_invalid",
        )


def payment_status(total_cents: int, paid_cents: int, refunded_cents: int = 0, *, charged_back: bool = False) -> str:
    """Return the payment status: a partial payment is `unpaid`, a partial refund `partially_refunded`."""
    if charged_back:
        return CHARGEBACK
    if refunded_cents and refunded_cents >= paid_cents:
        return REFUNDED
    if refunded_cents:
        return PARTIALLY_REFUNDED
    return PAID if paid_cents and paid_cents >= total_cents else UNPAID
