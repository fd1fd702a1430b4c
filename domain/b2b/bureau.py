"""Request credit reports from the store's credit bureau over HTTP, through the SSRF-protected client.

The request is `POST <credit_bureau_url>` with `{"cnpj": …}` and, if the store has one, its token as `Authorization: Bearer`. The bureau
answers 200 with `{"score": 0–1000}` and optionally `risk` (`low`, `medium`, `high`), `limit_suggested` (a decimal string) and `source`; 404
for an unknown company. Any other response means that the bureau is unavailable (docs/reference/legacy.md#credit-score).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import orjson

from auth.secrets import DecryptionError
from domain.outgoing import calls
from domain.outgoing.calls import AddressNotAllowed, RequestFailed
from domain.store_settings import SANDBOX_BUREAU, secret_setting, setting
from kernel.errors import RuleViolation, Unavailable
from kernel.money import format_cents, parse_cents
from kernel.scope import Scope
from kernel.text import InvalidValue, has_forbidden_characters

TIMEOUT_SECONDS = 10.0
MAX_SCORE = 1_000
UNAVAILABLE = "credit bureau unavailable"
NOT_CONFIGURED = "credit bureau not configured"

# The minimum score of each risk, used if the bureau doesn't send one.
_RISKS = ((700, "low"), (400, "medium"), (0, "high"))
_MAX_SOURCE = 100

_own_address: str | None = None


@dataclass(frozen=True, slots=True)
class BureauReport:
    """A bureau's report on a company: score (0 to 1000), risk, credit limit in cents, and source."""

    score: int
    risk: str
    limit_cents: int
    source: str


def set_own_address(address: str | None) -> None:
    """Set the address of this server, for stores that use its sandbox bureau; None if it serves none."""
    global _own_address
    _own_address = address


def bureau_url(scope: Scope) -> str:
    """Return the URL of the store's bureau; raises RuleViolation if none is configured."""
    url: str = setting(scope, "credit_bureau_url")
    if not url:
        raise RuleViolation(NOT_CONFIGURED, reason="credit_bureau_not_configured")
    return url


async def request_report(scope: Scope, cnpj: str) -> BureauReport:
    """Request a report from the store's bureau; must not be called within a transaction.

    Raises RuleViolation for a company unknown to the bureau, Unavailable for an unreachable bureau or an invalid response.
    """
    url = _resolve_url(bureau_url(scope))
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    try:
        token = secret_setting(scope, "credit_bureau_token")
    except DecryptionError as error:
        raise Unavailable(UNAVAILABLE) from error
    if token:
        headers["Authorization"] = f"Bearer {token}"
    body = orjson.dumps({"cnpj": cnpj})
    try:
        response = await calls.post(url, headers=headers, body=body, timeout=TIMEOUT_SECONDS)
    except (RequestFailed, AddressNotAllowed) as error:
        raise Unavailable(UNAVAILABLE) from error
    if response.status == 404:
        raise RuleViolation("the credit bureau does not know this company", reason="company_unknown")
    if response.status != 200 or response.is_truncated:
        raise Unavailable(UNAVAILABLE)
    try:
        return _parse_report(orjson.loads(response.body), urlsplit(url).hostname or "")
    except (ValueError, TypeError, InvalidValue) as error:
        raise Unavailable(UNAVAILABLE) from error


def _resolve_url(url: str) -> str:
    if url != SANDBOX_BUREAU:
        return url
    if _own_address is None:
        raise Unavailable(UNAVAILABLE)
    return _own_address + url


def _parse_report(report: Any, host: str) -> BureauReport:
    """Parse a response; raises ValueError, TypeError or InvalidValue for an invalid one."""
    if not isinstance(report, Mapping):
        raise TypeError("the response is not an object")
    score = report.get("score")
    if isinstance(score, bool) or not isinstance(score, int) or not 0 <= score <= MAX_SCORE:
        raise ValueError("the score is invalid")
    risk = report.get("risk") or next(name for least, name in _RISKS if score >= least)
    if risk not in {name for _, name in _RISKS}:
        raise ValueError("the risk is invalid")
    source = report.get("source") or host
    if not isinstance(source, str) or has_forbidden_characters(source):
        raise ValueError("the source is not a text")
    limit = parse_cents(report.get("limit_suggested", 0) or 0)
    return BureauReport(score, str(risk), limit, source[:_MAX_SOURCE])


def sandbox_report(cnpj: str) -> dict[str, Any]:
    """Return the sandbox's report on a company: deterministic for each CNPJ, covering every risk."""
    score = sum((index + 7) * ord(character) * 31 for index, character in enumerate(cnpj)) % (MAX_SCORE + 1)
    risk = next(name for least, name in _RISKS if score >= least)
    return {"score": score, "risk": risk, "limit_suggested": format_cents(score * 5_000), "source": "sandbox"}
