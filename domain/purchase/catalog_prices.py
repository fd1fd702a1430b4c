"""Calculate the prices that the catalogue shows a caller: after the catalogue promotions that apply to this caller.

One unit of a product costs as much in a new cart or order of the caller, without a coupon: the same offer, options and promotions are
evaluated by the same functions (`domain.purchase.lines`, `domain.promotions`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from domain.promotions.calculation import ActivePromotion
from domain.promotions.catalog import CatalogueProduct, lower_catalogue_prices, shopper_id
from domain.purchase.draft import MAX_UNITS, options_object
from domain.purchase.lines import catalogue_price, load_offers
from domain.purchase.option_selection import select_options
from kernel.errors import DomainError, NotFound, RuleViolation, ValidationFailed
from kernel.fields import InputField, integer, read_fields
from kernel.scope import Scope, active_scope

_INPUT: Mapping[str, InputField] = {
    "options": InputField("options", options_object, code="options_invalid"),
    "quantity": InputField("quantity", integer(1, MAX_UNITS), code="quantity_invalid"),
}


class CataloguePrice(NamedTuple):
    """The price of one unit in cents, the price before promotions, and the names of the promotions that lowered it."""

    price_cents: int
    base_cents: int
    promotions: tuple[str, ...] = ()


async def catalogue_prices(
    scope: Scope,
    products: Sequence[tuple[int, int, str | None, int | None]],
    options: Mapping[str, Any] | None = None,
    quantity: int | None = None,
) -> list[CataloguePrice | DomainError]:
    """Return the price of one unit of each product for the caller, who buys `quantity` (1), or why it has none with these options.

    `products` are what `domain.promotions.catalog.product_columns` contain, of one statement. `options` are chosen options as in a
    cart; without them the catalogue prices are the base. Takes the statements of `lower_catalogue_prices`, and one more with options,
    or three where the products have any. Raises ValidationFailed for a quantity out of range and for options of a wrong form.
    """
    units = read_fields(_INPUT, {"quantity": 1 if quantity is None else quantity})["quantity"]
    listed = [CatalogueProduct(*product) for product in products]
    with active_scope(scope):
        bases: list[int | DomainError] = [product.price_cents for product in listed]
        if options is not None:
            priced = await _prices_with_options(scope, [product.id for product in listed], options)
            bases = [priced.get(product.id, NotFound("product")) for product in listed]
        based = [
            product._replace(price_cents=base)
            for product, base in zip(listed, bases, strict=True)
            if isinstance(base, int)
        ]
        lowered = iter(await lower_catalogue_prices(scope, based, shopper_id(scope), units))
    return [base if isinstance(base, DomainError) else _price(base, *next(lowered)) for base in bases]


async def price_ranges(
    scope: Scope, products: Sequence[tuple[int, int, str | None, int | None, str, str]]
) -> list[tuple[int, int]]:
    """Return the lowest and the highest price of one unit of each product for the caller, in cents.

    `products` are what `domain.promotions.catalog.product_columns` contain, with `domain.catalog.availability.PRICES` after it. Takes the
    statements of `lower_catalogue_prices`.
    """
    offered: list[CatalogueProduct] = []
    counts = []
    for id_, _, paths, version, prices, further in products:
        bases = {max(0, int(price) + int(added)) for price in prices.split() for added in further.split()}
        offered += [CatalogueProduct(id_, base, paths, version) for base in bases]
        counts.append(len(bases))
    with active_scope(scope):
        lowered = iter(await lower_catalogue_prices(scope, offered, shopper_id(scope)))
    ranges = [[cents for cents, _ in islice(lowered, count)] for count in counts]
    return [(min(prices), max(prices)) for prices in ranges]


def _price(base: int, cents: int, reductions: Sequence[ActivePromotion]) -> CataloguePrice:
    return CataloguePrice(cents, base, tuple([promotion.name for promotion in reductions]) if reductions else ())


async def _prices_with_options(
    scope: Scope, products: Sequence[int], options: Mapping[str, Any]
) -> dict[int, int | DomainError]:
    chosen = read_fields(_INPUT, {"options": options})["options"]
    offers = await load_offers(scope, products, skip_missing=True)
    prices: dict[int, int | DomainError] = {}
    for offer in {offer.id: offer for offer in offers.values()}.values():
        try:
            selection = select_options(offer, chosen, in_combination=False)
        except (ValidationFailed, RuleViolation) as error:
            prices[offer.id] = error
        else:
            prices[offer.id] = catalogue_price(offer, selection)
    return prices
