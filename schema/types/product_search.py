"""Define the result of a product search: a connection with facets."""

from __future__ import annotations

from enum import Enum
from typing import Any

import strawberry

from domain.search.read import RELEVANCE, SORTS
from models.reading.queries import ToOne
from schema.enums import ProductStatus
from schema.fields import INHERITED, object_type, output_field, relation
from schema.inputs import input_type, optional_field
from schema.pagination import PageInfoObject, page_type
from schema.scalars import ID, BigInt, DateTime
from schema.types.catalog import CategoryObject, FeatureObject, FeatureVariantObject, ProductObject
from schema.types.marketplace import VendorObject

_COUNT = "The number of products."


@object_type("CategoryCount", access=INHERITED)
class CategoryCountObject:
    """A category and the number of products in it or below."""

    category_id: ID = output_field("The category.")
    category: CategoryObject | None = relation(ToOne("category_id"), "The category.")
    name: str = output_field("The name of the category.")
    count: BigInt = output_field(_COUNT)


@object_type("VendorCount", access=INHERITED)
class VendorCountObject:
    """A vendor and the number of products that it sells."""

    vendor_id: ID = output_field("The vendor.")
    vendor: VendorObject | None = relation(ToOne("vendor_id"), "The vendor.")
    name: str = output_field("The name of the vendor.")
    count: BigInt = output_field(_COUNT)


@object_type("PriceStep", access=INHERITED)
class PriceStepObject:
    """A range of prices for the caller, after promotions, in cents, and the number of products."""

    from_cents: BigInt = output_field("The lowest price, for `price_from`.")
    to_cents: BigInt | None = output_field("The highest price, for `price_to`; null for no limit.")
    count: BigInt = output_field(_COUNT)


@object_type("RatingCount", access=INHERITED)
class RatingCountObject:
    """A rating and the number of products with this mean rating or a better one."""

    rating_from: int = output_field("The lowest mean rating, 1 to 5.")
    count: BigInt = output_field(_COUNT)


@object_type("AvailabilityCount", access=INHERITED)
class AvailabilityCountObject:
    """The number of products that can, or can't, be bought."""

    is_available: bool = output_field("Whether they can be bought.")
    count: BigInt = output_field(_COUNT)


@object_type("VariantCount", access=INHERITED)
class VariantCountObject:
    """A predefined value of a feature and the number of products that have it."""

    variant_id: ID = output_field("The value.")
    variant: FeatureVariantObject | None = relation(ToOne("variant_id"), "The value.")
    name: str = output_field("The text of the value.")
    count: BigInt = output_field(_COUNT)


@object_type("FeatureFacet", access=INHERITED)
class FeatureFacetObject:
    """A filterable feature and its values."""

    feature_id: ID = output_field("The feature.")
    feature: FeatureObject | None = relation(ToOne("feature_id"), "The feature.")
    name: str = output_field("The name of the feature.")
    values: list[VariantCountObject] = output_field("The values, the most frequent first, at most 100.", list_size=4)


@object_type("TagCount", access=INHERITED)
class TagCountObject:
    """A tag and the number of products that have it."""

    name: str = output_field("The tag, in lower case, for the filter `tag`.")
    count: BigInt = output_field(_COUNT)


@object_type(
    "ProductFacets",
    "What a search can be narrowed down by, with the numbers of products. A facet leaves its own choice out: it shows what the other values"
    " would give. Values without products are left out.",
    access=INHERITED,
)
class ProductFacetsObject:
    """A `domain.search.products.Facets`."""

    categories: list[CategoryCountObject] = output_field(
        "The categories below those chosen, without a choice the root categories; by position, at most 100.",
        list_size=5,
    )
    vendors: list[VendorCountObject] = output_field(
        "The vendors, the chosen and the most frequent first, at most 100.", list_size=5
    )
    prices: list[PriceStepObject] = output_field("The price steps, lowest first.", list_size=5)
    ratings: list[RatingCountObject] = output_field("The ratings, highest first.", list_size=5)
    availability: list[AvailabilityCountObject] = output_field(
        "Products that can be bought, and those that can't.", list_size=2
    )
    features: list[FeatureFacetObject] = output_field("The filterable features, by position.", list_size=3)
    tags: list[TagCountObject] = output_field(
        "The tags, the chosen and the most frequent first, at most 100; counted only when selected.", list_size=5
    )


@object_type("ProductSearchEdge", access=INHERITED)
class ProductSearchEdgeObject:
    """A product of a search with its cursor."""

    cursor: str = output_field("The cursor of the product, to be passed as `after` or `before`.")
    node: ProductObject = output_field("The product.")


_CORRECTED = "The query that was searched for instead, because nothing matched a word of the one given; null if it was not corrected."
_FACETS = "The facets; counted only when selected."


@object_type("ProductSearchConnection", access=INHERITED)
class ProductSearchConnectionObject:
    """A page of found products (cursor pagination) with facets."""

    edges: list[ProductSearchEdgeObject] = output_field("The products of this page with their cursors.")
    page_info: PageInfoObject = output_field("Information about this page.")
    total: BigInt = output_field("The number of found products; counted only when selected.")
    total_count: BigInt = output_field("The same by the name that other connections have.")
    facets: ProductFacetsObject = output_field(_FACETS)
    corrected_query: str | None = output_field(_CORRECTED)


@object_type("ProductSearchPage", access=INHERITED)
class ProductSearchPageObject(page_type(ProductObject, "ProductSearchItems")):  # type: ignore[misc]
    """A page of found products (offset pagination) with facets."""

    facets: ProductFacetsObject = output_field(_FACETS)
    corrected_query: str | None = output_field(_CORRECTED)


@input_type
class FeatureChoiceInput:
    """Values of a filterable feature, any of which a product must have."""

    feature_id: ID = strawberry.field(description="The feature.")
    variant_ids: list[ID] = strawberry.field(description="The values, at most 100.")


@input_type
class ProductSearchFilter:
    """Narrows a search down; all conditions must match. Lists hold at most 100 values, any of which may match."""

    below_category_id: list[ID] | None = optional_field("In any of these categories or their descendants.")
    below_category_slug: list[str] | None = optional_field(
        "As `below_category_id`, by slug; with both, in any category of either."
    )
    include_descendants: bool | None = optional_field(
        "Whether products that are only below the categories match too; true by default."
    )
    collection_id: list[ID] | None = optional_field("In any of these collections; no choice of a facet.")
    collection_slug: list[str] | None = optional_field(
        "As `collection_id`, by slug; with both, in any collection of either."
    )
    vendor_id: list[ID] | None = optional_field("Sold by any of these vendors.")
    vendor_slug: list[str] | None = optional_field("As `vendor_id`, by slug; with both, by any vendor of either.")
    price_from: BigInt | None = optional_field("At least this price for the caller, after promotions, in cents.")
    price_to: BigInt | None = optional_field("At most this price for the caller, after promotions, in cents.")
    rating_from: int | None = optional_field("At least this mean rating, 1 to 5.")
    is_available: bool | None = optional_field("Whether it can be bought.")
    features: list[FeatureChoiceInput] | None = optional_field("Values of at most 10 filterable features, each once.")
    tag: list[str] | None = optional_field("With any of these tags, in upper or lower case.")
    category_id: list[ID] | None = optional_field("In any of these categories; no choice of a facet.")
    status: list[ProductStatus] | None = optional_field("Any of these statuses; no choice of a facet.")
    created_from: DateTime | None = optional_field("Created at or after this time; no choice of a facet.")
    created_before: DateTime | None = optional_field("Created before this time; no choice of a facet.")


def _build_sort_enum() -> Any:
    members: dict[str, Any] = {
        "RELEVANCE": strawberry.enum_value(
            RELEVANCE,
            description="Words in the name before words in descriptions, exact words before others, available products first.",
        )
    }
    for name, sort in SORTS.items():
        members[f"{name.upper()}_ASC"] = strawberry.enum_value(name, description=f"By {sort.description}, ascending.")
        members[f"{name.upper()}_DESC"] = strawberry.enum_value(
            f"-{name}", description=f"By {sort.description}, descending."
        )
    enum: Any = Enum("ProductSearchSort", members)  # type: ignore[misc]  # the names are dynamic
    return strawberry.enum(enum, description="Sort orders of a product search; ties are broken by id.")


ProductSearchSort: Any = _build_sort_enum()
