"""Create, update and delete warehouses, optionally with their delivery areas and usergroups (`areas`, `groups`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain.warehouses.areas import replace_areas
from domain.warehouses.groups import replace_groups
from domain.warehouses.inputs import WAREHOUSE_FIELDS
from domain.warehouses.locked import lock_warehouse
from kernel.errors import ValidationFailed
from kernel.fields import InputValues, read_fields
from kernel.geography import BRAZIL, STATES
from kernel.scope import Scope
from kernel.text import repr_value
from models import audit
from models.database import execute, transaction
from models.references import VENDOR, resolve_optional
from models.warehouses import Warehouse

# Serializes changes of a vendor's default warehouse.
_LOCK_DEFAULT = "SELECT pg_advisory_xact_lock(hashtextextended('default warehouse:' || $1::bigint || ':' || $2::bigint, 0))"
_UNSET_OTHER_DEFAULT = """
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


async def create_warehouse(scope: Scope, values: InputValues) -> int:
    """Create a warehouse and return its internal id.

    Keys: `name`*, `code`, `description`, `status`, `address`, `city`, `state`, `country`, `zipcode`, `phone`, `email`, `latitude`,
    `longitude`, `priority`, `is_default`, `shipping_delay` (days), `min_items_in_box`, `max_items_in_box`, `vendor` (null: the store's
    own), `areas` and `groups` as in `domain.warehouses.areas` and `groups`.
    """
    columns = read_fields(WAREHOUSE_FIELDS, values, creating=True)
    async with transaction(scope):
        columns |= await _vendor(scope, values)
        merged = {**_NEW, **columns}
        _check(merged)
        await _unset_other_default(scope, merged, None)
        warehouse = Warehouse(**columns, created_at=scope.now, updated_at=scope.now)
        await warehouse.save()
        warehouse_id: int = warehouse.id
        await _replace_parts(scope, warehouse_id, values)
        await audit.record(scope, "warehouse.created", "warehouse", warehouse.public_id)
    return warehouse_id


async def update_warehouse(scope: Scope, warehouse: object, values: InputValues) -> int:
    """Update a warehouse partially and return its internal id; `areas` and `groups` replace the existing ones."""
    columns = read_fields(WAREHOUSE_FIELDS, values)
    async with transaction(scope):
        current = await lock_warehouse(scope, warehouse)
        columns |= await _vendor(scope, values)
        merged = {**current, **columns}
        _check(merged)
        if "is_default" in columns or "vendor_id" in columns:
            await _unset_other_default(scope, merged, current["id"])
        await Warehouse.filter(id=current["id"]).update(**columns, updated_at=scope.now)
        await _replace_parts(scope, current["id"], values)
        await audit.record_update(scope, "warehouse", current["public_id"], values)
    return int(current["id"])


async def delete_warehouse(scope: Scope, warehouse: object) -> None:
    """Soft-delete a warehouse with its areas and groups."""
    async with transaction(scope):
        current = await lock_warehouse(scope, warehouse)
        await Warehouse.filter(id=current["id"]).update(deleted_at=scope.now, updated_at=scope.now)
        await audit.record(scope, "warehouse.deleted", "warehouse", current["public_id"])


async def _replace_parts(scope: Scope, warehouse_id: int, values: InputValues) -> None:
    if values.get("areas") is not None:
        await replace_areas(scope, warehouse_id, values["areas"])
    if values.get("groups") is not None:
        await replace_groups(scope, warehouse_id, values["groups"])


async def _vendor(scope: Scope, values: InputValues) -> dict[str, Any]:
    if "vendor" not in values:
        return {}
    return {"vendor_id": await resolve_optional(scope, VENDOR, values["vendor"], field="vendor")}


async def _unset_other_default(scope: Scope, merged: Mapping[str, Any], warehouse_id: int | None) -> None:
    """Unset the vendor's other default warehouse if this becomes the default."""
    if not merged["is_default"]:
        return
    vendor = merged["vendor_id"]
    await execute(_LOCK_DEFAULT, scope.store.id, vendor or 0)
    await execute(_UNSET_OTHER_DEFAULT, scope.store.id, vendor, warehouse_id, scope.now)


def _check(merged: Mapping[str, Any]) -> None:
    """Refuse inconsistent columns: an unknown Brazilian state, a minimum above the maximum."""
    state = merged["state"]
    if merged["country"] == BRAZIL and state and state not in STATES:
        raise ValidationFailed(
            f"state is {repr_value(state)}; expected a state of Brazil such as SP",
            field="state",
            code="state_invalid",
        )
    minimum, maximum = merged["min_items_in_box"], merged["max_items_in_box"]
    if maximum and minimum > maximum:
        raise ValidationFailed(
            f"min_items_in_box is {minimum}; expected at most max_items_in_box, {maximum}",
            field="min_items_in_box",
            code="items_invalid",
        )
