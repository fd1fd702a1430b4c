"""Define options, combinations, exceptions, attachments and boxes."""

from __future__ import annotations

from auth.access import Access
from domain.catalog.read_options import (
    ATTACHMENTS,
    BOX_DESCRIPTIONS,
    BOXES,
    COMBINATION_CHOICES,
    COMBINATIONS,
    EXCEPTION_CHOICES,
    OPTION_EXCEPTIONS,
    OPTION_VARIANTS,
    OPTIONS,
)
from models.reading import ToMany
from schema.fields import column, entity, relation
from schema.scalars import BigInt, ExceptionType, Ident, Json, ModifierType, OptionType, SwitchStatus, Time

_STOCKKEEPERS = Access(privileges=("view_catalog", "view_products"), app_scope="read_products", vendor=True)


def _public(table: str, key: str) -> str:
    return f"(SELECT x.public_id FROM {table} x WHERE x.tenant_id = t.tenant_id AND x.id = t.{key})"


def _name(table: str, key: str) -> str:
    return f"(SELECT x.name FROM {table} x WHERE x.tenant_id = t.tenant_id AND x.id = t.{key})"


def _numbers(table: str, key: str) -> str:
    return (
        "(SELECT coalesce(jsonb_object_agg(k.option_id::text, k.variant_id::text), '{}')"
        f" FROM {table} k WHERE k.tenant_id = t.tenant_id AND k.{key} = t.id)"
    )


@entity(OPTION_VARIANTS, "OptionVariant", "A value of an option.")
class OptionVariantObject:
    """A row of `option_variants`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`variant_id`).", internal=True)
    name: str = column(description="The value.")
    modifier: BigInt = column(
        description="What it adds to the price: cents (`A`), or hundredths of a percent of the price (`P`)."
    )
    modifier_type: ModifierType = column(description="`A` absolute, `P` percentage.")
    position: int = column(description="Its place among the values.")
    image_url: str = column(description="A link to a picture of it; empty when there is none.")
    image_alt: str = column(description="What the picture shows.")


@entity(OPTIONS, "Option", "Something that buyers choose of a product.")
class OptionObject:
    """A row of `options`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`option_id`).", internal=True)
    name: str = column(description="The name.")
    type: OptionType = column(description="The type letter.")
    required: bool = column(description="Whether it has to be chosen.")
    inventory: bool = column(description="Whether it takes part in combinations.")
    status: SwitchStatus = column(description="The status letter.")
    position: int = column(description="Its place.")
    description: str = column(description="What buyers are told about it, HTML as given.")
    product_id: Ident | None = column(
        _public("products", "product_id"), "The product it belongs to; null when several share it."
    )
    product_number: BigInt = column(
        "coalesce(t.product_id, 0)",
        "The legacy number of its product, 0 when several share it.",
        internal=True,
    )
    vendor_id: Ident | None = column(_public("vendors", "vendor_id"), "The vendor it belongs to.")
    vendor_number: BigInt = column(
        "coalesce(t.vendor_id, 0)", "The legacy number of its vendor, or 0.", internal=True
    )
    variants: list[OptionVariantObject] = relation(ToMany("t.option_id", "t.position, t.id"), "Its values.")
    created_at: Time = column(description="When it was made.")
    updated_at: Time = column(description="When it was last changed.")


@entity(COMBINATION_CHOICES, "CombinationChoice", "One variant of a combination.")
class CombinationChoiceObject:
    """A row of `combination_choices`."""

    option_id: Ident = column(_public("options", "option_id"), "The option.")
    option_name: str = column(_name("options", "option_id"), "The option's name.")
    variant_id: Ident = column(_public("option_variants", "variant_id"), "The variant.")
    variant_name: str = column(_name("option_variants", "variant_id"), "The variant's name.")


@entity(
    COMBINATIONS, "Combination", "Variants kept in store together, with a stock and a price of their own."
)
class CombinationObject:
    """A row of `combinations`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`combination_id`).", internal=True)
    product_id: Ident = column(_public("products", "product_id"), "The product.")
    product_number: BigInt = column("product_id", "The legacy number of the product.", internal=True)
    hash: str = column(description="Legacy numbers of options and variants, joined by `_`.", internal=True)
    sku: str = column(description="Its own stock-keeping unit, empty when there is none.")
    price_cents: BigInt = column(
        description="What it adds to the product's price, in cents; may be below zero."
    )
    stock: BigInt = column(description="What can still be sold: on hand less reserved.")
    on_hand: BigInt | None = column(
        description="What lies in store, reserved units included.", guard=_STOCKKEEPERS
    )
    reserved: BigInt | None = column(description="What open orders have reserved.", guard=_STOCKKEEPERS)
    position: int = column(description="Its place.")
    image_url: str = column(description="A link to a picture of it; empty when there is none.")
    image_alt: str = column(description="What the picture shows.")
    image_width: int = column(description="Pixels, 0 when unknown.")
    image_height: int = column(description="Pixels, 0 when unknown.")
    choices: list[CombinationChoiceObject] = relation(
        ToMany("t.combination_id", "t.option_id, t.id"), "What is chosen."
    )
    choice_numbers: Json = column(
        _numbers("combination_choices", "combination_id"),
        "Legacy numbers of options and their variants.",
        internal=True,
    )
    created_at: Time = column(description="When it was made.")
    updated_at: Time = column(description="When it was last changed.")


@entity(EXCEPTION_CHOICES, "ExceptionChoice", "One variant of an exception.")
class ExceptionChoiceObject:
    """A row of `exception_choices`."""

    option_id: Ident = column(_public("options", "option_id"), "The option.")
    option_name: str = column(_name("options", "option_id"), "The option's name.")
    variant_id: Ident = column(_public("option_variants", "variant_id"), "The variant.")
    variant_name: str = column(_name("option_variants", "variant_id"), "The variant's name.")


@entity(
    OPTION_EXCEPTIONS, "OptionException", "Variants that can't be bought together, or the only ones that can."
)
class OptionExceptionObject:
    """A row of `option_exceptions`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`exception_id`).", internal=True)
    product_id: Ident = column(_public("products", "product_id"), "The product.")
    product_number: BigInt = column("product_id", "The legacy number of the product.", internal=True)
    type: ExceptionType = column(description="`F` forbidden, `A` allowed.")
    choices: list[ExceptionChoiceObject] = relation(
        ToMany("t.exception_id", "t.option_id, t.id"), "What is chosen."
    )
    choice_numbers: Json = column(
        _numbers("exception_choices", "exception_id"),
        "Legacy numbers of options and their variants.",
        internal=True,
    )
    created_at: Time = column(description="When it was made.")


@entity(ATTACHMENTS, "Attachment", "A file that goes with a product.")
class AttachmentObject:
    """A row of `attachments`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`attachment_id`).", internal=True)
    product_id: Ident = column(_public("products", "product_id"), "The product.")
    description: str = column(description="What it is.")
    filename: str = column(description="The file's name.")
    url: str = column(description="Where it lies; it is never fetched by the platform.")
    filesize: BigInt = column(description="Its size in bytes, 0 when unknown.")
    position: int = column(description="Its place.")
    status: SwitchStatus = column(description="The status letter.")
    created_at: Time = column(description="When it was made.")
    updated_at: Time = column(description="When it was last changed.")


@entity(BOX_DESCRIPTIONS, "BoxDescription", "What is said of a box in one language.")
class BoxDescriptionObject:
    """A row of `box_descriptions`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`description_id`).", internal=True)
    box_id: Ident = column(_public("product_boxes", "box_id"), "The box.")
    box_number: BigInt = column("box_id", "The legacy number of the box.", internal=True)
    lang_code: str = column(description="The language's code, such as `pt`.")
    title: str = column(description="The title.")
    full_description: str = column(description="The description, HTML as given.")
    meta_keywords: str = column(description="Keywords for search engines.")
    meta_description: str = column(description="The description for search engines.")


@entity(BOXES, "ProductBox", "A box things are packed in. Measures in millimetres, weights in grams.")
class ProductBoxObject:
    """A row of `product_boxes`."""

    id: Ident = column("public_id", "The UUID.")
    number: BigInt = column("id", "The legacy number (`box_id`).", internal=True)
    name: str = column(description="The name.")
    height_mm: BigInt = column(description="Inner height.")
    width_mm: BigInt = column(description="Inner width.")
    length_mm: BigInt = column(description="Inner length.")
    weight_grams: BigInt = column(description="What it weighs empty.")
    max_weight_grams: BigInt = column(description="The most it carries, 0 for any.")
    status: SwitchStatus = column(description="The status letter.")
    position: int = column(description="Its place.")
    descriptions: list[BoxDescriptionObject] = relation(
        ToMany("t.box_id", "t.lang_code, t.id"), "What is said of it."
    )
    created_at: Time = column(description="When it was made.")
    updated_at: Time = column(description="When it was last changed.")
