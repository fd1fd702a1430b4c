"""Say where a warehouse delivers. All its areas are written together, however many: two statements for each kind of row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from domain import audit
from domain.fields import Given, read_fields
from domain.warehouses.inputs import AREA_FIELDS, MAX_AREAS, Zipcodes
from domain.warehouses.locked import lock_warehouse
from kernel.errors import NotFound, ValidationFailed
from kernel.ids import Reference, parse_reference, uuid7
from kernel.scope import Scope
from kernel.text import shown
from models.database import execute, rows, transaction

_NEW = {"name": "", "states": [], "cities": [], "delivery_time": 0, "status": "A"}

_THERE = """
SELECT id, public_id, name, states, cities, delivery_time, status FROM warehouse_areas
WHERE tenant_id = $1 AND warehouse_id = $2
"""
_INSERT = """
INSERT INTO warehouse_areas
    (tenant_id, public_id, warehouse_id, name, states, cities, delivery_time, status, created_at, updated_at)
SELECT $1, a.public_id, $2, a.name, a.states, a.cities, a.delivery_time, a.status, $4, $4
FROM jsonb_populate_recordset(NULL::warehouse_areas, $3::text::jsonb) AS a
RETURNING id, public_id
"""
_UPDATE = """
UPDATE warehouse_areas w
SET name = a.name, states = a.states, cities = a.cities, delivery_time = a.delivery_time, status = a.status, updated_at = $4
FROM jsonb_populate_recordset(NULL::warehouse_areas, $3::text::jsonb) AS a
WHERE w.tenant_id = $1 AND w.warehouse_id = $2 AND w.id = a.id
"""
_DROP = "DELETE FROM warehouse_areas WHERE tenant_id = $1 AND warehouse_id = $2 AND id = ANY($3::bigint[])"
_DROP_ZIPCODES = "DELETE FROM warehouse_zipcodes WHERE tenant_id = $1 AND area_id = ANY($2::bigint[])"
_INSERT_ZIPCODES = """
INSERT INTO warehouse_zipcodes (tenant_id, public_id, area_id, zipcode_from, zipcode_to, first_cep, last_cep)
SELECT $1, z.public_id, z.area_id, z.zipcode_from, z.zipcode_to, z.first_cep, z.last_cep
FROM unnest($2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::integer[], $7::integer[])
    AS z (public_id, area_id, zipcode_from, zipcode_to, first_cep, last_cep)
"""


@dataclass(frozen=True, slots=True)
class _Area:
    """An area as it is to be; `id` None for a new one, `zipcodes` None to leave them."""

    id: int | None
    columns: Mapping[str, Any]
    zipcodes: Sequence[Zipcodes] | None


async def create_area(scope: Scope, warehouse: object, given: Given) -> int:
    """Add a delivery area and give its internal id.

    Keys: `area_name`*, `states`, `cities`, `zipcodes [{zipcode_from, zipcode_to}]`, `delivery_time` (hours), `status`. Raises NotFound
    for the warehouse, ValidationFailed for an unknown state and for ranges that overlap or end before they begin.
    """
    async with transaction(scope):
        held = await lock_warehouse(scope, warehouse)
        area = _read({**given, "area_id": None}, {})
        there = await _there(scope, held["id"])
        _check_number(len({known["id"] for known in there.values()}) + 1)
        [area_id] = await _write(scope, held["id"], [area])
        await _audit(scope, "warehouse.area_added", held, area_id)
    return area_id


async def update_area(scope: Scope, warehouse: object, area: object, given: Given) -> int:
    """Change a delivery area partially and give its internal id; `zipcodes`, when given, are all there will be."""
    async with transaction(scope):
        held = await lock_warehouse(scope, warehouse)
        known = _found(await _there(scope, held["id"]), area)
        await _write(scope, held["id"], [_read({**given, "area_id": known["id"]}, {known["id"]: known})])
        await _audit(scope, "warehouse.area_changed", held, known["id"])
    return int(known["id"])


async def delete_area(scope: Scope, warehouse: object, area: object) -> None:
    """Remove a delivery area."""
    async with transaction(scope):
        held = await lock_warehouse(scope, warehouse)
        known = _found(await _there(scope, held["id"]), area)
        await execute(_DROP, scope.store.id, held["id"], [known["id"]])
        await _audit(scope, "warehouse.area_removed", held, known["id"])


async def replace_areas(scope: Scope, warehouse_id: int, given: Sequence[Given]) -> None:
    """Make these the areas of a warehouse that the caller has locked: those that name an `area_id` change, others are new."""
    _check_number(len(given))
    there = await _there(scope, warehouse_id)
    areas = [_read(each, there) for each in given]
    kept = [area.id for area in areas if area.id is not None]
    if len(set(kept)) < len(kept):
        raise ValidationFailed("delivery_areas names an area_id twice", field="areas", code="repeated")
    gone = {known["id"] for known in there.values()} - set(kept)
    if gone:
        await execute(_DROP, scope.store.id, warehouse_id, sorted(gone))
    await _write(scope, warehouse_id, areas)


def _read(given: Given, there: Mapping[Reference, Mapping[str, Any]]) -> _Area:
    named = given.get("area_id")
    if named is None:
        columns = read_fields(AREA_FIELDS, given, creating=True)
        return _Area(None, {**_NEW, **columns}, columns.get("zipcodes", []))
    reference = parse_reference(named)
    known = there.get(reference) if reference is not None else None
    if known is None:
        raise ValidationFailed(f"area_id {shown(named)} not found", field="areas", code="not_found")
    columns = read_fields(AREA_FIELDS, given)
    return _Area(known["id"], {**known, **columns}, columns.get("zipcodes"))


async def _there(scope: Scope, warehouse_id: int) -> dict[Reference, Mapping[str, Any]]:
    """Give the areas there are, each by its number and by its UUID."""
    found: dict[Reference, Mapping[str, Any]] = {}
    for each in await rows(_THERE, scope.store.id, warehouse_id):
        found[each["id"]] = found[each["public_id"]] = dict(each)
    return found


def _found(there: Mapping[Reference, Mapping[str, Any]], area: object) -> Mapping[str, Any]:
    reference = parse_reference(area)
    if reference is None or reference not in there:
        raise NotFound("delivery area")
    return there[reference]


async def _write(scope: Scope, warehouse_id: int, areas: Sequence[_Area]) -> list[int]:
    """Write new and changed areas and give their ids in their order."""
    fresh = {uuid7(): area for area in areas if area.id is None}
    changed = [area for area in areas if area.id is not None]
    ids: dict[int, int] = {}
    if fresh:
        written = [_row(area, public_id=public_id) for public_id, area in fresh.items()]
        for made in await rows(
            _INSERT, scope.store.id, warehouse_id, orjson.dumps(written).decode(), scope.now
        ):
            ids[id(fresh[made["public_id"]])] = made["id"]
    if changed:
        written = [_row(area, id=area.id) for area in changed]
        await execute(_UPDATE, scope.store.id, warehouse_id, orjson.dumps(written).decode(), scope.now)
        ids |= {id(area): area.id for area in changed if area.id is not None}
    await _write_zipcodes(
        scope, {ids[id(area)]: area.zipcodes for area in areas if area.zipcodes is not None}
    )
    return [ids[id(area)] for area in areas]


async def _write_zipcodes(scope: Scope, zipcodes: Mapping[int, Sequence[Zipcodes]]) -> None:
    if not zipcodes:
        return
    await execute(_DROP_ZIPCODES, scope.store.id, list(zipcodes))
    every = [(area_id, each) for area_id, ranges in zipcodes.items() for each in ranges]
    if every:
        await execute(
            _INSERT_ZIPCODES,
            scope.store.id,
            [uuid7() for _ in every],
            [area_id for area_id, _ in every],
            [each.zipcode_from for _, each in every],
            [each.zipcode_to for _, each in every],
            [each.first for _, each in every],
            [each.last for _, each in every],
        )


def _check_number(number: int) -> None:
    if number > MAX_AREAS:
        raise ValidationFailed(
            f"a warehouse has {number} delivery areas; expected at most {MAX_AREAS}",
            field="areas",
            code="too_many",
        )


def _row(area: _Area, **key: object) -> dict[str, Any]:
    return {**{name: area.columns[name] for name in _NEW}, **key}


async def _audit(scope: Scope, action: str, held: Mapping[str, Any], area_id: int) -> None:
    await audit.record(scope, action, "warehouse", held["public_id"], {"area_id": area_id})
