"""What every source of rates has in common: what it is asked, what it answers, and what counts as a fault.

    quotes = await source.quote(RateRequest(parcels, origin="01310100", destination="50010000", value_cents=4_990))

Nothing that a source answers is trusted: a price of zero or below, one above MAX_PRICE_CENTS, another currency, and whatever can't be read
is a fault of the source, never a price.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Protocol, Self

import orjson

from domain.carriers.parcels import Parcel
from domain.outgoing import calls
from domain.outgoing.calls import AddressNotAllowed, RequestFailed
from kernel.text import repr_value

TABLE = "table"
"""The source of a method that has its own prices only."""
DEADLINE_SECONDS = 3.8
"""How long all sources of a cart may take together: a cart is answered within four seconds."""
MAX_PRICE_CENTS = 10_000_000
MAX_DAYS = 365
MAX_PARCELS = 100
"""Melhor Envio refuses more units; so many parcels are agreed with a carrier, not quoted by one."""
_MAX_TEXT = 255
_MIN_GRAMS = 10


class RateSourceFailed(Exception):
    """The source gave no answer that can be used; the reason is shown to the store."""


@dataclass(frozen=True, slots=True)
class RateRequest:
    """What a source is asked: parcels from one CEP (eight digits) to another, with the value of their contents in cents."""

    parcels: Sequence[Parcel]
    origin: str
    destination: str
    value_cents: int


@dataclass(frozen=True, slots=True)
class ServiceQuote:
    """What a source says of a service: price and days, or that it doesn't deliver (`price_cents` None).

    `service` is empty for all of them, and where it can't be read; `fault` is why what it says can't be used, empty if it can.
    """

    service: str
    name: str
    price_cents: int | None
    days_min: int = 0
    days_max: int = 0
    fault: str = ""


@dataclass(frozen=True, slots=True)
class CarrierPrice:
    """The service that a source offered for a shipping method, its price and days, and when."""

    service: str
    name: str
    price_cents: int
    days_min: int
    days_max: int
    quoted_at: datetime

    @property
    def delivery_time(self) -> str:
        """Return the days as a text, such as `3 a 5 dias`; empty if the source named none."""
        if not self.days_max:
            return ""
        days = str(self.days_max) if self.days_min in (0, self.days_max) else f"{self.days_min} a {self.days_max}"
        return f"{days} dia" if days == "1" else f"{days} dias"

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the price of a record."""
        names = ("service", "name", "price_cents", "days_min", "days_max")
        return cls(**{name: record[name] for name in names}, quoted_at=datetime.fromisoformat(record["quoted_at"]))

    def record(self, source: str) -> dict[str, Any]:
        """Return what an order keeps of it."""
        return {
            "source": source,
            "service": self.service,
            "name": self.name,
            "price_cents": self.price_cents,
            "days_min": self.days_min,
            "days_max": self.days_max,
            "quoted_at": self.quoted_at.isoformat(),
        }


class RateSource(Protocol):
    """A source of rates, with the parameters of a shipping method."""

    async def quote(self, request: RateRequest) -> list[ServiceQuote]:
        """Return what it says of its services; raises RateSourceFailed. Must not be called within a transaction."""


def choose_service(quotes: Sequence[ServiceQuote], services: Collection[str]) -> ServiceQuote | None:
    """Return the cheapest of these services, or of all without any; None if none of them delivers.

    Raises RateSourceFailed if the source knows none of the services, or if what it says of those that may deliver can't be used.
    """
    known = [quote for quote in quotes if not services or not quote.service or quote.service in services]
    if not known:
        raise RateSourceFailed(f"the answer has no service {', '.join(services)}".strip())
    offered = [quote for quote in known if quote.price_cents is not None]
    if offered:
        return min(offered, key=lambda quote: (quote.price_cents or 0, quote.days_max, quote.service))
    faults = [quote.fault for quote in known if quote.fault]
    if faults:
        raise RateSourceFailed(faults[0])
    return None


def read_services(entries: object, code: str, read: Callable[[Mapping[str, Any]], ServiceQuote]) -> list[ServiceQuote]:
    """Return the services of an answer, each as `read` reads it; `code` is the member with their code.

    One that can't be read is a fault of its own and leaves the others usable. Raises RateSourceFailed unless there is a list.
    """
    if not isinstance(entries, list):
        raise RateSourceFailed(f"the services are {repr_value(entries)}; expected a list")
    return [_read_service(entry, code, read) for entry in entries]


def _read_service(entry: Any, code: str, read: Callable[[Mapping[str, Any]], ServiceQuote]) -> ServiceQuote:
    service = ""
    try:
        if not isinstance(entry, Mapping):
            raise RateSourceFailed(f"a service is {repr_value(entry)}; expected an object")
        service = read_text(entry.get(code))
        return read(entry)
    except RateSourceFailed as error:
        return ServiceQuote(service, "", None, fault=str(error))


async def post_json(url: str, headers: Mapping[str, str], body: Any) -> Any:
    """Send JSON and return the JSON of the answer; raises RateSourceFailed for anything but a readable 200."""
    headers = {"Content-Type": "application/json", "Accept": "application/json", **headers}
    try:
        response = await calls.post(url, headers=headers, body=orjson.dumps(body), timeout=DEADLINE_SECONDS)
    except (RequestFailed, AddressNotAllowed) as error:
        raise RateSourceFailed(str(error)) from error
    if response.status != 200:
        raise RateSourceFailed(f"the answer has status {response.status}")
    if response.is_truncated:
        raise RateSourceFailed(f"the answer has more than {calls.MAX_BODY_BYTES} bytes")
    try:
        return orjson.loads(response.body)
    except orjson.JSONDecodeError as error:
        raise RateSourceFailed("the answer is no JSON") from error


def read_price(value: object) -> int:
    """Return a price of an answer, a decimal text or number, in cents; raises RateSourceFailed unless it is above zero and plausible."""
    try:
        amount = Decimal(str(value)) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    except InvalidOperation:
        amount = None
    # What is far beyond the maximum is too large to calculate with, or to print.
    if amount is None or not amount.is_finite() or amount.copy_abs() > MAX_PRICE_CENTS:
        raise RateSourceFailed(f"a price is {repr_value(value)}; expected an amount")
    cents = amount * 100
    if cents != cents.to_integral_value():
        raise RateSourceFailed(f"a price is {repr_value(value)}; expected two decimals")
    return checked_price(int(cents))


def checked_price(cents: int) -> int:
    """Return a price in cents; raises RateSourceFailed unless it is above zero and plausible."""
    if not 0 < cents <= MAX_PRICE_CENTS:
        raise RateSourceFailed(f"a price is {cents} cents; expected one above zero up to {MAX_PRICE_CENTS}")
    return cents


def read_days(value: object) -> int:
    """Return a number of days of an answer; raises RateSourceFailed for none, a negative one and one above MAX_DAYS."""
    text = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MAX_DAYS)) and int(text) <= MAX_DAYS):
        raise RateSourceFailed(f"a time is {repr_value(value)}; expected 0 to {MAX_DAYS} days")
    return int(text)


def read_text(value: object) -> str:
    """Return a text or number of an answer as a text; raises RateSourceFailed for others and an empty one."""
    text = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not text or len(text) > _MAX_TEXT or not text.isprintable():
        raise RateSourceFailed(f"a service is {repr_value(value)}; expected a text of at most {_MAX_TEXT} characters")
    return text


def centimetres(millimetres: int) -> int:
    """Return whole centimetres, rounded up."""
    return -(-millimetres // 10)


def kilograms(grams: int) -> float:
    """Return kilograms, at least 0.01, which carriers ask for."""
    return max(grams, _MIN_GRAMS) / 1_000


def reais(cents: int) -> float:
    """Return an amount in reais with its two decimals."""
    return cents / 100
