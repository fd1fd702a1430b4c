"""Match an address to its destination: the most specific one that contains it (docs/reference/legacy.md#destinations).

A destination lists countries, states, cities and ranges of CEPs. An empty list matches everything; all lists must match. The narrowest
range of CEPs is the most specific, then cities, states and countries; ties go to the older destination.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kernel.documents import normalize_cep
from kernel.fields import MAX_NAME
from kernel.geography import BRAZIL, state_code, state_of_cep
from kernel.scope import Scope, active_scope
from kernel.text import NFC_RATIO, fold
from models.connection.database import fetch


@dataclass(frozen=True, slots=True)
class DestinationAddress:
    """The part of an address that destinations match on; `zipcode` is a CEP of eight digits, or empty."""

    country: str = BRAZIL
    state: str = ""
    city: str = ""
    zipcode: str = ""

    @property
    def is_specified(self) -> bool:
        """Return whether the address has more than the default country."""
        return self.is_located or bool(self.city)

    @property
    def is_located(self) -> bool:
        """Return whether its state or country is known; destinations by state don't contain a city alone."""
        return bool(self.zipcode or self.state) or self.country != BRAZIL


NO_ADDRESS = DestinationAddress()
"""An address with only the default country."""


def destination_address(address: Mapping[str, Any] | None) -> DestinationAddress:
    """Parse an address; a state of Brazil may be a name, and a missing one is that of the CEP."""
    fields = address or {}
    country = str(fields.get("country") or BRAZIL).strip().upper()
    cep = normalize_cep(str(fields.get("zipcode") or "")) or ""
    state = str(fields.get("state") or "").strip()
    state = state.upper() if country != BRAZIL else state_code(state) or state_of_cep(cep)
    return DestinationAddress(country, state, fold(str(fields.get("city") or "")[: NFC_RATIO * MAX_NAME]).strip(), cep)


def cep_of(address: Mapping[str, Any] | None) -> str:
    """Return the CEP of an address in Brazil, empty without one: where carriers deliver to."""
    parsed = destination_address(address)
    return parsed.zipcode if parsed.country == BRAZIL else ""


@dataclass(frozen=True, slots=True)
class DestinationCandidate:
    """A destination to match; `width` is that of its narrowest range containing the CEP, None without one."""

    id: int
    countries: tuple[str, ...]
    states: tuple[str, ...]
    cities: tuple[str, ...]
    has_zipcodes: bool
    width: int | None

    def matches(self, address: DestinationAddress) -> bool:
        """Return whether the address matches all lists."""
        return (
            (not self.countries or address.country in self.countries)
            and (not self.states or address.state in self.states)
            and (not self.cities or address.city in self.cities)
            and (not self.has_zipcodes or self.width is not None)
        )

    @property
    def specificity(self) -> tuple[Any, ...]:
        """Return a sort key, the most specific first."""
        return (
            *(not self.has_zipcodes, self.width or 0),
            *(not self.cities, len(self.cities)),
            *(not self.states, len(self.states)),
            *(not self.countries, len(self.countries)),
            self.id,
        )


def most_specific(candidates: Iterable[DestinationCandidate], address: DestinationAddress) -> int | None:
    """Return the id of the most specific matching destination, or None."""
    matching = [candidate for candidate in candidates if candidate.matches(address)]
    return min(matching, key=lambda candidate: candidate.specificity).id if matching else None


def candidate_from(row: Mapping[str, Any], width: str = "width") -> DestinationCandidate:
    """Build a candidate from a row of `_CANDIDATES`."""
    return DestinationCandidate(
        row["id"],
        tuple(row["countries"]),
        tuple(row["states"]),
        tuple(fold(city) for city in row["cities"]),
        row["has_zipcodes"],
        row[width],
    )


def width_sql(cep: str) -> str:
    """Return the SQL of a destination's narrowest range containing the CEP bound as `cep` (trusted SQL, such as `$2`)."""
    return (
        "(SELECT min(z.zipcode_to::bigint - z.zipcode_from::bigint) FROM destination_zipcodes z"
        f" WHERE z.tenant_id = d.tenant_id AND z.destination_id = d.id AND {cep} BETWEEN z.zipcode_from AND z.zipcode_to)"
    )


HAS_ZIPCODES = (
    "EXISTS (SELECT 1 FROM destination_zipcodes z WHERE z.tenant_id = d.tenant_id AND z.destination_id = d.id)"
)
_CANDIDATES = f"""
SELECT d.id, d.countries, d.states, d.cities, {HAS_ZIPCODES} AS has_zipcodes, {width_sql("$2::text")} AS width
FROM destinations d WHERE d.tenant_id = $1 AND d.status = 'A' AND d.deleted_at IS NULL
"""


async def find_destination(scope: Scope, address: DestinationAddress) -> int | None:
    """Return the internal id of the destination of an address, or None, in one statement."""
    with active_scope(scope):
        candidates = await fetch(_CANDIDATES, scope.store.id, address.zipcode)
    return most_specific((candidate_from(row) for row in candidates), address)
