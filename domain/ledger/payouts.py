"""Pay out what the store owes its vendors, and correct accounts (docs/ledger.md#payouts).

No money moves here: a payout records what is to be transferred, and takes it from the vendor's balance at once. Its vendor's row is locked
before the balance is read, so that concurrent payouts share it; a refund that is committed later makes the balance negative.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from domain import event_types, events
from domain.ledger.balances import Balance, load_balances
from domain.ledger.entries import entry_row
from domain.ledger.kinds import ADJUSTMENT, PAYOUT
from domain.store_settings import setting
from kernel.errors import NotFound, RuleViolation, ValidationFailed
from kernel.fields import InputField, integer, read_fields, text
from kernel.ids import uuid7
from kernel.money import MAX_CENTS
from kernel.scope import Scope
from models import audit
from models.audit import AuditLogEntry
from models.connection.database import fetch, fetchrow, transaction
from models.references import PAYOUT as PAYOUT_REFERENCE
from models.references import VENDOR_ACCOUNT, find
from models.rows import insert_numbered_rows, insert_row, insert_rows, update_row

PENDING, PAID, CANCELLED = "pending", "paid", "cancelled"

_NOTE = {"note": InputField("note", text(2_000))}
_PAYOUT = {
    "amount_cents": InputField("amount_cents", integer(1, MAX_CENTS), code="amount_invalid"),
    **_NOTE,
}
_ADJUSTMENT = {
    "amount_cents": InputField(
        "amount_cents", integer(-MAX_CENTS, MAX_CENTS), code="amount_invalid", required="required"
    ),
    "reason": InputField("reason", text(2_000), required="required"),
}
_OWED = """
SELECT e.vendor_id FROM ledger_entries e
WHERE e.tenant_id = $1 AND e.vendor_id IS NOT NULL AND e.available_at <= $2 AND NOT e.is_split
GROUP BY e.vendor_id HAVING sum(e.amount_cents) >= $3 ORDER BY e.vendor_id
"""
_LOCK_VENDORS = """
SELECT id, public_id FROM vendors WHERE tenant_id = $1 AND id = ANY($2::bigint[]) ORDER BY id FOR NO KEY UPDATE
"""
_PAYOUTS = """
SELECT p.id AS number, v.name AS vendor_name, v.cnpj, p.amount_cents, p.currency, p.status, p.created_at, p.paid_at, p.note,
    p.public_id AS id, v.public_id AS vendor_id
FROM payouts p JOIN vendors v ON v.tenant_id = p.tenant_id AND v.id = p.vendor_id
WHERE p.tenant_id = $1 AND ($2::bigint IS NULL OR p.vendor_id = $2) ORDER BY p.id
"""
_LOCK = """
SELECT p.*, v.public_id AS vendor FROM payouts p JOIN vendors v ON v.tenant_id = p.tenant_id AND v.id = p.vendor_id
WHERE p.tenant_id = $1 AND p.id = $2 FOR NO KEY UPDATE OF p
"""


async def read_payouts(scope: Scope, vendor: object | None = None) -> list[Mapping[str, Any]]:
    """Return all payouts, or those to one vendor, oldest first, with the vendor's name and CNPJ; raises NotFound for the vendor."""
    vendor_id = None if vendor is None else await find(scope, VENDOR_ACCOUNT, vendor)
    return await fetch(_PAYOUTS, scope.store.id, vendor_id)


async def create_payouts(
    scope: Scope, vendor: object | None = None, amount_cents: int | None = None, note: str = ""
) -> list[int]:
    """Create payouts and return their internal ids: one to the vendor, or to each vendor with the store's minimum available.

    The amount is what is available; for one vendor it may be less. Raises NotFound, ValidationFailed, and RuleViolation `balance_too_small`
    with `available_cents` where a vendor has less than the amount, or nothing.
    """
    values = read_fields(
        _PAYOUT, {"amount_cents": amount_cents, "note": note} if amount_cents is not None else {"note": note}
    )
    if vendor is None and amount_cents is not None:
        raise ValidationFailed("amount_cents is for one vendor", field="amount_cents", code="amount_invalid")
    async with transaction(scope):
        minimum = max(1, setting(scope, "payout_minimum_cents"))
        if vendor is not None:
            ids = [await find(scope, VENDOR_ACCOUNT, vendor)]
        else:
            ids = [row["vendor_id"] for row in await fetch(_OWED, scope.store.id, scope.now, minimum)]
        vendors = {row["id"]: row["public_id"] for row in await fetch(_LOCK_VENDORS, scope.store.id, ids)}
        balances = await load_balances(scope, list(vendors))
        if vendor is not None:
            amounts = {ids[0]: _amount(balances[ids[0]], values.get("amount_cents"))}
        else:
            payable = {vendor_id: _payable(balance) for vendor_id, balance in balances.items()}
            amounts = {vendor_id: cents for vendor_id, cents in payable.items() if cents >= minimum}
        return await _insert(scope, amounts, vendors, values["note"])


def _payable(balance: Balance) -> int:
    """Return what can be paid out: never more than the whole balance, when what is pending is negative."""
    return min(balance.available_cents, balance.total_cents)


def _amount(balance: Balance, wanted: int | None) -> int:
    payable = _payable(balance)
    if payable < (wanted or 1):
        raise RuleViolation(
            f"the vendor has {max(0, payable)} cents available",
            reason="balance_too_small",
            details={"available_cents": max(0, payable)},
        )
    return wanted or payable


async def _insert(scope: Scope, amounts: Mapping[int, int], vendors: Mapping[int, UUID], note: str) -> list[int]:
    rows: list[dict[str, Any]] = [
        {
            "public_id": uuid7(),
            "vendor_id": vendor_id,
            "amount_cents": cents,
            "currency": scope.store.currency,
            "note": note,
            "created_at": scope.now,
            "updated_at": scope.now,
        }
        for vendor_id, cents in amounts.items()
    ]
    numbers = await insert_numbered_rows(scope, "payouts", rows)
    entries = [
        {**entry_row(scope, row["vendor_id"], PAYOUT, -row["amount_cents"], scope.now), "payout_id": number}
        for row, number in zip(rows, numbers, strict=True)
    ]
    await insert_rows(scope, "ledger_entries", entries)
    await audit.record_all(
        scope,
        [
            AuditLogEntry("payout.created", "payout", row["public_id"], {"amount_cents": row["amount_cents"]})
            for row in rows
        ],
    )
    await events.emit_all(
        scope,
        [
            _event(event_types.PAYOUT_CREATED, {**row, "id": number, "status": PENDING}, vendors[row["vendor_id"]])
            for row, number in zip(rows, numbers, strict=True)
        ],
    )
    return numbers


async def mark_paid(scope: Scope, payout: object, note: str | None = None) -> int:
    """Record that a payout was transferred, and return its internal id; one that is paid already stays as it is.

    Raises NotFound, ValidationFailed, RuleViolation `payout_cancelled`.
    """
    async with transaction(scope):
        row = await _lock(scope, payout, note)
        if row["status"] == CANCELLED:
            raise RuleViolation("the payout is cancelled", reason="payout_cancelled")
        if row["status"] == PENDING:
            row |= {"status": PAID, "paid_at": scope.now}
            await _update(scope, row)
            await audit.record(scope, "payout.paid", "payout", row["public_id"], {"amount_cents": row["amount_cents"]})
            await events.emit_all(scope, [_event(event_types.PAYOUT_PAID, row, row["vendor"])])
    return int(row["id"])


async def cancel_payout(scope: Scope, payout: object, note: str | None = None) -> int:
    """Cancel a payout that wasn't transferred: its amount returns to the balance. Return its internal id.

    One that is cancelled already stays as it is. Raises NotFound, ValidationFailed, RuleViolation `payout_paid`.
    """
    async with transaction(scope):
        row = await _lock(scope, payout, note)
        if row["status"] == PAID:
            raise RuleViolation("the payout is paid; correct it by an adjustment", reason="payout_paid")
        if row["status"] == PENDING:
            row |= {"status": CANCELLED}
            await _update(scope, row)
            entry = entry_row(scope, row["vendor_id"], PAYOUT, row["amount_cents"], scope.now)
            await insert_row(scope, "ledger_entries", **entry | {"payout_id": row["id"]})
            await audit.record(
                scope, "payout.cancelled", "payout", row["public_id"], {"amount_cents": row["amount_cents"]}
            )
    return int(row["id"])


async def adjust_ledger(scope: Scope, vendor: object | None, amount_cents: int, reason: str) -> int:
    """Correct a vendor's account, or the store's own without one, at once; return the entry's internal id.

    Raises NotFound and ValidationFailed: an amount of 0 or out of range, a missing reason.
    """
    values = read_fields(_ADJUSTMENT, {"amount_cents": amount_cents, "reason": reason}, creating=True)
    if not values["amount_cents"]:
        raise ValidationFailed(
            "amount_cents is 0; expected another number", field="amount_cents", code="amount_invalid"
        )
    if not values["reason"].strip():
        raise ValidationFailed("reason is required", field="reason", code="required")
    async with transaction(scope):
        account = None if vendor is None else await find(scope, VENDOR_ACCOUNT, vendor)
        entry = entry_row(scope, account, ADJUSTMENT, values["amount_cents"], scope.now, reason=values["reason"])
        entry_id: int = await insert_row(scope, "ledger_entries", **entry)
        details = {"amount_cents": values["amount_cents"], "reason": values["reason"]}
        await audit.record(scope, "ledger.adjusted", "ledger_entry", entry["public_id"], details)
    return entry_id


async def _lock(scope: Scope, payout: object, note: str | None) -> dict[str, Any]:
    """Return the locked payout, with the new note if there is one."""
    columns = read_fields(_NOTE, {} if note is None else {"note": note})
    row = await fetchrow(_LOCK, scope.store.id, await find(scope, PAYOUT_REFERENCE, payout))
    if row is None:
        raise NotFound(PAYOUT_REFERENCE.name)
    return {**row, **columns}


async def _update(scope: Scope, row: Mapping[str, Any]) -> None:
    columns = {name: row[name] for name in ("status", "paid_at", "note")}
    await update_row(scope, "payouts", row["id"], **columns, updated_at=scope.now)


def _event(name: str, row: Mapping[str, Any], vendor: UUID) -> events.Event:
    data = {
        "id": str(row["public_id"]),
        "number": row["id"],
        "vendor_id": str(vendor),
        "amount_cents": row["amount_cents"],
        "currency": row["currency"],
        "status": row["status"],
        "created_at": row["created_at"],
        "paid_at": row.get("paid_at"),
    }
    return events.Event(name, event_types.PAYOUT, row["public_id"], data)
