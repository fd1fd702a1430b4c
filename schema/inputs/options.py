"""Define what is given to change options, combinations, exceptions, attachments and boxes.

Every field is optional: an update changes what it names, creation asks for what it needs.
"""

from __future__ import annotations

import strawberry

from schema.inputs.catalog import ProductImageInput
from schema.inputs.given import given_field
from schema.scalars import BigInt, ExceptionType, Ident, ModifierType, OptionType, SwitchStatus


@strawberry.input(description="A value of an option. A new one needs `name`.")
class OptionVariantInput:
    """Fields of a variant."""

    id: Ident | None = given_field("The variant that remains; without it, the one of that name or a new one.")
    name: str | None = given_field("The value.")
    modifier: BigInt | None = given_field(
        "What it adds to the price: cents (`A`), or hundredths of a percent of the price (`P`)."
    )
    modifier_type: ModifierType | None = given_field("`A` absolute, `P` percentage.")
    position: int | None = given_field("Its place among the values.")
    image_url: str | None = given_field("A link to a picture; empty takes it away.")
    image_alt: str | None = given_field("What the picture shows.")


@strawberry.input(description="A picture of a variant.")
class VariantPictureInput:
    """One picture."""

    variant: Ident = strawberry.field(description="The variant, or its place from 0.")
    url: str = strawberry.field(description="Where it lies: http or https.")


@strawberry.input(description="An option. Creation needs `name`.")
class OptionInput:
    """Fields of an option."""

    name: str | None = given_field("The name.")
    type: OptionType | None = given_field("The type letter, `S` unless said.")
    product_id: Ident | None = given_field("The product it belongs to; null when several share it.")
    product_ids: list[Ident] | None = given_field("The products that offer it, when several share it.")
    vendor_id: Ident | None = given_field("The vendor a shared one belongs to.")
    required: bool | None = given_field("Whether it has to be chosen.")
    inventory: bool | None = given_field(
        "Whether it takes part in combinations; unless said it does, where its type has variants."
    )
    status: SwitchStatus | None = given_field("The status letter.")
    position: int | None = given_field("Its place.")
    description: str | None = given_field("What buyers are told about it, HTML as given.")
    variants: list[OptionVariantInput] | None = given_field(
        "Every variant that is to remain; those left out are deleted."
    )
    variant_pictures: list[VariantPictureInput] | None = given_field("Pictures of variants.", internal=True)


@strawberry.input(description="A variant chosen of an option.")
class OptionChoiceInput:
    """One choice."""

    option_id: Ident = strawberry.field(description="The option.")
    variant_id: Ident = strawberry.field(description="The variant.")


@strawberry.input(description="A combination. Creation needs `product_id` and `choices`.")
class CombinationInput:
    """Fields of a combination."""

    product_id: Ident | None = given_field("The product; it stays on an update.")
    choices: list[OptionChoiceInput] | None = given_field("What is chosen.")
    sku: str | None = given_field("Its own stock-keeping unit, unique within the product.")
    stock: BigInt | None = given_field(
        "What can be sold; what open orders reserved is added to what is on hand."
    )
    price_cents: BigInt | None = given_field(
        "What it adds to the product's price, in cents; may be below zero."
    )
    position: int | None = given_field("Its place.")
    image: ProductImageInput | None = given_field("A picture of it; null takes it away.")


@strawberry.input(description="An exception. Creation needs all of it.")
class OptionExceptionInput:
    """Fields of an exception."""

    product_id: Ident | None = given_field("The product.")
    type: ExceptionType | None = given_field("`F` forbidden, `A` allowed.")
    choices: list[OptionChoiceInput] | None = given_field("What is chosen.")


@strawberry.input(
    description="A file that goes with a product. Creation needs `product_id`, `filename` and `url`."
)
class AttachmentInput:
    """Fields of an attachment."""

    product_id: Ident | None = given_field("The product; it stays on an update.")
    description: str | None = given_field("What it is.")
    filename: str | None = given_field("The file's name.")
    url: str | None = given_field("Where it lies: http or https.")
    filesize: BigInt | None = given_field("Its size in bytes.")
    position: int | None = given_field("Its place.")
    status: SwitchStatus | None = given_field("The status letter.")


@strawberry.input(description="A box. Creation needs `name`. Measures in millimetres, weights in grams.")
class ProductBoxInput:
    """Fields of a box."""

    name: str | None = given_field("The name.")
    height_mm: BigInt | None = given_field("Inner height.")
    width_mm: BigInt | None = given_field("Inner width.")
    length_mm: BigInt | None = given_field("Inner length.")
    weight_grams: BigInt | None = given_field("What it weighs empty.")
    max_weight_grams: BigInt | None = given_field("The most it carries, 0 for any.")
    status: SwitchStatus | None = given_field("The status letter.")
    position: int | None = given_field("Its place.")


@strawberry.input(description="What is said of a box in one language. Creation needs `box_id`.")
class BoxDescriptionInput:
    """Fields of a description."""

    box_id: Ident | None = given_field("The box; it stays on an update.")
    lang_code: str | None = given_field("The language's code, `pt` unless said.")
    title: str | None = given_field("The title.")
    full_description: str | None = given_field("The description, HTML as given.")
    meta_keywords: str | None = given_field("Keywords for search engines.")
    meta_description: str | None = given_field("The description for search engines.")
