"""Menus of a storefront: nested items, each of which leads to a record or a link, or to nothing and heads those below it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from domain.content.redirects import leads, link_text
from domain.filters import exact, ids, sorts, substring
from domain.records import Change, RecordType
from domain.visibility import published
from kernel.errors import ValidationFailed
from kernel.fields import InputField, check_count, name_text, read_fields
from kernel.scope import Scope
from kernel.text import InvalidValue, repr_value
from models.reading.queries import Condition, Entity
from models.references import CATEGORY, COLLECTION, PAGE, PRODUCT, VENDOR, ReferenceType, resolve_all
from models.tables.content import Menu

MAX_ITEMS = 200
MAX_DEPTH = 4
_HANDLE = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_REFERENCES: Mapping[str, ReferenceType] = {
    "product_id": PRODUCT,
    "category_id": CATEGORY,
    "collection_id": COLLECTION,
    "page_id": PAGE,
    "vendor_id": VENDOR,
}
_TARGETS = (*_REFERENCES, "link")

MENUS = Entity(
    table="menus",
    visible=published(("view_content",), "read_content", ""),
    filters={"id": ids("menus"), **exact("text", "handle"), "search": substring("name", "t.name")},
    sorts=sorts("handle", "name"),
    text_key=("handle", lambda handle: Condition("t.handle = {}", (handle,))),
)
# Shoppers see headings, and what they can open.
MENU_ITEMS = Entity(
    table="menu_items",
    visible=published(
        ("view_content",), "read_content", f"num_nonnulls(t.{', t.'.join(_TARGETS)}) = 0 OR {leads(_REFERENCES)}"
    ),
)


def _handle(value: object) -> object:
    if not isinstance(value, str) or not _HANDLE.fullmatch(value):
        expected = "1 to 64 lower-case letters, digits, '-' and '_', such as main-menu"
        raise InvalidValue(f"is {repr_value(value)}; expected {expected}")
    return value


MENU_FIELDS: Mapping[str, InputField] = {
    "handle": InputField("handle", _handle, code="handle_invalid", required="required"),
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
}
_ITEM_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "link": InputField("link", link_text, code="link_invalid"),
}


def _flatten(items: Sequence[Mapping[str, Any]], parent: int | None, depth: int, rows: list[dict[str, Any]]) -> None:
    """Add the rows of items and of those below them, parents first; references are those of the input."""
    if depth > MAX_DEPTH:
        raise ValidationFailed(f"items are nested deeper than {MAX_DEPTH}", field="items", code="too_deep")
    for item in items:
        rows.append({"place": len(rows) + 1, "parent_place": parent, **_columns(item)})
        check_count(rows, MAX_ITEMS, "items", field="items")
        _flatten(item.get("items") or (), len(rows), depth + 1, rows)


def _columns(item: Mapping[str, Any]) -> dict[str, Any]:
    target = {name: value for name, value in (item.get("target") or {}).items() if value is not None}
    if item.get("target") is not None and len(target) != 1:
        message = f"items: expected exactly one of {', '.join(_TARGETS)}"
        raise ValidationFailed(message, field="items", code="target_invalid")
    named = {"name": item.get("name")} | {name: target[name] for name in ("link",) if name in target}
    return {**dict.fromkeys(_TARGETS), **target, **read_fields(_ITEM_FIELDS, named, creating=True, within="items")}


async def _resolve(scope: Scope, rows: Sequence[dict[str, Any]]) -> None:
    for column, type_ in _REFERENCES.items():
        referring = [row for row in rows if row[column] is not None]
        if referring:
            numbers = await resolve_all(scope, type_, [row[column] for row in referring], field="items")
            for row in referring:
                row[column] = numbers[row[column]]


async def _prepare(change: Change) -> None:
    items = change.values.get("items")
    if items is None:
        return
    rows: list[dict[str, Any]] = []
    _flatten(items, None, 1, rows)
    await _resolve(change.scope, rows)
    change.parts["items"] = rows


async def _write_items(change: Change) -> None:
    if "items" in change.parts:
        await change.replace_part("menu_items", "menu_id", change.parts["items"], key="place")


def _taken(change: Change) -> ValidationFailed:
    message = f"handle is {change.columns['handle']!r}, which another menu has"
    return ValidationFailed(message, field="handle", code="handle_taken")


MENU_RECORDS = RecordType(
    Menu,
    MENU_FIELDS,
    audit_input=True,
    unique={"menus_handle_key": _taken},
    hard_delete=True,
    lock_row="SELECT id FROM menus WHERE tenant_id = $1 AND id = $2 FOR UPDATE",
    prepare=_prepare,
    after_save=_write_items,
)
