"""Categories, and their tree, which stays free of cycles.

`id_path` lists the ids from the root to a category (`3/17/42`); moving a category rewrites the paths of its descendants. Changes of a
store's tree are serialized, because two valid concurrent moves (A below B, B below A) could form a cycle.
"""

from __future__ import annotations

from collections.abc import Mapping

from domain import event_types, record_events
from domain.catalog.product_matching import lock_catalog_exclusively
from domain.media.images import set_image
from domain.records import Change, RecordType
from kernel.codes import CATEGORY_STATUSES
from kernel.errors import RuleViolation, ValidationFailed
from kernel.fields import InputField, code_in, integer, name_text, text
from kernel.product_fields import SEO_FIELDS, slug_text
from kernel.scope import Scope
from models.connection.database import execute, fetchrow, fetchval
from models.references import CATEGORY, VENDOR, find_public_ids
from models.rows import delete_rows, update_row
from models.tables.catalog import Category

CATEGORY_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "position": InputField("position", integer(), code="position_invalid"),
    "status": InputField("status", code_in(CATEGORY_STATUSES), code="status_invalid"),
    "description": InputField("description", text()),
    "slug": InputField("slug", slug_text, code="slug_invalid"),
    **SEO_FIELDS,
}

# The column holds 500 characters.
_MAX_PATH = 500

_LOCK_TREE = "SELECT pg_advisory_xact_lock(hashtextextended('categories:' || $1::bigint, 0))"
_PATH = "SELECT id_path FROM categories WHERE tenant_id = $1 AND id = $2"
_MOVE_SUBTREE = """
UPDATE categories SET id_path = $3::text || substr(id_path, length($2::text) + 1)
WHERE tenant_id = $1 AND (id_path = $2 OR starts_with(id_path, $2::text || '/'))
"""
_LONGEST_DESCENDANT_PATH = """
SELECT coalesce(max(length(id_path)), 0) FROM categories
WHERE tenant_id = $1 AND (id_path = $2 OR starts_with(id_path, $2::text || '/'))
"""
_COMPLETE_PATHS = """
WITH RECURSIVE tree AS (
    SELECT id, id::text AS path FROM categories WHERE tenant_id = $1 AND parent_id IS NULL
    UNION ALL SELECT c.id, t.path || '/' || c.id FROM tree t JOIN categories c ON c.tenant_id = $1 AND c.parent_id = t.id
)
UPDATE categories c SET id_path = t.path FROM tree t
WHERE c.tenant_id = $1 AND c.id = t.id AND c.id_path <> t.path AND length(t.path) <= $2
"""
_HAS_CONTENTS = """
SELECT EXISTS (SELECT 1 FROM categories c WHERE c.tenant_id = $1 AND c.parent_id = $2 AND c.deleted_at IS NULL) AS children,
    EXISTS (SELECT 1 FROM product_categories pc JOIN products p ON p.tenant_id = pc.tenant_id AND p.id = pc.product_id
        WHERE pc.tenant_id = $1 AND pc.category_id = $2 AND p.deleted_at IS NULL)
    OR EXISTS (SELECT 1 FROM products p WHERE p.tenant_id = $1 AND p.category_id = $2 AND p.deleted_at IS NULL) AS products
"""


async def _prepare(change: Change) -> None:
    await set_image(change, "categories")
    if not change.is_new and "parent_id" in change.columns:
        await _move(change.scope, change.record_id, change.columns["parent_id"])


async def _set_path(change: Change) -> None:
    if change.is_new:
        path = await _path_under(change.scope, change.record_id, change.columns.get("parent_id"))
        await update_row(change.scope, "categories", change.record_id, id_path=path)


async def _emit(change: Change) -> None:
    name = event_types.CATEGORY_CREATED if change.is_new else event_types.CATEGORY_UPDATED
    await record_events.emit_records(change.scope, name, [change.record_id])


async def _prepare_deletion(scope: Scope, category_id: int) -> None:
    await _check_empty(scope, category_id)
    await delete_rows(scope, "feature_categories", category_id=category_id)
    public_ids = await find_public_ids(scope, CATEGORY, [category_id])
    await record_events.emit_deleted(scope, event_types.CATEGORY_DELETED, public_ids.values())


async def _check_empty(scope: Scope, category_id: int) -> None:
    """Refuse to delete a category that has children or products."""
    # A product that is being written has looked the category up already.
    await lock_catalog_exclusively(scope)
    contents = await fetchrow(_HAS_CONTENTS, scope.store.id, category_id)
    assert contents is not None  # EXISTS always returns a row
    for part in ("children", "products"):
        if contents[part]:
            raise RuleViolation(f"the category has {part}", reason="category_not_empty")


async def _path_under(scope: Scope, category_id: int, parent_id: int | None) -> str:
    if parent_id is None:
        return str(category_id)
    parent_path = await fetchval(_PATH, scope.store.id, parent_id)
    path = f"{parent_path}/{category_id}"
    _check_length(path)
    return path


async def _move(scope: Scope, category_id: int, parent_id: int | None) -> None:
    old_path = await fetchval(_PATH, scope.store.id, category_id)
    if parent_id is not None:
        parent_path = await fetchval(_PATH, scope.store.id, parent_id)
        if parent_id == category_id or parent_path.startswith(f"{old_path}/"):
            raise ValidationFailed("a category can't stand below itself", field="parent", code="parent_invalid")
    new_path = await _path_under(scope, category_id, parent_id)
    if new_path != old_path:
        longest = await fetchval(_LONGEST_DESCENDANT_PATH, scope.store.id, old_path)
        _check_length("x" * (longest - len(old_path) + len(new_path)))
        await execute(_MOVE_SUBTREE, scope.store.id, old_path, new_path)


async def complete_paths(scope: Scope) -> None:
    """Set the paths that don't follow from the parents: of categories below one whose parent an import has written."""
    await execute(_LOCK_TREE, scope.store.id)
    await execute(_COMPLETE_PATHS, scope.store.id, _MAX_PATH)


def _check_length(path: str) -> None:
    if len(path) > _MAX_PATH:
        raise ValidationFailed("the category would stand too deep in the tree", field="parent", code="parent_invalid")


CATEGORY_RECORDS = RecordType(
    Category,
    CATEGORY_FIELDS,
    references={"parent": CATEGORY, "vendor": VENDOR},
    audit_input=True,
    lock=_LOCK_TREE,
    prepare=_prepare,
    after_save=_set_path,
    emit=_emit,
    before_delete=_prepare_deletion,
)
