"""Find the address of a CEP: from the store's destinations, and from a service (docs/shipping.md#addresses-of-postal-codes).

The service, if the installation has one (VITRINE_ZIPCODE_URL), is asked by the process once for each CEP, whatever the store, and its
answers are kept in memory. A request waits for it WAIT_SECONDS at most, without a database connection; a later answer is kept for the
next request. After five failures in a row the service is left alone for half a minute.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import orjson

from domain.app_calls.circuit_breaker import CircuitBreaker
from domain.carriers.limits import is_lookup_allowed
from domain.destinations.matching import width_sql
from domain.outgoing import calls
from domain.outgoing.calls import AddressNotAllowed, RequestFailed
from domain.shipping.product_quotes import parse_cep
from kernel import metrics
from kernel.cache import BoundedCache
from kernel.fields import MAX_NAME
from kernel.geography import STATES, state_of_cep
from kernel.scope import Scope, active_scope
from kernel.text import fold
from models.connection.database import fetchval, in_transaction

WAIT_SECONDS = 1.5
KEPT_FOR = timedelta(days=30)
UNKNOWN_KEPT_FOR = timedelta(days=1)
_MAX_KEPT, _MAX_ASKED = 20_000, 20

_REQUESTS = metrics.counter(
    "vitrine_zipcode_questions_total", "Requests to the service for postal codes, by result.", "result"
)
# Of the destinations that lie in one city.
_CITY = f"""
SELECT d.cities[1] FROM destinations d
WHERE d.tenant_id = $1 AND d.status = 'A' AND d.deleted_at IS NULL AND cardinality(d.cities) = 1
    AND (d.countries = '{{}}' OR 'BR' = ANY(d.countries)) AND (d.states = '{{}}' OR $3 = ANY(d.states))
    AND {width_sql("$2::text")} IS NOT NULL
ORDER BY {width_sql("$2::text")}, d.id LIMIT 1
"""  # constants


@dataclass(frozen=True, slots=True)
class PostalAddress:
    """The address of a CEP of eight digits, as far as it is known."""

    zipcode: str
    state: str
    city: str | None = None
    district: str | None = None
    street: str | None = None


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the service said, None if it knows no such CEP."""

    address: PostalAddress | None
    expires_at: datetime


class _Service:
    """The configured service, and what it said."""

    def __init__(self, url: str | None = None) -> None:
        self._url = url
        self._breaker = CircuitBreaker()
        self._answers: BoundedCache[str, _Answer] = BoundedCache(_MAX_KEPT)
        self._asked: dict[str, asyncio.Task[_Answer | None]] = {}

    async def find(self, scope: Scope, cep: str) -> _Answer | None:
        """Return the answer for a CEP; None without a service, if it gives none in time, or if the caller's key asks too often."""
        kept = self._answers.find(cep)
        if kept is not None and kept.expires_at > scope.now:
            return kept
        if self._url is None or in_transaction():
            return None
        if cep not in self._asked and not self._breaker.is_open(self._url) and not await is_lookup_allowed(scope):
            _REQUESTS.add("skipped")
            return None
        task = self._asked.get(cep) or self._ask(scope, cep)
        if task is None:
            return None
        await asyncio.wait([task], timeout=WAIT_SECONDS)
        return task.result() if task.done() and not task.cancelled() else None

    def _ask(self, scope: Scope, cep: str) -> asyncio.Task[_Answer | None] | None:
        if self._url is None or len(self._asked) >= _MAX_ASKED or not self._breaker.admit(self._url):
            _REQUESTS.add("skipped")
            return None
        task = self._asked[cep] = asyncio.create_task(self._load(self._url, scope.now, cep))
        task.add_done_callback(lambda _: self._asked.pop(cep))
        return task

    async def _load(self, url: str, at: datetime, cep: str) -> _Answer | None:
        try:
            address = await _request(url.replace("{zipcode}", cep), cep)
        except (AddressNotAllowed, RequestFailed, ValueError):
            self._breaker.record_failure(url)
            _REQUESTS.add("failed")
            return None
        self._breaker.record_success(url)
        _REQUESTS.add("unknown" if address is None else "answered")
        answer = _Answer(address, at + (UNKNOWN_KEPT_FOR if address is None else KEPT_FOR))
        self._answers.keep(cep, answer)
        return answer


_service = _Service()


def configure(url: str | None) -> None:
    """Set the address of the service, which contains `{zipcode}`; None for no service."""
    global _service
    _service = _Service(url)


async def find_postal_address(scope: Scope, zipcode: object) -> PostalAddress | None:
    """Return the address of a CEP, None for one that doesn't exist; raises ValidationFailed.

    What the service says counts before the destinations, whose spelling of the same city is kept.
    """
    cep = parse_cep(zipcode)
    state = state_of_cep(cep)
    if not state:
        return None
    with active_scope(scope):
        city = await fetchval(_CITY, scope.store.id, cep, state)
    answer = await _service.find(scope, cep)
    if answer is None or (answer.address is None and city):
        return PostalAddress(cep, state, city)
    known = answer.address
    is_same = known is not None and city is not None and fold(city) == fold(known.city or city)
    return replace(known, city=city) if known is not None and is_same else known


async def _request(url: str, cep: str) -> PostalAddress | None:
    """Ask the service, in the form of ViaCEP; raises ValueError for an answer that can't be read."""
    response = await calls.get(url, headers={"Accept": "application/json"})
    if response.status == 404:
        return None
    if response.status != 200 or response.is_truncated:
        raise ValueError(f"status {response.status}")
    answer = orjson.loads(response.body)
    if not isinstance(answer, Mapping):
        raise ValueError("no object")
    if str(answer.get("erro", "false")).lower() == "true":
        return None
    city, state = _text(answer, "localidade"), _text(answer, "uf")
    if city is None or state not in STATES:
        raise ValueError("no city and state")
    return PostalAddress(cep, state, city, _text(answer, "bairro"), _text(answer, "logradouro"))


def _text(answer: Mapping[str, Any], name: str) -> str | None:
    """Return a text of an answer in one line, None for a blank one."""
    value = answer.get(name)
    text = " ".join(value.split())[:MAX_NAME] if isinstance(value, str) else ""
    return text if text.isprintable() and text else None
