"""Decide to which destination an address belongs: the most specific of those that hold it (decisions-legacy section 3).

A destination names countries, states, cities and ranges of CEPs. What it leaves empty it does not ask; what it fills must all hold.
The narrowest range of CEPs is the most specific, then come cities, states and countries; the older destination breaks ties.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kernel.documents import normalise_cep
from kernel.places import BRAZIL, state_of_cep
from kernel.scope import Scope, entered
from kernel.text import fold
from models.database import rows


@dataclass(frozen=True, slots=True)
class DestinationAddress:
    """Describe an address as far as destinations ask; `zipcode` is a CEP of eight digits, or empty."""

    country: str = BRAZIL
    state: str = ""
    city: str = ""
    zipcode: str = ""

    @property
    def is_known(self) -> bool:
        """Say whether the address names a place at all: a country alone does not."""
        return bool(self.zipcode or self.state or self.city)


NOWHERE = DestinationAddress()
"""An address that names no more than the country."""


def place_of(address: Mapping[str, Any] | None) -> DestinationAddress:
    """Read an address; the state is told from the CEP where it is missing."""
    given = address or {}
    country = str(given.get("country") or BRAZIL).strip().upper()
    cep = normalise_cep(str(given.get("zipcode") or "")) or ""
    state = str(given.get("state") or "").strip().upper()
    if not state and country == BRAZIL:
        state = state_of_cep(cep)
    return DestinationAddress(country, state, fold(str(given.get("city") or "")).strip(), cep)


@dataclass(frozen=True, slots=True)
class Candidate:
    """Describe a destination that might hold an address; `width` is that of its narrowest range that holds the CEP, null for none."""

    id: int
    countries: tuple[str, ...]
    states: tuple[str, ...]
    cities: tuple[str, ...]
    has_zipcodes: bool
    width: int | None

    def holds(self, place: DestinationAddress) -> bool:
        """Say whether all that the destination asks is so."""
        return (
            (not self.countries or place.country in self.countries)
            and (not self.states or place.state in self.states)
            and (not self.cities or place.city in self.cities)
            and (not self.has_zipcodes or self.width is not None)
        )

    @property
    def breadth(self) -> tuple[Any, ...]:
        """Give what orders destinations from the most specific to the broadest."""
        return (
            *(not self.has_zipcodes, self.width or 0),
            *(not self.cities, len(self.cities)),
            *(not self.states, len(self.states)),
            *(not self.countries, len(self.countries)),
            self.id,
        )


def most_specific(candidates: Iterable[Candidate], place: DestinationAddress) -> int | None:
    """Give the destination an address belongs to, or None."""
    holding = [candidate for candidate in candidates if candidate.holds(place)]
    return min(holding, key=lambda candidate: candidate.breadth).id if holding else None


def candidate_from(found: Mapping[str, Any], width: str = "width") -> Candidate:
    """Make a candidate of a row of `CANDIDATES`."""
    return Candidate(
        found["id"],
        tuple(found["countries"]),
        tuple(found["states"]),
        tuple(fold(city) for city in found["cities"]),
        found["has_zipcodes"],
        found[width],
    )


def width_sql(cep: str) -> str:
    """Write the width of a destination's narrowest range that holds the CEP bound as `cep` (trusted SQL, such as `$2`)."""
    return (
        "(SELECT min(z.zipcode_to::bigint - z.zipcode_from::bigint) FROM destination_zipcodes z"
        f" WHERE z.tenant_id = d.tenant_id AND z.destination_id = d.id AND {cep} BETWEEN z.zipcode_from AND z.zipcode_to)"
    )


HAS_ZIPCODES = "EXISTS (SELECT 1 FROM destination_zipcodes z WHERE z.tenant_id = d.tenant_id AND z.destination_id = d.id)"
_CANDIDATES = f"""
SELECT d.id, d.countries, d.states, d.cities, {HAS_ZIPCODES} AS has_zipcodes, {width_sql("$2::text")} AS width
FROM destinations d WHERE d.tenant_id = $1 AND d.status = 'A' AND d.deleted_at IS NULL
"""


async def find_destination(scope: Scope, place: DestinationAddress) -> int | None:
    """Give the internal id of the destination that an address belongs to, or None, in one statement."""
    with entered(scope):
        found = await rows(_CANDIDATES, scope.store.id, place.zipcode)
    return most_specific((candidate_from(row) for row in found), place)
