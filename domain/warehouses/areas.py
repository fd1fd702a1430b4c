"""Delivery areas of warehouses; any number is written with two statements per table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from domain.warehouses.inputs import AREA_FIELDS, MAX_AREAS, ZipcodeRange
from domain.warehouses.locked import lock_warehouse
from kernel.errors import NotFound, ValidationFailed
from kernel.fields import InputValues, read_fields
from kernel.ids import Reference, parse_reference
from kernel.scope import Scope
from kernel.text import repr_value
from models import audit
from models.connection.database import execute, fetch, transaction
from models.rows import insert_numbered_rows, replace_rows, update_rows

_NEW = {"name": "", "states": [], "cities": [], "delivery_time": 0, "status": "A"}

_SELECT = """
SELECT id, public_id, name, states, cities, delivery_time, status FROM warehouse_areas
WHERE tenant_id = $1 AND warehouse_id = $2
"""
_DELETE = "DELETE FROM warehouse_areas WHERE tenant_id = $1 AND warehouse_id = $2 AND id = ANY($3::bigint[])"


@dataclass(frozen=True, slots=True)
class _Area:
    """The new state of an area; `id` None for a new one, `zipcodes` None to leave them unchanged."""

    id: int | None
    columns: Mapping[str, Any]
    zipcodes: Sequence[ZipcodeRange] | None


async def create_area(scope: Scope, warehouse: object, values: InputValues) -> int:
    """Add a delivery area and return its internal id.

    Keys: `area_name`*, `states`, `cities`, `zipcodes [{zipcode_from, zipcode_to}]`, `delivery_time` (hours), `status`. Raises NotFound for
    the warehouse, ValidationFailed for an unknown state and for ranges that overlap or end before they start.
    """
    async with transaction(scope):
        warehouse_row = await lock_warehouse(scope, warehouse)
        area = _read({**values, "area_id": None}, {})
        existing = await _load_areas(scope, warehouse_row["id"])
        _check_count(len({current["id"] for current in existing.values()}) + 1)
        [area_id] = await _write(scope, warehouse_row["id"], [area])
        await _audit(scope, "warehouse.area_added", warehouse_row, area_id)
    return area_id


async def update_area(scope: Scope, warehouse: object, area: object, values: InputValues) -> int:
    """Update a delivery area partially and return its internal id; `zipcodes` replace the existing ones."""
    async with transaction(scope):
        warehouse_row = await lock_warehouse(scope, warehouse)
        current = _find_area(await _load_areas(scope, warehouse_row["id"]), area)
        changed = await _write(
            scope, warehouse_row["id"], [_read({**values, "area_id": current["id"]}, {current["id"]: current})]
        )
        if changed:
            await _audit(scope, "warehouse.area_changed", warehouse_row, current["id"])
    return int(current["id"])


async def delete_area(scope: Scope, warehouse: object, area: object) -> None:
    """Delete a delivery area."""
    async with transaction(scope):
        warehouse_row = await lock_warehouse(scope, warehouse)
        current = _find_area(await _load_areas(scope, warehouse_row["id"]), area)
        await execute(_DELETE, scope.store.id, warehouse_row["id"], [current["id"]])
        await _audit(scope, "warehouse.area_removed", warehouse_row, current["id"])


async def replace_areas(scope: Scope, warehouse_id: int, inputs: Sequence[InputValues]) -> bool:
    """Replace the areas of a warehouse that the caller has locked; return whether any changed.

    Inputs are matched by `area_id`, else by name; others are new.
    """
    _check_count(len(inputs))
    existing = await _load_areas(scope, warehouse_id)
    areas = [_read(values, existing) for values in inputs]
    named = {area.id for area in areas}
    free = {current["name"]: current["id"] for current in existing.values() if current["id"] not in named}
    areas = [
        _read({**values, "area_id": free.pop(area.columns["name"])}, existing)
        if area.id is None and area.columns["name"] in free
        else area
        for area, values in zip(areas, inputs, strict=True)
    ]
    kept = [area.id for area in areas if area.id is not None]
    if len(set(kept)) < len(kept):
        raise ValidationFailed("delivery_areas names an area_id twice", field="areas", code="repeated")
    removed = {current["id"] for current in existing.values()} - set(kept)
    if removed:
        await execute(_DELETE, scope.store.id, warehouse_id, sorted(removed))
    return bool(removed | await _write(scope, warehouse_id, areas))


def _read(values: InputValues, existing: Mapping[Reference, Mapping[str, Any]]) -> _Area:
    reference_value = values.get("area_id")
    if reference_value is None:
        columns = read_fields(AREA_FIELDS, values, creating=True)
        return _Area(None, {**_NEW, **columns}, columns.get("zipcodes", []))
    reference = parse_reference(reference_value)
    current = existing.get(reference) if reference is not None else None
    if current is None:
        raise ValidationFailed(f"area_id {repr_value(reference_value)} not found", field="areas", code="not_found")
    columns = read_fields(AREA_FIELDS, values)
    return _Area(current["id"], {**current, **columns}, columns.get("zipcodes"))


async def _load_areas(scope: Scope, warehouse_id: int) -> dict[Reference, Mapping[str, Any]]:
    """Return the existing areas, each by its id and by its UUID."""
    areas: dict[Reference, Mapping[str, Any]] = {}
    for row in await fetch(_SELECT, scope.store.id, warehouse_id):
        areas[row["id"]] = areas[row["public_id"]] = dict(row)
    return areas


def _find_area(areas: Mapping[Reference, Mapping[str, Any]], area: object) -> Mapping[str, Any]:
    reference = parse_reference(area)
    if reference is None or reference not in areas:
        raise NotFound("delivery area")
    return areas[reference]


async def _write(scope: Scope, warehouse_id: int, areas: Sequence[_Area]) -> set[int]:
    """Write areas and return the ids of those that are new or have changed."""
    new = {"warehouse_id": warehouse_id, "created_at": scope.now, "updated_at": scope.now}
    inserted = iter(
        await insert_numbered_rows(scope, "warehouse_areas", [_row(area, **new) for area in areas if area.id is None])
    )
    changed = [_row(area, id=area.id, updated_at=scope.now) for area in areas if area.id is not None]
    written = await update_rows(scope, "warehouse_areas", changed)
    ids = [next(inserted) if area.id is None else area.id for area in areas]
    zipcodes = {area_id: area.zipcodes for area_id, area in zip(ids, areas, strict=True) if area.zipcodes is not None}
    replaced = await _write_zipcodes(scope, zipcodes)
    touched = [{"id": area_id, "updated_at": scope.now} for area_id in replaced - written]
    await update_rows(scope, "warehouse_areas", touched, touch=True)
    return {area_id for area_id, area in zip(ids, areas, strict=True) if area.id is None} | written | replaced


async def _write_zipcodes(scope: Scope, zipcodes: Mapping[int, Sequence[ZipcodeRange]]) -> set[int]:
    if not zipcodes:
        return set()
    rows = [
        {
            "area_id": area_id,
            "zipcode_from": zipcode_range.zipcode_from,
            "zipcode_to": zipcode_range.zipcode_to,
            "first_cep": zipcode_range.first,
            "last_cep": zipcode_range.last,
        }
        for area_id, ranges in zipcodes.items()
        for zipcode_range in ranges
    ]
    return await replace_rows(scope, "warehouse_zipcodes", "area_id", list(zipcodes), rows)


def _check_count(count: int) -> None:
    if count > MAX_AREAS:
        raise ValidationFailed(
            f"a warehouse has {count} delivery areas; expected at most {MAX_AREAS}", field="areas", code="too_many"
        )


def _row(area: _Area, **key: object) -> dict[str, Any]:
    return {**{name: area.columns[name] for name in _NEW}, **key}


async def _audit(scope: Scope, action: str, warehouse_row: Mapping[str, Any], area_id: int) -> None:
    await audit.record(scope, action, "warehouse", warehouse_row["public_id"], {"area_id": area_id})
