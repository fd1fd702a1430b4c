"""Declare what of languages, pages and blocks can be read; shoppers see what is active."""

from __future__ import annotations

from domain.catalog.read import in_second, refers_to_or_none
from domain.visibility import Rows
from models.reading import Entity, EntityFilter, Sort, Where, any_of, named

_SHOWN = "t.status = 'A'"
_VISIBLE = Rows(
    admin=("view_content",),
    app="read_content",
    vendor=_SHOWN,
    customer=_SHOWN,
    storefront="storefront:read",
    storefront_rows=_SHOWN,
)


def _exact(column: str, what: str, *, internal: bool = True) -> EntityFilter:
    return EntityFilter("text", any_of(column), f"exact {what}", many=True, internal=internal)


def _part(column: str, what: str) -> EntityFilter:
    return EntityFilter(
        "text",
        lambda text: Where(f"strpos(vitrine_fold({column}), vitrine_fold({{}}::text)) > 0", (text,)),
        f"part of the {what}",
    )


_STATUS = EntityFilter("switch_status", any_of("t.status"), "any of these statuses", many=True)
_BY_NAME = Sort("t.name", "text", "name")
_BY_STATUS = Sort("t.status", "text", "status letter")
_BY_ID = Sort("t.id", "bigint", "order of entry")

LANGUAGES = Entity(
    name="language",
    table="languages",
    alive="t.deleted_at IS NULL",
    visible=_VISIBLE,
    filters={
        "id": EntityFilter("id", named, "any of these languages", many=True),
        "code": _exact("t.code", "code", internal=False),
        "status": _STATUS,
        "search": _part("t.name", "name"),
        "name": _exact("t.name", "name"),
        "country_code": _exact("t.country_code", "country"),
        "direction": _exact("t.direction", "direction of writing"),
    },
    sorts={"code": Sort("t.code", "text", "code"), "name": _BY_NAME, "status": _BY_STATUS, "id": _BY_ID},
    default_sort="id",
)

PAGES = Entity(
    name="page",
    table="pages",
    alive="t.deleted_at IS NULL",
    visible=_VISIBLE,
    filters={
        "id": EntityFilter("id", named, "any of these pages", many=True),
        "status": _STATUS,
        "type": _exact("t.type", "type, by letter", internal=False),
        "lang_code": _exact("t.lang_code", "language", internal=False),
        "parent_id": EntityFilter(
            "id",
            refers_to_or_none("t.parent_id", "pages"),
            "stands directly below any of these pages; 0 means at the top",
            many=True,
        ),
        "search": EntityFilter(
            "text",
            lambda text: Where(
                "strpos(vitrine_fold(t.name), vitrine_fold({}::text)) > 0"
                " OR strpos(vitrine_fold(t.description), vitrine_fold({}::text)) > 0",
                (text, text),
            ),
            "part of the title or of the text",
        ),
        "name": _exact("t.name", "title", internal=False),
        "link": _exact("t.link", "link"),
        "description": _exact("t.description", "text"),
        "meta_keywords": _exact("t.meta_keywords", "key words"),
        "meta_description": _exact("t.meta_description", "description for search engines"),
        "seo_title": _exact("t.seo_title", "title for search engines"),
        "position": EntityFilter(
            "big_int", any_of("t.position", "bigint"), "exact position", many=True, internal=True
        ),
        "vendor_id": EntityFilter(
            "id",
            refers_to_or_none("t.vendor_id", "vendors"),
            "of any of these vendors; 0 means of the shop itself",
            many=True,
        ),
        "created_at": EntityFilter(
            "time", in_second("t.created_at"), "made in that second", many=True, internal=True
        ),
    },
    sorts={
        "position": Sort("t.position", "bigint", "position"),
        "name": Sort("t.name", "text", "title"),
        "status": _BY_STATUS,
        "created_at": Sort("t.created_at", "timestamptz", "time of creation"),
        "id": _BY_ID,
    },
    default_sort="position",
)

BLOCKS = Entity(
    name="block",
    table="blocks",
    alive="t.deleted_at IS NULL",
    visible=_VISIBLE,
    filters={
        "id": EntityFilter("id", named, "any of these blocks", many=True),
        "status": _STATUS,
        "type": _exact("t.type", "type", internal=False),
        "lang_code": _exact("t.lang_code", "language", internal=False),
        "search": _part("t.name", "name"),
        "name": _exact("t.name", "name", internal=False),
    },
    sorts={"name": _BY_NAME, "type": Sort("t.type", "text", "type"), "status": _BY_STATUS, "id": _BY_ID},
    default_sort="id",
)
