"""Calculate the prices that the catalogue shows a caller: after the catalogue promotions that apply to this caller.

One unit of a product costs as much in a new cart or order of the caller, without a coupon: the same offer, options and promotions are
evaluated by the same functions (`domain.orders.lines`, `domain.promotions`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from domain.orders.draft import DraftLine, options_object
from domain.orders.lines import load_offers, price_lines
from domain.promotions.rewards import lower_catalogue_prices
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
    scope: Scope, products: Sequence[tuple[int, int]], options: Mapping[str, Any] | None = None
) -> list[CataloguePrice | DomainError]:
    """Return the price of each product (id, catalogue price in cents) for the caller, or why it has none with these options.

    `options` are chosen options as in a cart; without them the catalogue prices are the base. Takes one statement, a second if
    promotions ask for features or earlier purchases, and two more with options. Raises ValidationFailed for options of a wrong form.
    """
    with active_scope(scope):
        base_prices: dict[int, int | DomainError] = dict(products)
        if options is not None:
            base_prices = await _prices_with_options(scope, list(base_prices), options)
        lowered = await _after_promotions(
            scope, {product: cents for product, cents in base_prices.items() if isinstance(cents, int)}
        )
    prices: list[CataloguePrice | DomainError] = []
    for product, _ in products:
        price = lowered.get(product)
        prices.append(price if price is not None else _refusal(base_prices.get(product)))
    return prices


def _refusal(base: int | DomainError | None) -> DomainError:
    """Return why a product has no price."""
    return base if isinstance(base, DomainError) else NotFound("product")


async def _prices_with_options(
    scope: Scope, products: Sequence[int], options: Mapping[str, Any]
) -> dict[int, int | DomainError]:
    chosen = read_fields(_OPTIONS, {"options": options})["options"]
    offers = await load_offers(scope, products, skip_missing=True)
    prices: dict[int, int | DomainError] = {}
    for offer in {offer.id: offer for offer in offers.values()}.values():
        try:
            [line] = price_lines([DraftLine(offer.id, 1, options=chosen)], offers, trusted=False)
        except (ValidationFailed, RuleViolation) as error:
            prices[offer.id] = error
        else:
            prices[offer.id] = line.base_price_cents
    return prices


async def _after_promotions(scope: Scope, base_prices: Mapping[int, int]) -> dict[int, CataloguePrice]:
    lowered = await lower_catalogue_prices(scope, base_prices, _customer(scope))
    return {
        product: CataloguePrice(cents, base, tuple([promotion.name for promotion in reductions]) if reductions else ())
        for (product, base), (cents, reductions) in zip(base_prices.items(), lowered, strict=True)
    }


def _customer(scope: Scope) -> int | None:
    """Return the account that the caller's cart would have."""
    is_customer = scope.actor.kind in (ActorKind.CUSTOMER, ActorKind.STOREFRONT)
    return scope.actor.user_id if is_customer else None
