"""Write down what managers earn and are paid; the balance is kept with each manager, in the same transaction."""

from __future__ import annotations

from collections.abc import Mapping

from domain import audit
from domain.fields import Given, InputField, code_in, read_fields, text, whole
from domain.references import MANAGER, ORDER, resolve, resolve_optional
from kernel.codes import TRANSACTION_TYPES
from kernel.errors import RuleViolation, ValidationFailed
from kernel.money import MAX_CENTS, decimal_text
from kernel.scope import Scope
from models.b2b import ManagerTransaction
from models.database import transaction, value

CREDIT, DEBIT = "C", "D"

_FIELDS: Mapping[str, InputField] = {
    "type": InputField("type", code_in(TRANSACTION_TYPES), code="type_invalid"),
    "amount_cents": InputField(
        "amount_cents", whole(1, MAX_CENTS), code="amount_invalid", required="required"
    ),
    "description": InputField("description", text(10_000)),
}
# The manager's row is locked by this until the transaction ends: balances follow each other.
_ADD = """
UPDATE managers SET balance_cents = balance_cents + $3, updated_at = $4
WHERE tenant_id = $1 AND id = $2 AND abs(balance_cents + $3) <= $5 RETURNING balance_cents
"""


async def record_transaction(scope: Scope, given: Given) -> int:
    """Write a transaction and give its internal id.

    Keys: `manager`*, `amount_cents`* (1 or more), `type` (`C` unless said), `order`, `description`. A debit may take the balance
    below zero: a manager may be paid in advance. Raises ValidationFailed, and RuleViolation for a balance that no amount has.
    """
    columns = {"type": CREDIT, **read_fields(_FIELDS, given, creating=True)}
    if given.get("manager") is None:
        raise ValidationFailed("manager is required", field="manager", code="required")
    async with transaction(scope):
        manager_id = await resolve(scope, MANAGER, given["manager"], field="manager")
        order_id = await resolve_optional(scope, ORDER, given.get("order"), field="order")
        amount = columns["amount_cents"] if columns["type"] == CREDIT else -columns["amount_cents"]
        balance = await value(_ADD, scope.store.id, manager_id, amount, scope.now, MAX_CENTS)
        if balance is None:
            raise RuleViolation(
                f"the balance would be beyond {decimal_text(MAX_CENTS)}", reason="balance_too_large"
            )
        row = ManagerTransaction(
            **columns,
            manager_id=manager_id,
            order_id=order_id,
            balance_cents=balance,
            created_at=scope.now,
        )
        await row.save()
        details = {"manager": manager_id, "type": columns["type"], "amount_cents": columns["amount_cents"]}
        await audit.record(
            scope, "manager_transaction.created", "manager_transaction", row.public_id, details
        )
    return int(row.id)
