"""Cancel a payment that can still be paid: before another is created, or because it was asked for.

The wish is committed before the gateway is called, so that its notification about it is no news about the order
(`domain.gateway.known_payments`), and so that a worker goes on if this process ends.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from uuid import UUID

from domain.orders.locked import lock_order
from domain.orders.payments import ChargedPayment
from domain.payments import settlement
from domain.payments.gateway import ChargeState, GatewayRefused, GatewayUnanswered, PaymentGateway, PaymentStatus
from domain.payments.gateways import gateway_of_method
from domain.payments.lookup import StoredPayment, find_payment
from domain.payments.orders import find_order
from domain.payments.progress import reject_in_progress
from kernel.clock import now
from kernel.errors import NotFound, RuleViolation, Unavailable
from kernel.payment_words import LIVE
from kernel.scope import SYSTEM, Scope
from models import audit
from models.connection.database import execute, retry_conflicts, transaction

_REQUEST = """
UPDATE payments SET cancel_requested_at = coalesce(cancel_requested_at, $3), due_at = $4
WHERE tenant_id = $1 AND id = $2 AND status IN ('PENDING', 'AUTHORIZED')
"""
_NO_ANSWER = "the payment gateway does not answer, so the pending payment can't be cancelled yet; try again"


async def cancel_payment(scope: Scope, payment: object, token: str | None) -> int:
    """Cancel a payment and return its internal id; one that is cancelled stays.

    Raises NotFound, Conflict `in_progress`, RuleViolation `payment_not_cancellable` for one that was paid or has ended otherwise, and
    Unavailable when the gateway doesn't answer.
    """
    system = replace(scope, actor=SYSTEM)
    stored = await find_payment(system, payment)
    try:
        await find_order(scope, stored.order_public_id, token)
    except NotFound as error:  # whose payment it is stays unsaid
        raise NotFound("payment") from error
    if stored.payment.status not in (*LIVE, PaymentStatus.CANCELLED):
        raise _not_cancellable(stored.payment.status)
    if stored.payment.status in LIVE:
        await clear_pending(system, stored.payment.public_id, asked_by=scope)
        after = (await find_payment(system, stored.payment.public_id)).payment.status
        if after not in (PaymentStatus.CANCELLED, PaymentStatus.EXPIRED, PaymentStatus.FAILED):
            raise _not_cancellable(after)
    return stored.payment.id


async def clear_pending(scope: Scope, payment_id: UUID, *, asked_by: Scope | None = None) -> None:
    """End a live payment: cancelled, or as the gateway says it is. Raises Conflict `in_progress` and Unavailable.

    `scope` is the system's. Who asked for it, if not the creation of another payment, is in the audit log.
    """
    stored = await find_payment(scope, payment_id)
    payment = stored.payment
    if payment.gateway_charge_id is None:
        reject_in_progress(stored.attempted_at, now())
    await retry_conflicts(partial(_request, scope, stored, asked_by))
    gateway = await gateway_of_method(scope, stored.payment_method_id, stored.gateway)
    if gateway is None:  # the method has another gateway now, or none
        await settlement.end(scope, payment, PaymentStatus.CANCELLED, None)
        return
    try:
        state = await cancelled_state(gateway, payment)
    except GatewayUnanswered as error:
        raise Unavailable(_NO_ANSWER) from error
    await write_cancelled(scope, payment, state)
    if state is not None and state.status in LIVE:
        raise Unavailable(_NO_ANSWER)


async def cancelled_state(gateway: PaymentGateway, payment: ChargedPayment) -> ChargeState | None:
    """Cancel the charge of a payment and return it as it is then, None without one; raises GatewayUnanswered."""
    charge_id = payment.gateway_charge_id
    if charge_id is None:
        state = await settlement.call_gateway(gateway.read(payment.public_id, None))
        if state is None or state.status not in LIVE:
            return state
        charge_id = state.charge_id
    try:
        return await settlement.call_gateway(gateway.cancel(charge_id, f"cancel-{payment.public_id}"))
    except GatewayRefused:  # it has been paid, or has ended
        return await settlement.call_gateway(gateway.read(payment.public_id, charge_id))


async def write_cancelled(scope: Scope, payment: ChargedPayment, state: ChargeState | None, attempts: int = 0) -> None:
    """Write the charge as it is after the call; without one the payment is cancelled."""
    if state is None:
        await settlement.end(scope, payment, PaymentStatus.CANCELLED, None)
        return
    try:
        await settlement.settle(scope, payment, state, attempts)
    except GatewayUnanswered as error:
        raise Unavailable(_NO_ANSWER) from error


async def _request(scope: Scope, stored: StoredPayment, asked_by: Scope | None) -> None:
    payment, at = stored.payment, now()
    async with transaction(scope):
        await lock_order(scope, payment.order_id)
        if asked_by is not None:
            await audit.record(
                asked_by, "order.payment_cancelled", "order", stored.order_public_id, {"payment": payment.number}
            )
        await execute(_REQUEST, scope.store.id, payment.id, at, at + settlement.IN_DOUBT)


def _not_cancellable(status: str) -> RuleViolation:
    return RuleViolation(f"a payment in status {status} can't be cancelled", reason="payment_not_cancellable")
