"""Describe languages, language variables, pages and blocks."""

from __future__ import annotations

from dataclasses import replace

from kernel.codes import PAGE_STATUSES, PAGE_TYPES, SWITCH_STATUSES
from rest_facade.legacy import value_types as types
from rest_facade.legacy.resource import SEARCH, STORE_OWNED, RecordField, Resource, id_field, same_names

_SWITCH_STATUS = types.code(SWITCH_STATUSES)
_LANG_CODE = RecordField("lang_code", replace(types.TEXT, parse_filter=str.lower), "lang_code", "lang_code")

LANGUAGES = Resource(
    path="languages",
    key="lang_code",
    privilege_area="content",
    root_fields={"show": "language_named"},
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
    always_keyed=True,
)

LANGUAGE_VARIABLES = Resource(
    path="langvars",
    key="langvar_id",
    display_name="language variable",
    privilege_area="content",
    root_fields={
        "show": "language_variable_named",
        "update": "language_variable_named_update",
        "delete": "language_variable_named_delete",
    },
    fields=(id_field("langvar_id"), *same_names(types.TEXT, "name", "value"), _LANG_CODE),
    required=("name",),
    filters=(SEARCH,),
    sorts={"name": "NAME", "lang_code": "LANG_CODE", "langvar_id": "ID"},
    lookup_parameters=("lang_code",),
)

PAGES = Resource(
    path="pages",
    privilege_area="content",
    fields=(
        id_field("page_id"),
        RecordField("parent_id", types.ID, "parent_id", "parent_id", cscart_type=types.PARENT_ID),
        # `page` is the pagination parameter, so titles are searched with `q` (docs/reference/legacy.md#filters).
        RecordField("page", types.TEXT, "name"),
        RecordField("page_type", types.code(PAGE_TYPES), "type", "type"),
        *same_names(types.TEXT, "link", "description", "meta_keywords", "meta_description", "page_title"),
        RecordField("seo_name", types.TEXT, "slug", "slug"),
        RecordField("position", types.INTEGER, "position", "position"),
        RecordField("status", types.code(PAGE_STATUSES), "status", "status"),
        RecordField("timestamp", types.UNIX_TIME, filter_name="created_at"),
        _LANG_CODE,
        RecordField("company_id", types.ID, "vendor_id", "vendor_id"),
    ),
    required=("page",),
    message_terms={"parent": "parent_id", "vendor": "company_id"},
    filters=(SEARCH,),
    sorts=dict(position="POSITION", page="NAME", name="NAME", status="STATUS", timestamp="CREATED_AT", page_id="ID"),
    always_has_search=True,
)

BLOCKS = Resource(
    path="blocks",
    privilege_area="content",
    fields=(
        id_field("block_id"),
        *same_names(types.TEXT, "type", "name"),
        RecordField("properties", types.OBJECT, "properties"),
        RecordField("content", types.OBJECT, "content"),
        RecordField("status", _SWITCH_STATUS, "status", "status", cscart_absent="always"),
        _LANG_CODE,
        STORE_OWNED,
    ),
    required=("type", "name"),
    filters=(SEARCH,),
    sorts={"block_id": "ID", "name": "NAME", "type": "TYPE", "status": "STATUS"},
    unwrapped=True,
)
