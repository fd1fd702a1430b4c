"""Warehouses, optionally with their delivery areas and usergroups (`areas`, `groups`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain.records import Change, RecordType
from domain.warehouses.areas import replace_areas
from domain.warehouses.groups import replace_groups
from domain.warehouses.inputs import WAREHOUSE_FIELDS
from kernel.errors import ValidationFailed
from kernel.geography import BRAZIL, STATES, state_code
from kernel.text import repr_value
from models.connection.database import execute
from models.references import VENDOR
from models.tables.warehouses import Warehouse

# Serializes changes of a vendor's default warehouse.
_LOCK_DEFAULT = (
    "SELECT pg_advisory_xact_lock(hashtextextended('default warehouse:' || $1::bigint || ':' || $2::bigint, 0))"
)
_UNSET_OTHER_DEFAULT = """
UPDATE warehouses SET is_default = false, updated_at = $4
WHERE tenant_id = $1 AND vendor_id IS NOT DISTINCT FROM $2 AND id <> $3 AND is_default AND deleted_at IS NULL
"""
_LOCK = """
SELECT vendor_id, country, state, is_default, min_items_in_box, max_items_in_box FROM warehouses
WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL FOR NO KEY UPDATE
"""
_NEW = {
    "vendor_id": None,
    "state": "",
    "country": BRAZIL,
    "is_default": False,
    "min_items_in_box": 0,
    "max_items_in_box": 0,
}


async def _prepare(change: Change) -> None:
    """Refuse inconsistent columns; unset the vendor's other default warehouse if this becomes the default."""
    state = change.merged["state"]
    if change.merged["country"] == BRAZIL and state_code(state) != state:
        change.columns["state"] = state_code(state)
    merged = change.merged
    _check(merged)
    if merged["is_default"] and (change.is_new or {"is_default", "vendor_id"} & change.columns.keys()):
        scope, vendor = change.scope, merged["vendor_id"]
        await execute(_LOCK_DEFAULT, scope.store.id, vendor or 0)
        await execute(_UNSET_OTHER_DEFAULT, scope.store.id, vendor, change.record_id, scope.now)


async def _replace_parts(change: Change) -> None:
    if change.values.get("areas") is not None:
        # Those of a new warehouse are new: a warehouse may be created from the record of another one.
        areas = [{**area, "area_id": None} if change.is_new else area for area in change.values["areas"]]
        change.has_changed |= await replace_areas(change.scope, change.record_id, areas)
    if change.values.get("groups") is not None:
        change.has_changed |= await replace_groups(change.scope, change.record_id, change.values["groups"])


def _check(merged: Mapping[str, Any]) -> None:
    """Refuse inconsistent columns: an unknown Brazilian state, a minimum above the maximum."""
    state = merged["state"]
    if merged["country"] == BRAZIL and state and state not in STATES:
        raise ValidationFailed(
            f"state is {repr_value(state)}; expected a state of Brazil such as SP", field="state", code="state_invalid"
        )
    minimum, maximum = merged["min_items_in_box"], merged["max_items_in_box"]
    if maximum and minimum > maximum:
        raise ValidationFailed(
            f"min_items_in_box is {minimum}; expected at most max_items_in_box, {maximum}",
            field="min_items_in_box",
            code="items_invalid",
        )


WAREHOUSE_RECORDS = RecordType(
    Warehouse,
    WAREHOUSE_FIELDS,
    references={"vendor": VENDOR},
    audit_input=True,
    lock_row=_LOCK,
    defaults=_NEW,
    prepare=_prepare,
    after_save=_replace_parts,
)
"""`vendor` null is the store's own; `areas` and `groups` replace the existing ones. They are deleted with their warehouse."""
