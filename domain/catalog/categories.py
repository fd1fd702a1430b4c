"""Make, change and delete categories, and keep the tree a tree.

`id_path` lists the ids from the root to a category (`3/17/42`): whoever moves a category rewrites the paths of all that stand below it.
Every change of the tree of one store waits for the one before it, because two moves that are right each by itself (A below B, B below
A) would make a circle together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain import audit
from domain.fields import Given, InputField, code_in, name_text, read_fields, text, whole
from domain.references import CATEGORY, VENDOR, find, resolve_optional
from kernel.codes import CATEGORY_STATUSES
from kernel.errors import RuleViolation, ValidationFailed
from kernel.scope import Scope
from models.catalog import Category
from models.database import execute, row, transaction, value

CATEGORY_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "position": InputField("position", whole(), code="position_invalid"),
    "status": InputField("status", code_in(CATEGORY_STATUSES), code="status_invalid"),
    "description": InputField("description", text()),
}

# The column holds 500 characters.
_MAX_PATH = 500

_HOLD_TREE = "SELECT pg_advisory_xact_lock(hashtextextended('categories:' || $1::bigint, 0))"
_PATH = "SELECT id_path FROM categories WHERE tenant_id = $1 AND id = $2"
_SET_PATH = "UPDATE categories SET id_path = $3 WHERE tenant_id = $1 AND id = $2"
_MOVE_BELOW = """
UPDATE categories SET id_path = $3::text || substr(id_path, length($2::text) + 1)
WHERE tenant_id = $1 AND (id_path = $2 OR starts_with(id_path, $2::text || '/'))
"""
_LONGEST_BELOW = """
SELECT coalesce(max(length(id_path)), 0) FROM categories
WHERE tenant_id = $1 AND (id_path = $2 OR starts_with(id_path, $2::text || '/'))
"""
_HOLDS = """
SELECT EXISTS (SELECT 1 FROM categories c WHERE c.tenant_id = $1 AND c.parent_id = $2 AND c.deleted_at IS NULL) AS children,
    EXISTS (SELECT 1 FROM product_categories pc JOIN products p ON p.tenant_id = pc.tenant_id AND p.id = pc.product_id
        WHERE pc.tenant_id = $1 AND pc.category_id = $2 AND p.deleted_at IS NULL)
    OR EXISTS (SELECT 1 FROM products p WHERE p.tenant_id = $1 AND p.category_id = $2 AND p.deleted_at IS NULL) AS products
"""


async def create_category(scope: Scope, given: Given) -> int:
    """Make a category and give its internal id: `name`*, `parent`, `position`, `status`, `description`, `vendor`.

    Raises ValidationFailed (`name_required`, `status_invalid`, `not_found`, …).
    """
    columns = read_fields(CATEGORY_FIELDS, given, creating=True)
    async with transaction(scope):
        await execute(_HOLD_TREE, scope.store.id)
        columns |= await _references(scope, given)
        category = Category(**columns, created_at=scope.now, updated_at=scope.now)
        await category.save()
        category_id: int = category.id
        await _set_path(scope, category_id, columns.get("parent_id"))
        await audit.record(scope, "category.created", "category", category.public_id)
    return category_id


async def update_category(scope: Scope, category: object, given: Given) -> int:
    """Change a category partially and give its internal id; a new `parent` moves all that stands below it too.

    Raises NotFound, and ValidationFailed for a category that would stand below itself (decisions-legacy section 3: 400).
    """
    columns = read_fields(CATEGORY_FIELDS, given)
    async with transaction(scope):
        await execute(_HOLD_TREE, scope.store.id)
        category_id = await find(scope, CATEGORY, category)
        columns |= await _references(scope, given)
        if "parent_id" in columns:
            await _move(scope, category_id, columns["parent_id"])
        await Category.filter(id=category_id).update(**columns, updated_at=scope.now)
        await audit.record(
            scope, "category.updated", "category", category_id, {"fields": sorted(map(str, given))}
        )
    return category_id


async def delete_category(scope: Scope, category: object) -> None:
    """Hide a category that holds nothing. Raises NotFound, and RuleViolation while it has children or products."""
    async with transaction(scope):
        await execute(_HOLD_TREE, scope.store.id)
        category_id = await find(scope, CATEGORY, category)
        # A product that is being put here right now holds the row by its foreign key; FOR UPDATE waits for it.
        await row(
            "SELECT id FROM categories WHERE tenant_id = $1 AND id = $2 FOR UPDATE",
            scope.store.id,
            category_id,
        )
        holds = await row(_HOLDS, scope.store.id, category_id)
        assert holds is not None  # EXISTS gives a row whatever there is
        for what in ("children", "products"):
            if holds[what]:
                raise RuleViolation(f"the category has {what}", reason="category_not_empty")
        await Category.filter(id=category_id).update(deleted_at=scope.now, updated_at=scope.now)
        await audit.record(scope, "category.deleted", "category", category_id)


async def _references(scope: Scope, given: Given) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "parent" in given:
        found["parent_id"] = await resolve_optional(scope, CATEGORY, given["parent"], field="parent")
    if "vendor" in given:
        found["vendor_id"] = await resolve_optional(scope, VENDOR, given["vendor"], field="vendor")
    return found


async def _set_path(scope: Scope, category_id: int, parent_id: int | None) -> None:
    await execute(_SET_PATH, scope.store.id, category_id, await _path_below(scope, category_id, parent_id))


async def _path_below(scope: Scope, category_id: int, parent_id: int | None) -> str:
    if parent_id is None:
        return str(category_id)
    above = await value(_PATH, scope.store.id, parent_id)
    return _fitting(f"{above}/{category_id}")


async def _move(scope: Scope, category_id: int, parent_id: int | None) -> None:
    old = await value(_PATH, scope.store.id, category_id)
    if parent_id is not None:
        above = await value(_PATH, scope.store.id, parent_id)
        if parent_id == category_id or above.startswith(f"{old}/"):
            raise ValidationFailed(
                "a category can't stand below itself", field="parent", code="parent_invalid"
            )
    new = await _path_below(scope, category_id, parent_id)
    if new != old:
        longest = await value(_LONGEST_BELOW, scope.store.id, old)
        _fitting("x" * (longest - len(old) + len(new)))
        await execute(_MOVE_BELOW, scope.store.id, old, new)


def _fitting(path: str) -> str:
    if len(path) > _MAX_PATH:
        raise ValidationFailed(
            "the category would stand too deep in the tree", field="parent", code="parent_invalid"
        )
    return path
