"""Define what a product search is narrowed down and sorted by."""

from __future__ import annotations

from enum import Enum
from typing import Any

import strawberry

from domain.search.read import RELEVANCE, SORTS
from schema.enums import ProductStatus
from schema.inputs.optional_fields import input_type, optional_field
from schema.scalars import ID, BigInt, DateTime


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
    vendor_id: list[ID] | None = optional_field("Sold by any of these vendors.")
    vendor_slug: list[str] | None = optional_field("As `vendor_id`, by slug; with both, by any vendor of either.")
    price_from: BigInt | None = optional_field("At least this price of the catalogue, in cents.")
    price_to: BigInt | None = optional_field("At most this price of the catalogue, in cents.")
    rating_from: int | None = optional_field("At least this mean rating, 1 to 5.")
    is_available: bool | None = optional_field("Whether it can be bought.")
    features: list[FeatureChoiceInput] | None = optional_field("Values of at most 10 filterable features, each once.")
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
