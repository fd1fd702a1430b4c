"""Say what each event of the gateway means for the order: the table of decisions section 5, by the event's type alone."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto


class Meaning(Enum):
    """Name what an event tells of an order's money."""

    PAID = auto()  # the order becomes P when what is paid covers the total
    UNDERPAID = auto()  # part of the money came: recorded, and somebody must look at it
    REFUSED = auto()  # the order becomes D, or F when the gateway itself failed
    REFUNDED = auto()  # the order becomes I when the whole amount was given back
    PARTLY_REFUNDED = auto()  # refunded_cents grows and nothing else changes
    CANCELLED = auto()  # the order becomes I
    CHARGED_BACK = auto()  # payment_status becomes chargeback
    NEWS = auto()  # the charge is kept up to date; the order has nothing to do with it


MEANINGS: Mapping[str, Meaning] = {
    "charge.paid": Meaning.PAID,
    "charge.overpaid": Meaning.PAID,
    "order.paid": Meaning.PAID,
    "charge.underpaid": Meaning.UNDERPAID,
    "charge.payment_failed": Meaning.REFUSED,
    "charge.antifraud_reproved": Meaning.REFUSED,
    "order.payment_failed": Meaning.REFUSED,
    "charge.refunded": Meaning.REFUNDED,
    "order.canceled": Meaning.CANCELLED,
    "charge.partial_canceled": Meaning.PARTLY_REFUNDED,
    "charge.chargedback": Meaning.CHARGED_BACK,
    # The rest of what Pagar.me sends. Types that are not here change nothing at all.
    "charge.created": Meaning.NEWS,
    "charge.updated": Meaning.NEWS,
    "charge.pending": Meaning.NEWS,
    "charge.processing": Meaning.NEWS,
    "charge.antifraud_approved": Meaning.NEWS,
    "charge.antifraud_manual": Meaning.NEWS,
    "charge.antifraud_pending": Meaning.NEWS,
    "order.created": Meaning.NEWS,
    "order.updated": Meaning.NEWS,
    "order.closed": Meaning.NEWS,
}


def meaning_of(event_type: str) -> Meaning | None:
    """Give what an event means; None for a type that nobody knows."""
    return MEANINGS.get(event_type)
