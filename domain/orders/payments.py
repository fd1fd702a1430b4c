"""Record payments, refunds and chargebacks of an order, and derive its payment status.

The order status is independent: the gateway mapping or a user changes it (`lifecycle.change_status`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from domain import events, record_events
from domain.ledger.entries import AppliedPayment, write_order_entries
from domain.mails import order_mails
from domain.mails.texts import MailType
from domain.orders.locked import LockedOrder, lock_order
from domain.orders.transitions import CHARGEBACK, COMPLETE, PAID, PROCESSED, payment_status
from domain.points.orders import settle_points
from kernel.check_digits import reject_card_numbers
from kernel.errors import ValidationFailed
from kernel.fields import InputField, integer, read_fields, short_text
from kernel.ids import uuid7
from kernel.money import MAX_CENTS
from kernel.scope import Scope
from models import audit
from models.connection.database import execute, fetch, fetchrow, fetchval, transaction

_PAYMENT_FIELDS: Mapping[str, InputField] = {
    "kind": InputField("kind", short_text),
    "installments": InputField("installments", integer(0, 1_000)),
}

_INSERT = """
INSERT INTO payments (tenant_id, public_id, order_id, sequence, kind, installments, amount_cents, created_at, gateway_charge_id)
SELECT $1, $2, $3, coalesce(max(sequence), 0) + 1, $4, $5, $6, $7, $8
FROM payments WHERE tenant_id = $1 AND order_id = $3
RETURNING id
"""

CHARGED_COLUMNS = """id, public_id, order_id, sequence, kind, status, amount_cents, currency, paid_cents, refunded_cents, surcharge_cents,
    gateway_charge_id, expires_at, cancel_requested_at IS NOT NULL AS is_cancel_requested"""
"""The columns of payments that `ChargedPayment` has."""
_CHARGED = f"""
SELECT {CHARGED_COLUMNS} FROM payments
WHERE tenant_id = $1 AND gateway <> '' AND (gateway_charge_id = ANY($2::text[]) OR public_id = $3) ORDER BY id
"""

_CANCEL_PENDING = """
UPDATE payments SET cancel_requested_at = $3, due_at = $3
WHERE tenant_id = $1 AND order_id = $2 AND status IN ('PENDING', 'AUTHORIZED') AND cancel_requested_at IS NULL
"""

# A paid order no longer expires, and what could still pay more than the order costs now is cancelled by a worker.
_UPDATE_TOTALS = """
WITH superseded AS (
    UPDATE payments p SET cancel_requested_at = $6, due_at = $6
    FROM orders o
    WHERE o.tenant_id = $1 AND o.id = $2 AND o.paid_cents - o.refunded_cents <> $3::bigint - $4::bigint
        AND p.tenant_id = $1 AND p.order_id = $2 AND p.status IN ('PENDING', 'AUTHORIZED') AND p.cancel_requested_at IS NULL
)
UPDATE orders SET paid_cents = $3, refunded_cents = $4, payment_status = $5, updated_at = $6,
    hold_until = CASE WHEN $5 = 'unpaid' THEN hold_until END
WHERE tenant_id = $1 AND id = $2
RETURNING id, email
"""


@dataclass(frozen=True, slots=True)
class PaymentResult:
    """An order's payment totals in cents; `payment_id` is None when no payment was recorded."""

    order_id: int
    payment_status: str
    paid_cents: int
    refunded_cents: int
    payment_id: int | None = None


@dataclass(frozen=True, slots=True)
class ChargedPayment:
    """A payment that was asked of a gateway; amounts in cents, `paid_cents` None until something arrived."""

    id: int
    public_id: UUID
    order_id: int
    sequence: int
    kind: str
    status: str
    amount_cents: int
    currency: str
    paid_cents: int | None
    refunded_cents: int
    surcharge_cents: int
    gateway_charge_id: str | None
    expires_at: datetime | None
    is_cancel_requested: bool

    @property
    def number(self) -> str:
        """Return the number that people see."""
        return f"{self.order_id}-{self.sequence}"


async def find_charged_payments(
    scope: Scope, charge_ids: Sequence[str], payment_id: UUID | None
) -> Sequence[ChargedPayment]:
    """Return the payments that were asked of a gateway, by its charges or by the id that it was sent; none for foreign charges."""
    return [ChargedPayment(**row) for row in await fetch(_CHARGED, scope.store.id, charge_ids, payment_id)]


async def record_payment(
    scope: Scope, order: object, amount_cents: int, *, kind: str = "", installments: int = 1
) -> PaymentResult:
    """Record a payment of an order, in cents, and emit the update; the order status stays.

    Raises NotFound for the order and ValidationFailed for an invalid amount, kind or number of installments, or the number of a card.
    """
    _check_amount(amount_cents, least=1)
    reject_card_numbers({"kind": kind})
    read_fields(_PAYMENT_FIELDS, {"kind": kind, "installments": installments})
    async with transaction(scope):
        locked = await lock_order(scope, order)
        payment_id = await add_payment(scope, locked, amount_cents, kind=kind, installments=installments)
        await audit.record(scope, "order.payment_recorded", "order", locked.public_id, {"amount_cents": amount_cents})
        return await update_payment_totals(
            scope, locked, locked.paid_cents + amount_cents, locked.refunded_cents, payment_id
        )


async def cancel_pending(scope: Scope, locked: LockedOrder) -> None:
    """Let a worker cancel the payment that an order still waits for: its amount is not the order's any more, or the order is cancelled."""
    await execute(_CANCEL_PENDING, scope.store.id, locked.id, scope.now)


async def add_payment(
    scope: Scope, locked: LockedOrder, amount_cents: int, *, kind: str, installments: int, charge_id: str | None = None
) -> int:
    """Insert a payment of a locked order and return its id; `update_payment_totals` makes it count."""
    payment_id: int = await fetchval(
        _INSERT, scope.store.id, uuid7(), locked.id, kind, installments, amount_cents, scope.now, charge_id
    )
    return payment_id


async def update_payment_totals(
    scope: Scope,
    locked: LockedOrder,
    paid_cents: int,
    refunded_cents: int,
    payment_id: int | None = None,
    *,
    charged_back: bool = False,
    emit_events: bool = True,
) -> PaymentResult:
    """Set the paid and refunded totals of a locked order, in cents; a chargeback stays.

    `emit_events=False` leaves the event, the customer's mail about a payment, and the ledger to a caller that changes more of the order.
    """
    _check_amount(paid_cents, least=0)
    status = payment_status(
        locked.total_cents, paid_cents, refunded_cents, charged_back=charged_back or locked.payment_status == CHARGEBACK
    )
    order = await fetchrow(_UPDATE_TOTALS, scope.store.id, locked.id, paid_cents, refunded_cents, status, scope.now)
    assert order is not None  # it is locked
    if not locked.imported and refunded_cents > locked.refunded_cents:
        amount_cents = refunded_cents - locked.refunded_cents
        await order_mails.queue(scope, MailType.ORDER_REFUNDED, order, amount_cents=amount_cents)
    elif not locked.imported and emit_events and _becomes_paid(locked, status):
        await order_mails.queue(scope, MailType.ORDER_PAID, order, total_cents=locked.total_cents)
    if refunded_cents > locked.refunded_cents:
        await record_events.emit_refund(
            scope,
            locked.public_id,
            amount_cents=refunded_cents - locked.refunded_cents,
            refunded_cents=refunded_cents,
            currency=locked.currency,
            payment_status=status,
        )
    if locked.has_points:
        await settle_points(scope, locked.id)
    if emit_events:
        applied = [] if payment_id is None else [AppliedPayment(payment_id, paid_cents - locked.paid_cents)]
        await write_order_entries(scope, locked.id, payments=applied)
        await events.emit_order_updated(scope, locked.id)
    return PaymentResult(locked.id, status, paid_cents, refunded_cents, payment_id)


def _becomes_paid(locked: LockedOrder, status: str) -> bool:
    """Return whether an order becomes paid whose status didn't say so already."""
    return status == PAID and locked.payment_status != PAID and locked.status not in (PROCESSED, COMPLETE)


def _check_amount(amount_cents: int, *, least: int) -> None:
    if not least <= amount_cents <= MAX_CENTS:
        raise ValidationFailed(
            f"the amount is {amount_cents} cents; expected {least} to {MAX_CENTS}",
            field="amount_cents",
            code="amount_invalid",
        )
