"""Create a payment: commit it, call its gateway without a transaction, write the answer in a second one (docs/payments.md).

    begin    one transaction: the order is locked and checked, its pending payment must be gone, the payment is inserted as PENDING
    call     the gateway, with the payment's id as idempotency key
    settle   another transaction (`domain.payments.settlement`)

A process that ends in between leaves a payment that `domain.payments.pending` asks the gateway about.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from uuid import UUID

import orjson

from domain import event_types, events, record_events
from domain.idempotency import IN_PROGRESS, REUSED
from domain.ledger.split import read_shares
from domain.orders.charged_payments import add_interest
from domain.orders.locked import LockedOrder
from domain.orders.payments import CHARGED_COLUMNS, ChargedPayment
from domain.orders.transitions import EDITABLE
from domain.payments import cancellation, settlement
from domain.payments.facts import PaymentFacts, lock_facts
from domain.payments.gateway import (
    ChargeRequest,
    GatewayNotCalled,
    GatewayRefused,
    GatewayUnanswered,
    PaymentGateway,
    PaymentKind,
    PaymentStatus,
)
from domain.payments.gateways import GatewayMethod, gateway_of_method
from domain.payments.lookup import find_payment
from domain.payments.options import first_of_each_kind
from domain.payments.orders import payable_by, reject_unpayable, reopen
from domain.payments.progress import creation_hash, reject_in_progress
from domain.payments.requests import PaymentInput, build_request
from domain.payments.split import divide_payment
from domain.purchase.edit import update_order
from domain.store_settings import setting
from kernel import logging
from kernel.clock import now
from kernel.errors import Conflict, RateLimited, RuleViolation, ValidationFailed
from kernel.ids import uuid7
from kernel.installments import find_option, parse_rules
from kernel.scope import SHOPPERS, SYSTEM, Scope
from models.connection.database import Plans, fetchrow, retry_conflicts, transaction
from models.reading.queries import Condition
from models.rows import json_text, update_row

_MAX_CLEARED = 3
MAX_HOURLY = 100
"""The payments of an order after which a shopper begins no other within an hour: each calls the gateway and mails the customer."""
# The call begins at most so long after the payment was committed, or not at all: `settlement.IN_DOUBT` counts on it.
_BEGINS_WITHIN_SECONDS = 10.0

_EVENT = (
    "$20",
    f"'{event_types.PAYMENT_CREATED}'",
    f"'{event_types.PAYMENT}'",
    "$6",
    "(SELECT data FROM record)",
    "$2",
    "$3",
    "$4",
    "$5",
)
_INSERT = f"""
WITH payment AS (
    INSERT INTO payments (tenant_id, public_id, order_id, sequence, kind, installments, amount_cents, created_at, status, currency, gateway,
        payment_method_id, surcharge_cents, expires_at, creation_hash, attempted_at, due_at, shares)
    SELECT $1, $6, $7, coalesce(max(sequence), 0) + 1, $8, $9, $10, $11, 'PENDING', $12, $13, $14, $15, $16, $17, $11, $18, $19::text::jsonb
    FROM payments WHERE tenant_id = $1 AND order_id = $7
    RETURNING *
), record AS (
    SELECT {record_events.PAYMENT_DATA} AS data, o.public_id AS order_id
    FROM payment p JOIN orders o ON o.tenant_id = p.tenant_id AND o.id = p.order_id
), audited AS (
    INSERT INTO audit_entries (tenant_id, public_id, at, actor_kind, user_id, app_id, action, subject_type, subject_id, details,
        ip_address, request_id)
    SELECT $1, $20, $3, $21, $22, $23, 'order.payment_created', 'order', order_id::text,
        jsonb_build_object('kind', data -> 'kind', 'amount_cents', data -> 'amount_cents'), $24, $2
    FROM record
), {events.event_sql(_EVENT)}
SELECT {CHARGED_COLUMNS} FROM payment LEFT JOIN notified ON true
"""


@dataclass(frozen=True, slots=True)
class _Begun:
    """A payment that was committed, and what its gateway is asked for; no gateway for one that has an answer already."""

    payment: ChargedPayment
    gateway: PaymentGateway | None = None
    request: ChargeRequest | None = None
    is_repeated: bool = False
    """Whether an earlier call may have reached the gateway."""


class _HasPending(Exception):
    """The order has another payment that can still be paid."""

    def __init__(self, payment_id: UUID) -> None:
        super().__init__(payment_id)
        self.payment_id = payment_id


async def create_payment(scope: Scope, order: object, token: str | None, input: PaymentInput) -> int:
    """Create a payment of an order and return its internal id; its status says what the gateway answered.

    Raises NotFound for the order, ValidationFailed for invalid input, Conflict `order_paid` and `in_progress` (another call is under way),
    RuleViolation `order_not_payable`, `kind_unavailable`, `installments_unavailable` and what opening the order again raises, RateLimited
    for a shopper who begins too many, Unavailable when the pending payment can't be cancelled because its gateway doesn't answer.
    """
    condition = payable_by(scope, order, token)
    system = replace(scope, actor=SYSTEM)
    began = monotonic()
    for _ in range(_MAX_CLEARED):
        try:
            begun = await retry_conflicts(partial(_begin, scope, system, condition, input))
            break
        except _HasPending as pending:
            await cancellation.clear_pending(system, pending.payment_id)
            began = monotonic()
    else:
        raise Conflict("the order gets other payments at the same time; try again", reason=IN_PROGRESS)
    if begun.gateway is not None and begun.request is not None:
        await _call(scope, begun, begun.gateway, begun.request, began)
    return begun.payment.id


async def _begin(scope: Scope, system: Scope, condition: Condition, input: PaymentInput) -> _Begun:
    """Insert the payment, or find the one that an earlier request with the same Idempotency-Key inserted."""
    key = creation_hash(scope, "payment")
    async with transaction(system, Plans.REUSED):
        facts = await lock_facts(system, condition, key)
        if facts.created is not None:
            return await _resume(system, facts, facts.created, input)
        reject_unpayable(facts.order)
        _reject_too_many(scope, facts)
        if facts.pending is not None:
            raise _HasPending(facts.pending)
        method = _choose(facts, input.kind)
        if await _prepare_order(scope, system, facts.order, method):
            facts = await lock_facts(system, condition, key)
            reject_unpayable(facts.order)
        return await _insert(scope, system, facts, method, input, key)


async def _resume(scope: Scope, facts: PaymentFacts, created: UUID, input: PaymentInput) -> _Begun:
    """Return a payment that was created before; its gateway is called again if it never answered: the payment's id makes that harmless."""
    stored = await find_payment(scope, created, of_removed_order=True)
    payment = stored.payment
    if (payment.order_id, payment.kind) != (facts.order.id, input.kind.value):
        raise RuleViolation(REUSED)
    if payment.status != PaymentStatus.PENDING or payment.gateway_charge_id is not None:
        return _Begun(payment)
    at = now()
    reject_in_progress(stored.attempted_at, at)
    await update_row(scope, "payments", payment.id, attempted_at=at, due_at=at + settlement.IN_DOUBT)
    gateway = await gateway_of_method(scope, stored.payment_method_id, stored.gateway)
    shares = read_shares(orjson.loads(stored.shares or "[]"))
    return _Begun(payment, gateway, build_request(scope, facts.charged, payment, shares, input), is_repeated=True)


def _reject_too_many(scope: Scope, facts: PaymentFacts) -> None:
    """Keep a shopper from trying out cards on an order that anybody can place, with anybody's e-mail."""
    if scope.actor.kind in SHOPPERS and facts.recent >= MAX_HOURLY:
        raise RateLimited(f"at most {MAX_HOURLY} payments of an order may be begun in an hour", retry_after=3_600)


def _choose(facts: PaymentFacts, kind: PaymentKind) -> GatewayMethod:
    """Return the method that takes a kind of payment: the order's own, else the first of the store's."""
    methods = first_of_each_kind(facts.methods, facts.order.currency)
    method = next((each for each in methods if each.kind is kind), None)
    if method is None:
        raise RuleViolation(f"the store takes no payments of the kind {kind} for this order", reason="kind_unavailable")
    return method


async def _prepare_order(scope: Scope, system: Scope, locked: LockedOrder, method: GatewayMethod) -> bool:
    """Open an order again that was declined, and give it the payment method, at that method's prices; return whether it changed."""
    if locked.status in EDITABLE and locked.payment_method_id == method.id:
        return False
    if locked.status not in EDITABLE:
        await reopen(scope, locked, method.hold_minutes)
    if locked.payment_method_id != method.id:
        await update_order(system, locked.id, {"payment_method": method.id})
    return True


async def _insert(
    scope: Scope, system: Scope, facts: PaymentFacts, method: GatewayMethod, input: PaymentInput, key: bytes | None
) -> _Begun:
    locked = facts.order
    due_cents = locked.total_cents - (locked.paid_cents - locked.refunded_cents)
    surcharge = _interest(scope, due_cents, input)
    amount_cents = due_cents + surcharge
    locked = await add_interest(system, locked, surcharge)
    shares = await divide_payment(system, locked.id, amount_cents) if method.gateway.splits else []
    at = now()
    inserted = await fetchrow(
        _INSERT,
        *events.emit_arguments(system),
        uuid7(),
        locked.id,
        input.kind.value,
        input.installments,
        amount_cents,
        at,
        locked.currency,
        method.gateway.name,
        method.id,
        surcharge,
        _expires_at(scope, input.kind, locked, at),
        key,
        at + settlement.IN_DOUBT,
        json_text([list(share) for share in shares]) if shares else None,
        uuid7(),
        scope.actor.kind.value,
        scope.actor.user_id,
        scope.actor.app_id,
        scope.client_ip,
    )
    assert inserted is not None  # an aggregate always returns one row
    payment = ChargedPayment(**inserted)
    order = {**facts.charged, "surcharge_cents": locked.surcharge_cents}
    return _Begun(payment, method.gateway, build_request(scope, order, payment, shares, input))


def _interest(scope: Scope, amount_cents: int, input: PaymentInput) -> int:
    if input.kind is not PaymentKind.CARD and input.installments != 1:
        raise ValidationFailed(
            f"installments is {input.installments}; expected 1, as only cards are paid in instalments",
            field="installments",
            code="installments_invalid",
        )
    option = find_option(parse_rules(setting(scope, "installments")), amount_cents, input.installments)
    if option is None:
        raise RuleViolation(
            f"{input.installments} instalments are not offered for {amount_cents} cents",
            reason="installments_unavailable",
        )
    return option.surcharge_cents


def _expires_at(scope: Scope, kind: PaymentKind, locked: LockedOrder, at: datetime) -> datetime | None:
    """Return until when it can be paid: a Pix for some minutes, but no longer than the order waits; a boleto until the end of a day."""
    if kind is PaymentKind.PIX:
        until = at + timedelta(minutes=setting(scope, "pix_minutes"))
        is_waiting = locked.hold_until is not None and locked.hold_until > at + settlement.GRACE
        return min(until, locked.hold_until) if is_waiting and locked.hold_until is not None else until
    if kind is PaymentKind.BOLETO:
        # Midnight in Brasília; Brazil has no summer time.
        day = (at - timedelta(hours=3) + timedelta(days=setting(scope, "boleto_days"))).date()
        return datetime.combine(day, datetime.min.time(), at.tzinfo) + timedelta(hours=27) - timedelta(seconds=1)
    return None


async def _call(scope: Scope, begun: _Begun, gateway: PaymentGateway, request: ChargeRequest, began: float) -> None:
    """Call the gateway and write its answer; without one the payment stays as it is."""
    payment = begun.payment
    if monotonic() - began > _BEGINS_WITHIN_SECONDS:
        return
    try:
        state = await settlement.call_gateway(gateway.create(request))
        await settlement.settle(scope, payment, state)
    except GatewayRefused as refused:
        if begun.is_repeated and isinstance(refused, GatewayNotCalled):
            return  # the earlier call may have made the charge
        failure = {"code": refused.code, "message": refused.message}
        await settlement.end(scope, payment, PaymentStatus.FAILED, failure)
    except GatewayUnanswered as unanswered:
        logging.event(
            "a payment gateway did not answer",
            level="warning",
            gateway=gateway.name,
            payment=str(payment.public_id),
            reason=unanswered.reason,
        )
