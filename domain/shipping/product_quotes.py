"""Say what it costs to send a product to a postal code, and which sellers deliver it there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from domain.fields import MAX_QUANTITY
from domain.orders.totals import Goods
from domain.references import NOT_FOUND, PRODUCT, missing_text
from domain.shipping.quotes import Quote, methods_to, priced, quote
from domain.warehouses.dispatch import dispatches
from kernel.documents import normalise_cep
from kernel.errors import ValidationFailed
from kernel.ids import parse_reference
from kernel.money import MAX_CENTS
from kernel.scope import ActorKind, Scope, entered
from kernel.text import shown
from models.database import rows

_MAX_SELLERS = 100
# Who works in the store may ask about what is not on sale.
_STAFF = (ActorKind.ADMIN, ActorKind.SYSTEM, ActorKind.APP)

_PRODUCT = """
SELECT p.id, p.public_id, p.vendor_id, v.public_id AS vendor_public_id, coalesce(v.name, $4) AS vendor_name, p.sku, p.price_cents,
    p.stock, p.weight_grams, p.is_edp, p.free_shipping
FROM products p LEFT JOIN vendors v ON v.tenant_id = p.tenant_id AND v.id = p.vendor_id
WHERE p.tenant_id = $1 AND p.deleted_at IS NULL AND (p.id = $2 OR p.public_id = $3)
    AND ($5 OR p.status = 'A' AND (p.vendor_id IS NULL OR v.status = 'A'))
"""
# Whoever sells a product of the same code sells the same thing.
_SELLERS = f"""
SELECT p.id, p.public_id, p.vendor_id, v.public_id AS vendor_public_id, coalesce(v.name, $4) AS vendor_name, p.sku, p.price_cents,
    p.stock, p.weight_grams, p.is_edp, p.free_shipping
FROM products p LEFT JOIN vendors v ON v.tenant_id = p.tenant_id AND v.id = p.vendor_id
WHERE p.tenant_id = $1 AND p.deleted_at IS NULL AND (p.id = $2 OR p.sku = $3 AND p.sku <> '')
    AND p.status = 'A' AND (p.vendor_id IS NULL OR v.status = 'A' AND v.deleted_at IS NULL)
ORDER BY p.id <> $2, p.price_cents, p.id LIMIT {_MAX_SELLERS}
"""  # a constant of this module


@dataclass(frozen=True, slots=True)
class ProductQuotes:
    """Hold the ways to send some units of a product, and who sells it (`vendor_id` null: the store itself)."""

    product_id: int
    vendor_id: int | None
    vendor_public_id: UUID | None
    quotes: Sequence[Quote]


@dataclass(frozen=True, slots=True)
class Seller:
    """Tell of one who sells a product: at which price, how many units, and whether and when it gets there."""

    product_id: int
    product_public_id: UUID
    vendor_id: int | None
    vendor_public_id: UUID | None
    name: str
    price_cents: int
    stock: int
    delivers: bool
    delivery_time: str


async def quote_product(
    scope: Scope, product: object, zipcode: object, quantity: object = 1
) -> ProductQuotes:
    """Quote each way to send units of a product to a CEP; raises ValidationFailed for what is none and for an unknown product."""
    cep = cep_from(zipcode)
    if isinstance(quantity, bool) or not isinstance(quantity, int) or not 1 <= quantity <= MAX_QUANTITY:
        raise ValidationFailed(
            f"quantity is {shown(quantity)}; expected a whole number of at least 1",
            field="quantity",
            code="quantity_invalid",
        )
    found = await _product(scope, product)
    goods = [_goods(found, quantity)]
    offered = await quote(
        scope,
        goods,
        zipcode=cep,
        subtotal_cents=quantity * found["price_cents"],
        vendors=[found["vendor_id"]],
        buyer=_buyer(scope),
    )
    quotes = [each for each in offered if each.vendor_id in (None, found["vendor_id"])]
    if any(each.price_cents > MAX_CENTS for each in quotes):
        raise ValidationFailed(
            f"quantity is {quantity}; sending so many can't be priced",
            field="quantity",
            code="quantity_invalid",
        )
    return ProductQuotes(found["id"], found["vendor_id"], found["vendor_public_id"], quotes)


async def find_sellers(scope: Scope, product: object, zipcode: object) -> list[Seller]:
    """List who sells a product, the one named first, and whether each delivers it to a CEP: five statements, however many sell it."""
    cep = cep_from(zipcode)
    found = await _product(scope, product)
    with entered(scope):
        offers = await rows(_SELLERS, scope.store.id, found["id"], found["sku"], scope.store.name)
    address = {"zipcode": cep, "state": "", "country": "BR", "city": ""}
    methods = await methods_to(scope, address)
    dispatched = await dispatches(
        scope, {offer["vendor_id"] for offer in offers}, buyer=_buyer(scope), **address
    )
    sellers = []
    for offer in offers:
        dispatch = dispatched.get(offer["vendor_id"])
        ways: list[Quote] = []
        if dispatch is not None and not offer["is_edp"]:
            own = methods.of(offer["vendor_id"])
            ways = priced(own, [_goods(offer, 1)], offer["price_cents"], dispatch)
        sellers.append(_seller(offer, ways))
    return sellers


def cep_from(zipcode: object) -> str:
    """Read a CEP of eight digits, with or without hyphen; raises ValidationFailed."""
    cep = normalise_cep(zipcode) if isinstance(zipcode, str) else None
    if cep is None:
        raise ValidationFailed(
            f"zipcode is {shown(zipcode)}; expected a CEP of 8 digits",
            field="zipcode",
            code="zipcode_invalid",
        )
    return cep


async def _product(scope: Scope, product: object) -> Mapping[str, Any]:
    reference = parse_reference(product)
    number, public_id = (reference, None) if isinstance(reference, int) else (None, reference)
    is_staff = scope.actor.kind in _STAFF
    found: Sequence[Mapping[str, Any]] = []
    if reference is not None:
        with entered(scope):
            found = await rows(_PRODUCT, scope.store.id, number, public_id, scope.store.name, is_staff)
    if not found or (
        scope.actor.kind is ActorKind.VENDOR and found[0]["vendor_id"] != scope.actor.company_id
    ):
        raise ValidationFailed(missing_text(PRODUCT, [product]), field="product", code=NOT_FOUND)
    return found[0]


def _goods(offer: Mapping[str, Any], quantity: int) -> Goods:
    return Goods(
        quantity, offer["price_cents"], offer["weight_grams"], not offer["is_edp"], offer["free_shipping"]
    )


def _seller(offer: Mapping[str, Any], ways: Sequence[Quote]) -> Seller:
    return Seller(
        product_id=offer["id"],
        product_public_id=offer["public_id"],
        vendor_id=offer["vendor_id"],
        vendor_public_id=offer["vendor_public_id"],
        name=offer["vendor_name"],
        price_cents=offer["price_cents"],
        stock=offer["stock"],
        # What is not a parcel needs no way to travel.
        delivers=bool(ways) or offer["is_edp"],
        delivery_time=min(ways, key=lambda each: each.price_cents).delivery_time if ways else "",
    )


def _buyer(scope: Scope) -> int | None:
    return scope.actor.user_id if scope.actor.kind is ActorKind.CUSTOMER else None
