"""Return a company's credit score: cached for a day, else requested from the bureau."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from domain.b2b import bureau
from kernel.documents import is_cnpj, normalize_document
from kernel.errors import ValidationFailed
from kernel.scope import Scope
from kernel.text import repr_value
from models import audit
from models.connection.database import fetchrow, transaction
from models.rows import insert_rows

CACHE_TTL = timedelta(hours=24)

_CACHED = """
SELECT score, risk, limit_cents, source, checked_at FROM credit_checks
WHERE tenant_id = $1 AND cnpj = $2 AND bureau_url = $3 AND checked_at > $4
"""


@dataclass(frozen=True, slots=True)
class StoredCreditScore:
    """A company's credit score; the suggested limit is in cents."""

    cnpj: str
    score: int
    risk: str
    limit_suggested_cents: int
    source: str
    checked_at: datetime


async def request_credit_score(scope: Scope, cnpj: str | None) -> StoredCreditScore:
    """Return the credit score of a company by its CNPJ, whose check digits must be valid.

    Raises ValidationFailed, RuleViolation if the store has no bureau (`credit bureau not configured`) or the bureau doesn't know the
    company, and Unavailable. No transaction is open during the request to the bureau.
    """
    number = _parse_cnpj(cnpj)
    address = bureau.bureau_url(scope)
    cached = await fetchrow(_CACHED, scope.store.id, number, address, scope.now - CACHE_TTL)
    if cached is not None:
        return StoredCreditScore(number, *cached)
    report = await bureau.request_report(scope, number)
    async with transaction(scope):
        score = {**asdict(report), "cnpj": number, "bureau_url": address, "checked_at": scope.now}
        await insert_rows(scope, "credit_checks", [score], unique=["cnpj"])
        await audit.record(scope, "credit.checked", "company", number, {"source": report.source})
    return StoredCreditScore(number, report.score, report.risk, report.limit_cents, report.source, scope.now)


def _parse_cnpj(cnpj: str | None) -> str:
    if not cnpj or not cnpj.strip():
        raise ValidationFailed("cnpj is required", field="cnpj", code="required")
    if not is_cnpj(cnpj):
        raise ValidationFailed(
            f"cnpj is {repr_value(cnpj)}; expected 14 characters with right check digits",
            field="cnpj",
            code="cnpj_invalid",
        )
    return normalize_document(cnpj)
