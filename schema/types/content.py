"""Define languages, language variables, pages and blocks."""

from __future__ import annotations

from domain.content.blocks import BLOCK_FIELDS
from domain.content.read import BLOCKS, LANGUAGE_VARIABLES, LANGUAGES, PAGES, STATUS_OR_HIDDEN
from kernel.product_fields import SEO_FIELDS
from models.reading.queries import ToOne
from schema.enums import PageType, SwitchStatus, TextDirection
from schema.fields import column, computed, entity_type, legacy_number, referenced, relation
from schema.inputs import input_type, optional_copies, optional_field
from schema.scalars import ID, JSON, BigInt, DateTime
from schema.types.descriptions import description_text
from schema.types.marketplace import VendorObject
from schema.types.media import ImageInput, ImageObject, image_relation
from schema.types.seo import with_seo
from schema.unset import Unset


@entity_type(LANGUAGES, "Language", key="lang_id", times="updated_at")
class LanguageObject:
    """A language of the store."""

    code: str = column(description="The language code, such as `pt`.")
    name: str = column(description="The language's own name.")
    country_code: str = column(description="The country code, ISO 3166; empty if not set.", unset=Unset.LATER)
    direction: TextDirection = column(description="The direction of the script.")
    status: SwitchStatus = column(description="The status code.")
    created_at: DateTime = column(description="When the language was added.")


@entity_type(LANGUAGE_VARIABLES, "LanguageVariable", key="langvar_id", times="created_at updated_at")
class LanguageVariableObject:
    """A text of the storefronts, by name and language."""

    name: str = column(description="The name, unique in its language.")
    value: str = column(description="The text.")
    lang_code: str = column(description="The language code.")


@entity_type(PAGES, "Page", key="page_id", times="created_at updated_at created_unix")
@with_seo("meta_keywords", "meta_description")
class PageObject:
    """A content page."""

    name: str = column(description="The title.")
    slug: str = column(description="The URL slug, unique in the store.")
    type: PageType = column(description="The type.")
    link: str = column(description="The target URL of a page of type `L`.", unset=Unset.LATER)
    description: str = column(description="The content as unsanitized HTML.")
    description_text: str = description_text()
    seo_title: str = column(description="The title for search engines.", deprecated="Use `page_title`.")
    position: int = column(description="The sort position among sibling pages.")
    status: SwitchStatus = column(description="The status code.")
    hidden: bool = column(
        description="Whether lists for shoppers leave it out; they open it by its ID or slug while it is active."
    )
    status_or_hidden: str = computed(STATUS_OR_HIDDEN, "The status, or `H` of a hidden page.", internal=True)
    lang_code: str = column(description="The language code.")
    parent_id: ID | None = column(referenced("pages", "parent_id"), "The parent page.")
    parent: PageObject | None = relation(ToOne("parent_id"), "The parent page; null for a page at the top level.")
    parent_number: BigInt = legacy_number("parent_id", "the parent page")
    vendor: VendorObject | None = relation(ToOne("vendor_id"), "The vendor that owns the page.")
    vendor_number: BigInt = legacy_number("vendor_id", "the owning vendor")
    image: ImageObject | None = image_relation("pages")


@entity_type(BLOCKS, "Block", key="block_id", times="created_at updated_at")
class BlockObject:
    """A layout block of the storefront."""

    type: str = column(description="The block type, an arbitrary identifier.")
    name: str = column(description="The name.")
    properties: JSON = column(description="How it looks and behaves, an object.")
    content: JSON = column(description="The content, a JSON object.")
    status: SwitchStatus = column(description="The status code.")
    lang_code: str = column(description="The language code.")


@input_type
@optional_copies(LanguageObject, "code name country_code direction status")
class LanguageInput:
    """A language. `code` and `name` are required on creation."""

    country_code: str | None = optional_field("The country code, ISO 3166.")
    direction: TextDirection | None = optional_field("The direction of its script.", text_internally=True)
    variables_from: str | None = optional_field(
        "Of a new language: the code of the one whose language variables it gets; empty for the store's first."
    )


@input_type
class LanguageVariableInput:
    """A language variable. `name` is required on creation."""

    name: str | None = optional_field("The name, unique in its language.")
    value: str | None = optional_field("The text.")
    lang_code: str | None = optional_field("The language code; defaults to the store's first language.")


_PAGE_FIELDS = "name slug type link description seo_title position status hidden"


@input_type
@optional_copies(PageObject, (*_PAGE_FIELDS.split(), *SEO_FIELDS))
class PageInput:
    """A content page. `name` is required on creation."""

    slug: str | None = optional_field("The URL slug; derived from the title if empty, a taken one gets a suffix.")
    type: PageType | None = optional_field("The type code.", text_internally=True)
    seo_title: str | None = optional_field("The title for search engines.", deprecated="Use `page_title`.")
    description: str | None = optional_field("The content, HTML.")
    lang_code: str | None = optional_field("The language code; defaults to the store's first language.")
    parent_id: ID | None = optional_field("The parent page; null or 0 for none.")
    image: ImageInput | None = optional_field("The image; null removes it.")
    vendor_id: ID | None = optional_field("The vendor that owns the page.")


@input_type
@optional_copies(BlockObject, BLOCK_FIELDS)
class BlockInput:
    """A layout block. `type` and `name` are required on creation."""

    lang_code: str | None = optional_field("The language code; defaults to the store's first language.")
