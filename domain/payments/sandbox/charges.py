"""The charges of the gateway `sandbox`: kept in a table, so that several processes agree, and changed by one conditional statement each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from domain.payments.gateway import (
    Boleto,
    Card,
    ChargeRequest,
    ChargeState,
    Failure,
    PaymentStatus,
    PixCode,
)
from kernel.ids import uuid7
from kernel.scope import Scope
from models.connection.database import fetch, fetchrow, transaction
from models.rows import json_text

_COLUMNS = """charge_id, payment_id, order_id, order_number, kind, status, currency, amount_cents, paid_cents, refunded_cents, installments,
    details::text AS details, done, expires_at, created_at"""
# A charge that is asked for again stays as it is.
_INSERT = f"""
INSERT INTO sandbox_charges (tenant_id, charge_id, payment_id, order_id, order_number, kind, status, currency, amount_cents, paid_cents,
    installments, details, expires_at, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::text::jsonb, $13, $14, $14)
ON CONFLICT (tenant_id, payment_id) DO NOTHING
RETURNING {_COLUMNS}
"""
_OF_PAYMENT = f"SELECT {_COLUMNS} FROM sandbox_charges WHERE tenant_id = $1 AND payment_id = $2"
_OF_CHARGE = f"SELECT {_COLUMNS} FROM sandbox_charges WHERE tenant_id = $1 AND charge_id = $2"
_LATEST = f"SELECT {_COLUMNS} FROM sandbox_charges WHERE tenant_id = $1 ORDER BY created_at DESC LIMIT $2"
# `done` makes a change with a key that was used before change nothing.
_CHANGE = f"""
UPDATE sandbox_charges SET status = $3, paid_cents = paid_cents + $4, refunded_cents = refunded_cents + $5, updated_at = $6,
    details = details || $7::text::jsonb, done = CASE WHEN $8 = '' THEN done ELSE done || $8::text END,
    expires_at = CASE WHEN $3 = 'EXPIRED' THEN least(expires_at, $6) ELSE expires_at END
WHERE tenant_id = $1 AND charge_id = $2 AND status = ANY($9::text[]) AND NOT done @> ARRAY[$8::text]
    AND refunded_cents + $5 <= paid_cents + $4
RETURNING {_COLUMNS}
"""


@dataclass(frozen=True, slots=True)
class SandboxCharge:
    """A charge of the sandbox; amounts in cents."""

    charge_id: str
    payment_id: UUID
    order_id: UUID
    order_number: int
    kind: str
    status: PaymentStatus
    currency: str
    amount_cents: int
    paid_cents: int
    refunded_cents: int
    installments: int
    details: Mapping[str, Any]
    done: Sequence[str]
    expires_at: datetime | None
    created_at: datetime

    @property
    def remaining_cents(self) -> int:
        """Return what can still be refunded."""
        return self.paid_cents - self.refunded_cents

    def state(self, now: datetime) -> ChargeState:
        """Return the charge as the gateway's answers show it; one that was not paid in time is expired."""
        details, status = self.details, self.status
        if status is PaymentStatus.PARTIALLY_REFUNDED and not self.remaining_cents:
            status = PaymentStatus.REFUNDED
        elif status is PaymentStatus.PENDING and self.expires_at is not None and self.expires_at <= now:
            status = PaymentStatus.EXPIRED
        boleto = details.get("boleto")
        return ChargeState(
            charge_id=self.charge_id,
            status=status,
            amount_cents=self.amount_cents,
            currency=self.currency,
            paid_cents=self.paid_cents,
            refunded_cents=self.refunded_cents,
            expires_at=self.expires_at,
            pix=PixCode(**details["pix"]) if "pix" in details else None,
            boleto=Boleto(**{**boleto, "due_at": datetime.fromisoformat(boleto["due_at"])}) if boleto else None,
            card=Card(**details["card"]) if "card" in details else None,
            failure=Failure(**details["failure"]) if details.get("failure") else None,
        )


async def insert_charge(
    scope: Scope, request: ChargeRequest, status: PaymentStatus, details: Mapping[str, Any]
) -> SandboxCharge:
    """Insert the charge of a payment, paid at once if the status says so, and return it; the existing one of a payment that has one."""
    inserted = await fetchrow(
        _INSERT,
        scope.store.id,
        f"sandbox_{uuid7()}",
        request.payment_id,
        request.order_id,
        request.order_number,
        request.kind.value,
        status.value,
        request.currency,
        request.amount_cents,
        request.amount_cents if status is PaymentStatus.PAID else 0,
        request.installments,
        json_text(details),
        request.expires_at,
        scope.now,
    )
    charge = _charge(inserted) or await find_by_payment(scope, request.payment_id)
    assert charge is not None  # inserted now or before
    return charge


async def find_by_payment(scope: Scope, payment_id: UUID) -> SandboxCharge | None:
    """Return the charge of a payment, None without one."""
    return _charge(await fetchrow(_OF_PAYMENT, scope.store.id, payment_id))


async def find_charge(scope: Scope, charge_id: str) -> SandboxCharge | None:
    """Return a charge by its id, None if there is none."""
    return _charge(await fetchrow(_OF_CHARGE, scope.store.id, charge_id))


async def latest_charges(scope: Scope, limit: int) -> list[SandboxCharge]:
    """Return the newest charges of the store."""
    charges = [_charge(row) for row in await fetch(_LATEST, scope.store.id, limit)]
    return [charge for charge in charges if charge is not None]


async def change_charge(
    scope: Scope,
    charge_id: str,
    status: PaymentStatus,
    *,
    expected: tuple[PaymentStatus, ...],
    paid_cents: int = 0,
    refunded_cents: int = 0,
    details: Mapping[str, Any] | None = None,
    key: str = "",
) -> SandboxCharge | None:
    """Change a charge that has one of the expected statuses, add the amounts to its own, and return it.

    None if its status is another, if more than it was paid would be refunded, or if the key was used before.
    """
    statuses = [each.value for each in expected]
    async with transaction(scope):
        changed = await fetchrow(
            _CHANGE,
            scope.store.id,
            charge_id,
            status.value,
            paid_cents,
            refunded_cents,
            scope.now,
            json_text(dict(details or {})),
            key,
            statuses,
        )
    return _charge(changed)


def _charge(row: Mapping[str, Any] | None) -> SandboxCharge | None:
    if row is None:
        return None
    columns = {**row, "status": PaymentStatus(row["status"]), "details": orjson.loads(row["details"])}
    return SandboxCharge(**columns)
