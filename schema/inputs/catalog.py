"""Define the inputs of products, categories and features.

Fields are optional: an update leaves omitted fields unchanged; creation validates the required ones.
"""

from __future__ import annotations

import strawberry

from kernel.product_fields import PRODUCT_FIELDS
from schema.enums import CategoryStatus, FeatureType, InventoryTracking, SwitchStatus
from schema.inputs.optional_fields import input_type, optional_copies, optional_field
from schema.scalars import ID, BigInt
from schema.types.catalog import ProductObject


@input_type
class ProductImageInput:
    """An image of a product."""

    url: str = strawberry.field(description="The URL of the image, http or https.")
    alt: str | None = optional_field("The alternative text.")
    width: int | None = optional_field("The size in pixels.", internal=True)
    height: int | None = optional_field("The size in pixels.", internal=True)


@input_type
class FeatureValueInput:
    """A product's value for a feature."""

    feature_id: ID = strawberry.field(description="The feature.")
    type: FeatureType | None = optional_field("The feature's type as known to the client.", internal=True)
    value: str | None = optional_field(
        "The value: a text, a number, a date (YYYY-MM-DD), `Y`/`N`, or the name of a variant."
    )
    variant_id: ID | None = optional_field("A predefined variant, instead of `value`.")
    variant_ids: list[ID] | None = optional_field("The predefined variants of a feature of type `M`.")
    values: list[str] | None = optional_field("The names of the variants of a feature of type `M`.")


@input_type
# Described as in `ProductObject`, unless declared here.
@optional_copies(ProductObject, PRODUCT_FIELDS)
class ProductInput:
    """A product. `name` and `price_cents` are required on creation."""

    sku: str | None = optional_field("The stock-keeping unit (SKU), unique within the vendor.")
    slug: str | None = optional_field("The URL slug; generated from the name if omitted.")
    compare_at_cents: BigInt | None = optional_field("The compare-at price, in cents; null removes it.")
    stock: BigInt | None = optional_field(
        "The available stock; units reserved by open orders are added to get the stock on hand."
    )
    tracking: InventoryTracking | None = optional_field("Whether the stock is tracked.", text_internally=True)
    vendor_id: ID | None = optional_field(
        "The vendor that sells the product; defaults to the caller's own vendor, or the store's first."
    )
    category_id: ID | None = optional_field("The main category.")
    category_ids: list[ID] | None = optional_field(
        "All categories of the product; the first becomes the main one unless `category_id` is set."
    )
    tax_ids: list[ID] | None = optional_field("The taxes applied to the product.")
    images: list[ProductImageInput] | None = optional_field("All images, the main image first.")
    main_image: ProductImageInput | None = optional_field("The main image; null removes it.", internal=True)
    more_images: list[ProductImageInput] | None = optional_field("The images other than the main image.", internal=True)
    features: list[FeatureValueInput] | None = optional_field("The feature values to set; others stay unchanged.")


@input_type
class ProductUpsertInput(ProductInput):
    """A row of a bulk upsert: matched by `id`, then by `sku` within the vendor, otherwise created."""

    id: ID | None = optional_field("The product to update.")


@input_type
class CategoryImageInput:
    """The image of a category."""

    url: str = strawberry.field(description="The URL of the image, http or https.")
    alt: str | None = optional_field("The alternative text.")


@input_type
class CategoryInput:
    """A category. `name` is required on creation."""

    name: str | None = optional_field("The name.")
    slug: str | None = optional_field("The URL slug; derived from the name if empty, a taken one gets a suffix.")
    parent_id: ID | None = optional_field("The parent category; null or 0 for a root category.")
    position: int | None = optional_field("The sort position among sibling categories.")
    status: CategoryStatus | None = optional_field("The status code.")
    description: str | None = optional_field("The description as unsanitized HTML.")
    image: CategoryImageInput | None = optional_field("The image; null removes it.")
    vendor_id: ID | None = optional_field("The vendor that owns the record.")


@input_type
class FeatureVariantInput:
    """A predefined value of a feature. `name` is required for a new value."""

    id: ID | None = optional_field("The existing value to keep; omitted, the value is matched by name or created.")
    name: str | None = optional_field("The value.")
    position: int | None = optional_field("The sort position among the values.")


@input_type
class FeatureInput:
    """A feature. `name` is required on creation."""

    name: str | None = optional_field("The name.")
    type: FeatureType | None = optional_field("The type code.")
    group_id: ID | None = optional_field("The feature group.")
    status: SwitchStatus | None = optional_field("The status code.")
    position: int | None = optional_field("The sort position.")
    prefix: str | None = optional_field("The text shown before a value.")
    suffix: str | None = optional_field("The text shown after a value.")
    comparison: bool | None = optional_field("Whether the feature is used in product comparison.")
    display_on_product: bool | None = optional_field("Whether the feature is shown on product pages.")
    display_on_catalog: bool | None = optional_field("Whether the feature is shown in product lists.")
    filterable: bool | None = optional_field("Whether its values narrow down a search; types with variants only.")
    category_ids: list[ID] | None = optional_field("The categories whose products have the feature; empty for all.")
    variants: list[FeatureVariantInput] | None = optional_field(
        "The complete list of values; omitted values are deleted and removed from products."
    )
