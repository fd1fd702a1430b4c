"""Usergroups that a warehouse serves first, or exclusively."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from domain.warehouses.inputs import GROUP_FIELDS, MAX_GROUPS
from domain.warehouses.locked import lock_warehouse
from kernel.errors import NotFound, ValidationFailed
from kernel.fields import InputValues, read_fields
from kernel.ids import parse_reference
from kernel.scope import Scope
from models import audit
from models.connection.database import execute, fetch, transaction
from models.references import USERGROUP, resolve_all
from models.rows import insert_numbered_rows, update_rows

_NEW = {"priority": 0, "allocation_type": "P", "status": "A"}

_SELECT = """
SELECT w.id, w.usergroup_id, w.priority, w.allocation_type, w.status, g.public_id AS group_public_id
FROM warehouse_usergroups w JOIN usergroups g ON g.tenant_id = w.tenant_id AND g.id = w.usergroup_id
WHERE w.tenant_id = $1 AND w.warehouse_id = $2
"""
_DELETE = """
DELETE FROM warehouse_usergroups WHERE tenant_id = $1 AND warehouse_id = $2 AND usergroup_id = ANY($3::bigint[])
"""


async def add_group(scope: Scope, warehouse: object, values: InputValues) -> int:
    """Add a usergroup to a warehouse and return the internal id of the assignment.

    Keys: `usergroup`*, `priority`, `allocation_type` (`P` priority, `E` exclusive), `status`. Raises NotFound for the warehouse,
    ValidationFailed for an unknown group and for one added already.
    """
    async with transaction(scope):
        warehouse_row = await lock_warehouse(scope, warehouse)
        [(usergroup_id, columns)] = await _read(scope, [values], {})
        existing = await _load_groups(scope, warehouse_row["id"])
        if usergroup_id in existing:
            raise ValidationFailed("the warehouse serves that usergroup already", field="usergroup", code="taken")
        _check_count(len(existing) + 1)
        [number] = await _write(scope, warehouse_row["id"], {usergroup_id: columns}, {})
        await _audit(scope, "warehouse.usergroup_added", warehouse_row, usergroup_id)
    return number


async def update_group(scope: Scope, warehouse: object, usergroup: object, values: InputValues) -> int:
    """Update the assignment of a usergroup and return its internal id."""
    columns = read_fields(GROUP_FIELDS, values)
    async with transaction(scope):
        warehouse_row = await lock_warehouse(scope, warehouse)
        existing = await _load_groups(scope, warehouse_row["id"])
        current = _find_group(existing, usergroup)
        group = {current["usergroup_id"]: {**current, **columns}}
        if await _write(scope, warehouse_row["id"], group, existing):
            await _audit(scope, "warehouse.usergroup_changed", warehouse_row, current["usergroup_id"])
    return int(current["id"])


async def remove_group(scope: Scope, warehouse: object, usergroup: object) -> None:
    """Remove a usergroup from a warehouse."""
    async with transaction(scope):
        warehouse_row = await lock_warehouse(scope, warehouse)
        current = _find_group(await _load_groups(scope, warehouse_row["id"]), usergroup)
        await execute(_DELETE, scope.store.id, warehouse_row["id"], [current["usergroup_id"]])
        await _audit(scope, "warehouse.usergroup_removed", warehouse_row, current["usergroup_id"])


async def replace_groups(scope: Scope, warehouse_id: int, inputs: Sequence[InputValues]) -> bool:
    """Replace the usergroups of a warehouse that the caller has locked; return whether any changed.

    Omitted fields of an existing one stay unchanged.
    """
    _check_count(len(inputs))
    existing = await _load_groups(scope, warehouse_id)
    parsed = await _read(scope, inputs, existing)
    groups = dict(parsed)
    if len(groups) < len(parsed):
        raise ValidationFailed("user_groups names a usergroup twice", field="groups", code="repeated")
    removed = sorted(existing.keys() - groups.keys())
    if removed:
        await execute(_DELETE, scope.store.id, warehouse_id, removed)
    return bool(await _write(scope, warehouse_id, groups, existing) or removed)


async def _read(
    scope: Scope, inputs: Sequence[InputValues], existing: Mapping[int, Mapping[str, Any]]
) -> list[tuple[int, dict[str, Any]]]:
    references = [values.get("usergroup") for values in inputs]
    if None in references:
        raise ValidationFailed("usergroup is required", field="usergroup", code="required")
    # A warehouse keeps the exclusive place of a deleted usergroup, which is sent back with the others.
    known = {key: number for number, group in existing.items() for key in (number, group["group_public_id"])}
    ids = {value: known[key] for value in references if (key := parse_reference(value)) in known}
    if others := [value for value in references if value not in ids]:
        ids |= await resolve_all(scope, USERGROUP, others, field="usergroup")
    return [
        (
            ids[values["usergroup"]],
            {**existing.get(ids[values["usergroup"]], _NEW), **read_fields(GROUP_FIELDS, values)},
        )
        for values in inputs
    ]


async def _load_groups(scope: Scope, warehouse_id: int) -> dict[int, Mapping[str, Any]]:
    rows = await fetch(_SELECT, scope.store.id, warehouse_id)
    return {row["usergroup_id"]: dict(row) for row in rows}


def _find_group(groups: Mapping[int, Mapping[str, Any]], usergroup: object) -> Mapping[str, Any]:
    reference = parse_reference(usergroup)
    for group in groups.values():
        if reference is not None and reference in (group["usergroup_id"], group["group_public_id"]):
            return group
    raise NotFound("usergroup")


async def _write(
    scope: Scope,
    warehouse_id: int,
    groups: Mapping[int, Mapping[str, Any]],
    existing: Mapping[int, Mapping[str, Any]],
) -> set[int]:
    """Write usergroups and return the ids of the assignments that are new or have changed."""
    columns = {number: {name: group[name] for name in _NEW} for number, group in groups.items()}
    times = {"created_at": scope.now, "updated_at": scope.now}
    new = [
        {"warehouse_id": warehouse_id, "usergroup_id": number, **columns[number], **times}
        for number in groups
        if number not in existing
    ]
    kept = [
        {"id": existing[number]["id"], **columns[number], "updated_at": scope.now}
        for number in groups
        if number in existing
    ]
    inserted = await insert_numbered_rows(scope, "warehouse_usergroups", new)
    return {*inserted} | await update_rows(scope, "warehouse_usergroups", kept)


def _check_count(count: int) -> None:
    if count > MAX_GROUPS:
        raise ValidationFailed(
            f"a warehouse has {count} usergroups; expected at most {MAX_GROUPS}", field="groups", code="too_many"
        )


async def _audit(scope: Scope, action: str, warehouse_row: Mapping[str, Any], usergroup_id: int) -> None:
    await audit.record(scope, action, "warehouse", warehouse_row["public_id"], {"usergroup_id": usergroup_id})
