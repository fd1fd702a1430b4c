"""Record transactions of managers; each updates the manager's balance in the same transaction."""

from __future__ import annotations

from collections.abc import Mapping

from kernel.codes import TRANSACTION_TYPES
from kernel.errors import RuleViolation, ValidationFailed
from kernel.fields import InputField, InputValues, code_in, integer, read_fields, text
from kernel.ids import uuid7
from kernel.money import MAX_CENTS, format_cents
from kernel.scope import Scope
from models import audit
from models.connection.database import fetchval, transaction
from models.references import MANAGER, ORDER, resolve, resolve_optional
from models.rows import insert_row

CREDIT, DEBIT = "C", "D"

_FIELDS: Mapping[str, InputField] = {
    "type": InputField("type", code_in(TRANSACTION_TYPES), code="type_invalid"),
    "amount_cents": InputField("amount_cents", integer(1, MAX_CENTS), code="amount_invalid", required="required"),
    "description": InputField("description", text(10_000)),
}
# The update locks the manager's row until the transaction ends, which serializes balances.
_ADD_TO_BALANCE = """
UPDATE managers SET balance_cents = balance_cents + $3, updated_at = $4
WHERE tenant_id = $1 AND id = $2 AND abs(balance_cents + $3) <= $5 RETURNING balance_cents
"""


async def record_transaction(scope: Scope, values: InputValues) -> int:
    """Record a transaction and return its internal id.

    Keys: `manager`*, `amount_cents`* (1 or more), `type` (default `C`), `order`, `description`. A debit may make the balance negative
    (payment in advance). Raises ValidationFailed, and RuleViolation for a balance out of range
    (docs/reference/legacy.md#manager-transactions).
    """
    columns = {"type": CREDIT, **read_fields(_FIELDS, values, creating=True)}
    if values.get("manager") is None:
        raise ValidationFailed("manager is required", field="manager", code="required")
    async with transaction(scope):
        manager_id = await resolve(scope, MANAGER, values["manager"], field="manager")
        order_id = await resolve_optional(scope, ORDER, values.get("order"), field="order")
        amount = columns["amount_cents"] if columns["type"] == CREDIT else -columns["amount_cents"]
        balance = await fetchval(_ADD_TO_BALANCE, scope.store.id, manager_id, amount, scope.now, MAX_CENTS)
        if balance is None:
            raise RuleViolation(f"the balance would be beyond {format_cents(MAX_CENTS)}", reason="balance_too_large")
        public_id = uuid7()
        row = {**columns, "manager_id": manager_id, "order_id": order_id, "balance_cents": balance}
        transaction_id: int = await insert_row(
            scope, "manager_transactions", public_id=public_id, **row, created_at=scope.now
        )
        details = {"manager": manager_id, "type": columns["type"], "amount_cents": columns["amount_cents"]}
        await audit.record(scope, "manager_transaction.created", "manager_transaction", public_id, details)
    return transaction_id
