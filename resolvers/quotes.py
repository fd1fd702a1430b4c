"""Assemble what can be asked about sending products somewhere."""

from __future__ import annotations

from typing import Any

import strawberry
from strawberry import Info

from auth.access import Access
from domain.shipping.product_quotes import Seller, find_sellers, quote_product
from domain.shipping.quotes import Quote
from models.reading import Row
from resolvers.changes import words
from schema.fields import root
from schema.scalars import BigInt, Ident
from schema.types.quotes import SellerAvailabilityObject, ShippingQuoteObject

_READ_QUOTES = Access(
    privileges=("view_shipping",),
    app_scope="read_shipping",
    vendor=True,
    customer=True,
    storefront="storefront:read",
)
_READ_SELLERS = Access(
    privileges=("view_marketplace",),
    app_scope="read_products",
    vendor=True,
    customer=True,
    storefront="storefront:read",
)
_WORDS = {"product_id": "product"}


@strawberry.type
class QuoteQueries:
    """Quotes and who delivers."""

    @root(_READ_QUOTES, "The ways to send some units of a product to a CEP, each with its price and time.")
    async def shipping_quotes(
        self, info: Info, product_id: Ident, zipcode: str, quantity: BigInt = BigInt(1)
    ) -> list[ShippingQuoteObject]:
        """Quote each way to send a product."""
        with words(_WORDS):
            found = await quote_product(info.context.scope, product_id, zipcode, quantity)
        return [_shown(each, found.vendor_id, found.vendor_public_id) for each in found.quotes]

    @root(_READ_SELLERS, "Who sells a product, the one named first, and whether each delivers it to a CEP.")
    async def sellers_availability(
        self, info: Info, product_id: Ident, zipcode: str
    ) -> list[SellerAvailabilityObject]:
        """List sellers of a product."""
        with words(_WORDS):
            found = await find_sellers(info.context.scope, product_id, zipcode)
        return [_seller_shown(each) for each in found]


def _shown(quote: Quote, vendor: int | None, vendor_public_id: object) -> Any:
    return Row(
        shipping_method_id=quote.public_id,
        shipping_number=quote.shipping_method_id,
        name=quote.name,
        price_cents=quote.price_cents,
        delivery_time=quote.delivery_time,
        vendor_id=vendor_public_id,
        vendor_number=vendor or 0,
        warehouse_number=quote.warehouse_id or 0,
    )


def _seller_shown(seller: Seller) -> Any:
    return Row(
        product_id=seller.product_public_id,
        product_number=seller.product_id,
        vendor_id=seller.vendor_public_id,
        vendor_number=seller.vendor_id or 0,
        name=seller.name,
        price_cents=seller.price_cents,
        stock=seller.stock,
        delivers=seller.delivers,
        delivery_time=seller.delivery_time,
    )


QUERIES = (QuoteQueries,)
