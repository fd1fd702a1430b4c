"""Describe languages, language variables, pages and blocks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernel.codes import PAGE_STATUSES, PAGE_TYPES, SWITCH_STATUSES, CodeTable
from kernel.json_schema import enum, nullable
from rest_facade.legacy import value_types as types
from rest_facade.legacy.reshape import is_cscart
from rest_facade.legacy.resource import (
    IN_CSCART,
    LANG_CODE,
    LANGUAGE,
    SEARCH,
    STORE_OWNED,
    NestedList,
    RecordField,
    Resource,
    id_field,
    same_names,
    split_ids,
)

_SWITCH_STATUS = types.code(SWITCH_STATUSES)

_HIDDEN = "H"
_PAGE_CODE = replace(
    types.code(CodeTable("status", {**PAGE_STATUSES.labels, _HIDDEN: ("hidden",)})),
    schema=enum((*PAGE_STATUSES.codes, _HIDDEN)),
    body_schema=nullable(enum((*PAGE_STATUSES.codes, _HIDDEN))),
)


def _parse_page_code(value: Any, label: str) -> str:
    assert _PAGE_CODE.parse is not None
    code: str = _PAGE_CODE.parse(value, label)
    return code


def _parse_page_status(value: Any, label: str) -> str:
    """Parse the status of a page; a hidden one is active."""
    code = _parse_page_code(value, label)
    return "A" if code == _HIDDEN else code


# The other dialect doesn't know hidden pages.
_PAGE_STATUS = RecordField(
    "status",
    replace(types.code(PAGE_STATUSES), render=lambda code: "A" if code == _HIDDEN else code, schema=_PAGE_CODE.schema),
    "status",
    "status",
    source="status_or_hidden",
    cscart_filter="status_or_hidden",
    cscart_type=replace(_PAGE_CODE, parse=_parse_page_status, render=str),
)
_IS_PAGE_HIDDEN = RecordField(
    "status",
    replace(_PAGE_CODE, parse=lambda value, label: _parse_page_code(value, label) == _HIDDEN),
    "hidden",
    permission=IN_CSCART,
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
    results=dict.fromkeys(("create", "update"), "langvar_id: number name"),
    fields=(id_field("langvar_id"), *same_names(types.TEXT, "name", "value"), LANG_CODE),
    required=("name",),
    filters=(SEARCH, LANGUAGE),
    sorts={"name": "NAME", "lang_code": "LANG_CODE", "langvar_id": "ID"},
    lookup_parameters=("lang_code",),
    language_field="lang_code",
    cscart_variables={"update": {"creates": True}, "delete": {"in_all": True}},
    cscart_answer=("name",),
)

LANGUAGES = Resource(
    path="languages",
    key="lang_code",
    privilege_area="content",
    root_fields={"show": "language_named"},
    results=dict.fromkeys(("create", "update"), "lang_id: number"),
    actions=("list", "show"),
    cscart_actions=("create", "update", "delete"),
    fields=(
        id_field("lang_id"),
        replace(LANG_CODE, input_path="code", filter_name="code"),
        *same_names(types.TEXT, "name", "country_code", "direction"),
        RecordField("status", types.HIDDEN_AS_DISABLED, "status", "status"),
    ),
    input_fields=(RecordField("from_lang_code", types.TEXT, "variables_from"),),
    required=("lang_code", "name"),
    cscart_defaults={"from_lang_code": ""},
    language_field="from_lang_code",
    filters=(SEARCH,),
    sorts={"lang_id": "ID", "lang_code": "CODE", "name": "NAME", "status": "STATUS"},
    always_keyed=True,
    subroutes=(NestedList("langvars", "LanguageVariablesOfLanguage", LANGUAGE_VARIABLES, parent_filter="language"),),
)

PAGES = Resource(
    path="pages",
    privilege_area="content",
    texts=("page", "link", "description", "meta_keywords", "meta_description", "page_title", "seo_name"),
    fields=(
        id_field("page_id"),
        RecordField("parent_id", types.ID, "parent_id", "parent_id", cscart_type=types.PARENT_ID),
        # `page` is the pagination parameter, so titles are searched with `q` (docs/reference/legacy.md#filters).
        RecordField("page", types.TEXT, "name"),
        RecordField("page_type", types.code(PAGE_TYPES), "type", "type"),
        *same_names(types.TEXT, "link", "description", "meta_keywords", "meta_description", "page_title"),
        RecordField("seo_name", types.TEXT, "slug", "slug"),
        RecordField("position", types.INTEGER, "position", "position"),
        _PAGE_STATUS,
        RecordField("timestamp", types.UNIX_TIME, filter_name="created_at"),
        LANG_CODE,
        RecordField("company_id", types.ID, "vendor_id", "vendor_id"),
    ),
    input_fields=(_IS_PAGE_HIDDEN,),
    permissions={IN_CSCART: is_cscart},
    required=("page",),
    message_terms={"parent": "parent_id", "vendor": "company_id"},
    filters=(SEARCH, LANGUAGE, split_ids("item_ids", "id")),
    language_field="lang_code",
    sorts=dict(position="POSITION", page="NAME", name="NAME", status="STATUS", timestamp="CREATED_AT", page_id="ID"),
    always_has_search=True,
)

BLOCKS = Resource(
    path="blocks",
    privilege_area="content",
    texts=("name", "content"),
    fields=(
        id_field("block_id"),
        *same_names(types.TEXT, "type", "name"),
        RecordField("properties", types.OBJECT, "properties"),
        RecordField("content", types.OBJECT, "content"),
        RecordField("status", _SWITCH_STATUS, "status", "status", cscart_absent="always"),
        LANG_CODE,
        STORE_OWNED,
    ),
    required=("type", "name"),
    filters=(SEARCH, LANGUAGE),
    language_field="lang_code",
    sorts={"block_id": "ID", "name": "NAME", "type": "TYPE", "status": "STATUS"},
    unwrapped=True,
)
