"""Resolve destinations, taxes and promotions."""

from __future__ import annotations

from typing import Any

from auth.access import Access
from domain.destinations import destinations
from domain.destinations.read import DESTINATIONS
from domain.promotions import promotions
from domain.promotions.read import PROMOTIONS
from domain.taxes import taxes
from domain.taxes.read import TAXES
from resolvers.entity_mutations import EntityMutations, build_entity_mutations
from resolvers.entity_queries import build_entity_queries
from schema.inputs.pricing import DestinationInput, PromotionInput, TaxInput
from schema.types.pricing import DestinationObject, PromotionObject, TaxObject

_READ_DESTINATIONS = Access(
    privileges=("view_shipping",),
    app_scope="read_shipping",
    vendor=True,
    customer=True,
    storefront="storefront:read",
)
_WRITE_DESTINATIONS = Access(privileges=("manage_shipping",), app_scope="write_shipping")
_READ_TAXES = Access(
    privileges=("view_payments",),
    app_scope=("read_products", "read_orders"),
    vendor=True,
    customer=True,
    storefront="storefront:read",
)
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


DESTINATION_MUTATIONS = EntityMutations(
    create=destinations.create_destination,
    update=destinations.update_destination,
    delete=destinations.delete_destination,
    access=_WRITE_DESTINATIONS,
    descriptions=(
        "Create a destination.",
        "Update a destination; a provided list replaces the existing one.",
        "Delete a destination and its rates.",
    ),
)
TAX_MUTATIONS = EntityMutations(
    create=taxes.create_tax,
    update=taxes.update_tax,
    delete=taxes.delete_tax,
    access=_WRITE_TAXES,
    field_names={"destination_id": "destination"},
    transform=rename_destination_ids,
    descriptions=(
        "Create a tax. It applies only to products, shipping methods and payment methods that reference it (`tax_ids`).",
        "Update a tax; existing orders stay unchanged.",
        "Delete a tax; existing orders keep their tax amounts.",
    ),
)
PROMOTION_MUTATIONS = EntityMutations(
    create=promotions.create_promotion,
    update=promotions.update_promotion,
    delete=promotions.delete_promotion,
    access=_WRITE_PROMOTIONS,
    descriptions=(
        "Create a promotion.",
        "Update a promotion; existing orders keep their discounts.",
        "Delete a promotion; existing orders keep their discounts.",
    ),
)

QUERIES = (
    build_entity_queries(
        DestinationObject, DESTINATIONS, "destination", "destinations", access=_READ_DESTINATIONS
    ),
    build_entity_queries(TaxObject, TAXES, "tax", "taxes", access=_READ_TAXES),
    build_entity_queries(PromotionObject, PROMOTIONS, "promotion", "promotions"),
)
MUTATIONS = (
    build_entity_mutations(DestinationObject, "destination", DestinationInput, DESTINATION_MUTATIONS),
    build_entity_mutations(TaxObject, "tax", TaxInput, TAX_MUTATIONS),
    build_entity_mutations(PromotionObject, "promotion", PromotionInput, PROMOTION_MUTATIONS),
)
