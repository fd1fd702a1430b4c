"""Resolve destinations, taxes and promotions."""

from __future__ import annotations

from typing import Any

from auth.access import Access, open_to_shoppers
from domain.destinations.destinations import DESTINATION_RECORDS
from domain.promotions.promotions import PROMOTION_RECORDS
from domain.taxes.taxes import TAX_RECORDS
from resolvers.entity_mutations import build_entity_mutations
from resolvers.entity_queries import build_entity_queries
from schema.types.pricing import (
    DestinationInput,
    DestinationObject,
    PromotionInput,
    PromotionObject,
    TaxInput,
    TaxObject,
)

_READ_DESTINATIONS = open_to_shoppers("view_shipping", "read_shipping")
_WRITE_DESTINATIONS = Access(privileges=("manage_shipping",), app_scope="write_shipping")
_READ_TAXES = open_to_shoppers("view_payments", ("read_products", "read_orders"))
_WRITE_TAXES = Access(privileges=("manage_payments",))
_WRITE_PROMOTIONS = Access(privileges=("manage_content",), app_scope="write_content")


def rename_destination_ids(fields: dict[str, Any]) -> dict[str, Any]:
    """Rename `destination_id` to the domain's name in rates."""
    if fields.get("rates") is not None:
        fields["rates"] = [
            {"destination" if name == "destination_id" else name: value for name, value in rate.items()}
            for rate in fields["rates"]
        ]
    return fields


QUERIES = (
    build_entity_queries(DestinationObject, access=_READ_DESTINATIONS),
    build_entity_queries(TaxObject, access=_READ_TAXES),
    build_entity_queries(PromotionObject),
)
MUTATIONS = (
    build_entity_mutations(
        DestinationObject,
        DestinationInput,
        DESTINATION_RECORDS,
        _WRITE_DESTINATIONS,
        update_description="Update a destination; a provided list replaces the existing one.",
        delete_description="Delete a destination and its rates.",
    ),
    build_entity_mutations(
        TaxObject,
        TaxInput,
        TAX_RECORDS,
        _WRITE_TAXES,
        field_names={"destination_id": "destination"},
        transform=rename_destination_ids,
        create_description="Create a tax. It applies only to products, shipping methods and payment methods that reference it (`tax_ids`).",
        update_description="Update a tax; existing orders stay unchanged.",
        delete_description="Delete a tax; existing orders keep their tax amounts.",
    ),
    build_entity_mutations(
        PromotionObject,
        PromotionInput,
        PROMOTION_RECORDS,
        _WRITE_PROMOTIONS,
        update_description="Update a promotion; existing orders keep their discounts.",
        delete_description="Delete a promotion; existing orders keep their discounts.",
    ),
)
