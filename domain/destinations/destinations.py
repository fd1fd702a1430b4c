"""Destinations: where shipping and tax rates apply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from domain.records import Change, RecordType
from kernel.codes import SWITCH_STATUSES
from kernel.documents import normalize_cep
from kernel.errors import ValidationFailed
from kernel.fields import MAX_NAME, InputField, code_in, name_text
from kernel.geography import BRAZIL, STATES, state_code
from kernel.scope import Scope
from kernel.text import InvalidValue, has_forbidden_characters, nfc, repr_value
from models.rows import delete_rows
from models.tables.shipping import Destination

MAX_RANGES = 5_000
MAX_NAMES = 6_000
"""Brazil has 5,570 municipalities."""

_LOCK = "SELECT countries, states FROM destinations WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE"


def _names(value: object, *, form: str) -> list[str]:
    """Parse a list of names, without duplicates, in input order."""
    if value is None:
        return []
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > MAX_NAMES:
        raise InvalidValue(f"is {repr_value(value)}; expected a list of at most {MAX_NAMES} {form}")
    names = []
    for item in value:
        if not isinstance(item, str) or not 1 <= len(item.strip()) <= MAX_NAME or has_forbidden_characters(item):
            raise InvalidValue(f"holds {repr_value(item)}; expected {form}")
        names.append(nfc(item.strip()))
    return list(dict.fromkeys(names))


def _codes(value: object) -> list[str]:
    codes = [code.upper() for code in _names(value, form="codes of two letters")]
    for code in codes:
        if len(code) != 2 or not code.isascii() or not code.isalpha():
            raise InvalidValue(f"holds {repr_value(code)}; expected codes of two letters")
    return list(dict.fromkeys(codes))


def _states(value: object) -> list[str]:
    return _codes([state_code(name) for name in _names(value, form="codes of two letters")])


def _cities(value: object) -> list[str]:
    return _names(value, form="names of cities")


def _cep(value: object) -> str:
    cep = normalize_cep(value) if isinstance(value, str) else None
    if cep is None:
        raise InvalidValue(f"holds {repr_value(value)}; expected a CEP of eight digits")
    return cep


def parse_ranges(value: object) -> list[tuple[str, str]]:
    """Parse ranges of CEPs, `[{zipcode_from, zipcode_to}]`, sorted; without an end the range is a single CEP.

    Raises InvalidValue for invalid CEPs, an end before the start, and overlapping ranges.
    """
    if value is None:
        return []
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > MAX_RANGES:
        raise InvalidValue(f"is {repr_value(value)}; expected a list of at most {MAX_RANGES} ranges of CEPs")
    ranges = []
    for item in value:
        if not isinstance(item, Mapping):
            raise InvalidValue(f"holds {repr_value(item)}; expected objects such as {{zipcode_from, zipcode_to}}")
        first = _cep(item.get("zipcode_from"))
        last = first if item.get("zipcode_to") in (None, "") else _cep(item["zipcode_to"])
        if first > last:
            raise InvalidValue(f"holds {first}-{last}; expected zipcode_from up to zipcode_to")
        ranges.append((first, last))
    ranges.sort()
    for (_, end), (start, _) in pairwise(ranges):
        if start <= end:
            raise InvalidValue(f"overlap at {start}; expected ranges of CEPs that don't")
    return ranges


DESTINATION_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "status": InputField("status", code_in(SWITCH_STATUSES), code="status_invalid"),
    "countries": InputField("countries", _codes, code="countries_invalid"),
    "states": InputField("states", _states, code="states_invalid"),
    "cities": InputField("cities", _cities, code="cities_invalid"),
    "zipcodes": InputField("zipcodes", parse_ranges, code="zipcodes_invalid"),
}


async def _delete_rates(scope: Scope, destination_id: int) -> None:
    for table in ("shipping_rates", "tax_rates"):
        await delete_rows(scope, table, destination_id=destination_id)


def _check_states(change: Change) -> None:
    """Reject unknown states, for Brazil only."""
    if list(change.merged["countries"]) not in ([], [BRAZIL]):
        return
    unknown = [state for state in change.merged["states"] if state not in STATES]
    if unknown:
        raise ValidationFailed(
            f"states holds {unknown[0]!r}; expected states of Brazil such as SP", field="states", code="states_invalid"
        )


async def _prepare(change: Change) -> None:
    change.parts["zipcodes"] = change.columns.pop("zipcodes", None)


async def _write_ranges(change: Change) -> None:
    ranges = change.parts["zipcodes"]
    if ranges is not None:
        rows = [{"zipcode_from": first, "zipcode_to": last} for first, last in ranges]
        await change.replace_part("destination_zipcodes", "destination_id", rows)


DESTINATION_RECORDS = RecordType(
    Destination,
    DESTINATION_FIELDS,
    audit_input=True,
    lock_row=_LOCK,
    defaults={"countries": [], "states": []},
    check=_check_states,
    prepare=_prepare,
    after_save=_write_ranges,
    before_delete=_delete_rates,
)
"""Empty lists match all; a list in the input replaces the existing one. Orders keep the amounts charged."""
