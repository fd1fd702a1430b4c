"""Make, change and delete destinations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from domain import audit
from domain.fields import MAX_NAME, Given, InputField, code_in, name_text, read_fields
from domain.references import DESTINATION, find
from kernel.codes import SWITCH_STATUSES
from kernel.documents import normalise_cep
from kernel.errors import ValidationFailed
from kernel.ids import uuid7
from kernel.places import BRAZIL, STATES
from kernel.scope import Scope
from kernel.text import Malformed, has_forbidden_characters, nfc, shown
from models.database import execute, row, transaction
from models.shipping import Destination

MAX_RANGES = 5_000
MAX_NAMES = 6_000
"""Brazil has 5,570 municipalities."""

_REPLACE = """
WITH dropped AS (DELETE FROM destination_zipcodes WHERE tenant_id = $1 AND destination_id = $2)
INSERT INTO destination_zipcodes (tenant_id, public_id, destination_id, zipcode_from, zipcode_to)
SELECT $1, g.public_id, $2, g.zipcode_from, g.zipcode_to
FROM unnest($3::uuid[], $4::text[], $5::text[]) AS g (public_id, zipcode_from, zipcode_to)
"""
_LOCK = "SELECT countries, states FROM destinations WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE"


def _names(value: object, *, form: str) -> list[str]:
    """Read a list of names, each once, in the order given."""
    if value is None:
        return []
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > MAX_NAMES:
        raise Malformed(f"is {shown(value)}; expected a list of at most {MAX_NAMES} {form}")
    found = []
    for each in value:
        if (
            not isinstance(each, str)
            or has_forbidden_characters(each)
            or not 1 <= len(each.strip()) <= MAX_NAME
        ):
            raise Malformed(f"holds {shown(each)}; expected {form}")
        found.append(nfc(each.strip()))
    return list(dict.fromkeys(found))


def _codes(value: object) -> list[str]:
    """Read codes of two letters: countries (ISO 3166) or states."""
    found = [code.upper() for code in _names(value, form="codes of two letters")]
    for code in found:
        if len(code) != 2 or not code.isascii() or not code.isalpha():
            raise Malformed(f"holds {shown(code)}; expected codes of two letters")
    return list(dict.fromkeys(found))


def _cities(value: object) -> list[str]:
    return _names(value, form="names of cities")


def _cep(value: object) -> str:
    cep = normalise_cep(value) if isinstance(value, str) else None
    if cep is None:
        raise Malformed(f"holds {shown(value)}; expected a CEP of eight digits")
    return cep


def ranges_from(value: object) -> list[tuple[str, str]]:
    """Read ranges of CEPs, `[{zipcode_from, zipcode_to}]`, in order; one that lacks its end is a single CEP.

    Raises Malformed for what is none, for an end before its beginning, and for ranges that overlap.
    """
    if value is None:
        return []
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) > MAX_RANGES:
        raise Malformed(f"is {shown(value)}; expected a list of at most {MAX_RANGES} ranges of CEPs")
    found = []
    for each in value:
        if not isinstance(each, Mapping):
            raise Malformed(f"holds {shown(each)}; expected objects such as {{zipcode_from, zipcode_to}}")
        first = _cep(each.get("zipcode_from"))
        last = first if each.get("zipcode_to") in (None, "") else _cep(each["zipcode_to"])
        if first > last:
            raise Malformed(f"holds {first}-{last}; expected zipcode_from up to zipcode_to")
        found.append((first, last))
    found.sort()
    for (_, end), (begin, _) in pairwise(found):
        if begin <= end:
            raise Malformed(f"overlap at {begin}; expected ranges of CEPs that don't")
    return found


DESTINATION_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "status": InputField("status", code_in(SWITCH_STATUSES), code="status_invalid"),
    "countries": InputField("countries", _codes, code="countries_invalid"),
    "states": InputField("states", _codes, code="states_invalid"),
    "cities": InputField("cities", _cities, code="cities_invalid"),
    "zipcodes": InputField("zipcodes", ranges_from, code="zipcodes_invalid"),
}


async def create_destination(scope: Scope, given: Given) -> int:
    """Make a destination and give its internal id.

    Keys: `name`*, `status`, `countries`, `states`, `cities` (lists), `zipcodes [{zipcode_from, zipcode_to}]`; what is left empty is
    not asked of an address.
    """
    columns = read_fields(DESTINATION_FIELDS, given, creating=True)
    _check_states(columns.get("countries", []), columns.get("states", []))
    ranges = columns.pop("zipcodes", [])
    async with transaction(scope):
        destination = Destination(**columns, created_at=scope.now, updated_at=scope.now)
        await destination.save()
        destination_id: int = destination.id
        await _write_ranges(scope, destination_id, ranges)
        await audit.record(scope, "destination.created", "destination", destination.public_id)
    return destination_id


async def update_destination(scope: Scope, destination: object, given: Given) -> int:
    """Change a destination partially and give its internal id; a list that is given replaces the one there is."""
    columns = read_fields(DESTINATION_FIELDS, given)
    ranges = columns.pop("zipcodes", None)
    async with transaction(scope):
        destination_id = await find(scope, DESTINATION, destination)
        before: Mapping[str, Any] = await row(_LOCK, scope.store.id, destination_id) or {}
        known = {**before, **columns}
        _check_states(known["countries"], known["states"])
        await Destination.filter(id=destination_id).update(**columns, updated_at=scope.now)
        if ranges is not None:
            await _write_ranges(scope, destination_id, ranges)
        await audit.record(
            scope, "destination.updated", "destination", destination_id, {"fields": sorted(map(str, given))}
        )
    return destination_id


async def delete_destination(scope: Scope, destination: object) -> None:
    """Hide a destination and drop the rates that were for it; orders keep what they were charged."""
    async with transaction(scope):
        destination_id = await find(scope, DESTINATION, destination)
        for table in ("shipping_rates", "tax_rates"):
            await execute(
                f"DELETE FROM {table} WHERE tenant_id = $1 AND destination_id = $2",  # two constants
                scope.store.id,
                destination_id,
            )
        await Destination.filter(id=destination_id).update(deleted_at=scope.now, updated_at=scope.now)
        await audit.record(scope, "destination.deleted", "destination", destination_id)


def _check_states(countries: Sequence[str], states: Sequence[str]) -> None:
    """Refuse states that no country of the destination has, as far as that is known: of Brazil."""
    if list(countries) not in ([], [BRAZIL]):
        return
    unknown = [state for state in states if state not in STATES]
    if unknown:
        raise ValidationFailed(
            f"states holds {unknown[0]!r}; expected states of Brazil such as SP",
            field="states",
            code="states_invalid",
        )


async def _write_ranges(scope: Scope, destination_id: int, ranges: Sequence[tuple[str, str]]) -> None:
    await execute(
        _REPLACE,
        scope.store.id,
        destination_id,
        [uuid7() for _ in ranges],
        [first for first, _ in ranges],
        [last for _, last in ranges],
    )
