"""Ask gateways about payments in doubt or due: those whose call was not answered, that expired, or that are to be cancelled (a job)."""

from __future__ import annotations

from datetime import datetime

from domain.orders.payments import ChargedPayment
from domain.payments import cancellation, settlement
from domain.payments.gateway import GatewayRefused, GatewayUnanswered, PaymentGateway, PaymentStatus
from domain.payments.gateways import gateway_of_method
from domain.payments.lookup import COLUMNS, SOURCE, StoredPayment, stored_payment
from kernel import logging
from kernel.clock import now
from kernel.errors import DomainError
from kernel.payment_words import LIVE
from kernel.retries import RETRY_DELAYS
from kernel.scope import Scope, active_scope
from models.connection.database import fetch

_DUE = f"""
SELECT {COLUMNS} FROM {SOURCE}
WHERE p.tenant_id = $1 AND p.due_at <= $2 AND p.status IN ('PENDING', 'AUTHORIZED') ORDER BY p.due_at, p.id LIMIT $3
"""
_NOT_RECEIVED = {"code": "not_received", "message": "O pagamento não chegou ao meio de pagamento. Tente outra vez."}
_UNANSWERED = {"code": "unanswered", "message": "O meio de pagamento não respondeu. Tente outra vez."}


async def settle_due(scope: Scope, *, limit: int) -> int:
    """Ask about the payments that are due, at the same time, and return how many were asked about without an error."""
    with active_scope(scope):
        rows = await fetch(_DUE, scope.store.id, now(), limit)
    return await settlement.settle_all(_settle(scope, stored_payment(row)) for row in rows)


async def _settle(scope: Scope, stored: StoredPayment) -> None:
    try:
        gateway = await gateway_of_method(scope, stored.payment_method_id, stored.gateway)
        if gateway is None:
            await _give_up_later(scope, stored, "the payment method has no such gateway any more")
        elif stored.payment.is_cancel_requested:
            state = await cancellation.cancelled_state(gateway, stored.payment)
            await cancellation.write_cancelled(scope, stored.payment, state, stored.attempts + 1)
        else:
            await _read(scope, stored, gateway)
    except GatewayUnanswered as error:
        await _give_up_later(scope, stored, error.reason)
    except (GatewayRefused, DomainError) as error:
        await _give_up_later(scope, stored, str(error))
    except Exception:
        # Else it would be due first in each pass, and a few such payments would keep all others from being asked about.
        await settlement.postpone(
            scope, stored.payment, settlement.next_poll_at(now(), stored.attempts + 1, stored.payment.expires_at)
        )
        raise


async def _read(scope: Scope, stored: StoredPayment, gateway: PaymentGateway) -> None:
    """Read the charge of a payment and write it."""
    payment, at = stored.payment, now()
    state = await settlement.call_gateway(gateway.read(payment.public_id, payment.gateway_charge_id))
    if state is None:
        await _without_charge(scope, stored, at)
    elif state.status in LIVE and _is_over(state.expires_at or payment.expires_at, at):
        await settlement.settle(scope, payment, state)
        await settlement.end(scope, payment, PaymentStatus.EXPIRED, None)
    else:
        await settlement.settle(scope, payment, state, stored.attempts + 1)


async def _without_charge(scope: Scope, stored: StoredPayment, at: datetime) -> None:
    """End a payment that its gateway doesn't know, once no call can be under way."""
    if stored.attempted_at is not None and stored.attempted_at > at - settlement.IN_DOUBT:
        await settlement.postpone(scope, stored.payment, stored.attempted_at + settlement.IN_DOUBT)
        return
    await settlement.end(scope, stored.payment, PaymentStatus.FAILED, _NOT_RECEIVED)


async def _give_up_later(scope: Scope, stored: StoredPayment, reason: str) -> None:
    """Ask again by the schedule; after its last attempt the payment has failed, until the gateway says otherwise.

    A charge that can be paid is asked about until that is over: attempts count answers too, so that the last one may be the first without.
    """
    payment, at = stored.payment, now()
    logging.event(
        "a payment is in doubt", level="warning", payment=str(payment.public_id), gateway=stored.gateway, reason=reason
    )
    if stored.attempts >= len(RETRY_DELAYS) and not _can_be_paid(payment, at):
        await settlement.end(scope, payment, PaymentStatus.FAILED, _UNANSWERED)
    else:
        await settlement.postpone(scope, payment, settlement.next_poll_at(at, stored.attempts + 1, payment.expires_at))


def _can_be_paid(payment: ChargedPayment, at: datetime) -> bool:
    """Return whether the customer has a code or boleto that can still be paid."""
    has_charge = payment.gateway_charge_id is not None and payment.expires_at is not None
    return has_charge and not _is_over(payment.expires_at, at)


def _is_over(expires_at: datetime | None, at: datetime) -> bool:
    return expires_at is not None and expires_at + settlement.GRACE <= at
