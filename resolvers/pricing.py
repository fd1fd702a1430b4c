"""Assemble what can be asked and done about destinations, taxes and promotions."""

from __future__ import annotations

from typing import Any

from auth.access import Access
from domain.destinations import destinations
from domain.destinations.read import DESTINATIONS
from domain.promotions import promotions
from domain.promotions.read import PROMOTIONS
from domain.taxes import taxes
from domain.taxes.read import TAXES
from resolvers.reads import reads
from resolvers.writes import Writer, writes
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


def with_destinations(given: dict[str, Any]) -> dict[str, Any]:
    """Put the domain's word for destinations into rates."""
    if given.get("rates") is not None:
        given["rates"] = [
            {"destination" if name == "destination_id" else name: value for name, value in rate.items()}
            for rate in given["rates"]
        ]
    return given


DESTINATION_WRITER = Writer(
    create=destinations.create_destination,
    update=destinations.update_destination,
    delete=destinations.delete_destination,
    access=_WRITE_DESTINATIONS,
    texts=(
        "Make a destination.",
        "Change a destination; a list that is given replaces the one there is.",
        "Delete a destination and the rates for it.",
    ),
)
TAX_WRITER = Writer(
    create=taxes.create_tax,
    update=taxes.update_tax,
    delete=taxes.delete_tax,
    access=_WRITE_TAXES,
    words={"destination_id": "destination"},
    adjust=with_destinations,
    texts=(
        "Make a tax. It takes nothing until it is laid on products, or on ways to deliver or pay (`tax_ids`).",
        "Change a tax; orders keep what they were charged.",
        "Delete a tax; orders go on showing what it took.",
    ),
)
PROMOTION_WRITER = Writer(
    create=promotions.create_promotion,
    update=promotions.update_promotion,
    delete=promotions.delete_promotion,
    access=_WRITE_PROMOTIONS,
    texts=(
        "Make a promotion.",
        "Change a promotion; orders keep what they were given.",
        "Delete a promotion; orders keep what they were given.",
    ),
)

QUERIES = (
    reads(DestinationObject, DESTINATIONS, "destination", "destinations", access=_READ_DESTINATIONS),
    reads(TaxObject, TAXES, "tax", "taxes", access=_READ_TAXES),
    reads(PromotionObject, PROMOTIONS, "promotion", "promotions"),
)
MUTATIONS = (
    writes(DestinationObject, DESTINATIONS, "destination", DestinationInput, DESTINATION_WRITER),
    writes(TaxObject, TAXES, "tax", TaxInput, TAX_WRITER),
    writes(PromotionObject, PROMOTIONS, "promotion", PromotionInput, PROMOTION_WRITER),
)
