"""Turn what somebody asks for into the lines of an order: which products, whether they may be sold so, at which price."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import orjson

from domain.catalog import stock
from domain.orders.choosing import Choosable, OptionSelection, choosable, choose, key_of
from domain.orders.draft import DraftLine
from domain.orders.totals import Goods
from domain.references import PRODUCT, refuse_missing
from kernel.errors import RuleViolation
from kernel.ids import Reference, parse_reference
from kernel.scope import Scope
from models.database import rows

_ON_SALE = "A"
# Members of a line's `extra` that tell what was chosen.
_OURS = ("product_options", "product_options_value")


@dataclass(frozen=True, slots=True)
class Offer:
    """Describe a product as it stands when it is ordered; `stock` is what can be sold, weight in grams.

    `required` are the products it is sold only together with, by number; `choosable` is null where there is nothing to choose.
    """

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
    required: Mapping[int, str] = field(default_factory=dict)
    choosable: Choosable | None = None

    @property
    def is_on_sale(self) -> bool:
        """Say whether the product is active and its vendor too."""
        return self.status == _ON_SALE and self.vendor_sells

    @property
    def is_tracked(self) -> bool:
        """Say whether its stock is kept."""
        return self.tracking != stock.NOT_KEPT


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
    choice: OptionSelection | None = None

    @property
    def combination_id(self) -> int | None:
        """Give the combination whose stock the line holds instead of the product's."""
        kept = self.choice.combination if self.choice is not None else None
        return kept.id if kept is not None else None

    @property
    def sku(self) -> str:
        """Give the code of what is sold: the combination's where it has one."""
        kept = self.choice.combination if self.choice is not None else None
        return (kept.sku if kept is not None else "") or self.offer.sku

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


# The arrays stand in subqueries, where their length can't be seen: else each call would be planned anew for being short.
_OFFERS = """
SELECT p.id, p.public_id, p.vendor_id, p.name, p.sku, p.status, p.price_cents, p.stock, p.tracking, p.weight_grams,
    p.is_edp, p.free_shipping, p.min_quantity, p.max_quantity,
    coalesce(v.status = 'A' AND v.deleted_at IS NULL, true) AS vendor_sells,
    (SELECT jsonb_object_agg(q.id, q.name) FROM required_products r
        JOIN products q ON q.tenant_id = r.tenant_id AND q.id = r.required_id AND q.deleted_at IS NULL
        WHERE r.tenant_id = p.tenant_id AND r.product_id = p.id)::text AS required,
    EXISTS (SELECT 1 FROM product_options l WHERE l.tenant_id = p.tenant_id AND l.product_id = p.id) AS has_options
FROM products p LEFT JOIN vendors v ON v.tenant_id = p.tenant_id AND v.id = p.vendor_id
WHERE p.tenant_id = $1 AND p.deleted_at IS NULL
    AND (p.id = ANY((SELECT $2::bigint[])::bigint[]) OR p.public_id = ANY((SELECT $3::uuid[])::uuid[]))
"""


async def offers_for(
    scope: Scope, references: Iterable[object], *, some_gone: bool = False
) -> dict[object, Offer]:
    """Read the products referred to, in one statement.

    Raises ValidationFailed naming those there are not, unless `some_gone`: then they are left out. Where any of the products
    has options, what can be chosen takes two more statements.
    """
    parsed = {given: parse_reference(given) for given in references}
    known = [reference for reference in parsed.values() if reference is not None]
    found = await rows(
        _OFFERS,
        scope.store.id,
        [reference for reference in known if isinstance(reference, int)],
        [reference for reference in known if isinstance(reference, UUID)],
    )
    choices = await choosable(scope, [product["id"] for product in found if product["has_options"]])
    by_reference: dict[Reference, Offer] = {}
    for product in found:
        offer = _offer(dict(product), choices.get(product["id"]))
        by_reference[offer.id] = by_reference[offer.public_id] = offer
    offers = {
        given: by_reference[reference]
        for given, reference in parsed.items()
        if reference is not None and reference in by_reference
    }
    if not some_gone:
        refuse_missing(PRODUCT, [given for given in parsed if given not in offers], field="product")
    return offers


def _offer(product: dict[str, Any], choices: Choosable | None) -> Offer:
    del product["has_options"]
    required = product.pop("required")
    needs = {int(number): name for number, name in orjson.loads(required).items()} if required else {}
    return Offer(**product, required=needs, choosable=choices)


def price_lines(
    drafts: Sequence[DraftLine],
    offers: Mapping[object, Offer],
    *,
    trusted: bool,
    imported: bool = False,
    agreed: Mapping[tuple[int, str], int] | None = None,
) -> list[PricedLine]:
    """Give each line its price: the one given where that is trusted, else the one `agreed` before (by product and choice), else today's.

    Lines of an import are not tracked, and nothing is chosen of theirs: they bypass today's stock. Raises what `choose` does.
    """
    agreed = agreed or {}
    lines = []
    for draft in drafts:
        offer = offers[draft.product]
        choice = None if imported else choose(offer, draft.options)
        today = max(0, offer.price_cents + (choice.price_cents if choice is not None else 0))
        given = draft.price_cents if trusted else None
        price = agreed.get((offer.id, key_of(choice)), today) if given is None else given
        lines.append(
            PricedLine(
                offer=offer,
                quantity=draft.quantity,
                price_cents=price,
                base_price_cents=today,
                tracked=not imported and offer.is_tracked,
                fixed=given is not None,
                extra=_extra(draft, choice),
                choice=choice,
            )
        )
    return lines


def _extra(draft: DraftLine, choice: OptionSelection | None) -> dict[str, Any]:
    """Give what is noted on the line; what was chosen is written by us alone."""
    noted = {name: value for name, value in draft.extra.items() if name not in _OURS}
    return {**noted, **choice.extra} if choice is not None else noted


def refuse_unsaleable(lines: Sequence[PricedLine], *, already: Iterable[int] = ()) -> None:
    """Refuse products that are not on sale, products without those they require, and more or fewer units than a product is sold in.

    `already` are the ids of products the order holds: what was sold once may stay. Raises RuleViolation naming the products.
    """
    kept = set(already)
    offers = {line.offer.id: line.offer for line in lines}
    off_sale = [offer for offer in offers.values() if not offer.is_on_sale and offer.id not in kept]
    if off_sale:
        raise _refusal("product_unavailable", "not for sale", off_sale)
    _refuse_without_required(offers)
    for product_id, quantity in stock.summed((line.offer.id, line.quantity) for line in lines).items():
        offer = offers[product_id]
        if quantity < offer.min_quantity:
            raise _refusal("quantity_too_small", f"sold from {offer.min_quantity} units on", [offer])
        if offer.max_quantity and quantity > offer.max_quantity:
            raise _refusal("quantity_too_large", f"sold up to {offer.max_quantity} units", [offer])


def _refuse_without_required(offers: Mapping[int, Offer]) -> None:
    missing = {
        number: name
        for offer in offers.values()
        for number, name in offer.required.items()
        if number not in offers
    }
    if missing:
        lacking = [offer for offer in offers.values() if offer.required.keys() & missing.keys()]
        refusal = _refusal(
            "required_products", f"sold only together with {', '.join(missing.values())}", lacking
        )
        refusal.details["required"] = [{"name": name} for name in missing.values()]
        raise refusal


def tracked_units(lines: Iterable[PricedLine]) -> dict[int, int]:
    """Add up the units that are kept in the stock figures of products, by product."""
    return stock.summed(
        (line.offer.id, line.quantity) for line in lines if line.tracked and line.combination_id is None
    )


def combined_units(lines: Iterable[PricedLine]) -> dict[int, int]:
    """Add up the units that are kept in the stock figures of combinations, by combination."""
    return stock.summed(
        (line.combination_id, line.quantity)
        for line in lines
        if line.tracked and line.combination_id is not None
    )


def is_short(lines: Sequence[PricedLine]) -> list[int]:
    """List the products that had too few units when they were read: a refusal that needs no lock and writes nothing."""
    available = {line.offer.id: line.offer.stock for line in lines}
    return [product for product, units in tracked_units(lines).items() if units > available[product]]


def short_combinations(lines: Sequence[PricedLine]) -> list[int]:
    """List the combinations that had too few units when they were read."""
    kept = [line.choice.combination for line in lines if line.choice is not None]
    available = {each.id: each.stock for each in kept if each is not None}
    return [each for each, units in combined_units(lines).items() if units > available[each]]


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
