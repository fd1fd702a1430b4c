"""Find a payment, with what calls about it need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from domain.orders.payments import ChargedPayment
from kernel.errors import NotFound
from kernel.ids import parse_uuid
from kernel.scope import Scope, active_scope
from models.connection.database import fetchrow
from models.rows import from_row

COLUMNS = """p.id, p.public_id, p.order_id, p.sequence, p.kind, p.status, p.amount_cents, p.currency, p.paid_cents, p.refunded_cents,
    p.surcharge_cents, p.gateway_charge_id, p.expires_at, p.cancel_requested_at IS NOT NULL AS is_cancel_requested,
    o.public_id AS order_public_id, CASE WHEN o.imported THEN '' ELSE o.email END AS mail_recipient, p.payment_method_id, p.gateway,
    p.attempted_at, p.attempts, p.shares::text AS shares"""
SOURCE = "payments p JOIN orders o ON o.tenant_id = p.tenant_id AND o.id = p.order_id"
_FIND = f"SELECT {COLUMNS} FROM {SOURCE} WHERE p.tenant_id = $1 AND p.public_id = $2 AND (o.deleted_at IS NULL OR $3)"


@dataclass(frozen=True, slots=True)
class StoredPayment:
    """A payment with its order's public id and who gets mails about it ("" for nobody), its method and gateway, and the last call.

    One that was reported, not created here, has no method, and "" as gateway. `shares` is JSON (`domain.ledger.split.ChargeShare`).
    """

    payment: ChargedPayment
    order_public_id: UUID
    mail_recipient: str
    payment_method_id: int | None
    gateway: str
    attempted_at: datetime | None
    attempts: int
    shares: str | None


async def find_payment(scope: Scope, payment: object, *, of_removed_order: bool = False) -> StoredPayment:
    """Return a payment by its public id; raises NotFound for one that isn't there, or whose order was removed."""
    public_id = parse_uuid(payment)
    with active_scope(scope):
        row = await fetchrow(_FIND, scope.store.id, public_id, of_removed_order) if public_id is not None else None
    if row is None:
        raise NotFound("payment")
    return stored_payment(row)


def stored_payment(row: Mapping[str, Any]) -> StoredPayment:
    """Return the payment of a row of `COLUMNS`."""
    return from_row(StoredPayment, row, payment=from_row(ChargedPayment, row))
