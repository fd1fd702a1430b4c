"""Ask the credit bureau that a store configured what a company is worth: by HTTP, through the checked client.

The bureau gets `POST <credit_bureau_url>` with `{"cnpj": …}` and, where the store has one, its token as `Authorization: Bearer`. It
answers 200 with `{"score": 0–1000}` and perhaps `risk` (`low`, `medium`, `high`), `limit_suggested` (a decimal string) and `source`;
404 for a company it doesn't know. Anything else counts as a bureau that is down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import orjson

from auth.secrets import Unreadable
from domain.outgoing import calls
from domain.outgoing.calls import NotAllowed, NotReached
from domain.store_settings import SANDBOX_BUREAU, secret_setting, setting
from kernel.errors import RuleViolation, Unavailable
from kernel.money import cents_from, decimal_text
from kernel.scope import Scope
from kernel.text import Malformed, has_forbidden_characters

TIMEOUT_SECONDS = 10.0
MAX_SCORE = 1_000
DOWN = "credit bureau unavailable"
NOT_CONFIGURED = "credit bureau not configured"

# From which score on the risk is so high, where the bureau doesn't say.
_RISKS = ((700, "low"), (400, "medium"), (0, "high"))
_LONGEST_SOURCE = 100

_own_address: str | None = None


@dataclass(frozen=True, slots=True)
class BureauReport:
    """What a bureau says of a company: a score of 0 to 1000, the risk, a limit in cents, and who says so."""

    score: int
    risk: str
    limit_cents: int
    source: str


def serve_at(address: str | None) -> None:
    """Tell where this server itself answers, for stores that use its sandbox bureau; None when it serves none."""
    global _own_address
    _own_address = address


def address_of(scope: Scope) -> str:
    """Give the setting that names the store's bureau; raises RuleViolation where there is none."""
    url: str = setting(scope, "credit_bureau_url")
    if not url:
        raise RuleViolation(NOT_CONFIGURED, reason="credit_bureau_not_configured")
    return url


async def ask(scope: Scope, cnpj: str) -> BureauReport:
    """Ask the store's bureau; never while a transaction is open.

    Raises RuleViolation for a company the bureau doesn't know, Unavailable for a bureau that can't be reached, or answers nonsense.
    """
    url = _called(address_of(scope))
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    try:
        token = secret_setting(scope, "credit_bureau_token")
    except Unreadable as error:
        raise Unavailable(DOWN) from error
    if token:
        headers["Authorization"] = f"Bearer {token}"
    body = orjson.dumps({"cnpj": cnpj})
    try:
        answer = await calls.post(url, headers=headers, body=body, timeout=TIMEOUT_SECONDS)
    except (NotReached, NotAllowed) as error:
        raise Unavailable(DOWN) from error
    if answer.status == 404:
        raise RuleViolation("the credit bureau does not know this company", reason="company_unknown")
    if answer.status != 200 or answer.is_cut:
        raise Unavailable(DOWN)
    try:
        return _opinion(orjson.loads(answer.body), urlsplit(url).hostname or "")
    except (ValueError, TypeError, Malformed) as error:
        raise Unavailable(DOWN) from error


def _called(url: str) -> str:
    if url != SANDBOX_BUREAU:
        return url
    if _own_address is None:
        raise Unavailable(DOWN)
    return _own_address + url


def _opinion(found: Any, host: str) -> BureauReport:
    """Read an answer; raises ValueError, TypeError or Malformed for one that makes no sense."""
    if not isinstance(found, Mapping):
        raise TypeError("the answer is no object")
    score = found.get("score")
    if isinstance(score, bool) or not isinstance(score, int) or not 0 <= score <= MAX_SCORE:
        raise ValueError("the score is none")
    risk = found.get("risk") or next(name for least, name in _RISKS if score >= least)
    if risk not in {name for _, name in _RISKS}:
        raise ValueError("the risk is none")
    source = found.get("source") or host
    if not isinstance(source, str) or has_forbidden_characters(source):
        raise ValueError("the source is no text")
    limit = cents_from(found.get("limit_suggested", 0) or 0)
    return BureauReport(score, str(risk), limit, source[:_LONGEST_SOURCE])


def sandbox_opinion(cnpj: str) -> dict[str, Any]:
    """Make up what the sandbox says of a company: always the same for the same number, and every risk for some."""
    score = sum((place + 7) * ord(character) * 31 for place, character in enumerate(cnpj)) % (MAX_SCORE + 1)
    risk = next(name for least, name in _RISKS if score >= least)
    return {
        "score": score,
        "risk": risk,
        "limit_suggested": decimal_text(score * 5_000),
        "source": "sandbox",
    }
