"""What a person decides about a charge of the sandbox, and the signed notification about it, received as those of other gateways are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from domain import stores
from domain.gateway import notifications
from domain.payments.gateway import PaymentStatus
from domain.payments.sandbox import charges
from domain.payments.sandbox.charges import SandboxCharge
from kernel.clock import format_rfc3339, now
from kernel.errors import NotFound, RuleViolation
from kernel.ids import uuid7
from kernel.scope import ANONYMOUS, Scope, active_scope
from kernel.signatures import hmac_sha256_hex

_OPEN = (PaymentStatus.PENDING, PaymentStatus.AUTHORIZED)
_RECEIVED = (PaymentStatus.PAID, PaymentStatus.PARTIALLY_REFUNDED)
# The words of the gateway's notifications (docs/reference/current.md#gateway-notifications).
_METHODS = {"PIX": "pix", "BOLETO": "boleto", "CARD": "credit_card"}
_REFUSED = {"code": "declined", "message": "O pagamento foi recusado."}


@dataclass(frozen=True, slots=True)
class Action:
    """What can be done to a charge in these statuses, the status that follows, and the notification about it."""

    label: str
    expected: tuple[PaymentStatus, ...]
    status: PaymentStatus
    event: str
    transaction_status: str = ""


ACTIONS: Mapping[str, Action] = {
    # Banks pay late, too.
    "pay": Action("Pay", (*_OPEN, PaymentStatus.EXPIRED), PaymentStatus.PAID, "charge.paid", "captured"),
    "refuse": Action("Refuse", _OPEN, PaymentStatus.FAILED, "charge.payment_failed", "not_authorized"),
    "expire": Action("Expire", _OPEN, PaymentStatus.EXPIRED, "charge.payment_failed", "expired"),
    "refund": Action("Refund", _RECEIVED, PaymentStatus.PARTIALLY_REFUNDED, "charge.refunded", "refunded"),
    "dispute": Action("Dispute", _RECEIVED, PaymentStatus.DISPUTED, "charge.chargedback", "chargedback"),
}


def actions_of(charge: SandboxCharge) -> list[str]:
    """Return the names of what can be done to a charge."""
    return [name for name, action in ACTIONS.items() if charge.status in action.expected and _makes_sense(name, charge)]


async def act(scope: Scope, charge_id: str, name: str) -> str:
    """Do something to a charge and send the notification about it; return what its receiver answered.

    Raises NotFound for another charge or action, and RuleViolation for what can't be done to it.
    """
    action = ACTIONS.get(name)
    scope = replace(scope, now=now())
    with active_scope(scope):
        charge = await charges.find_charge(scope, charge_id)
        if action is None or charge is None:
            raise NotFound("charge")
        is_paid, is_refunded = name == "pay", name == "refund"
        changed = await charges.change_charge(
            scope,
            charge_id,
            action.status,
            expected=action.expected,
            paid_cents=charge.amount_cents if is_paid else 0,
            refunded_cents=charge.remaining_cents if is_refunded else 0,
            details={"failure": _REFUSED} if action.status is PaymentStatus.FAILED else {},
        )
    if changed is None:
        raise RuleViolation(f"a charge in status {charge.status} can't be changed so", reason="charge_status")
    return await _notify(scope, changed, action)


def _makes_sense(name: str, charge: SandboxCharge) -> bool:
    return name != "refund" or charge.remaining_cents > 0


async def _notify(scope: Scope, charge: SandboxCharge, action: Action) -> str:
    body = orjson.dumps(_notification(charge, action))
    with active_scope(scope):
        secret = await stores.gateway_secret(scope)
    signature = None if secret is None else "sha256=" + hmac_sha256_hex(secret, body)
    visitor = replace(scope, actor=ANONYMOUS, family="current")
    with active_scope(visitor):
        return await notifications.receive(visitor, body, [signature])


def _notification(charge: SandboxCharge, action: Action) -> dict[str, Any]:
    state = charge.state(now())
    data: dict[str, Any] = {
        "id": charge.charge_id,
        "code": str(charge.order_number),
        "status": "expired" if action.status is PaymentStatus.EXPIRED else state.status.lower(),
        "currency": charge.currency,
        "payment_method": _METHODS[charge.kind],
        "amount": charge.amount_cents,
        "metadata": {"order_id": str(charge.order_id), "payment_id": str(charge.payment_id)},
        "last_transaction": {"status": action.transaction_status, "installments": charge.installments},
    }
    if charge.paid_cents:
        data["paid_amount"] = charge.paid_cents
    if charge.refunded_cents:
        data["canceled_amount"] = charge.refunded_cents
    return {"id": f"sandbox_{uuid7().hex}", "type": action.event, "created_at": format_rfc3339(now()), "data": data}
