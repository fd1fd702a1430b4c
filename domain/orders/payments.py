"""Record money received and paid back, and say what an order's payment has come to.

An order's status letter is another matter: the gateway's mapping or a person moves it (`lifecycle.move`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from domain import audit, events
from domain.fields import InputField, read_fields, short_text, whole
from domain.orders.locked import LockedOrder, lock_order
from kernel.errors import ValidationFailed
from kernel.ids import uuid7
from kernel.money import MAX_CENTS
from kernel.scope import Scope
from models.database import execute, transaction, value

UNPAID, PAID = "unpaid", "paid"
PARTIALLY_REFUNDED, REFUNDED, CHARGEBACK = "partially_refunded", "refunded", "chargeback"

_PAYMENT_FIELDS: Mapping[str, InputField] = {
    "kind": InputField("kind", short_text),
    "installments": InputField("installments", whole(0, 1_000)),
}

_INSERT = """
INSERT INTO payments (tenant_id, public_id, order_id, sequence, kind, installments, amount_cents, created_at)
SELECT $1, $2, $3, coalesce(max(sequence), 0) + 1, $4, $5, $6, $7
FROM payments WHERE tenant_id = $1 AND order_id = $3
RETURNING id
"""

# An order that is paid waits for nothing any more.
_SETTLE = """
UPDATE orders SET paid_cents = $3, refunded_cents = $4, payment_status = $5, updated_at = $6,
    hold_until = CASE WHEN $5 = 'unpaid' THEN hold_until END
WHERE tenant_id = $1 AND id = $2
"""


@dataclass(frozen=True, slots=True)
class Settled:
    """Tell what an order's payment has come to, in cents; `payment_id` is null when nothing was received."""

    order_id: int
    payment_status: str
    paid_cents: int
    refunded_cents: int
    payment_id: int | None = None


def payment_status(
    total_cents: int, paid_cents: int, refunded_cents: int = 0, *, charged_back: bool = False
) -> str:
    """Name the state of an order's payment: part of the total is still `unpaid`, part of it given back `partially_refunded`."""
    if charged_back:
        return CHARGEBACK
    if refunded_cents and refunded_cents >= paid_cents:
        return REFUNDED
    if refunded_cents:
        return PARTIALLY_REFUNDED
    return PAID if paid_cents and paid_cents >= total_cents else UNPAID


async def record_payment(
    scope: Scope,
    order: object,
    amount_cents: int,
    *,
    kind: str = "",
    installments: int = 1,
    received_at: datetime | None = None,
) -> Settled:
    """Record money received for an order, in cents, and tell of the change; the order's status letter stays.

    Raises NotFound for the order and ValidationFailed for what is no amount, kind or number of installments.
    """
    _check_amount(amount_cents)
    read_fields(_PAYMENT_FIELDS, {"kind": kind, "installments": installments})
    async with transaction(scope):
        held = await lock_order(scope, order)
        payment_id = await add_payment(
            scope, held, amount_cents, kind=kind, installments=installments, received_at=received_at
        )
        await audit.record(
            scope, "order.payment_recorded", "order", held.public_id, {"amount_cents": amount_cents}
        )
        return await settle(scope, held, held.paid_cents + amount_cents, held.refunded_cents, payment_id)


async def record_refund(scope: Scope, order: object, refunded_cents: int) -> Settled:
    """Record that so much of what was paid has been given back in all (not: in addition), in cents."""
    _check_amount(refunded_cents)
    async with transaction(scope):
        held = await lock_order(scope, order)
        # Notifications may arrive out of order: what was given back never shrinks.
        return await settle(scope, held, held.paid_cents, max(refunded_cents, held.refunded_cents))


async def record_chargeback(scope: Scope, order: object) -> Settled:
    """Record that the payer's bank took the money back; the amounts and the order's letter stay (decisions section 5)."""
    async with transaction(scope):
        held = await lock_order(scope, order)
        return await settle(scope, held, held.paid_cents, held.refunded_cents, charged_back=True)


async def add_payment(
    scope: Scope,
    held: LockedOrder,
    amount_cents: int,
    *,
    kind: str,
    installments: int,
    received_at: datetime | None = None,
) -> int:
    """Write money received for a locked order and give the row's number; `settle` makes it count."""
    payment_id: int = await value(
        _INSERT,
        scope.store.id,
        uuid7(),
        held.id,
        kind,
        installments,
        amount_cents,
        received_at or scope.now,
    )
    return payment_id


async def settle(
    scope: Scope,
    held: LockedOrder,
    paid_cents: int,
    refunded_cents: int,
    payment_id: int | None = None,
    *,
    charged_back: bool = False,
    told: bool = True,
) -> Settled:
    """Set what a locked order's payment has come to in all, in cents; a chargeback stays.

    `told=False` leaves the event to the caller, who changes more of the order.
    """
    _check_amount(paid_cents)
    status = payment_status(
        held.total_cents,
        paid_cents,
        refunded_cents,
        charged_back=charged_back or held.payment_status == CHARGEBACK,
    )
    await execute(_SETTLE, scope.store.id, held.id, paid_cents, refunded_cents, status, scope.now)
    await events.order_changed(scope, held.id, told=told)
    return Settled(held.id, status, paid_cents, refunded_cents, payment_id)


def _check_amount(amount_cents: int) -> None:
    if not 0 <= amount_cents <= MAX_CENTS:
        raise ValidationFailed(
            f"the amount is {amount_cents} cents; expected 0 to {MAX_CENTS}",
            field="amount_cents",
            code="amount_invalid",
        )
