"""Say which groups of customers a warehouse serves before others, or alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from domain import audit
from domain.fields import Given, read_fields
from domain.references import ReferenceType, resolve_all
from domain.warehouses.inputs import GROUP_FIELDS, MAX_GROUPS
from domain.warehouses.locked import lock_warehouse
from kernel.errors import NotFound, ValidationFailed
from kernel.ids import parse_reference, uuid7
from kernel.scope import Scope
from models.database import execute, rows, transaction

USERGROUP = ReferenceType("usergroup", "usergroups")
_NEW = {"priority": 0, "allocation_type": "P", "status": "A"}

_THERE = """
SELECT w.id, w.usergroup_id, w.priority, w.allocation_type, w.status, g.public_id AS group_public_id
FROM warehouse_usergroups w JOIN usergroups g ON g.tenant_id = w.tenant_id AND g.id = w.usergroup_id
WHERE w.tenant_id = $1 AND w.warehouse_id = $2
"""
_WRITE = """
INSERT INTO warehouse_usergroups
    (tenant_id, public_id, warehouse_id, usergroup_id, priority, allocation_type, status, created_at, updated_at)
SELECT $1, g.public_id, $2, g.usergroup_id, g.priority, g.allocation_type, g.status, $4, $4
FROM jsonb_populate_recordset(NULL::warehouse_usergroups, $3::text::jsonb) AS g
ON CONFLICT (tenant_id, warehouse_id, usergroup_id) DO UPDATE
    SET priority = excluded.priority, allocation_type = excluded.allocation_type, status = excluded.status,
        updated_at = excluded.updated_at
RETURNING id, usergroup_id
"""
_DROP = """
DELETE FROM warehouse_usergroups WHERE tenant_id = $1 AND warehouse_id = $2 AND usergroup_id = ANY($3::bigint[])
"""


async def add_group(scope: Scope, warehouse: object, given: Given) -> int:
    """Let a warehouse serve a group and give the internal id of its place.

    Keys: `usergroup`*, `priority`, `allocation_type` (`P` before others, `E` nobody else), `status`. Raises NotFound for the warehouse,
    ValidationFailed for an unknown group and for one that it serves already.
    """
    async with transaction(scope):
        held = await lock_warehouse(scope, warehouse)
        [(usergroup_id, columns)] = await _read(scope, [given], {})
        there = await _there(scope, held["id"])
        if usergroup_id in there:
            raise ValidationFailed(
                "the warehouse serves that usergroup already", field="usergroup", code="taken"
            )
        _check_number(len(there) + 1)
        places = await _write(scope, held["id"], {usergroup_id: columns})
        await _audit(scope, "warehouse.usergroup_added", held, usergroup_id)
    return places[usergroup_id]


async def update_group(scope: Scope, warehouse: object, usergroup: object, given: Given) -> int:
    """Change how a warehouse serves a group and give the internal id of its place."""
    columns = read_fields(GROUP_FIELDS, given)
    async with transaction(scope):
        held = await lock_warehouse(scope, warehouse)
        known = _found(await _there(scope, held["id"]), usergroup)
        places = await _write(scope, held["id"], {known["usergroup_id"]: {**known, **columns}})
        await _audit(scope, "warehouse.usergroup_changed", held, known["usergroup_id"])
    return places[known["usergroup_id"]]


async def remove_group(scope: Scope, warehouse: object, usergroup: object) -> None:
    """Let a warehouse no longer serve a group of its own."""
    async with transaction(scope):
        held = await lock_warehouse(scope, warehouse)
        known = _found(await _there(scope, held["id"]), usergroup)
        await execute(_DROP, scope.store.id, held["id"], [known["usergroup_id"]])
        await _audit(scope, "warehouse.usergroup_removed", held, known["usergroup_id"])


async def replace_groups(scope: Scope, warehouse_id: int, given: Sequence[Given]) -> None:
    """Make these the groups of a warehouse that the caller has locked; what is left out of one stays as it was."""
    _check_number(len(given))
    there = await _there(scope, warehouse_id)
    read = await _read(scope, given, there)
    groups = dict(read)
    if len(groups) < len(read):
        raise ValidationFailed("user_groups names a usergroup twice", field="groups", code="repeated")
    gone = sorted(there.keys() - groups.keys())
    if gone:
        await execute(_DROP, scope.store.id, warehouse_id, gone)
    await _write(scope, warehouse_id, groups)


async def _read(
    scope: Scope, given: Sequence[Given], there: Mapping[int, Mapping[str, Any]]
) -> list[tuple[int, dict[str, Any]]]:
    named = [each.get("usergroup") for each in given]
    if None in named:
        raise ValidationFailed("usergroup is required", field="usergroup", code="required")
    ids = await resolve_all(scope, USERGROUP, named, field="usergroup") if named else {}
    return [
        (
            ids[each["usergroup"]],
            {**there.get(ids[each["usergroup"]], _NEW), **read_fields(GROUP_FIELDS, each)},
        )
        for each in given
    ]


async def _there(scope: Scope, warehouse_id: int) -> dict[int, Mapping[str, Any]]:
    found = await rows(_THERE, scope.store.id, warehouse_id)
    return {each["usergroup_id"]: dict(each) for each in found}


def _found(there: Mapping[int, Mapping[str, Any]], usergroup: object) -> Mapping[str, Any]:
    reference = parse_reference(usergroup)
    for known in there.values():
        if reference is not None and reference in (known["usergroup_id"], known["group_public_id"]):
            return known
    raise NotFound("usergroup")


async def _write(scope: Scope, warehouse_id: int, groups: Mapping[int, Mapping[str, Any]]) -> dict[int, int]:
    if not groups:
        return {}
    written = [
        {"public_id": uuid7(), "usergroup_id": usergroup_id, **{name: columns[name] for name in _NEW}}
        for usergroup_id, columns in groups.items()
    ]
    made = await rows(_WRITE, scope.store.id, warehouse_id, orjson.dumps(written).decode(), scope.now)
    return {each["usergroup_id"]: each["id"] for each in made}


def _check_number(number: int) -> None:
    if number > MAX_GROUPS:
        raise ValidationFailed(
            f"a warehouse has {number} usergroups; expected at most {MAX_GROUPS}",
            field="groups",
            code="too_many",
        )


async def _audit(scope: Scope, action: str, held: Mapping[str, Any], usergroup_id: int) -> None:
    await audit.record(scope, action, "warehouse", held["public_id"], {"usergroup_id": usergroup_id})
