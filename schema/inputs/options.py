"""Define the inputs of options, combinations, exceptions, attachments and boxes.

Fields are optional: an update leaves omitted fields unchanged; creation validates the required ones.
"""

from __future__ import annotations

import strawberry

from domain.catalog.boxes import BOX_FIELDS
from schema.enums import ExceptionType, ModifierType, OptionType, SwitchStatus
from schema.inputs.catalog import ProductImageInput
from schema.inputs.optional_fields import input_type, optional_copies, optional_field
from schema.scalars import ID, BigInt
from schema.types.options import ProductBoxObject


@input_type
class OptionVariantInput:
    """A value of an option. `name` is required for a new value."""

    id: ID | None = optional_field("The existing variant to keep; omitted, the variant is matched by name or created.")
    name: str | None = optional_field("The value.")
    modifier: BigInt | None = optional_field(
        "The price modifier: cents (`A`), or hundredths of a percent of the price (`P`)."
    )
    modifier_type: ModifierType | None = optional_field("`A` absolute, `P` percentage.")
    position: int | None = optional_field("The sort position among the values.")
    image_url: str | None = optional_field("The image URL; empty removes the image.")
    image_alt: str | None = optional_field("The alternative text of the image.")


@input_type
class VariantPictureInput:
    """An image of a variant."""

    variant: ID = strawberry.field(description="The variant ID, or its index starting at 0.")
    url: str = strawberry.field(description="The URL, http or https.")


@input_type
class OptionInput:
    """A product option. `name` is required on creation."""

    name: str | None = optional_field("The name.")
    type: OptionType | None = optional_field("The type code; `S` by default.")
    product_id: ID | None = optional_field(
        "The product that owns the option; null for an option shared by several products."
    )
    product_ids: list[ID] | None = optional_field("The products that share the option.")
    vendor_id: ID | None = optional_field("The vendor that owns a shared option.")
    required: bool | None = optional_field("Whether the customer must choose a value.")
    inventory: bool | None = optional_field(
        "Whether the option is part of combinations; defaults to true if its type has variants."
    )
    status: SwitchStatus | None = optional_field("The status code.")
    position: int | None = optional_field("The sort position.")
    description: str | None = optional_field("The description shown to customers, as unsanitized HTML.")
    variants: list[OptionVariantInput] | None = optional_field(
        "The complete list of variants; omitted variants are deleted."
    )
    variant_pictures: list[VariantPictureInput] | None = optional_field("The images of variants.", internal=True)


@input_type
class OptionChoiceInput:
    """A chosen variant of an option."""

    option_id: ID = strawberry.field(description="The option.")
    variant_id: ID = strawberry.field(description="The variant.")


@input_type
class CombinationInput:
    """A combination of variants. `product_id` and `choices` are required on creation."""

    product_id: ID | None = optional_field("The product; ignored on update.")
    choices: list[OptionChoiceInput] | None = optional_field("The chosen variants.")
    sku: str | None = optional_field("The combination's SKU, unique within the product.")
    stock: BigInt | None = optional_field(
        "The available stock; units reserved by open orders are added to get the stock on hand."
    )
    price_cents: BigInt | None = optional_field("The amount added to the product's price, in cents; may be negative.")
    position: int | None = optional_field("The sort position.")
    image: ProductImageInput | None = optional_field("The image; null removes it.")
    refused: bool | None = optional_field(
        "Whether the entry can't be parsed: then nothing is created, and the errors of the others are reported.",
        internal=True,
    )


@input_type
class OptionExceptionInput:
    """An option exception. All fields are required on creation."""

    product_id: ID | None = optional_field("The product.")
    type: ExceptionType | None = optional_field("`F` forbidden, `A` allowed.")
    choices: list[OptionChoiceInput] | None = optional_field("The chosen variants.")


@input_type
class AttachmentInput:
    """A file attached to a product. `product_id`, `filename` and `url` are required on creation."""

    product_id: ID | None = optional_field("The product; ignored on update.")
    description: str | None = optional_field("The description.")
    filename: str | None = optional_field("The file name.")
    url: str | None = optional_field("The URL, http or https.")
    filesize: BigInt | None = optional_field("The file size in bytes.")
    position: int | None = optional_field("The sort position.")
    status: SwitchStatus | None = optional_field("The status code.")


@input_type
@optional_copies(ProductBoxObject, BOX_FIELDS)
class ProductBoxInput:
    """A packaging box. `name` is required on creation. Measures in millimetres, weights in grams."""


@input_type
class BoxDescriptionInput:
    """The localized description of a box. `box_id` is required on creation."""

    box_id: ID | None = optional_field("The box; ignored on update.")
    lang_code: str | None = optional_field("The language code; defaults to `pt`.")
    title: str | None = optional_field("The title.")
    full_description: str | None = optional_field("The description as unsanitized HTML.")
    meta_keywords: str | None = optional_field("Keywords for search engines.")
    meta_description: str | None = optional_field("The description for search engines.")
