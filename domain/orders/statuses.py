"""Manage the statuses of orders and shipments: the built-in ones and the custom ones that a store adds.

A built-in status can be renamed and coloured; its code and its effect on stock are fixed. Custom codes are copied into the store's own row
(`tenants.status_letters`), which every request has cached (docs/reference/shared.md#statuses).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import ascii_uppercase
from typing import Any

import orjson

from auth.store_resolution import invalidate_store
from kernel.codes import INVENTORY_EFFECTS, STATUS_TYPES
from kernel.errors import NotFound, RuleViolation, ValidationFailed
from kernel.fields import (
    InputField,
    InputValues,
    code_in,
    flag,
    integer,
    name_text,
    raise_field_errors,
    read_with_errors,
    short_text,
)
from kernel.scope import Scope
from kernel.text import InvalidValue, repr_value
from models import audit
from models.connection.database import execute, fetch, fetchrow, fetchval, transaction
from models.references import STATUS, find
from models.rows import insert_row, mark_deleted, update_row

ORDERS, SHIPMENTS = "O", "S"

_COLOR = re.compile(r"#[0-9a-fA-F]{3}([0-9a-fA-F]{3})?")
_CODE = re.compile(r"[A-Za-z]")


def code_text(value: object) -> str:
    """Parse a status code, A to Z, in upper case."""
    if not isinstance(value, str) or not _CODE.fullmatch(value):
        raise InvalidValue(f"is {repr_value(value)}; expected one letter from A to Z")
    return value.upper()


def color_text(value: object) -> str:
    """Parse a CSS colour (`#1f7ae0`); blank means none."""
    color = str(short_text(value)).strip()
    if color and not _COLOR.fullmatch(color):
        raise InvalidValue(f"is {repr_value(value)}; expected a colour such as #1f7ae0")
    return color.lower()


STATUS_FIELDS: Mapping[str, InputField] = {
    "letter": InputField("letter", code_text, code="status_invalid"),
    "type": InputField("type", code_in(STATUS_TYPES), code="type_invalid"),
    "description": InputField("description", name_text, code="description_invalid", required="required"),
    "color": InputField("color", color_text, code="color_invalid"),
    "position": InputField("position", integer(), code="position_invalid"),
}
PARAMS_FIELDS: Mapping[str, InputField] = {
    "inventory": InputField("inventory", code_in(INVENTORY_EFFECTS), code="inventory_invalid"),
    "notify": InputField("notify", flag, code="notify_invalid"),
}

# Locking the store's row serializes changes of its status codes.
_LOCK_STORE = "SELECT id FROM tenants WHERE id = $1 FOR NO KEY UPDATE"
_SAVE_CODES = "UPDATE tenants SET status_letters = $2::text::jsonb WHERE id = $1"
_CUSTOM = """
SELECT type, letter, coalesce(inventory, '') AS inventory FROM statuses
WHERE tenant_id = $1 AND NOT built_in AND deleted_at IS NULL ORDER BY position, letter
"""
_USED_CODES = "SELECT letter FROM statuses WHERE tenant_id = $1 AND type = $2 AND deleted_at IS NULL"
# FOR UPDATE waits for transactions that are assigning the status (`lifecycle.lock_custom_status`).
_LOCK = """
SELECT type, letter, inventory, built_in, public_id FROM statuses
WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL FOR UPDATE
"""
_IN_USE: Mapping[str, str] = {
    ORDERS: "SELECT EXISTS (SELECT 1 FROM orders WHERE tenant_id = $1 AND status = $2 AND deleted_at IS NULL)",
    SHIPMENTS: "SELECT EXISTS (SELECT 1 FROM shipments WHERE tenant_id = $1 AND status = $2)",
}


async def create_status(scope: Scope, values: InputValues) -> int:
    """Create a custom status and return its internal id.

    Keys: `description`*, `letter` (default: the first unused), `type` (`O` orders, `S` shipments), `color`, `position`, and `params`:
    `inventory` (`D`: orders in the status keep their stock deducted, `I`: it is restocked) and `notify`.
    """
    columns = {"type": ORDERS} | _read_input(values, creating=True)
    _check_inventory(columns["type"], columns)
    if columns["type"] == ORDERS:
        columns.setdefault("inventory", "D")
    async with transaction(scope):
        await execute(_LOCK_STORE, scope.store.id)
        used_codes = {status_row["letter"] for status_row in await fetch(_USED_CODES, scope.store.id, columns["type"])}
        columns["letter"] = _free_code(columns.get("letter"), used_codes)
        status_id: int = await insert_row(scope, "statuses", **columns, created_at=scope.now, updated_at=scope.now)
        await audit.record(scope, "status.created", "status", status_id, {"letter": columns["letter"]})
        await save_codes(scope)
    return status_id


async def update_status(scope: Scope, status: object, values: InputValues) -> int:
    """Update a status partially and return its internal id.

    Raises RuleViolation when the code or stock effect of a built-in status would change, or the code of a status in use.
    """
    columns = _read_input(values)
    async with transaction(scope):
        await execute(_LOCK_STORE, scope.store.id)
        status_id, current = await _lock(scope, status)
        _check_type(current, columns)
        _check_inventory(current["type"], columns)
        changed = {name for name in ("letter", "inventory") if name in columns and columns[name] != current[name]}
        if changed and current["built_in"]:
            raise RuleViolation("a built-in status keeps its letter and its stock rule", reason="status_built_in")
        if "letter" in changed:
            await _reject_in_use(scope, current)
            used_codes = {
                status_row["letter"] for status_row in await fetch(_USED_CODES, scope.store.id, current["type"])
            }
            _free_code(columns["letter"], used_codes)
        if await update_row(scope, "statuses", status_id, **columns, updated_at=scope.now):
            await audit.record(scope, "status.updated", "status", current["public_id"], {"fields": sorted(columns)})
            await save_codes(scope)
    return status_id


async def delete_status(scope: Scope, status: object) -> None:
    """Delete a custom status. Raises RuleViolation for a built-in status and for one in use."""
    async with transaction(scope):
        await execute(_LOCK_STORE, scope.store.id)
        status_id, current = await _lock(scope, status)
        if current["built_in"]:
            raise RuleViolation("a built-in status can't be deleted", reason="status_built_in")
        await _reject_in_use(scope, current)
        await mark_deleted(scope, "statuses", status_id)
        await audit.record(scope, "status.deleted", "status", current["public_id"])
        await save_codes(scope)


def _read_input(values: InputValues, *, creating: bool = False) -> dict[str, Any]:
    """Validate a status and its `params`, reporting all field errors together; null leaves a field unchanged."""
    values = {name: item for name, item in values.items() if item is not None or name == "description"}
    params = {name: item for name, item in (values.get("params") or {}).items() if item is not None}
    columns, errors = read_with_errors(STATUS_FIELDS, values, creating=creating)
    param_columns, param_errors = read_with_errors(PARAMS_FIELDS, params)
    raise_field_errors(errors | {f"params.{name}": error for name, error in param_errors.items()})
    return columns | param_columns


def _free_code(code: str | None, used_codes: set[str]) -> str:
    if code in used_codes:
        raise ValidationFailed(f"letter is {code!r}, which is taken", field="letter", code="status_taken")
    if code is not None:
        return code
    free = next((code for code in ascii_uppercase if code not in used_codes), None)
    if free is None:
        raise RuleViolation("no letter is free", reason="no_letter_free")
    return free


def _check_inventory(type_: str, columns: Mapping[str, Any]) -> None:
    if type_ == SHIPMENTS and columns.get("inventory") is not None:
        raise ValidationFailed(
            "params: inventory is for statuses of orders", field="params.inventory", code="inventory_invalid"
        )


def _check_type(current: Mapping[str, Any], columns: Mapping[str, Any]) -> None:
    if columns.get("type", current["type"]) != current["type"]:
        raise ValidationFailed("type can't change", field="type", code="type_invalid")


async def _lock(scope: Scope, status: object) -> tuple[int, Mapping[str, Any]]:
    status_id = await find(scope, STATUS, status)
    current = await fetchrow(_LOCK, scope.store.id, status_id)
    if current is None:
        raise NotFound(STATUS.name)
    return status_id, current


async def _reject_in_use(scope: Scope, status: Mapping[str, Any]) -> None:
    if await fetchval(_IN_USE[status["type"]], scope.store.id, status["letter"]):
        raise RuleViolation(f"the status {status['letter']} is in use", reason="status_in_use")


async def save_codes(scope: Scope) -> None:
    """Copy the custom codes into the store's row and invalidate the cached store in all processes."""
    codes: dict[str, dict[str, str]] = {}
    for status_row in await fetch(_CUSTOM, scope.store.id):
        codes.setdefault(status_row["type"], {})[status_row["letter"]] = status_row["inventory"]
    await execute(_SAVE_CODES, scope.store.id, orjson.dumps(codes).decode())
    await invalidate_store(scope.store.id)
