"""Turn what somebody asks for into the lines of an order: which products, whether they may be sold so, at which price."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from domain.catalog import stock
from domain.orders.draft import DraftLine
from domain.orders.totals import Goods
from domain.references import PRODUCT, refuse_missing
from kernel.errors import RuleViolation
from kernel.ids import Reference, parse_reference
from kernel.scope import Scope
from models.database import rows

_NOT_KEPT = "D"
_ON_SALE = "A"


@dataclass(frozen=True, slots=True)
class Offer:
    """Describe a product as it stands when it is ordered; `stock` is what can be sold, weight in grams."""

    id: int
    public_id: UUID
    vendor_id: int | None
    name: str
    sku: str
    status: str
    price_cents: int
    stock: int
    tracking: str
    weight_grams: int
    is_edp: bool
    free_shipping: bool
    min_quantity: int
    max_quantity: int
    vendor_sells: bool

    @property
    def is_on_sale(self) -> bool:
        """Say whether the product is active and its vendor too."""
        return self.status == _ON_SALE and self.vendor_sells

    @property
    def is_tracked(self) -> bool:
        """Say whether its stock is kept."""
        return self.tracking != _NOT_KEPT


@dataclass(frozen=True, slots=True)
class PricedLine:
    """Describe a line of an order as it will be written; `base_price_cents` is what the catalogue asked.

    A `fixed` price was given by hand, or is that of a gift: promotions leave it alone.
    """

    offer: Offer
    quantity: int
    price_cents: int
    base_price_cents: int
    tracked: bool
    fixed: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def goods(self) -> Goods:
        """Give what the totals need to know."""
        return Goods(
            quantity=self.quantity,
            price_cents=self.price_cents,
            weight_grams=self.offer.weight_grams,
            is_shipped=not self.offer.is_edp,
            ships_free=self.offer.free_shipping,
        )


_OFFERS = """
SELECT p.id, p.public_id, p.vendor_id, p.name, p.sku, p.status, p.price_cents, p.stock, p.tracking, p.weight_grams,
    p.is_edp, p.free_shipping, p.min_quantity, p.max_quantity,
    coalesce(v.status = 'A' AND v.deleted_at IS NULL, true) AS vendor_sells
FROM products p LEFT JOIN vendors v ON v.tenant_id = p.tenant_id AND v.id = p.vendor_id
WHERE p.tenant_id = $1 AND (p.id = ANY($2::bigint[]) OR p.public_id = ANY($3::uuid[])) AND p.deleted_at IS NULL
"""


async def offers_for(
    scope: Scope, references: Iterable[object], *, some_gone: bool = False
) -> dict[object, Offer]:
    """Read the products referred to, in one statement.

    Raises ValidationFailed naming those there are not, unless `some_gone`: then they are left out.
    """
    parsed = {given: parse_reference(given) for given in references}
    known = [reference for reference in parsed.values() if reference is not None]
    found = await rows(
        _OFFERS,
        scope.store.id,
        [reference for reference in known if isinstance(reference, int)],
        [reference for reference in known if isinstance(reference, UUID)],
    )
    by_reference: dict[Reference, Offer] = {}
    for product in found:
        by_reference[product["id"]] = by_reference[product["public_id"]] = Offer(**product)
    offers = {
        given: by_reference[reference]
        for given, reference in parsed.items()
        if reference is not None and reference in by_reference
    }
    if not some_gone:
        refuse_missing(PRODUCT, [given for given in parsed if given not in offers], field="product")
    return offers


def price_lines(
    drafts: Sequence[DraftLine],
    offers: Mapping[object, Offer],
    *,
    trusted: bool,
    imported: bool = False,
    agreed: Mapping[int, int] | None = None,
) -> list[PricedLine]:
    """Give each line its price: the one given where that is trusted, else the one `agreed` before (by product), else today's.

    Lines of an import are not tracked: they bypass today's stock.
    """
    agreed = agreed or {}
    lines = []
    for draft in drafts:
        offer = offers[draft.product]
        given = draft.price_cents if trusted else None
        price = agreed.get(offer.id, offer.price_cents) if given is None else given
        lines.append(
            PricedLine(
                offer=offer,
                quantity=draft.quantity,
                price_cents=price,
                base_price_cents=offer.price_cents,
                tracked=not imported and offer.is_tracked,
                fixed=given is not None,
                extra=draft.extra,
            )
        )
    return lines


def refuse_unsaleable(lines: Sequence[PricedLine], *, already: Iterable[int] = ()) -> None:
    """Refuse products that are not on sale, and more or fewer units than a product is sold in.

    `already` are the ids of products the order holds: what was sold once may stay. Raises RuleViolation naming the products.
    """
    kept = set(already)
    offers = {line.offer.id: line.offer for line in lines}
    off_sale = [offer for offer in offers.values() if not offer.is_on_sale and offer.id not in kept]
    if off_sale:
        raise _refusal("product_unavailable", "not for sale", off_sale)
    for product_id, quantity in stock.summed((line.offer.id, line.quantity) for line in lines).items():
        offer = offers[product_id]
        if quantity < offer.min_quantity:
            raise _refusal("quantity_too_small", f"sold from {offer.min_quantity} units on", [offer])
        if offer.max_quantity and quantity > offer.max_quantity:
            raise _refusal("quantity_too_large", f"sold up to {offer.max_quantity} units", [offer])


def tracked_units(lines: Iterable[PricedLine]) -> dict[int, int]:
    """Add up the units that are kept in the stock figures, by product."""
    return stock.summed((line.offer.id, line.quantity) for line in lines if line.tracked)


def is_short(lines: Sequence[PricedLine]) -> list[int]:
    """List the products that had too few units when they were read: a refusal that needs no lock and writes nothing."""
    available = {line.offer.id: line.offer.stock for line in lines}
    return [product for product, units in tracked_units(lines).items() if units > available[product]]


def shared_vendor(lines: Sequence[PricedLine]) -> int | None:
    """Give the vendor of an order: the one all its lines share, else none."""
    vendors = {line.offer.vendor_id for line in lines}
    return vendors.pop() if len(vendors) == 1 else None


def need_shipping(lines: Iterable[PricedLine]) -> bool:
    """Say whether any of the lines is a physical good."""
    return any(not line.offer.is_edp for line in lines)


def _refusal(reason: str, why: str, offers: Sequence[Offer]) -> RuleViolation:
    names = ", ".join(offer.name for offer in offers)
    return RuleViolation(
        f"{why}: {names}",
        reason=reason,
        details={"products": [{"product_id": str(offer.public_id), "name": offer.name} for offer in offers]},
    )
