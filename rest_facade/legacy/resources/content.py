"""Describe languages, pages and blocks."""

from __future__ import annotations

from dataclasses import replace

from kernel.codes import PAGE_STATUSES, PAGE_TYPES, SWITCH_STATUSES
from rest_facade.legacy import value_types as types
from rest_facade.legacy.resource import SEARCH, RecordField, Resource, id_field

_SWITCH_STATUS = types.code(SWITCH_STATUSES)
_LANG_CODE = RecordField("lang_code", replace(types.TEXT, parse_filter=str.lower), "lang_code", "lang_code")

LANGUAGES = Resource(
    path="languages",
    key="lang_code",
    display_name="language",
    privilege_area="content",
    operations="Language",
    actions=("list", "show"),
    fields=(
        id_field("lang_id"),
        RecordField("lang_code", replace(types.TEXT, parse_filter=str.lower), filter_name="code"),
        RecordField("name", types.TEXT, filter_name="name"),
        RecordField("country_code", types.TEXT, filter_name="country_code"),
        RecordField("direction", types.TEXT, filter_name="direction"),
        RecordField("status", _SWITCH_STATUS, filter_name="status"),
    ),
    filters=(SEARCH,),
    sorts={"lang_id": "ID", "lang_code": "CODE", "name": "NAME", "status": "STATUS"},
    default_sort=("lang_id", "asc"),
    always_keyed=True,
)

PAGES = Resource(
    path="pages",
    key="page_id",
    display_name="page",
    privilege_area="content",
    operations="Page",
    fields=(
        id_field("page_id"),
        RecordField("parent_id", types.ID, "parent_id", "parent_id"),
        # `page` is the pagination parameter, so titles are searched with `q` (docs/reference/legacy.md#filters).
        RecordField("page", types.TEXT, "name"),
        RecordField("page_type", types.code(PAGE_TYPES), "type", "type"),
        RecordField("link", types.TEXT, "link", "link"),
        RecordField("description", types.TEXT, "description", "description"),
        RecordField("meta_keywords", types.TEXT, "meta_keywords", "meta_keywords"),
        RecordField("meta_description", types.TEXT, "meta_description", "meta_description"),
        RecordField("page_title", types.TEXT, "seo_title", "seo_title"),
        RecordField("position", types.INTEGER, "position", "position"),
        RecordField("status", types.code(PAGE_STATUSES), "status", "status"),
        RecordField("timestamp", types.UNIX_TIME, filter_name="created_at"),
        _LANG_CODE,
        RecordField("company_id", types.ID, "vendor_id", "vendor_id"),
    ),
    required={"page": "page is required"},
    message_terms={"parent": "parent_id", "vendor": "company_id"},
    filters=(SEARCH,),
    sorts={
        "position": "POSITION",
        "page": "NAME",
        "name": "NAME",
        "status": "STATUS",
        "timestamp": "CREATED_AT",
        "page_id": "ID",
    },
    default_sort=("position", "asc"),
    always_has_search=True,
)

BLOCKS = Resource(
    path="blocks",
    key="block_id",
    display_name="block",
    privilege_area="content",
    operations="Block",
    fields=(
        id_field("block_id"),
        RecordField("type", types.TEXT, "type", "type"),
        RecordField("name", types.TEXT, "name", "name"),
        RecordField("properties", types.OBJECT, "properties"),
        RecordField("content", types.OBJECT, "content"),
        RecordField("status", _SWITCH_STATUS, "status", "status"),
        _LANG_CODE,
    ),
    required={"type": "type is required", "name": "name is required"},
    filters=(SEARCH,),
    sorts={"block_id": "ID", "name": "NAME", "type": "TYPE", "status": "STATUS"},
    default_sort=("block_id", "asc"),
    unwrapped=True,
)
