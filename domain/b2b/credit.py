"""Tell what a company is worth: what the bureau said within the last day, else what it says now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from domain import audit
from domain.b2b import bureau
from kernel.documents import is_cnpj, normalise_document
from kernel.errors import ValidationFailed
from kernel.ids import uuid7
from kernel.scope import Scope
from kernel.text import shown
from models.database import execute, row, transaction

KEPT = timedelta(hours=24)

_KEPT = """
SELECT score, risk, limit_cents, source, checked_at FROM credit_checks
WHERE tenant_id = $1 AND cnpj = $2 AND bureau_url = $3 AND checked_at > $4
"""
_KEEP = """
INSERT INTO credit_checks (tenant_id, public_id, cnpj, score, risk, limit_cents, source, bureau_url, checked_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (tenant_id, cnpj) DO UPDATE SET score = excluded.score, risk = excluded.risk, limit_cents = excluded.limit_cents,
    source = excluded.source, bureau_url = excluded.bureau_url, checked_at = excluded.checked_at
"""


@dataclass(frozen=True, slots=True)
class StoredCreditScore:
    """What is known of a company's credit; the limit in cents."""

    cnpj: str
    score: int
    risk: str
    limit_suggested_cents: int
    source: str
    checked_at: datetime


async def check_credit(scope: Scope, cnpj: str | None) -> StoredCreditScore:
    """Check the credit of a company by its CNPJ, whose check digits must be right.

    Raises ValidationFailed, RuleViolation where the store has no bureau (`credit bureau not configured`) or the bureau doesn't know
    the company, and Unavailable. No transaction is open while the bureau is asked.
    """
    number = _checked(cnpj)
    address = bureau.address_of(scope)
    kept = await row(_KEPT, scope.store.id, number, address, scope.now - KEPT)
    if kept is not None:
        return StoredCreditScore(number, *kept)
    opinion = await bureau.ask(scope, number)
    async with transaction(scope):
        await execute(
            _KEEP,
            scope.store.id,
            uuid7(),
            number,
            opinion.score,
            opinion.risk,
            opinion.limit_cents,
            opinion.source,
            address,
            scope.now,
        )
        await audit.record(scope, "credit.checked", "company", number, {"source": opinion.source})
    return StoredCreditScore(
        number, opinion.score, opinion.risk, opinion.limit_cents, opinion.source, scope.now
    )


def _checked(cnpj: str | None) -> str:
    if not cnpj or not cnpj.strip():
        raise ValidationFailed("cnpj is required", field="cnpj", code="required")
    if not is_cnpj(cnpj):
        raise ValidationFailed(
            f"cnpj is {shown(cnpj)}; expected 14 characters with right check digits",
            field="cnpj",
            code="cnpj_invalid",
        )
    return normalise_document(cnpj)
