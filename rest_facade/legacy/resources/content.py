"""Describe languages, pages and blocks."""

from __future__ import annotations

from dataclasses import replace

from kernel.codes import PAGE_STATUSES, PAGE_TYPES, SWITCH_STATUSES
from rest_facade.legacy.resource import QueryFilter, RecordField, Resource, id_field
from rest_facade.legacy.value_types import ID, OBJECT, SMALL_NUMBER, TEXT, UNIX, code

_SWITCH = code(SWITCH_STATUSES)
_SEARCH = QueryFilter("q", "search", TEXT, many=False)
_LANG_CODE = RecordField("lang_code", replace(TEXT, seek=str.lower), "lang_code", "lang_code")

LANGUAGES = Resource(
    path="languages",
    key="lang_code",
    thing="language",
    area="content",
    operations="Language",
    does=("list", "show"),
    fields=(
        id_field("lang_id"),
        RecordField("lang_code", replace(TEXT, seek=str.lower), filters="code"),
        RecordField("name", TEXT, filters="name"),
        RecordField("country_code", TEXT, filters="country_code"),
        RecordField("direction", TEXT, filters="direction"),
        RecordField("status", _SWITCH, filters="status"),
    ),
    filters=(_SEARCH,),
    sorts={"lang_id": "ID", "lang_code": "CODE", "name": "NAME", "status": "STATUS"},
    default_sort=("lang_id", "asc"),
    always_keyed=True,
)

PAGES = Resource(
    path="pages",
    key="page_id",
    thing="page",
    area="content",
    operations="Page",
    fields=(
        id_field("page_id"),
        RecordField("parent_id", ID, "parent_id", "parent_id"),
        # The list's own `page` is its number (decisions-legacy section 2, Filter), so the title is sought by `q`.
        RecordField("page", TEXT, "name"),
        RecordField("page_type", code(PAGE_TYPES), "type", "type"),
        RecordField("link", TEXT, "link", "link"),
        RecordField("description", TEXT, "description", "description"),
        RecordField("meta_keywords", TEXT, "meta_keywords", "meta_keywords"),
        RecordField("meta_description", TEXT, "meta_description", "meta_description"),
        RecordField("page_title", TEXT, "seo_title", "seo_title"),
        RecordField("position", SMALL_NUMBER, "position", "position"),
        RecordField("status", code(PAGE_STATUSES), "status", "status"),
        RecordField("timestamp", UNIX, filters="created_at"),
        _LANG_CODE,
        RecordField("company_id", ID, "vendor_id", "vendor_id"),
    ),
    required={"page": "page is required"},
    says={"parent": "parent_id", "vendor": "company_id"},
    filters=(_SEARCH,),
    sorts={
        "position": "POSITION",
        "page": "NAME",
        "name": "NAME",
        "status": "STATUS",
        "timestamp": "CREATED_AT",
        "page_id": "ID",
    },
    default_sort=("position", "asc"),
    always_searching=True,
)

BLOCKS = Resource(
    path="blocks",
    key="block_id",
    thing="block",
    area="content",
    operations="Block",
    fields=(
        id_field("block_id"),
        RecordField("type", TEXT, "type", "type"),
        RecordField("name", TEXT, "name", "name"),
        RecordField("properties", OBJECT, "properties"),
        RecordField("content", OBJECT, "content"),
        RecordField("status", _SWITCH, "status", "status"),
        _LANG_CODE,
    ),
    required={"type": "type is required", "name": "name is required"},
    filters=(_SEARCH,),
    sorts={"block_id": "ID", "name": "NAME", "type": "TYPE", "status": "STATUS"},
    default_sort=("block_id", "asc"),
    bare=True,
)
