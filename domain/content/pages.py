"""Create, update and delete content pages, and keep their tree free of cycles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain.content.languages import default_language, read_language
from kernel.codes import PAGE_STATUSES, PAGE_TYPES
from kernel.errors import ValidationFailed
from kernel.fields import InputField, InputValues, code_in, integer, name_text, read_fields, short_text, text
from kernel.scope import Scope
from models import audit
from models.content import Page
from models.database import execute, fetchrow, fetchval, transaction
from models.references import PAGE, VENDOR, find, resolve_optional

PAGE_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "type": InputField("type", code_in(PAGE_TYPES), code="type_invalid"),
    "link": InputField("link", text(2_048), code="link_invalid"),
    "description": InputField("description", text()),
    "meta_keywords": InputField("meta_keywords", text(2_048)),
    "meta_description": InputField("meta_description", text(2_048)),
    "seo_title": InputField("seo_title", short_text),
    "position": InputField("position", integer(), code="position_invalid"),
    "status": InputField("status", code_in(PAGE_STATUSES), code="status_invalid"),
}

# Changes of the tree are serialized, because two valid concurrent moves (A below B, B below A) could form a cycle.
_LOCK_TREE = "SELECT pg_advisory_xact_lock(hashtextextended('pages:' || $1::bigint, 0))"
_IS_DESCENDANT = """
WITH RECURSIVE ancestors AS (
    SELECT id, parent_id FROM pages WHERE tenant_id = $1 AND id = $2
    UNION
    SELECT p.id, p.parent_id FROM pages p JOIN ancestors a ON p.id = a.parent_id WHERE p.tenant_id = $1
)
SELECT EXISTS (SELECT 1 FROM ancestors WHERE id = $3)
"""
_PARENT = "SELECT parent_id FROM pages WHERE tenant_id = $1 AND id = $2"
_MOVE_CHILDREN = "UPDATE pages SET parent_id = $3, updated_at = $4 WHERE tenant_id = $1 AND parent_id = $2"


async def create_page(scope: Scope, values: InputValues) -> int:
    """Create a page and return its internal id.

    Keys: `name`*, `type` (`T` text, `L` link, `F` form, `B` blog), `link`, `description` (HTML), `meta_keywords`, `meta_description`,
    `seo_title`, `position`, `status`, `parent`, `vendor`, `lang_code` (default: the store's first language).
    """
    columns = read_fields(PAGE_FIELDS, values, creating=True)
    async with transaction(scope):
        await execute(_LOCK_TREE, scope.store.id)
        columns |= await _references(scope, values)
        if "lang_code" not in columns:
            columns["lang_code"] = await default_language(scope)
        page = Page(**columns, created_at=scope.now, updated_at=scope.now)
        await page.save()
        page_id: int = page.id
        await audit.record(scope, "page.created", "page", page.public_id)
    return page_id


async def update_page(scope: Scope, page: object, values: InputValues) -> int:
    """Update a page partially and return its internal id. Raises ValidationFailed for a page that would become its own ancestor."""
    columns = read_fields(PAGE_FIELDS, values)
    async with transaction(scope):
        await execute(_LOCK_TREE, scope.store.id)
        page_id = await find(scope, PAGE, page)
        columns |= await _references(scope, values)
        parent = columns.get("parent_id")
        if parent is not None and await fetchval(_IS_DESCENDANT, scope.store.id, parent, page_id):
            raise ValidationFailed("a page can't stand below itself", field="parent", code="parent_invalid")
        await Page.filter(id=page_id).update(**columns, updated_at=scope.now)
        await audit.record_update(scope, "page", page_id, columns)
    return page_id


async def delete_page(scope: Scope, page: object) -> None:
    """Soft-delete a page; its children move to its parent."""
    async with transaction(scope):
        await execute(_LOCK_TREE, scope.store.id)
        page_id = await find(scope, PAGE, page)
        page_row = await fetchrow(_PARENT, scope.store.id, page_id)
        assert page_row is not None  # found above, and the tree is locked
        await execute(_MOVE_CHILDREN, scope.store.id, page_id, page_row["parent_id"], scope.now)
        await Page.filter(id=page_id).update(deleted_at=scope.now, updated_at=scope.now)
        await audit.record(scope, "page.deleted", "page", page_id)


async def _references(scope: Scope, values: InputValues) -> dict[str, Any]:
    columns: dict[str, Any] = dict(await read_language(scope, values))
    if "parent" in values:
        columns["parent_id"] = await resolve_optional(scope, PAGE, values["parent"], field="parent")
    if "vendor" in values:
        columns["vendor_id"] = await resolve_optional(scope, VENDOR, values["vendor"], field="vendor")
    return columns
