"""What a gateway pays to the vendors itself, and takes back from them, of the payments that it divides (docs/ledger.md#split).

`Moved` are cents by account, and whether they were taken back: the gateway's movements, apart from what the accounts should have.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from domain.ledger.kinds import COMMISSION_REFUND, REFUND, SALE, Account, Targets
from kernel.money import allocate, allocate_growing

Moved: TypeAlias = dict[tuple[Account, bool], int]

_DISPUTED = "DISPUTED"


class ChargeShare(NamedTuple):
    """What a recipient gets of a charge, in cents; the account None is the store's. Stored as a list in `payments.shares`."""

    account: Account
    recipient_id: str
    cents: int
    is_liable: bool
    pays_fees: bool


def read_shares(stored: Sequence[Sequence[Any]]) -> tuple[ChargeShare, ...]:
    """Return the shares of a payment as they are stored."""
    return tuple(ChargeShare(*share) for share in stored)


class DividedPayment(NamedTuple):
    """A payment that was received and that its gateway divides; amounts in cents."""

    id: int
    status: str
    paid_cents: int
    refunded_cents: int
    shares: Sequence[ChargeShare]


def received_parts(shares: Sequence[ChargeShare], paid_cents: int) -> list[int]:
    """Return what each share has of a charge of which this was paid, in cents; what was paid beyond it is the store's account's."""
    cents = [share.cents for share in shares]
    return allocate_growing(min(paid_cents, sum(cents)), cents)


def refunded_parts(shares: Sequence[ChargeShare], paid_cents: int, refunded_cents: int) -> list[int]:
    """Return what each share has given back after refunds: the same part of each, none of it twice."""
    received = received_parts(shares, paid_cents)
    return allocate_growing(min(refunded_cents, sum(received)), received)


def moved_cents(payments: Sequence[DividedPayment], without: Container[int]) -> Moved:
    """Return what the gateways have paid to the vendors and taken back, of all payments but those `without`."""
    moved: Moved = {}
    for payment in payments:
        if payment.id in without:
            continue
        received = received_parts(payment.shares, payment.paid_cents)
        refunded = refunded_parts(payment.shares, payment.paid_cents, payment.refunded_cents)
        for share, gained, lost in zip(payment.shares, received, refunded, strict=True):
            if share.account is None:
                continue
            # A chargeback is taken from those who are liable.
            is_taken = payment.status == _DISPUTED and share.is_liable
            for key, cents in (
                ((share.account, False), gained),
                ((share.account, True), -(gained if is_taken else lost)),
            ):
                moved[key] = moved.get(key, 0) + cents
    return moved


def written_cents(entries: Mapping[tuple[Account, str], int]) -> Moved:
    """Return what the entries that are marked say of the gateways' movements, from their sums by account and kind."""
    moved: Moved = {}
    for (account, kind), cents in entries.items():
        key = (account, is_reversal(kind))
        moved[key] = moved.get(key, 0) + cents
    return moved


def is_reversal(kind: str) -> bool:
    """Return whether entries of a kind take back what others gave."""
    return kind in (REFUND, COMMISSION_REFUND)


def marked_parts(lacking: Targets, moved: Moved, written: Moved) -> Targets:
    """Return which part of the entries to be written is marked as moved by the gateway, by account and kind.

    The marked entries of an account then add up to what the gateway moved. What it moves beyond the entries to be written, as when the
    account had its share already, is marked too, and the same taken from the balance: more than the entry, or against its sign.
    """
    marked: Targets = {}
    for key in moved.keys() | written.keys():
        cents = moved.get(key, 0) - written.get(key, 0)
        account, is_back = key
        entries = {
            kind: amount
            for (owner, kind), amount in lacking.items()
            if owner == account and is_reversal(kind) is is_back
        }
        total = sum(entries.values())
        within = min(max(cents, min(0, total)), max(0, total))
        sign = -1 if total < 0 else 1
        parts = allocate(sign * within, [sign * amount for amount in entries.values()])
        for kind, part in zip(entries, parts, strict=True):
            marked[account, kind] = sign * part
        rest = (account, REFUND if is_back else SALE)
        marked[rest] = marked.get(rest, 0) + cents - within
    return {key: cents for key, cents in marked.items() if cents}
