"""Keep the charges that a notification tells of, and say what they add to the order's money.

What a charge has paid and given back never shrinks, for notifications arrive in any order. What the order's sums already hold of it
(`counted`) is not added again, so the same thing told twice, or told by `order.paid` and `charge.paid`, counts once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from domain.gateway.mapping import Meaning
from domain.gateway.notification import ChargePayload, NotificationPayload
from domain.orders.locked import LockedOrder
from kernel.ids import uuid7
from kernel.scope import Scope
from models.database import execute, row, rows

_PAID_WORDS = ("paid", "overpaid", "underpaid", "")

# First, so that there is a row to lock: two notifications that tell of a new charge at once follow each other. In one order, so that
# nobody waits in a circle.
_BEGIN = """
INSERT INTO charges (tenant_id, public_id, charge_id, created_at, updated_at)
SELECT $1, n.public_id, n.charge_id, $4, $4 FROM unnest($2::uuid[], $3::text[]) AS n (public_id, charge_id)
ORDER BY n.charge_id
ON CONFLICT (tenant_id, charge_id) DO NOTHING
"""

_KNOWN = """
SELECT charge_id, order_id, currency, amount_cents, paid_cents, refunded_cents, counted
FROM charges WHERE tenant_id = $1 AND charge_id = ANY($2::text[])
ORDER BY charge_id FOR UPDATE
"""

# What charges have brought into the order so far, and what of it was given back beyond what was seen to come in.
_OF_ALL_CHARGES = """
SELECT coalesce(sum(paid_cents), 0)::bigint AS paid, coalesce(sum(refunded_cents), 0)::bigint AS refunded,
    coalesce(sum(greatest(refunded_cents - paid_cents, 0)), 0)::bigint AS unseen
FROM charges WHERE tenant_id = $1 AND order_id = $2 AND counted
"""

_KEEP = """
UPDATE charges c SET
    order_id = k.order_id,
    status = coalesce(nullif(k.status, ''), c.status),
    last_event = $2,
    payment_method = coalesce(nullif(k.payment_method, ''), c.payment_method),
    currency = k.currency,
    amount_cents = k.amount_cents,
    paid_cents = k.paid_cents,
    refunded_cents = k.refunded_cents,
    counted = k.counted,
    updated_at = $3
FROM unnest($4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::bigint[],
    $12::boolean[])
    AS k (charge_id, order_id, status, payment_method, currency, amount_cents, paid_cents, refunded_cents, counted)
WHERE c.tenant_id = $1 AND c.charge_id = k.charge_id
"""


@dataclass(frozen=True, slots=True)
class ReceivedMoney:
    """Tell of money that came in and that the order's sums don't hold yet, in cents."""

    cents: int
    kind: str
    installments: int


@dataclass(frozen=True, slots=True)
class Money:
    """Tell what the charges of a notification mean for the order's money, in cents.

    `received` and `refunded` are to be added; `own_refunded` is what the order's sums then hold as given back by these very charges.
    `is_whole`: all of them are given back wholly. `problem` says why a charge does not count in the order; `counts` that one does.
    """

    received: tuple[ReceivedMoney, ...] = ()
    refunded: int = 0
    own_refunded: int = 0
    is_whole: bool = True
    counts: bool = False
    problem: str = ""


@dataclass(slots=True)
class _Kept:
    """Hold a charge as it will be kept."""

    charge: ChargePayload
    order_id: int | None
    currency: str
    amount: int
    paid: int
    refunded: int
    counted: bool
    problem: str = ""
    new_paid: int = 0
    new_refunded: int = 0

    @property
    def is_whole(self) -> bool:
        """Say whether all that was paid, or asked for, was given back."""
        return self.refunded >= min((cents for cents in (self.amount, self.paid) if cents), default=0)


async def keep_charges(
    scope: Scope, told: NotificationPayload, meaning: Meaning, held: LockedOrder | None
) -> Money:
    """Write the charges of a notification and give what they add to the order, which is locked, or None when it is not there."""
    if not told.charges:
        return Money()
    ids = [each.charge_id for each in told.charges]
    await execute(_BEGIN, scope.store.id, [uuid7() for _ in ids], ids, scope.now)
    known = {found["charge_id"]: found for found in await rows(_KNOWN, scope.store.id, ids)}
    kept = [_merged(scope, each, known[each.charge_id], meaning, held) for each in told.charges]
    if held is not None:
        await _imply_payments(scope, kept, held)
    await _write(scope, told.event_type, kept)
    counting = [each for each in kept if each.counted and not each.problem]
    return Money(
        received=tuple(
            ReceivedMoney(each.new_paid, each.charge.payment_method, each.charge.installments)
            for each in counting
            if each.new_paid
        ),
        refunded=sum(each.new_refunded for each in counting),
        own_refunded=sum(each.refunded for each in counting),
        is_whole=all(each.is_whole for each in kept),
        counts=bool(counting),
        problem=next((each.problem for each in kept if each.problem), ""),
    )


def _merged(
    scope: Scope, charge: ChargePayload, known: Mapping[str, Any], meaning: Meaning, held: LockedOrder | None
) -> _Kept:
    """Put what is told of a charge together with what was known of it."""
    amount = known["amount_cents"] if charge.amount is None else charge.amount
    paid = max(known["paid_cents"], _told_paid(charge, meaning))
    refunded = max(known["refunded_cents"], _told_refunded(charge, meaning, amount, paid))
    was_counted: bool = known["counted"]
    kept = _Kept(
        charge,
        known["order_id"],
        charge.currency or known["currency"] or scope.store.currency,
        amount,
        paid,
        refunded,
        was_counted,
    )
    if held is None:
        if was_counted:  # nothing is added to an order that is not at hand
            kept.paid, kept.refunded = known["paid_cents"], known["refunded_cents"]
        return kept
    kept.problem = _problem(scope, kept, held)
    if not kept.problem:
        kept.new_paid = paid - (known["paid_cents"] if was_counted else 0)
        kept.new_refunded = refunded - (known["refunded_cents"] if was_counted else 0)
        kept.counted = True
    elif was_counted:  # in another order, whose sums stay as they are
        kept.paid, kept.refunded = known["paid_cents"], known["refunded_cents"]
    kept.order_id = kept.order_id or held.id
    return kept


def _problem(scope: Scope, kept: _Kept, held: LockedOrder) -> str:
    if kept.order_id not in (None, held.id):
        return f"the charge {kept.charge.charge_id} belongs to order {kept.order_id}"
    for whose, currency in (("the store's", scope.store.currency), ("the order's", held.currency)):
        if kept.currency != currency:
            return (
                f"currency: the charge {kept.charge.charge_id} is in {kept.currency}, {whose} is {currency}"
            )
    return ""


def _told_paid(charge: ChargePayload, meaning: Meaning) -> int:
    if meaning not in (Meaning.PAID, Meaning.UNDERPAID):
        return 0
    if charge.paid_amount is not None:
        return charge.paid_amount
    # An order's event names its other charges too, the failed ones among them.
    is_paid = meaning is Meaning.PAID and charge.status in _PAID_WORDS
    return charge.amount or 0 if is_paid else 0


def _told_refunded(charge: ChargePayload, meaning: Meaning, amount: int, paid: int) -> int:
    match meaning:
        case Meaning.REFUNDED:
            return charge.canceled_amount or max(paid, charge.paid_amount or amount)
        case Meaning.PARTLY_REFUNDED:
            return charge.canceled_amount or 0
        case Meaning.CANCELLED:
            # What nobody paid is cancelled too, and then nothing is given back.
            return min(charge.canceled_amount or 0, max(paid, charge.paid_amount or 0))
    return 0


async def _imply_payments(scope: Scope, kept: Sequence[_Kept], held: LockedOrder) -> None:
    """Take what is given back without ever having been seen to come in as having come in: its notification may be late or lost.

    Money that the order holds from elsewhere than charges (recorded by hand, settled at once) stands for it first. So no order
    gives back more than it took.
    """
    unseen = [each for each in kept if each.new_refunded and each.refunded > each.paid]
    if not unseen:
        return
    taken = await row(_OF_ALL_CHARGES, scope.store.id, held.id)
    assert taken is not None  # sums over no rows are a row too
    elsewhere = held.paid_cents - taken["paid"] - (held.refunded_cents - taken["refunded"]) - taken["unseen"]
    for each in unseen:
        needed = min(each.refunded - each.paid, each.new_refunded)
        if needed <= elsewhere:
            elsewhere -= needed
            continue
        paid = max(each.refunded, each.charge.paid_amount or 0)
        each.new_paid += paid - each.paid
        each.paid = paid


async def _write(scope: Scope, event_type: str, kept: Sequence[_Kept]) -> None:
    await execute(
        _KEEP,
        scope.store.id,
        event_type,
        scope.now,
        [each.charge.charge_id for each in kept],
        [each.order_id for each in kept],
        [each.charge.status for each in kept],
        [each.charge.payment_method for each in kept],
        [each.currency for each in kept],
        [each.amount for each in kept],
        [each.paid for each in kept],
        [each.refunded for each in kept],
        [each.counted for each in kept],
    )
