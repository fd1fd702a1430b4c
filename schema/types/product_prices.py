"""Define the price of a product for the caller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from domain.promotions.catalog import product_sql
from domain.purchase.catalog_prices import CataloguePrice, catalogue_prices
from kernel.errors import DomainError
from kernel.scope import Scope
from models.reading.queries import Condition, Row
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
    promotions: list[AppliedPromotionObject] = output_field("The promotions that lower the price, in their order.")


async def _calculate(
    scope: Scope, products: Sequence[tuple[int, int, str | None, int | None]], options: Mapping[str, Any] | None = None
) -> list[Any]:
    return [_row(price) for price in await catalogue_prices(scope, products, options)]


def _row(price: CataloguePrice | DomainError) -> Row | DomainError:
    if isinstance(price, DomainError):
        return price
    return Row(
        price_cents=price.price_cents,
        base_cents=price.base_cents,
        discount_cents=price.base_cents - price.price_cents,
        promotions=[Row(name=name) for name in price.promotions],
    )


def pricing() -> Any:
    """Declare the price of the product of the row, calculated for all products of a list at once."""
    return calculated(
        lambda _: Condition(product_sql()),
        _calculate,
        "The price of one unit for the caller, after the catalogue promotions that apply to the caller (usergroups, account, dates)."
        " Promotions that need a coupon or a larger quantity show in the cart only.",
        [optional_argument("options", JSON, "The chosen options: an object of option ID to variant ID or text.")],
    )
