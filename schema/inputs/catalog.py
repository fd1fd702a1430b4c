"""Define what is given to change the catalogue.

Every field is optional: an update changes what it names, creation asks for what it needs.
"""

from __future__ import annotations

import strawberry

from schema.inputs.given import given_field
from schema.scalars import BigInt, CategoryStatus, FeatureType, Ident, ProductStatus, SwitchStatus


@strawberry.input(description="A picture of a product.")
class ProductImageInput:
    """One image."""

    url: str = strawberry.field(description="Where the picture lies: http or https.")
    alt: str | None = given_field("What it shows.")
    width: int | None = given_field("Pixels.", internal=True)
    height: int | None = given_field("Pixels.", internal=True)


@strawberry.input(description="What a product has for a feature.")
class FeatureValueInput:
    """One feature value."""

    feature_id: Ident = strawberry.field(description="The feature.")
    type: FeatureType | None = given_field("The feature's type as the sender knows it.", internal=True)
    value: str | None = given_field(
        "A text, a number, a date (YYYY-MM-DD), `Y`/`N`, or the name of a variant."
    )
    variant_id: Ident | None = given_field("A variant, instead of `value`.")


@strawberry.input(description="A product. Creation needs `name` and `price_cents`.")
class ProductInput:
    """Fields of a product."""

    name: str | None = given_field("The name.")
    sku: str | None = given_field("The stock-keeping unit, unique within the vendor.")
    slug: str | None = given_field("The name in addresses; made from the name when left out.")
    description: str | None = given_field("The description, HTML as given.")
    short_description: str | None = given_field("The short description.")
    status: ProductStatus | None = given_field("The status letter.")
    price_cents: BigInt | None = given_field("The price in cents.")
    compare_at_cents: BigInt | None = given_field("The price to compare with, in cents; null takes it away.")
    stock: BigInt | None = given_field(
        "What can be sold; what open orders reserved is added to what is on hand."
    )
    tracking: str | None = given_field("`B` stock is kept, `D` it is not.")
    weight_grams: BigInt | None = given_field("The weight in grams.")
    is_edp: bool | None = given_field("Whether it is downloaded instead of shipped.")
    free_shipping: bool | None = given_field("Whether it ships free of charge.")
    min_quantity: int | None = given_field("The smallest quantity an order may hold, 0 for any.")
    max_quantity: int | None = given_field("The largest quantity an order may hold, 0 for any.")
    vendor_id: Ident | None = given_field(
        "Who sells it; the caller's own vendor, or the store's first, when left out."
    )
    category_id: Ident | None = given_field("The main category.")
    category_ids: list[Ident] | None = given_field(
        "Every category it stands in; the first is the main one unless that is given."
    )
    tax_ids: list[Ident] | None = given_field("The taxes that lie on it.")
    images: list[ProductImageInput] | None = given_field("All its pictures, the main one first.")
    main_image: ProductImageInput | None = given_field(
        "The main picture alone; null takes it away.", internal=True
    )
    more_images: list[ProductImageInput] | None = given_field(
        "The pictures besides the main one.", internal=True
    )
    features: list[FeatureValueInput] | None = given_field("Properties to set; others stay as they are.")


@strawberry.input(
    description="One row of a bulk upsert: matched by `id`, else by `sku` within the vendor, else created."
)
class ProductUpsertInput(ProductInput):
    """A product and, when it exists, its id."""

    id: Ident | None = given_field("The product to change.")


@strawberry.input(description="A category. Creation needs `name`.")
class CategoryInput:
    """Fields of a category."""

    name: str | None = given_field("The name.")
    parent_id: Ident | None = given_field("The category above; null or 0 makes a root.")
    position: int | None = given_field("The place among its siblings.")
    status: CategoryStatus | None = given_field("The status letter.")
    description: str | None = given_field("The description, HTML as given.")
    vendor_id: Ident | None = given_field("The vendor it belongs to.")


@strawberry.input(description="A value that a feature offers. A new one needs `name`.")
class FeatureVariantInput:
    """Fields of a variant."""

    id: Ident | None = given_field("The value that remains; without it, the one of that name or a new one.")
    name: str | None = given_field("The value.")
    position: int | None = given_field("Its place among the values.")


@strawberry.input(description="A feature. Creation needs `name`.")
class FeatureInput:
    """Fields of a feature."""

    name: str | None = given_field("The name.")
    type: FeatureType | None = given_field("The type letter.")
    group_id: Ident | None = given_field("The group it belongs to.")
    status: SwitchStatus | None = given_field("The status letter.")
    position: int | None = given_field("Its place.")
    prefix: str | None = given_field("What is written before a value.")
    suffix: str | None = given_field("What is written after a value.")
    comparison: bool | None = given_field("Whether products are compared by it.")
    display_on_product: bool | None = given_field("Whether a product's page shows it.")
    display_on_catalog: bool | None = given_field("Whether lists of products show it.")
    category_ids: list[Ident] | None = given_field("The categories whose products carry it; none means all.")
    variants: list[FeatureVariantInput] | None = given_field(
        "Every value that is to remain; products lose those left out."
    )
