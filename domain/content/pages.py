"""Content pages (`type`: `T` text, `L` link, `F` form, `B` blog), and their tree, which stays free of cycles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from domain.content.languages import set_language
from domain.media.images import set_image
from domain.records import Change, RecordType
from kernel.codes import PAGE_STATUSES, PAGE_TYPES
from kernel.errors import ValidationFailed
from kernel.fields import InputField, code_in, flag, integer, name_text, text
from kernel.product_fields import SEO_FIELDS, slug_text
from kernel.scope import Scope
from models.connection.database import execute, fetchval
from models.references import PAGE, VENDOR
from models.tables.content import Page

# Stored by the name that it had first.
_TITLE = replace(SEO_FIELDS["page_title"], column="seo_title")
PAGE_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "type": InputField("type", code_in(PAGE_TYPES), code="type_invalid"),
    "link": InputField("link", text(2_048), code="link_invalid"),
    "description": InputField("description", text()),
    "seo_title": _TITLE,
    **SEO_FIELDS,
    "page_title": _TITLE,
    "position": InputField("position", integer(), code="position_invalid"),
    "status": InputField("status", code_in(PAGE_STATUSES), code="status_invalid"),
    "hidden": InputField("hidden", flag),
    "slug": InputField("slug", slug_text, code="slug_invalid"),
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
_MOVE_CHILDREN = """
UPDATE pages SET parent_id = (SELECT p.parent_id FROM pages p WHERE p.tenant_id = $1 AND p.id = $2), updated_at = $3
WHERE tenant_id = $1 AND parent_id = $2
"""


async def _prepare(change: Change) -> None:
    await set_language(change)
    await set_image(change, "pages")
    store_id, parent = change.scope.store.id, change.columns.get("parent_id")
    # The tree has no page of the id 0, which a new record has.
    if parent is not None and await fetchval(_IS_DESCENDANT, store_id, parent, change.record_id):
        raise ValidationFailed("a page can't stand below itself", field="parent", code="parent_invalid")


async def _move_children(scope: Scope, page_id: int) -> None:
    """Move the children of a page to its parent."""
    await execute(_MOVE_CHILDREN, scope.store.id, page_id, scope.now)


PAGE_RECORDS = RecordType(
    Page,
    PAGE_FIELDS,
    references={"parent": PAGE, "vendor": VENDOR},
    lock=_LOCK_TREE,
    prepare=_prepare,
    before_delete=_move_children,
)
