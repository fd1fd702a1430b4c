"""Calculate the prices that the catalogue shows a caller: after the catalogue promotions that apply to this caller.

One unit of a product costs as much in a new cart or order of the caller, without a coupon: the same offer, options and promotions are
evaluated by the same functions (`domain.purchase.lines`, `domain.promotions`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from domain.promotions.catalog import CatalogueProduct, lower_catalogue_prices
from domain.purchase.draft import options_object
from domain.purchase.lines import catalogue_price, load_offers
from domain.purchase.option_selection import select_options
from kernel.errors import DomainError, NotFound, RuleViolation, ValidationFailed
from kernel.fields import InputField, read_fields
from kernel.scope import ActorKind, Scope, active_scope

_OPTIONS: Mapping[str, InputField] = {"options": InputField("options", options_object, code="options_invalid")}


class CataloguePrice(NamedTuple):
    """The price of one unit in cents, the price before promotions, and the names of the promotions that lowered it."""

    price_cents: int
    base_cents: int
    promotions: tuple[str, ...] = ()


async def catalogue_prices(
    scope: Scope, products: Sequence[tuple[int, int, str | None, int | None]], options: Mapping[str, Any] | None = None
) -> list[CataloguePrice | DomainError]:
    """Return the price of each product for the caller, or why it has none with these options.

    `products` are values of `domain.promotions.catalog.product_sql`, of one statement. `options` are chosen options as in a cart; without
    them the catalogue prices are the base. Takes the statements of `lower_catalogue_prices`, and one more with options, or three where
    the products have any. Raises ValidationFailed for options of a wrong form.
    """
    listed = [CatalogueProduct(*product) for product in products]
    prices: dict[int, CataloguePrice | DomainError] = {}
    with active_scope(scope):
        if options is not None:
            bases = await _prices_with_options(scope, [product.id for product in listed], options)
            prices = {product: base for product, base in bases.items() if isinstance(base, DomainError)}
            listed = [
                product._replace(price_cents=base)
                for product in listed
                if isinstance(base := bases.get(product.id), int)
            ]
        lowered = await lower_catalogue_prices(scope, listed, _customer(scope))
    for product, (cents, reductions) in zip(listed, lowered, strict=True):
        names = tuple([promotion.name for promotion in reductions]) if reductions else ()
        prices[product.id] = CataloguePrice(cents, product.price_cents, names)
    return [prices.get(product[0]) or NotFound("product") for product in products]


async def _prices_with_options(
    scope: Scope, products: Sequence[int], options: Mapping[str, Any]
) -> dict[int, int | DomainError]:
    chosen = read_fields(_OPTIONS, {"options": options})["options"]
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


def _customer(scope: Scope) -> int | None:
    """Return the account that the caller's cart would have."""
    is_customer = scope.actor.kind in (ActorKind.CUSTOMER, ActorKind.STOREFRONT)
    return scope.actor.user_id if is_customer else None
