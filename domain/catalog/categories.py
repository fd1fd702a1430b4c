"""Create, update and delete categories, and keep their tree free of cycles.

`id_path` lists the ids from the root to a category (`3/17/42`); moving a category rewrites the paths of its descendants. Changes of a
store's tree are serialized, because two valid concurrent moves (A below B, B below A) could form a cycle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernel.codes import CATEGORY_STATUSES
from kernel.errors import RuleViolation, ValidationFailed
from kernel.fields import InputField, InputValues, code_in, integer, name_text, read_fields, text
from kernel.scope import Scope
from models import audit
from models.catalog import Category
from models.database import execute, fetchrow, fetchval, transaction
from models.references import CATEGORY, VENDOR, find, resolve_optional

CATEGORY_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "position": InputField("position", integer(), code="position_invalid"),
    "status": InputField("status", code_in(CATEGORY_STATUSES), code="status_invalid"),
    "description": InputField("description", text()),
}

# The column holds 500 characters.
_MAX_PATH = 500

_LOCK_TREE = "SELECT pg_advisory_xact_lock(hashtextextended('categories:' || $1::bigint, 0))"
_PATH = "SELECT id_path FROM categories WHERE tenant_id = $1 AND id = $2"
_SET_PATH = "UPDATE categories SET id_path = $3 WHERE tenant_id = $1 AND id = $2"
_MOVE_SUBTREE = """
UPDATE categories SET id_path = $3::text || substr(id_path, length($2::text) + 1)
WHERE tenant_id = $1 AND (id_path = $2 OR starts_with(id_path, $2::text || '/'))
"""
_LONGEST_DESCENDANT_PATH = """
SELECT coalesce(max(length(id_path)), 0) FROM categories
WHERE tenant_id = $1 AND (id_path = $2 OR starts_with(id_path, $2::text || '/'))
"""
_HAS_CONTENTS = """
SELECT EXISTS (SELECT 1 FROM categories c WHERE c.tenant_id = $1 AND c.parent_id = $2 AND c.deleted_at IS NULL) AS children,
    EXISTS (SELECT 1 FROM product_categories pc JOIN products p ON p.tenant_id = pc.tenant_id AND p.id = pc.product_id
        WHERE pc.tenant_id = $1 AND pc.category_id = $2 AND p.deleted_at IS NULL)
    OR EXISTS (SELECT 1 FROM products p WHERE p.tenant_id = $1 AND p.category_id = $2 AND p.deleted_at IS NULL) AS products
"""


async def create_category(scope: Scope, values: InputValues) -> int:
    """Create a category and return its internal id: `name`*, `parent`, `position`, `status`, `description`, `vendor`.

    Raises ValidationFailed (`name_required`, `status_invalid`, `not_found`, …).
    """
    columns = read_fields(CATEGORY_FIELDS, values, creating=True)
    async with transaction(scope):
        await execute(_LOCK_TREE, scope.store.id)
        columns |= await _references(scope, values)
        category = Category(**columns, created_at=scope.now, updated_at=scope.now)
        await category.save()
        category_id: int = category.id
        await _set_path(scope, category_id, columns.get("parent_id"))
        await audit.record(scope, "category.created", "category", category.public_id)
    return category_id


async def update_category(scope: Scope, category: object, values: InputValues) -> int:
    """Update a category partially and return its internal id; a new `parent` moves its descendants too.

    Raises NotFound, and ValidationFailed for a category that would become its own ancestor.
    """
    columns = read_fields(CATEGORY_FIELDS, values)
    async with transaction(scope):
        await execute(_LOCK_TREE, scope.store.id)
        category_id = await find(scope, CATEGORY, category)
        columns |= await _references(scope, values)
        if "parent_id" in columns:
            await _move(scope, category_id, columns["parent_id"])
        await Category.filter(id=category_id).update(**columns, updated_at=scope.now)
        await audit.record_update(scope, "category", category_id, values)
    return category_id


async def delete_category(scope: Scope, category: object) -> None:
    """Soft-delete an empty category. Raises NotFound, and RuleViolation while it has children or products."""
    async with transaction(scope):
        await execute(_LOCK_TREE, scope.store.id)
        category_id = await find(scope, CATEGORY, category)
        # A concurrent insert of a product locks this row through its foreign key; FOR UPDATE waits for it.
        await fetchrow(
            "SELECT id FROM categories WHERE tenant_id = $1 AND id = $2 FOR UPDATE",
            scope.store.id,
            category_id,
        )
        contents = await fetchrow(_HAS_CONTENTS, scope.store.id, category_id)
        assert contents is not None  # EXISTS always returns a row
        for part in ("children", "products"):
            if contents[part]:
                raise RuleViolation(f"the category has {part}", reason="category_not_empty")
        await Category.filter(id=category_id).update(deleted_at=scope.now, updated_at=scope.now)
        await audit.record(scope, "category.deleted", "category", category_id)


async def _references(scope: Scope, values: InputValues) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    if "parent" in values:
        columns["parent_id"] = await resolve_optional(scope, CATEGORY, values["parent"], field="parent")
    if "vendor" in values:
        columns["vendor_id"] = await resolve_optional(scope, VENDOR, values["vendor"], field="vendor")
    return columns


async def _set_path(scope: Scope, category_id: int, parent_id: int | None) -> None:
    await execute(_SET_PATH, scope.store.id, category_id, await _path_under(scope, category_id, parent_id))


async def _path_under(scope: Scope, category_id: int, parent_id: int | None) -> str:
    if parent_id is None:
        return str(category_id)
    parent_path = await fetchval(_PATH, scope.store.id, parent_id)
    return _check_length(f"{parent_path}/{category_id}")


async def _move(scope: Scope, category_id: int, parent_id: int | None) -> None:
    old_path = await fetchval(_PATH, scope.store.id, category_id)
    if parent_id is not None:
        parent_path = await fetchval(_PATH, scope.store.id, parent_id)
        if parent_id == category_id or parent_path.startswith(f"{old_path}/"):
            raise ValidationFailed(
                "a category can't stand below itself", field="parent", code="parent_invalid"
            )
    new_path = await _path_under(scope, category_id, parent_id)
    if new_path != old_path:
        longest = await fetchval(_LONGEST_DESCENDANT_PATH, scope.store.id, old_path)
        _check_length("x" * (longest - len(old_path) + len(new_path)))
        await execute(_MOVE_SUBTREE, scope.store.id, old_path, new_path)


def _check_length(path: str) -> str:
    if len(path) > _MAX_PATH:
        raise ValidationFailed(
            "the category would stand too deep in the tree", field="parent", code="parent_invalid"
        )
    return path
