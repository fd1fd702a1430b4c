"""Input fields of warehouses, delivery areas and usergroup assignments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from domain.addresses import country_or_brazil
from kernel.codes import ALLOCATION_TYPES, WAREHOUSE_STATUSES
from kernel.documents import normalize_cep
from kernel.fields import InputField, code_in, email_text, flag, integer, name_text, short_text, text
from kernel.geography import STATES, state_code
from kernel.text import InvalidValue, repr_value

MAX_AREAS = 500
MAX_GROUPS = 500
MAX_RANGES = 5_000
_MAX_LIST = 10_000
_MAX_DAYS = 3_650
_MAX_HOURS = 24 * _MAX_DAYS

_DEGREES = re.compile(r"-?[0-9]{1,3}(\.[0-9]{1,15})?")


@dataclass(frozen=True, slots=True)
class ZipcodeRange:
    """A range of postal codes: as written, and as numbers, both ends inclusive."""

    zipcode_from: str
    zipcode_to: str
    first: int
    last: int


def _capitals(value: object) -> str:
    return str(short_text(value)).strip().upper()


def _degrees(maximum: int) -> Any:
    def read(value: object) -> str:
        """Read a coordinate, stored as written; blank for none."""
        degrees = str(short_text(value)).strip()
        if degrees and not (_DEGREES.fullmatch(degrees) and abs(float(degrees)) <= maximum):
            raise InvalidValue(f"is {repr_value(value)}; expected degrees between -{maximum} and {maximum}")
        return degrees

    return read


def _states(value: object) -> list[str]:
    states = _texts(value)
    unknown = [state for state in states if state_code(state) not in STATES]
    if unknown:
        raise InvalidValue(f"holds {repr_value(unknown[0])}; expected states of Brazil such as SP")
    return list(dict.fromkeys(map(state_code, states)))


def _cities(value: object) -> list[str]:
    return list(dict.fromkeys(_texts(value)))


def _texts(value: object) -> list[str]:
    """Read a list of texts, ignoring blank ones."""
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise InvalidValue(f"is {repr_value(value)}; expected a list")
    if len(value) > _MAX_LIST:
        raise InvalidValue(f"holds {len(value)} entries; expected at most {_MAX_LIST}")
    texts = []
    for item in value:
        if not isinstance(item, str):
            raise InvalidValue(f"holds {repr_value(item)}; expected texts")
        texts.append(str(short_text(item)).strip())
    return [item for item in texts if item]


def read_zipcodes(value: object) -> list[ZipcodeRange]:
    """Read ranges of postal codes, both ends inclusive, that don't overlap."""
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise InvalidValue(f"is {repr_value(value)}; expected a list of ranges")
    if len(value) > MAX_RANGES:
        raise InvalidValue(f"holds {len(value)} ranges; expected at most {MAX_RANGES}")
    ranges = [_range(item) for item in value]
    _check_overlaps(ranges)
    return ranges


def _range(value: object) -> ZipcodeRange:
    if not isinstance(value, Mapping):
        raise InvalidValue(f"holds {repr_value(value)}; expected objects {{zipcode_from, zipcode_to}}")
    ends = []
    for name in ("zipcode_from", "zipcode_to"):
        text_value = value.get(name)
        digits = normalize_cep(text_value) if isinstance(text_value, str) else None
        if digits is None:
            raise InvalidValue(f"holds a {name} that is {repr_value(text_value)}; expected a CEP of 8 digits")
        ends.append((str(text_value).strip(), int(digits)))
    (from_text, first), (to_text, last) = ends
    if first > last:
        raise InvalidValue(f"holds a zipcode_from, {from_text}, above its zipcode_to, {to_text}")
    return ZipcodeRange(from_text, to_text, first, last)


def _check_overlaps(ranges: Sequence[ZipcodeRange]) -> None:
    sorted_ranges = sorted(ranges, key=lambda zipcode_range: zipcode_range.first)
    for before, after in pairwise(sorted_ranges):
        if after.first <= before.last:
            raise InvalidValue(
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
    "country": InputField("country", country_or_brazil, code="country_invalid"),
    "zipcode": InputField("zipcode", short_text, code="zipcode_invalid"),
    "phone": InputField("phone", short_text),
    "email": InputField("email", email_text, code="email_invalid"),
    "latitude": InputField("latitude", _degrees(90), code="latitude_invalid"),
    "longitude": InputField("longitude", _degrees(180), code="longitude_invalid"),
    "priority": InputField("priority", integer(-(2**31), 2**31 - 1), code="priority_invalid"),
    "is_default": InputField("is_default", flag),
    "shipping_delay": InputField("shipping_delay", integer(0, _MAX_DAYS), code="shipping_delay_invalid"),
    "min_items_in_box": InputField("min_items_in_box", integer(), code="items_invalid"),
    "max_items_in_box": InputField("max_items_in_box", integer(), code="items_invalid"),
}

AREA_FIELDS: Mapping[str, InputField] = {
    "area_name": InputField("name", name_text, code="name_invalid", required="required"),
    "states": InputField("states", _states, code="states_invalid"),
    "cities": InputField("cities", _cities, code="cities_invalid"),
    "zipcodes": InputField("zipcodes", read_zipcodes, code="zipcodes_invalid"),
    "delivery_time": InputField("delivery_time", integer(0, _MAX_HOURS), code="delivery_time_invalid"),
    "status": InputField("status", code_in(WAREHOUSE_STATUSES), code="status_invalid"),
}

GROUP_FIELDS: Mapping[str, InputField] = {
    "priority": InputField("priority", integer(-(2**31), 2**31 - 1), code="priority_invalid"),
    "allocation_type": InputField("allocation_type", code_in(ALLOCATION_TYPES), code="allocation_type_invalid"),
    "status": InputField("status", code_in(WAREHOUSE_STATUSES), code="status_invalid"),
}
