"""Define languages, pages and blocks."""

from __future__ import annotations

from domain.content.read import BLOCKS, LANGUAGES, PAGES
from models.reading import ToOne
from schema.fields import column, entity, relation
from schema.scalars import BigInt, Ident, Json, SwitchStatus, Time
from schema.types.marketplace import VendorObject

_UNIX = "floor(extract(epoch from t.created_at))::bigint"


@entity(LANGUAGES, "Language", "A language of the shop.")
class LanguageObject:
    """A row of `languages`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`lang_id`).", internal=True)
    code: str = column(description="The code, such as `pt`.")
    name: str = column(description="What it calls itself.")
    country_code: str = column(description="The country it is spoken in, ISO 3166; empty for none.")
    direction: str = column(description="`ltr` or `rtl`.")
    status: SwitchStatus = column(description="The status letter.")
    created_at: Time = column(description="When it was added.")
    updated_at: Time = column(description="When it was last changed.")


@entity(PAGES, "Page", "A page beside the goods.")
class PageObject:
    """A row of `pages`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`page_id`).", internal=True)
    name: str = column(description="The title.")
    type: str = column(description="`T` text, `L` link, `F` form, `B` blog.")
    link: str = column(description="Where a page of type `L` leads.")
    description: str = column(description="The text, HTML as it was given.")
    meta_keywords: str = column(description="Key words for search engines.")
    meta_description: str = column(description="The description for search engines.")
    seo_title: str = column(description="The title for search engines.")
    position: int = column(description="Its place among its neighbours.")
    status: SwitchStatus = column(description="The status letter.")
    lang_code: str = column(description="The language it is written in.")
    parent_id: Ident | None = column(
        "(SELECT p.public_id FROM pages p WHERE p.tenant_id = t.tenant_id AND p.id = t.parent_id)",
        "The page it stands below.",
    )
    parent_number: BigInt = column(
        "coalesce(t.parent_id, 0)", "The legacy number of the page it stands below, or 0.", internal=True
    )
    vendor: VendorObject | None = relation(ToOne("vendor_id"), "The vendor whose page it is.")
    vendor_number: BigInt = column(
        "coalesce(t.vendor_id, 0)", "The legacy number of the vendor whose page it is, or 0.", internal=True
    )
    created_at: Time = column(description="When it was made.")
    updated_at: Time = column(description="When it was last changed.")
    created_unix: BigInt = column(_UNIX, "Unix seconds of creation.", internal=True)


@entity(BLOCKS, "Block", "A piece of the shop's layout.")
class BlockObject:
    """A row of `blocks`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`block_id`).", internal=True)
    type: str = column(description="What kind of block it is, any word.")
    name: str = column(description="The name.")
    properties: Json = column(description="How it looks and behaves, an object.")
    content: Json = column(description="What it holds, an object.")
    status: SwitchStatus = column(description="The status letter.")
    lang_code: str = column(description="The language it is written in.")
    created_at: Time = column(description="When it was made.")
    updated_at: Time = column(description="When it was last changed.")
