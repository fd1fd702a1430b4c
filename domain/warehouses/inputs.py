"""Read what is given of warehouses, their delivery areas and the groups they serve."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from domain.fields import InputField, code_in, flag, name_text, short_text, text, whole
from domain.orders.draft import email_text
from kernel.codes import ALLOCATION_TYPES, WAREHOUSE_STATUSES
from kernel.documents import normalise_cep
from kernel.places import BRAZIL, STATES
from kernel.text import Malformed, shown

MAX_AREAS = 500
MAX_GROUPS = 500
MAX_RANGES = 5_000
_MAX_PLACES = 10_000
_MAX_DAYS = 3_650
_MAX_HOURS = 24 * _MAX_DAYS

_COUNTRY = re.compile(r"[A-Z]{2}")
_DEGREES = re.compile(r"-?[0-9]{1,3}(\.[0-9]{1,15})?")


@dataclass(frozen=True, slots=True)
class Zipcodes:
    """Hold a range of postal codes: as it was written, and as numbers with both ends in it."""

    zipcode_from: str
    zipcode_to: str
    first: int
    last: int


def _capitals(value: object) -> str:
    return str(short_text(value)).strip().upper()


def _country(value: object) -> str:
    country = _capitals(value) or BRAZIL
    if not _COUNTRY.fullmatch(country):
        raise Malformed(f"is {shown(value)}; expected a country's code of two letters")
    return country


def _degrees(most: int) -> Any:
    def read(value: object) -> str:
        """Read a coordinate, kept as it was written; blank for none."""
        given = str(short_text(value)).strip()
        if given and not (_DEGREES.fullmatch(given) and abs(float(given)) <= most):
            raise Malformed(f"is {shown(value)}; expected degrees between -{most} and {most}")
        return given

    return read


def state_text(value: object) -> str:
    """Read a state of Brazil by its two letters, in either case."""
    state = _capitals(value)
    if state not in STATES:
        raise Malformed(f"is {shown(value)}; expected a state of Brazil such as SP")
    return state


def _states(value: object) -> list[str]:
    given = _texts(value)
    unknown = [state for state in given if state.upper() not in STATES]
    if unknown:
        raise Malformed(f"holds {shown(unknown[0])}; expected states of Brazil such as SP")
    return list(dict.fromkeys(state.upper() for state in given))


def _cities(value: object) -> list[str]:
    return list(dict.fromkeys(_texts(value)))


def _texts(value: object) -> list[str]:
    """Read a list of texts; blank ones are none."""
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise Malformed(f"is {shown(value)}; expected a list")
    if len(value) > _MAX_PLACES:
        raise Malformed(f"holds {len(value)} entries; expected at most {_MAX_PLACES}")
    found = []
    for each in value:
        if not isinstance(each, str):
            raise Malformed(f"holds {shown(each)}; expected texts")
        found.append(str(short_text(each)).strip())
    return [each for each in found if each]


def zipcodes_from(value: object) -> list[Zipcodes]:
    """Read ranges of postal codes, both ends in them, that don't overlap."""
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise Malformed(f"is {shown(value)}; expected a list of ranges")
    if len(value) > MAX_RANGES:
        raise Malformed(f"holds {len(value)} ranges; expected at most {MAX_RANGES}")
    ranges = [_range(each) for each in value]
    _refuse_overlapping(ranges)
    return ranges


def _range(value: object) -> Zipcodes:
    if not isinstance(value, Mapping):
        raise Malformed(f"holds {shown(value)}; expected objects {{zipcode_from, zipcode_to}}")
    ends = []
    for name in ("zipcode_from", "zipcode_to"):
        given = value.get(name)
        digits = normalise_cep(given) if isinstance(given, str) else None
        if digits is None:
            raise Malformed(f"holds a {name} that is {shown(given)}; expected a CEP of 8 digits")
        ends.append((str(given).strip(), int(digits)))
    (written_from, first), (written_to, last) = ends
    if first > last:
        raise Malformed(f"holds a zipcode_from, {written_from}, above its zipcode_to, {written_to}")
    return Zipcodes(written_from, written_to, first, last)


def _refuse_overlapping(ranges: Sequence[Zipcodes]) -> None:
    in_order = sorted(ranges, key=lambda each: each.first)
    for before, after in pairwise(in_order):
        if after.first <= before.last:
            raise Malformed(
                f"holds ranges that overlap: {before.zipcode_from} to {before.zipcode_to}"
                f" and {after.zipcode_from} to {after.zipcode_to}"
            )


WAREHOUSE_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "code": InputField("code", short_text),
    "description": InputField("description", text()),
    "status": InputField("status", code_in(WAREHOUSE_STATUSES), code="status_invalid"),
    "address": InputField("address", short_text),
    "city": InputField("city", short_text),
    "state": InputField("state", _capitals, code="state_invalid"),
    "country": InputField("country", _country, code="country_invalid"),
    "zipcode": InputField("zipcode", short_text, code="zipcode_invalid"),
    "phone": InputField("phone", short_text),
    "email": InputField("email", email_text, code="email_invalid"),
    "latitude": InputField("latitude", _degrees(90), code="latitude_invalid"),
    "longitude": InputField("longitude", _degrees(180), code="longitude_invalid"),
    "priority": InputField("priority", whole(-(2**31), 2**31 - 1), code="priority_invalid"),
    "is_default": InputField("is_default", flag),
    "shipping_delay": InputField("shipping_delay", whole(0, _MAX_DAYS), code="shipping_delay_invalid"),
    "min_items_in_box": InputField("min_items_in_box", whole(), code="items_invalid"),
    "max_items_in_box": InputField("max_items_in_box", whole(), code="items_invalid"),
}

AREA_FIELDS: Mapping[str, InputField] = {
    "area_name": InputField("name", name_text, code="name_invalid", required="required"),
    "states": InputField("states", _states, code="states_invalid"),
    "cities": InputField("cities", _cities, code="cities_invalid"),
    "zipcodes": InputField("zipcodes", zipcodes_from, code="zipcodes_invalid"),
    "delivery_time": InputField("delivery_time", whole(0, _MAX_HOURS), code="delivery_time_invalid"),
    "status": InputField("status", code_in(WAREHOUSE_STATUSES), code="status_invalid"),
}

GROUP_FIELDS: Mapping[str, InputField] = {
    "priority": InputField("priority", whole(-(2**31), 2**31 - 1), code="priority_invalid"),
    "allocation_type": InputField(
        "allocation_type", code_in(ALLOCATION_TYPES), code="allocation_type_invalid"
    ),
    "status": InputField("status", code_in(WAREHOUSE_STATUSES), code="status_invalid"),
}
