"""Reports of apps about the payments that they are the gateway of: the mutation `payment_report` (docs/payments.md#apps)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from domain.orders.payments import ChargedPayment
from domain.payments import settlement
from domain.payments.app_gateway import find_contradiction, gateway_name
from domain.payments.gateway import ChargeState, Failure, GatewayUnanswered, PaymentStatus
from domain.payments.lookup import find_payment
from kernel.errors import NotFound, RuleViolation, ValidationFailed
from kernel.fields import InputField, InputValues, cents, read_fields
from kernel.scope import Scope, active_scope
from kernel.text import InvalidValue, has_forbidden_characters, repr_value
from models.connection.database import fetchval

MISMATCH = "charge_mismatch"
_CLIENT_ID = "SELECT client_id FROM apps WHERE id = $1"


_CHARGE_ID = re.compile(r"[!-~]{1,100}")
_CODE = re.compile(r"[a-z0-9_]{1,60}")
_MAX_MESSAGE = 500


def _charge_id(value: object) -> object:
    if not isinstance(value, str) or not _CHARGE_ID.fullmatch(value):
        raise InvalidValue(f"is {repr_value(value)}; expected 1 to 100 visible ASCII characters")
    return value


def _failure(value: object) -> object:
    """Parse why a payment failed, as in the schema of calls (`refusal`)."""
    code, message = (value.get("code"), value.get("message")) if isinstance(value, Mapping) else (None, None)
    if not isinstance(code, str) or not _CODE.fullmatch(code):
        raise InvalidValue(f"has the code {repr_value(code)}; expected small letters, digits and _")
    if not isinstance(message, str) or len(message) > _MAX_MESSAGE or has_forbidden_characters(message):
        raise InvalidValue(f"has no message of at most {_MAX_MESSAGE} characters")
    return Failure(code, message)


_FIELDS: Mapping[str, InputField] = {
    "charge_id": InputField("charge_id", _charge_id, "charge_id_invalid"),
    "amount_cents": InputField("amount_cents", cents(), "amount_invalid"),
    "paid_cents": InputField("paid_cents", cents(), "amount_invalid"),
    "refunded_cents": InputField("refunded_cents", cents(), "amount_invalid"),
    "failure": InputField("failure", _failure, "failure_invalid"),
}


@dataclass(frozen=True, slots=True)
class ReportedPayment:
    """A payment after a report; amounts in cents."""

    id: UUID
    status: str
    amount_cents: int
    currency: str
    paid_cents: int
    refunded_cents: int


async def report_payment(scope: Scope, payment: object, status: str, values: InputValues) -> ReportedPayment:
    """Write what the calling app says about its payment and return the payment; repeated, it changes nothing.

    `values`: `paid_cents` and `refunded_cents` (0 by default), `charge_id`, `amount_cents` and `currency` (the payment's by default),
    `failure`.
    Raise `NotFound` for a payment of another gateway, `ValidationFailed` for amounts that don't fit the status, and `RuleViolation`
    `charge_mismatch` for another charge, amount or currency than the payment's.
    """
    fields = read_fields(_FIELDS, {name: value for name, value in values.items() if value is not None})
    with active_scope(scope):
        client_id = await fetchval(_CLIENT_ID, scope.actor.app_id)
    # Money that arrives for an order that was removed is found like other money that is late.
    stored = await find_payment(scope, payment, of_removed_order=True)
    if client_id is None or stored.gateway != gateway_name(client_id):
        raise NotFound("payment")
    state = _build_state(stored.payment, PaymentStatus(status), fields, values.get("currency"))
    try:
        await settlement.settle(scope, stored.payment, state)
    except GatewayUnanswered as error:
        raise RuleViolation(
            "the report is about another charge, amount or currency than the payment", reason=MISMATCH
        ) from error
    payment_now = (await find_payment(scope, stored.payment.public_id, of_removed_order=True)).payment
    return ReportedPayment(
        payment_now.public_id,
        payment_now.status,
        payment_now.amount_cents,
        payment_now.currency,
        payment_now.paid_cents or 0,
        payment_now.refunded_cents,
    )


def _build_state(
    payment: ChargedPayment, status: PaymentStatus, fields: Mapping[str, Any], currency: str | None
) -> ChargeState:
    charge_id = fields.get("charge_id") or payment.gateway_charge_id
    if charge_id is None:
        raise ValidationFailed(
            "charge_id is required: the payment has none yet", field="charge_id", code="charge_id_required"
        )
    state = ChargeState(
        charge_id=charge_id,
        status=status,
        amount_cents=fields.get("amount_cents", payment.amount_cents),
        currency=currency or payment.currency,
        paid_cents=fields.get("paid_cents", 0),
        refunded_cents=fields.get("refunded_cents", 0),
        failure=fields.get("failure"),
    )
    wrong = find_contradiction(state)
    if wrong:
        raise ValidationFailed(wrong, field="paid_cents", code="amount_invalid")
    return state
