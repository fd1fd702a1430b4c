"""Define the inputs of options, combinations, exceptions, attachments and boxes.

Fields are optional: an update leaves omitted fields unchanged; creation validates the required ones.
"""

from __future__ import annotations

import strawberry

from schema.enums import ExceptionType, ModifierType, OptionType, SwitchStatus
from schema.inputs.catalog import ProductImageInput
from schema.inputs.optional_fields import optional_field
from schema.scalars import ID, BigInt


@strawberry.input(description="A value of an option. `name` is required for a new value.")
class OptionVariantInput:
    """Fields of a variant."""

    id: ID | None = optional_field("The existing variant to keep; omitted, the variant is matched by name or created.")
    name: str | None = optional_field("The value.")
    modifier: BigInt | None = optional_field(
        "The price modifier: cents (`A`), or hundredths of a percent of the price (`P`)."
    )
    modifier_type: ModifierType | None = optional_field("`A` absolute, `P` percentage.")
    position: int | None = optional_field("The sort position among the values.")
    image_url: str | None = optional_field("The image URL; empty removes the image.")
    image_alt: str | None = optional_field("The alternative text of the image.")


@strawberry.input(description="An image of a variant.")
class VariantPictureInput:
    """Fields of a variant image."""

    variant: ID = strawberry.field(description="The variant ID, or its index starting at 0.")
    url: str = strawberry.field(description="The URL, http or https.")


@strawberry.input(description="A product option. `name` is required on creation.")
class OptionInput:
    """Fields of an option."""

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


@strawberry.input(description="A chosen variant of an option.")
class OptionChoiceInput:
    """An option and the chosen variant."""

    option_id: ID = strawberry.field(description="The option.")
    variant_id: ID = strawberry.field(description="The variant.")


@strawberry.input(description="A combination of variants. `product_id` and `choices` are required on creation.")
class CombinationInput:
    """Fields of a combination."""

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


@strawberry.input(description="An option exception. All fields are required on creation.")
class OptionExceptionInput:
    """Fields of an exception."""

    product_id: ID | None = optional_field("The product.")
    type: ExceptionType | None = optional_field("`F` forbidden, `A` allowed.")
    choices: list[OptionChoiceInput] | None = optional_field("The chosen variants.")


@strawberry.input(
    description="A file attached to a product. `product_id`, `filename` and `url` are required on creation."
)
class AttachmentInput:
    """Fields of an attachment."""

    product_id: ID | None = optional_field("The product; ignored on update.")
    description: str | None = optional_field("The description.")
    filename: str | None = optional_field("The file name.")
    url: str | None = optional_field("The URL, http or https.")
    filesize: BigInt | None = optional_field("The file size in bytes.")
    position: int | None = optional_field("The sort position.")
    status: SwitchStatus | None = optional_field("The status code.")


@strawberry.input(
    description="A packaging box. `name` is required on creation. Measures in millimetres, weights in grams."
)
class ProductBoxInput:
    """Fields of a box."""

    name: str | None = optional_field("The name.")
    height_mm: BigInt | None = optional_field("The inner height, in millimetres.")
    width_mm: BigInt | None = optional_field("The inner width, in millimetres.")
    length_mm: BigInt | None = optional_field("The inner length, in millimetres.")
    weight_grams: BigInt | None = optional_field("The weight of the empty box, in grams.")
    max_weight_grams: BigInt | None = optional_field("The maximum content weight, in grams; 0 for no limit.")
    status: SwitchStatus | None = optional_field("The status code.")
    position: int | None = optional_field("The sort position.")


@strawberry.input(description="The localized description of a box. `box_id` is required on creation.")
class BoxDescriptionInput:
    """Fields of a description."""

    box_id: ID | None = optional_field("The box; ignored on update.")
    lang_code: str | None = optional_field("The language code; defaults to `pt`.")
    title: str | None = optional_field("The title.")
    full_description: str | None = optional_field("The description as unsanitized HTML.")
    meta_keywords: str | None = optional_field("Keywords for search engines.")
    meta_description: str | None = optional_field("The description for search engines.")
