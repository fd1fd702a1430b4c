"""Keep the statuses of orders and parcels: what they are called, and the letters that a store adds to those every store has.

What is built in may be renamed and coloured, and no more: its letter and what it does to the stock are the platform's. The letters
a store added are repeated in its own row (`tenants.status_letters`), so that every request has them without asking.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import ascii_uppercase
from typing import Any

import orjson

from auth.tenancy import store_changed
from domain import audit
from domain.fields import (
    Given,
    InputField,
    check_fields,
    code_in,
    flag,
    name_text,
    refuse_wrong,
    short_text,
    whole,
)
from domain.references import STATUS, find
from kernel.codes import INVENTORY_EFFECTS, STATUS_TYPES
from kernel.errors import NotFound, RuleViolation, ValidationFailed
from kernel.scope import Scope
from kernel.text import Malformed, shown
from models.database import execute, row, rows, transaction, value
from models.orders import Status

ORDERS, SHIPMENTS = "O", "S"

_COLOR = re.compile(r"#[0-9a-fA-F]{3}([0-9a-fA-F]{3})?")
_LETTER = re.compile(r"[A-Za-z]")


def code_text(value: object) -> str:
    """Read the letter of a status: one capital, given in either case."""
    if not isinstance(value, str) or not _LETTER.fullmatch(value):
        raise Malformed(f"is {shown(value)}; expected one letter from A to Z")
    return value.upper()


def color_text(value: object) -> str:
    """Read a colour as web pages write it (`#1f7ae0`); blank for none."""
    color = str(short_text(value)).strip()
    if color and not _COLOR.fullmatch(color):
        raise Malformed(f"is {shown(value)}; expected a colour such as #1f7ae0")
    return color.lower()


STATUS_FIELDS: Mapping[str, InputField] = {
    "letter": InputField("letter", code_text, code="status_invalid"),
    "type": InputField("type", code_in(STATUS_TYPES), code="type_invalid"),
    "description": InputField("description", name_text, code="description_invalid", required="required"),
    "color": InputField("color", color_text, code="color_invalid"),
    "position": InputField("position", whole(), code="position_invalid"),
}
PARAMS_FIELDS: Mapping[str, InputField] = {
    "inventory": InputField("inventory", code_in(INVENTORY_EFFECTS), code="inventory_invalid"),
    "notify": InputField("notify", flag, code="notify_invalid"),
}

# Changes of a store's letters follow each other: its own row is what they all write.
_LOCK_STORE = "SELECT id FROM tenants WHERE id = $1 FOR NO KEY UPDATE"
_SAVE_LETTERS = "UPDATE tenants SET status_letters = $2::text::jsonb WHERE id = $1"
_ADDED = """
SELECT type, letter, coalesce(inventory, '') AS inventory FROM statuses
WHERE tenant_id = $1 AND NOT built_in AND deleted_at IS NULL ORDER BY position, letter
"""
_TAKEN = "SELECT letter FROM statuses WHERE tenant_id = $1 AND type = $2 AND deleted_at IS NULL"
# FOR UPDATE waits for orders that are getting the letter right now.
_LOCK = """
SELECT type, letter, inventory, built_in, public_id FROM statuses
WHERE tenant_id = $1 AND id = $2 AND deleted_at IS NULL FOR UPDATE
"""
_IN_USE: Mapping[str, str] = {
    ORDERS: "SELECT EXISTS (SELECT 1 FROM orders WHERE tenant_id = $1 AND status = $2 AND deleted_at IS NULL)",
    SHIPMENTS: "SELECT EXISTS (SELECT 1 FROM shipments WHERE tenant_id = $1 AND status = $2)",
}


async def create_status(scope: Scope, given: Given) -> int:
    """Add a status and give its internal id.

    Keys: `description`*, `letter` (else the first that is free), `type` (`O` orders, `S` parcels), `color`, `position`, and `params`:
    `inventory` (`D` an order with the letter holds its stock, `I` it gives it back) and `notify`.
    """
    columns = {"type": ORDERS} | _read(given, creating=True)
    _check_inventory(columns["type"], columns)
    if columns["type"] == ORDERS:
        columns.setdefault("inventory", "D")
    async with transaction(scope):
        await execute(_LOCK_STORE, scope.store.id)
        taken = {found["letter"] for found in await rows(_TAKEN, scope.store.id, columns["type"])}
        columns["letter"] = _free_letter(columns.get("letter"), taken)
        status = Status(**columns, created_at=scope.now, updated_at=scope.now)
        await status.save()
        status_id: int = status.id
        await audit.record(scope, "status.created", "status", status.public_id, {"letter": columns["letter"]})
        await _keep_letters(scope)
    return status_id


async def update_status(scope: Scope, status: object, given: Given) -> int:
    """Change a status partially and give its internal id.

    Raises RuleViolation for another letter or stock rule of what is built in, and for another letter of what is in use.
    """
    columns = _read(given)
    async with transaction(scope):
        await execute(_LOCK_STORE, scope.store.id)
        status_id, before = await _lock(scope, status)
        _check_type(before, columns)
        _check_inventory(before["type"], columns)
        changed = {
            name for name in ("letter", "inventory") if name in columns and columns[name] != before[name]
        }
        if changed and before["built_in"]:
            raise RuleViolation(
                "a built-in status keeps its letter and its stock rule", reason="status_built_in"
            )
        if "letter" in changed:
            await _refuse_in_use(scope, before)
            taken = {found["letter"] for found in await rows(_TAKEN, scope.store.id, before["type"])}
            _free_letter(columns["letter"], taken)
        await Status.filter(id=status_id).update(**columns, updated_at=scope.now)
        await audit.record(
            scope, "status.updated", "status", before["public_id"], {"fields": sorted(columns)}
        )
        await _keep_letters(scope)
    return status_id


async def delete_status(scope: Scope, status: object) -> None:
    """Take a status away that the store added. Raises RuleViolation for what is built in and for a letter in use."""
    async with transaction(scope):
        await execute(_LOCK_STORE, scope.store.id)
        status_id, before = await _lock(scope, status)
        if before["built_in"]:
            raise RuleViolation("a built-in status can't be deleted", reason="status_built_in")
        await _refuse_in_use(scope, before)
        await Status.filter(id=status_id).update(deleted_at=scope.now, updated_at=scope.now)
        await audit.record(scope, "status.deleted", "status", before["public_id"])
        await _keep_letters(scope)


def _read(given: Given, *, creating: bool = False) -> dict[str, Any]:
    """Read a status and its `params` with one refusal for all that is wrong; null leaves the letter and the rest as they are."""
    given = {name: item for name, item in given.items() if item is not None or name == "description"}
    params = {name: item for name, item in (given.get("params") or {}).items() if item is not None}
    columns, wrong = check_fields(STATUS_FIELDS, given, creating=creating)
    more, wrong_params = check_fields(PARAMS_FIELDS, params)
    refuse_wrong(wrong | {f"params.{name}": refusal for name, refusal in wrong_params.items()})
    return columns | more


def _free_letter(letter: str | None, taken: set[str]) -> str:
    if letter in taken:
        raise ValidationFailed(f"letter is {letter!r}, which is taken", field="letter", code="status_taken")
    if letter is not None:
        return letter
    free = next((each for each in ascii_uppercase if each not in taken), None)
    if free is None:
        raise RuleViolation("no letter is free", reason="no_letter_free")
    return free


def _check_inventory(type_: str, columns: Mapping[str, Any]) -> None:
    if type_ == SHIPMENTS and columns.get("inventory") is not None:
        raise ValidationFailed(
            "params: inventory is for statuses of orders", field="params.inventory", code="inventory_invalid"
        )


def _check_type(before: Mapping[str, Any], columns: Mapping[str, Any]) -> None:
    if columns.get("type", before["type"]) != before["type"]:
        raise ValidationFailed("type can't change", field="type", code="type_invalid")


async def _lock(scope: Scope, status: object) -> tuple[int, Mapping[str, Any]]:
    status_id = await find(scope, STATUS, status)
    before = await row(_LOCK, scope.store.id, status_id)
    if before is None:
        raise NotFound(STATUS.name)
    return status_id, before


async def _refuse_in_use(scope: Scope, status: Mapping[str, Any]) -> None:
    if await value(_IN_USE[status["type"]], scope.store.id, status["letter"]):
        raise RuleViolation(f"the status {status['letter']} is in use", reason="status_in_use")


async def _keep_letters(scope: Scope) -> None:
    """Write the letters the store added into its own row, and tell the processes that remember it."""
    letters: dict[str, dict[str, str]] = {}
    for found in await rows(_ADDED, scope.store.id):
        letters.setdefault(found["type"], {})[found["letter"]] = found["inventory"]
    await execute(_SAVE_LETTERS, scope.store.id, orjson.dumps(letters).decode())
    await store_changed(scope.store.id)
