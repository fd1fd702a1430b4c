"""Define the prices of products and combinations for the caller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from domain.catalog.availability import COMBINATION_PRICE, PRICES
from domain.promotions.catalog import product_columns
from domain.purchase.catalog_prices import CataloguePrice, catalogue_prices, price_ranges
from kernel.errors import DomainError
from kernel.scope import Scope
from models.reading.queries import Row
from schema.fields import calculated, object_type, optional_argument, output_field
from schema.scalars import JSON, BigInt


@object_type("AppliedPromotion")
class AppliedPromotionObject:
    """A promotion that lowers the price of a product."""

    name: str = output_field("The name.")


@object_type("ProductPricing")
class ProductPricingObject:
    """The price of one unit of a product for the caller, in cents of the store's currency."""

    price_cents: BigInt = output_field("The price after promotions: what a cart or order of the caller charges.")
    base_cents: BigInt = output_field("The price before promotions, that of the chosen options included.")
    discount_cents: BigInt = output_field("The difference of the two.")
    promotions: list[AppliedPromotionObject] = output_field(
        "The promotions that lower the price, in their order.", list_size=1
    )


@object_type("PriceRange")
class PriceRangeObject:
    """The lowest and highest price of one unit of a product for the caller, after promotions, in cents of the store's currency."""

    min_cents: BigInt = output_field("The lowest price, in cents.")
    max_cents: BigInt = output_field("The highest price, in cents.")


async def _calculate(
    scope: Scope,
    products: Sequence[tuple[int, int, str | None, int | None]],
    options: Mapping[str, Any] | None = None,
    quantity: int | None = None,
) -> list[Any]:
    return [_row(price) for price in await catalogue_prices(scope, products, options, quantity)]


async def _ranges(scope: Scope, products: Sequence[Any]) -> list[Any]:
    return [Row(min_cents=least, max_cents=most) for least, most in await price_ranges(scope, products)]


def _row(price: CataloguePrice | DomainError) -> Row | DomainError:
    if isinstance(price, DomainError):
        return price
    return Row(
        price_cents=price.price_cents,
        base_cents=price.base_cents,
        discount_cents=price.base_cents - price.price_cents,
        promotions=[Row(name=name) for name in price.promotions],
    )


_QUANTITY = "The units in the cart's line, 1 by default: some promotions need several of a product."
_FOR_CALLER = (
    "The price of one unit{} for the caller, after the catalogue promotions that apply to the caller (usergroups, account, dates)."
    " Promotions that need a coupon show in the cart only."
)


def product_pricing() -> Any:
    """Declare the price of the product of the row, calculated for all products of a list at once."""
    return calculated(
        product_columns(),
        _calculate,
        _FOR_CALLER.format(""),
        [
            optional_argument("options", JSON, "The chosen options: an object of option ID to variant ID or text."),
            optional_argument("quantity", BigInt, _QUANTITY),
        ],
    )


def combination_pricing() -> Any:
    """Declare the price of the combination of the row, calculated for all combinations of a list at once."""
    return calculated(
        product_columns("t.product_id", COMBINATION_PRICE),
        _calculate,
        _FOR_CALLER.format(" of the product in this combination"),
        [optional_argument("quantity", BigInt, _QUANTITY)],
    )


def price_range() -> Any:
    """Declare the range of prices of the product of the row, calculated for all products of a list at once."""
    return calculated(
        (*product_columns(), *PRICES),
        _ranges,
        "What one unit costs the caller at least and at most, after promotions: in any of its combinations, with any of its options.",
    )
