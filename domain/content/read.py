"""Queryable fields of languages, pages and blocks; customers see active ones only."""

from __future__ import annotations

from domain.filters import (
    BY_CREATED,
    BY_ID,
    BY_NAME,
    BY_POSITION,
    BY_STATUS,
    exact_integer,
    exact_second,
    exact_text,
    ids,
    optional_references,
    statuses,
    substring,
)
from domain.visibility import VisibleRows
from models.queries import Condition, Entity, EntityFilter, Sort

_SHOWN = "t.status = 'A'"
_VISIBLE = VisibleRows(
    admin=("view_content",),
    app="read_content",
    vendor=_SHOWN,
    customer=_SHOWN,
    storefront="storefront:read",
    storefront_rows=_SHOWN,
)


LANGUAGES = Entity(
    name="language",
    table="languages",
    base_condition="t.deleted_at IS NULL",
    visible=_VISIBLE,
    filters={
        "id": ids("languages"),
        "code": exact_text("t.code", "code"),
        "status": statuses(),
        "search": substring("name", "t.name"),
        "name": exact_text("t.name", "name", internal=True),
        "country_code": exact_text("t.country_code", "country", internal=True),
        "direction": exact_text("t.direction", "direction of writing", internal=True),
    },
    sorts={"code": Sort("t.code", "text", "code"), "name": BY_NAME, "status": BY_STATUS, "id": BY_ID},
    default_sort="id",
)

PAGES = Entity(
    name="page",
    table="pages",
    base_condition="t.deleted_at IS NULL",
    visible=_VISIBLE,
    filters={
        "id": ids("pages"),
        "status": statuses(),
        "type": exact_text("t.type", "type code"),
        "lang_code": exact_text("t.lang_code", "language"),
        "parent_id": optional_references(
            "t.parent_id", "pages", "direct child of any of these pages; 0 means at the top level"
        ),
        "search": EntityFilter(
            "text",
            lambda text: Condition(
                "strpos(vitrine_fold(t.name), vitrine_fold({}::text)) > 0"
                " OR strpos(vitrine_fold(t.description), vitrine_fold({}::text)) > 0",
                (text, text),
            ),
            "part of the title or of the text",
        ),
        "name": exact_text("t.name", "title"),
        "link": exact_text("t.link", "link", internal=True),
        "description": exact_text("t.description", "text", internal=True),
        "meta_keywords": exact_text("t.meta_keywords", "key words", internal=True),
        "meta_description": exact_text("t.meta_description", "description for search engines", internal=True),
        "seo_title": exact_text("t.seo_title", "title for search engines", internal=True),
        "position": exact_integer("t.position", "position", internal=True),
        "vendor_id": optional_references(
            "t.vendor_id", "vendors", "of any of these vendors; 0 means of the store itself"
        ),
        "created_at": exact_second("t.created_at", "created within that second"),
    },
    sorts={
        "position": BY_POSITION,
        "name": Sort("t.name", "text", "title"),
        "status": BY_STATUS,
        "created_at": BY_CREATED,
        "id": BY_ID,
    },
    default_sort="position",
)

BLOCKS = Entity(
    name="block",
    table="blocks",
    base_condition="t.deleted_at IS NULL",
    visible=_VISIBLE,
    filters={
        "id": ids("blocks"),
        "status": statuses(),
        "type": exact_text("t.type", "type"),
        "lang_code": exact_text("t.lang_code", "language"),
        "search": substring("name", "t.name"),
        "name": exact_text("t.name", "name"),
    },
    sorts={"name": BY_NAME, "type": Sort("t.type", "text", "type"), "status": BY_STATUS, "id": BY_ID},
    default_sort="id",
)
