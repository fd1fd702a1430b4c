"""Queryable fields of languages, language variables, pages and blocks; customers see active ones only."""

from __future__ import annotations

from domain.filters import exact, exact_second, ids, optional_references, sorts, statuses, substring
from domain.visibility import published
from kernel.product_fields import SEO_FIELDS
from models.reading.queries import Condition, Entity, EntityFilter, any_of, flag, has_any_id

_VISIBLE = published(("view_content",), "read_content")


LANGUAGES = Entity(
    table="languages",
    visible=_VISIBLE,
    filters={
        "id": ids("languages"),
        **exact("text", "code"),
        "status": statuses(),
        "search": substring("name", "t.name"),
        **exact("text", "name", "country_code", "direction", internal=True),
    },
    sorts=sorts("code", "name", "status", "id"),
    default_sort="id",
)


def _is_in_language(languages: list[str]) -> Condition:
    """Match rows in any of the languages, by code, number or public id."""
    named = "x.code = ANY({}::text[]) OR x.id::text = ANY({}::text[]) OR x.public_id::text = ANY({}::text[])"
    words = [language.lower() for language in languages]
    return has_any_id("t.lang_code", "languages x", "x.code", Condition(named, (words, words, words)))


LANGUAGE_VARIABLES = Entity(
    table="language_variables",
    visible=published(("view_content",), "read_content", ""),
    filters={
        "id": ids("language variables"),
        **exact("text", name="any of these names", lang_code="in any of these languages"),
        "search": substring("name or value", "t.name", "t.value"),
        "language": EntityFilter("text", _is_in_language, "in any of these languages", many=True, internal=True),
        **exact("text", "value", internal=True),
    },
    sorts=sorts("name", ("lang_code", "language"), "id"),
)

STATUS_OR_HIDDEN = "CASE WHEN t.status = 'A' AND t.hidden THEN 'H' ELSE t.status END"
"""The status of a page as CS-Cart has it: `H` for one that is hidden."""
PAGES = Entity(
    table="pages",
    visible=_VISIBLE,
    listed=published(("view_content",), "read_content", "t.status = 'A' AND NOT t.hidden"),
    filters={
        "id": ids("pages"),
        "status": statuses(),
        **exact("page_type", type="exact type code"),
        **exact("text", lang_code="exact language"),
        "parent_id": optional_references(
            "pages", "direct child of any of these pages; 0 means at the top level", column="t.parent_id"
        ),
        "search": substring("title or of the text", "t.name", "t.description"),
        "hidden": EntityFilter("boolean", flag("t.hidden"), "left out of lists"),
        "status_or_hidden": EntityFilter(
            "text", any_of(STATUS_OR_HIDDEN, "text"), "any of these", many=True, internal=True
        ),
        **exact("text", name="exact title", slug="exact slug"),
        **exact("text", "link", "description", *SEO_FIELDS, internal=True),
        **exact("big_int", "position", internal=True),
        "vendor_id": optional_references("vendors", "of any of these vendors; 0 means of the store itself"),
        "created_at": exact_second("t.created_at", "created within that second"),
    },
    sorts=sorts("position", ("name", "title"), "status", "created_at", "id"),
)

BLOCKS = Entity(
    table="blocks",
    visible=_VISIBLE,
    filters={
        "id": ids("blocks"),
        "status": statuses(),
        **exact("text", "type", lang_code="exact language"),
        "search": substring("name", "t.name"),
        **exact("text", "name"),
    },
    sorts=sorts("name", "type", "status", "id"),
    default_sort="id",
)
