"""Define what is given to change languages, pages and blocks."""

from __future__ import annotations

import strawberry

from schema.inputs.given import given_field
from schema.scalars import Ident, Json, SwitchStatus


@strawberry.input(description="A language. Creation needs `code` and `name`.")
class LanguageInput:
    """Fields of a language."""

    code: str | None = given_field("The code, such as `pt`.")
    name: str | None = given_field("What it calls itself.")
    country_code: str | None = given_field("The country it is spoken in, ISO 3166.")
    direction: str | None = given_field("`ltr` or `rtl`.")
    status: SwitchStatus | None = given_field("The status letter.")


@strawberry.input(description="A page. Creation needs `name`.")
class PageInput:
    """Fields of a page."""

    name: str | None = given_field("The title.")
    type: str | None = given_field("`T` text, `L` link, `F` form, `B` blog.")
    link: str | None = given_field("Where a page of type `L` leads.")
    description: str | None = given_field("The text, HTML.")
    meta_keywords: str | None = given_field("Key words for search engines.")
    meta_description: str | None = given_field("The description for search engines.")
    seo_title: str | None = given_field("The title for search engines.")
    position: int | None = given_field("Its place among its neighbours.")
    status: SwitchStatus | None = given_field("The status letter.")
    lang_code: str | None = given_field("The language it is written in; the store's first unless given.")
    parent_id: Ident | None = given_field("The page it stands below; null or 0 for none.")
    vendor_id: Ident | None = given_field("The vendor whose page it is.")


@strawberry.input(description="A block. Creation needs `type` and `name`.")
class BlockInput:
    """Fields of a block."""

    type: str | None = given_field("What kind of block it is, any word.")
    name: str | None = given_field("The name.")
    properties: Json | None = given_field("How it looks and behaves, an object.")
    content: Json | None = given_field("What it holds, an object.")
    status: SwitchStatus | None = given_field("The status letter.")
    lang_code: str | None = given_field("The language it is written in; the store's first unless given.")
