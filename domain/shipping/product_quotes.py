"""Quote the shipping of a product to a postal code, and find the vendors that deliver it there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import orjson

from domain.carriers.quotes import ShippedUnits
from domain.catalog.availability import STOCK
from domain.catalog.listing import LISTED, OPEN, of_row
from domain.purchase.totals import TotalsLine
from domain.shipping.address_quotes import find_methods, quote_shipping
from domain.shipping.quotes import Quote, methods_to_ask, quote_methods
from domain.warehouses.dispatch import find_dispatches
from kernel.documents import normalize_cep
from kernel.errors import ValidationFailed
from kernel.fields import MAX_QUANTITY
from kernel.ids import split_reference
from kernel.money import MAX_CENTS
from kernel.scope import STAFF_OR_APP, ActorKind, Scope, active_scope
from kernel.text import repr_value
from models.connection.database import fetch
from models.references import NOT_FOUND, PRODUCT, missing_message

_MAX_OFFERS = 100
_OFFER = f"""p.id, p.public_id, p.vendor_id, v.public_id AS vendor_public_id, coalesce(v.name, $4) AS vendor_name, p.sku, p.price_cents,
    {of_row(STOCK, "p")} AS stock, p.weight_grams, p.shipping_freight_cents, p.is_edp, p.free_shipping,
    v.shippings::text AS vendor_shippings
FROM products p LEFT JOIN vendors v ON v.tenant_id = p.tenant_id AND v.id = p.vendor_id"""
# Staff may quote products that are not on sale.
_PRODUCT = f"""
SELECT {_OFFER}
WHERE p.tenant_id = $1 AND p.deleted_at IS NULL AND (p.id = $2 OR p.public_id = $3)
    AND ($5 OR {of_row(OPEN, "p")})
"""  # constants
# Vendors offer the same product under the same SKU.
_OFFERS = f"""
SELECT {_OFFER}
WHERE p.tenant_id = $1 AND p.deleted_at IS NULL AND (p.id = $2 OR p.sku = $3 AND p.sku <> '')
    AND {of_row(OPEN, "p")} AND (p.id = $2 OR {of_row(LISTED, "p")})
ORDER BY p.id <> $2, p.price_cents, p.id LIMIT {_MAX_OFFERS}
"""  # constants


@dataclass(frozen=True, slots=True)
class ProductQuotes:
    """The shipping quotes for units of a product, and its vendor (`vendor_id` None: the store itself)."""

    product_id: int
    vendor_id: int | None
    vendor_public_id: UUID | None
    quotes: Sequence[Quote]


@dataclass(frozen=True, slots=True)
class VendorOffer:
    """A vendor's offer of a product: price, stock, whether it can be delivered and the delivery time."""

    product_id: int
    product_public_id: UUID
    vendor_id: int | None
    vendor_public_id: UUID | None
    name: str
    price_cents: int
    stock: int
    is_deliverable: bool
    delivery_time: str


async def quote_product(scope: Scope, product: object, zipcode: object, quantity: object = 1) -> ProductQuotes:
    """Return the shipping quotes of units of a product to a CEP; raises ValidationFailed for an invalid CEP or unknown product."""
    cep = parse_cep(zipcode)
    if isinstance(quantity, bool) or not isinstance(quantity, int) or not 1 <= quantity <= MAX_QUANTITY:
        raise ValidationFailed(
            f"quantity is {repr_value(quantity)}; expected a whole number of at least 1",
            field="quantity",
            code="quantity_invalid",
        )
    record = await _load_product(scope, product)
    lines = [_totals_line(record, quantity)]
    quotes = await quote_shipping(
        scope,
        lines,
        zipcode=cep,
        subtotal_cents=quantity * record["price_cents"],
        vendors=_choice(record),
        customer_id=_customer_id(scope),
        content=_content(record, quantity),
    )
    if any(quote.price_cents > MAX_CENTS for quote in quotes):
        raise ValidationFailed(
            f"quantity is {quantity}; sending so many can't be priced", field="quantity", code="quantity_invalid"
        )
    return ProductQuotes(record["id"], record["vendor_id"], record["vendor_public_id"], quotes)


async def find_vendor_offers(scope: Scope, product: object, zipcode: object) -> list[VendorOffer]:
    """Return the vendor offers of a product, its own vendor first, and whether each delivers to the CEP; five statements in all.

    Sources of rates are not asked: a method that has one may deliver, and has the delivery time of its own table.
    """
    cep = parse_cep(zipcode)
    record = await _load_product(scope, product)
    with active_scope(scope):
        offers = await fetch(_OFFERS, scope.store.id, record["id"], record["sku"], scope.store.name)
    address = {"zipcode": cep, "state": "", "country": "BR", "city": ""}
    methods = await find_methods(scope, address)
    dispatched = await find_dispatches(
        scope, {offer["vendor_id"] for offer in offers}, customer_id=_customer_id(scope), **address
    )
    vendor_offers = []
    for offer in offers:
        dispatch = dispatched.get(offer["vendor_id"])
        quotes: list[Quote] = []
        # Digital products need no shipping.
        may_deliver = bool(offer["is_edp"])
        if dispatch is not None and not offer["is_edp"]:
            facts = replace(methods, dispatch=dispatch)
            quotes = quote_methods(facts, [_totals_line(offer, 1)], offer["price_cents"], _choice(offer))
            may_deliver = bool(quotes or methods_to_ask(facts, [_totals_line(offer, 1)], _choice(offer)))
        vendor_offers.append(_vendor_offer(offer, quotes, may_deliver=may_deliver))
    return vendor_offers


def parse_cep(zipcode: object) -> str:
    """Parse a CEP of eight digits, with or without hyphen; raises ValidationFailed."""
    cep = normalize_cep(zipcode) if isinstance(zipcode, str) else None
    if cep is None:
        raise ValidationFailed(
            f"zipcode is {repr_value(zipcode)}; expected a CEP of 8 digits", field="zipcode", code="zipcode_invalid"
        )
    return cep


async def _load_product(scope: Scope, product: object) -> Mapping[str, Any]:
    product_id, public_id = split_reference(product)
    with active_scope(scope):
        is_staff = scope.actor.kind in STAFF_OR_APP
        records: Sequence[Mapping[str, Any]] = await fetch(
            _PRODUCT, scope.store.id, product_id, public_id, scope.store.name, is_staff
        )
    if not records or (scope.actor.kind is ActorKind.VENDOR and records[0]["vendor_id"] != scope.actor.vendor_id):
        raise ValidationFailed(missing_message(PRODUCT, [product]), field="product", code=NOT_FOUND)
    return records[0]


def _choice(offer: Mapping[str, Any]) -> dict[int | None, Mapping[str, Any]]:
    """Return the choice of methods of the product's vendor."""
    return {offer["vendor_id"]: orjson.loads(offer["vendor_shippings"] or "{}")}


def _totals_line(offer: Mapping[str, Any], quantity: int) -> TotalsLine:
    return TotalsLine(
        quantity,
        offer["price_cents"],
        offer["weight_grams"],
        not offer["is_edp"],
        offer["free_shipping"],
        offer["shipping_freight_cents"],
    )


def _content(offer: Mapping[str, Any], quantity: int) -> list[ShippedUnits]:
    if not _totals_line(offer, quantity).pays_shipping:
        return []
    return [ShippedUnits(offer["id"], None, quantity, offer["price_cents"])]


def _vendor_offer(offer: Mapping[str, Any], quotes: Sequence[Quote], *, may_deliver: bool) -> VendorOffer:
    return VendorOffer(
        product_id=offer["id"],
        product_public_id=offer["public_id"],
        vendor_id=offer["vendor_id"],
        vendor_public_id=offer["vendor_public_id"],
        name=offer["vendor_name"],
        price_cents=offer["price_cents"],
        stock=offer["stock"],
        is_deliverable=may_deliver,
        delivery_time=min(quotes, key=lambda quote: quote.price_cents).delivery_time if quotes else "",
    )


def _customer_id(scope: Scope) -> int | None:
    return scope.actor.user_id if scope.actor.kind is ActorKind.CUSTOMER else None
