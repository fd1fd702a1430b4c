"""Make, change and delete warehouses; their delivery areas and groups may come with them (`areas`, `groups`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain import audit
from domain.fields import Given, read_fields
from domain.references import VENDOR, resolve_optional
from domain.warehouses.areas import replace_areas
from domain.warehouses.groups import replace_groups
from domain.warehouses.inputs import WAREHOUSE_FIELDS
from domain.warehouses.locked import lock_warehouse
from kernel.errors import ValidationFailed
from kernel.places import BRAZIL, STATES
from kernel.scope import Scope
from kernel.text import shown
from models.database import execute, transaction
from models.warehouses import Warehouse

# Two that would become the default of one vendor at once wait for each other here.
_DEFAULTS_TURN = "SELECT pg_advisory_xact_lock(hashtextextended('default warehouse:' || $1::bigint || ':' || $2::bigint, 0))"
_NO_OTHER_DEFAULT = """
UPDATE warehouses SET is_default = false, updated_at = $4
WHERE tenant_id = $1 AND vendor_id IS NOT DISTINCT FROM $2 AND id IS DISTINCT FROM $3 AND is_default AND deleted_at IS NULL
"""
_NEW = {
    "vendor_id": None,
    "state": "",
    "country": BRAZIL,
    "is_default": False,
    "min_items_in_box": 0,
    "max_items_in_box": 0,
}


async def create_warehouse(scope: Scope, given: Given) -> int:
    """Make a warehouse and give its internal id.

    Keys: `name`*, `code`, `description`, `status`, `address`, `city`, `state`, `country`, `zipcode`, `phone`, `email`, `latitude`,
    `longitude`, `priority`, `is_default`, `shipping_delay` (days), `min_items_in_box`, `max_items_in_box`, `vendor` (null: the store's
    own), `areas` and `groups` as in `domain.warehouses.areas` and `groups`.
    """
    columns = read_fields(WAREHOUSE_FIELDS, given, creating=True)
    async with transaction(scope):
        columns |= await _vendor(scope, given)
        whole = {**_NEW, **columns}
        _check(whole)
        await _keep_one_default(scope, whole, None)
        warehouse = Warehouse(**columns, created_at=scope.now, updated_at=scope.now)
        await warehouse.save()
        warehouse_id: int = warehouse.id
        await _hang_on(scope, warehouse_id, given)
        await audit.record(scope, "warehouse.created", "warehouse", warehouse.public_id)
    return warehouse_id


async def update_warehouse(scope: Scope, warehouse: object, given: Given) -> int:
    """Change a warehouse partially and give its internal id; `areas` and `groups`, when given, are all there will be."""
    columns = read_fields(WAREHOUSE_FIELDS, given)
    async with transaction(scope):
        before = await lock_warehouse(scope, warehouse)
        columns |= await _vendor(scope, given)
        whole = {**before, **columns}
        _check(whole)
        if "is_default" in columns or "vendor_id" in columns:
            await _keep_one_default(scope, whole, before["id"])
        await Warehouse.filter(id=before["id"]).update(**columns, updated_at=scope.now)
        await _hang_on(scope, before["id"], given)
        await audit.record(
            scope, "warehouse.updated", "warehouse", before["public_id"], {"fields": sorted(map(str, given))}
        )
    return int(before["id"])


async def delete_warehouse(scope: Scope, warehouse: object) -> None:
    """Hide a warehouse with all that hangs on it."""
    async with transaction(scope):
        before = await lock_warehouse(scope, warehouse)
        await Warehouse.filter(id=before["id"]).update(deleted_at=scope.now, updated_at=scope.now)
        await audit.record(scope, "warehouse.deleted", "warehouse", before["public_id"])


async def _hang_on(scope: Scope, warehouse_id: int, given: Given) -> None:
    if given.get("areas") is not None:
        await replace_areas(scope, warehouse_id, given["areas"])
    if given.get("groups") is not None:
        await replace_groups(scope, warehouse_id, given["groups"])


async def _vendor(scope: Scope, given: Given) -> dict[str, Any]:
    if "vendor" not in given:
        return {}
    return {"vendor_id": await resolve_optional(scope, VENDOR, given["vendor"], field="vendor")}


async def _keep_one_default(scope: Scope, whole: Mapping[str, Any], warehouse_id: int | None) -> None:
    """Let the vendor's other default stand back when this is to be it."""
    if not whole["is_default"]:
        return
    vendor = whole["vendor_id"]
    await execute(_DEFAULTS_TURN, scope.store.id, vendor or 0)
    await execute(_NO_OTHER_DEFAULT, scope.store.id, vendor, warehouse_id, scope.now)


def _check(whole: Mapping[str, Any]) -> None:
    """Refuse what does not fit together: a state that Brazil has not, more items at least than at most."""
    state = whole["state"]
    if whole["country"] == BRAZIL and state and state not in STATES:
        raise ValidationFailed(
            f"state is {shown(state)}; expected a state of Brazil such as SP",
            field="state",
            code="state_invalid",
        )
    least, most = whole["min_items_in_box"], whole["max_items_in_box"]
    if most and least > most:
        raise ValidationFailed(
            f"min_items_in_box is {least}; expected at most max_items_in_box, {most}",
            field="min_items_in_box",
            code="items_invalid",
        )
