"""Describe languages, pages and blocks."""

from __future__ import annotations

from dataclasses import replace

from kernel.letters import PAGE_LETTERS, PAGE_TYPE_LETTERS, SWITCH_LETTERS
from rest_facade.legacy.kinds import ID, OBJECT, SMALL_NUMBER, TEXT, UNIX, letter
from rest_facade.legacy.resource import Field, Filter, Resource, id_field

_SWITCH = letter(SWITCH_LETTERS)
_SEARCH = Filter("q", "search", TEXT, many=False)
_LANG_CODE = Field("lang_code", replace(TEXT, seek=str.lower), "lang_code", "lang_code")

LANGUAGES = Resource(
    path="languages",
    key="lang_code",
    thing="language",
    area="content",
    operations="Language",
    does=("list", "show"),
    fields=(
        id_field("lang_id"),
        Field("lang_code", replace(TEXT, seek=str.lower), filters="code"),
        Field("name", TEXT, filters="name"),
        Field("country_code", TEXT, filters="country_code"),
        Field("direction", TEXT, filters="direction"),
        Field("status", _SWITCH, filters="status"),
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
        Field("parent_id", ID, "parent_id", "parent_id"),
        # The list's own `page` is its number (decisions-legacy section 2, Filter), so the title is sought by `q`.
        Field("page", TEXT, "name"),
        Field("page_type", letter(PAGE_TYPE_LETTERS), "type", "type"),
        Field("link", TEXT, "link", "link"),
        Field("description", TEXT, "description", "description"),
        Field("meta_keywords", TEXT, "meta_keywords", "meta_keywords"),
        Field("meta_description", TEXT, "meta_description", "meta_description"),
        Field("page_title", TEXT, "seo_title", "seo_title"),
        Field("position", SMALL_NUMBER, "position", "position"),
        Field("status", letter(PAGE_LETTERS), "status", "status"),
        Field("timestamp", UNIX, filters="created_at"),
        _LANG_CODE,
        Field("company_id", ID, "vendor_id", "vendor_id"),
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
        Field("type", TEXT, "type", "type"),
        Field("name", TEXT, "name", "name"),
        Field("properties", OBJECT, "properties"),
        Field("content", OBJECT, "content"),
        Field("status", _SWITCH, "status", "status"),
        _LANG_CODE,
    ),
    required={"type": "type is required", "name": "name is required"},
    filters=(_SEARCH,),
    sorts={"block_id": "ID", "name": "NAME", "type": "TYPE", "status": "STATUS"},
    default_sort=("block_id", "asc"),
    bare=True,
)
