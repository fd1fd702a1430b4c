"""Resolve shipping quotes and vendor availability."""

from __future__ import annotations

from typing import Any

from strawberry import Info

from auth.access import open_to_shoppers
from domain.shipping.postal_addresses import find_postal_address
from domain.shipping.product_quotes import VendorOffer, find_vendor_offers, quote_product
from domain.shipping.quotes import Quote
from models.reading.queries import Row
from resolvers.mutation_helpers import rename_error_fields
from resolvers.results import linked
from schema.declaration import declare
from schema.fields import root_field
from schema.scalars import ID, BigInt
from schema.types.quotes import PostalAddressObject, SellerAvailabilityObject, ShippingQuoteObject

_READ_QUOTES = open_to_shoppers("view_shipping", "read_shipping")
_READ_OFFERS = open_to_shoppers("view_marketplace", "read_products")
_FIELD_NAMES = {"product_id": "product"}


@declare
class QuoteQueries:
    """Queries of shipping quotes and vendor availability."""

    @root_field(_READ_QUOTES)
    async def shipping_quotes(
        self, info: Info, product_id: ID, zipcode: str, quantity: BigInt = BigInt(1)
    ) -> list[ShippingQuoteObject]:
        """Return the shipping quotes for a quantity of a product to a CEP."""
        with rename_error_fields(_FIELD_NAMES):
            quotes = await quote_product(info.context.scope, product_id, zipcode, quantity)
        rows = [_quote_row(quote, quotes.vendor_id, quotes.vendor_public_id) for quote in quotes.quotes]
        return linked(info, rows)

    @root_field(_READ_OFFERS)
    async def sellers_availability(self, info: Info, product_id: ID, zipcode: str) -> list[SellerAvailabilityObject]:
        """Return the vendors of a product, the product's own vendor first, and whether each delivers it to a CEP."""
        with rename_error_fields(_FIELD_NAMES):
            offers = await find_vendor_offers(info.context.scope, product_id, zipcode)
        return linked(info, [_vendor_row(offer) for offer in offers])

    @root_field(_READ_QUOTES)
    async def address_by_zipcode(self, info: Info, zipcode: str) -> PostalAddressObject | None:
        """Return the address of a CEP, as far as the store's destinations and the service for postal codes know it; null for a CEP that
        doesn't exist.
        """
        address: Any = await find_postal_address(info.context.scope, zipcode)
        return address  # type: ignore[no-any-return]


def _quote_row(quote: Quote, vendor: int | None, vendor_public_id: object) -> Any:
    return Row(
        shipping_method_id=quote.public_id,
        shipping_method=quote.shipping_method_id,
        shipping_number=quote.shipping_method_id,
        name=quote.name,
        price_cents=quote.price_cents,
        delivery_time=quote.delivery_time,
        vendor_id=vendor_public_id,
        vendor=vendor,
        vendor_number=vendor or 0,
        warehouse_number=quote.warehouse_id or 0,
    )


def _vendor_row(offer: VendorOffer) -> Any:
    return Row(
        product_id=offer.product_public_id,
        product=offer.product_id,
        product_number=offer.product_id,
        vendor_id=offer.vendor_public_id,
        vendor=offer.vendor_id,
        vendor_number=offer.vendor_id or 0,
        name=offer.name,
        price_cents=offer.price_cents,
        stock=offer.stock,
        delivers=offer.is_deliverable,
        delivery_time=offer.delivery_time,
    )


QUERIES = (QuoteQueries,)
