"""Make, change and delete the pages beside the goods, and keep their tree a tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from domain import audit
from domain.content.languages import first_language, language_of
from domain.fields import Given, InputField, code_in, name_text, read_fields, short_text, text, whole
from domain.references import PAGE, VENDOR, find, resolve_optional
from kernel.codes import PAGE_STATUSES, PAGE_TYPES
from kernel.errors import ValidationFailed
from kernel.scope import Scope
from models.content import Page
from models.database import execute, row, transaction, value

PAGE_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "type": InputField("type", code_in(PAGE_TYPES), code="type_invalid"),
    "link": InputField("link", text(2_048), code="link_invalid"),
    "description": InputField("description", text()),
    "meta_keywords": InputField("meta_keywords", text(2_048)),
    "meta_description": InputField("meta_description", text(2_048)),
    "seo_title": InputField("seo_title", short_text),
    "position": InputField("position", whole(), code="position_invalid"),
    "status": InputField("status", code_in(PAGE_STATUSES), code="status_invalid"),
}

# Two moves that are right each by itself (A below B, B below A) would make a circle together.
_HOLD_TREE = "SELECT pg_advisory_xact_lock(hashtextextended('pages:' || $1::bigint, 0))"
_STANDS_BELOW = """
WITH RECURSIVE above AS (
    SELECT id, parent_id FROM pages WHERE tenant_id = $1 AND id = $2
    UNION
    SELECT p.id, p.parent_id FROM pages p JOIN above a ON p.id = a.parent_id WHERE p.tenant_id = $1
)
SELECT EXISTS (SELECT 1 FROM above WHERE id = $3)
"""
_PARENT = "SELECT parent_id FROM pages WHERE tenant_id = $1 AND id = $2"
_MOVE_CHILDREN = "UPDATE pages SET parent_id = $3, updated_at = $4 WHERE tenant_id = $1 AND parent_id = $2"


async def create_page(scope: Scope, given: Given) -> int:
    """Make a page and give its internal id.

    Keys: `name`*, `type` (`T` text, `L` link, `F` form, `B` blog), `link`, `description` (HTML), `meta_keywords`, `meta_description`,
    `seo_title`, `position`, `status`, `parent`, `vendor`, `lang_code` (else the store's first language).
    """
    columns = read_fields(PAGE_FIELDS, given, creating=True)
    async with transaction(scope):
        await execute(_HOLD_TREE, scope.store.id)
        columns |= await _references(scope, given)
        if "lang_code" not in columns:
            columns["lang_code"] = await first_language(scope)
        page = Page(**columns, created_at=scope.now, updated_at=scope.now)
        await page.save()
        page_id: int = page.id
        await audit.record(scope, "page.created", "page", page.public_id)
    return page_id


async def update_page(scope: Scope, page: object, given: Given) -> int:
    """Change a page partially and give its internal id. Raises ValidationFailed for a page that would stand below itself."""
    columns = read_fields(PAGE_FIELDS, given)
    async with transaction(scope):
        await execute(_HOLD_TREE, scope.store.id)
        page_id = await find(scope, PAGE, page)
        columns |= await _references(scope, given)
        parent = columns.get("parent_id")
        if parent is not None and await value(_STANDS_BELOW, scope.store.id, parent, page_id):
            raise ValidationFailed("a page can't stand below itself", field="parent", code="parent_invalid")
        await Page.filter(id=page_id).update(**columns, updated_at=scope.now)
        await audit.record(scope, "page.updated", "page", page_id, {"fields": sorted(columns)})
    return page_id


async def delete_page(scope: Scope, page: object) -> None:
    """Hide a page; those below it move up to where it stood."""
    async with transaction(scope):
        await execute(_HOLD_TREE, scope.store.id)
        page_id = await find(scope, PAGE, page)
        above = await row(_PARENT, scope.store.id, page_id)
        assert above is not None  # found above, and the tree is held
        await execute(_MOVE_CHILDREN, scope.store.id, page_id, above["parent_id"], scope.now)
        await Page.filter(id=page_id).update(deleted_at=scope.now, updated_at=scope.now)
        await audit.record(scope, "page.deleted", "page", page_id)


async def _references(scope: Scope, given: Given) -> dict[str, Any]:
    found: dict[str, Any] = dict(await language_of(scope, given))
    if "parent" in given:
        found["parent_id"] = await resolve_optional(scope, PAGE, given["parent"], field="parent")
    if "vendor" in given:
        found["vendor_id"] = await resolve_optional(scope, VENDOR, given["vendor"], field="vendor")
    return found
