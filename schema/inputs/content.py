"""Define the inputs of languages, language variables, pages and blocks."""

from __future__ import annotations

from domain.content.blocks import BLOCK_FIELDS
from schema.enums import PageType, SwitchStatus, TextDirection
from schema.inputs.optional_fields import input_type, optional_copies, optional_field
from schema.scalars import ID
from schema.types.content import BlockObject


@input_type
class LanguageInput:
    """A language. `code` and `name` are required on creation."""

    code: str | None = optional_field("The language code, such as `pt`.")
    name: str | None = optional_field("The language's own name.")
    country_code: str | None = optional_field("The country code, ISO 3166.")
    direction: TextDirection | None = optional_field("The direction of its script.", text_internally=True)
    status: SwitchStatus | None = optional_field("The status code.")


@input_type
class LanguageVariableInput:
    """A language variable. `name` is required on creation."""

    name: str | None = optional_field("The name, unique in its language.")
    value: str | None = optional_field("The text.")
    lang_code: str | None = optional_field("The language code; defaults to the store's first language.")


@input_type
class PageInput:
    """A content page. `name` is required on creation."""

    name: str | None = optional_field("The title.")
    slug: str | None = optional_field("The URL slug; derived from the title if empty, a taken one gets a suffix.")
    type: PageType | None = optional_field("The type code.", text_internally=True)
    link: str | None = optional_field("The target URL of a page of type `L`.")
    description: str | None = optional_field("The content, HTML.")
    meta_keywords: str | None = optional_field("Keywords for search engines.")
    meta_description: str | None = optional_field("The description for search engines.")
    seo_title: str | None = optional_field("The title for search engines.")
    position: int | None = optional_field("The sort position among sibling pages.")
    status: SwitchStatus | None = optional_field("The status code.")
    lang_code: str | None = optional_field("The language code; defaults to the store's first language.")
    parent_id: ID | None = optional_field("The parent page; null or 0 for none.")
    vendor_id: ID | None = optional_field("The vendor that owns the page.")


@input_type
@optional_copies(BlockObject, BLOCK_FIELDS)
class BlockInput:
    """A layout block. `type` and `name` are required on creation."""

    lang_code: str | None = optional_field("The language code; defaults to the store's first language.")
