"""Lower the prices of a list of products by the promotions of the catalogue, for one caller.

The rows of the products carry what it takes (`product_columns`): price, categories, and the version of the store's promotions
(`domain.promotions.promotion_cache`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from domain.promotions.calculation import ActivePromotion, lowered_lines
from domain.promotions.facts import load_facts
from domain.promotions.promotion_cache import PromotionCache
from domain.promotions.rewards import PromotionContext, category_ids, depend_on_customer, load_context, uses_of
from domain.promotions.rules import NO_FEATURES, RuleContext, RuleLine
from kernel.scope import ActorKind, Scope
from models.connection.database import fetchval
from models.reading.queries import ColumnSql, Condition

_PROMOTIONS = PromotionCache("p.zone = 'catalog'")


class CatalogueProduct(NamedTuple):
    """A product of a list, or one of its combinations: the product's id, the price in cents, and what promotions need.

    That is the paths of its categories, and the version of the promotions, None for none.
    """

    id: int
    price_cents: int
    category_paths: str | None
    version: int | None


@cache
def product_columns(id_: str = "t.id", price: str = "t.price_cents") -> tuple[ColumnSql, ...]:
    """Return the columns of a `CatalogueProduct`, by default for the product `t`."""
    paths, version = Condition(_PROMOTIONS.category_paths_sql(id_)), Condition(_PROMOTIONS.version_sql)
    return id_, price, lambda _: paths, lambda _: version


async def lower_catalogue_prices(
    scope: Scope, products: Sequence[CatalogueProduct], user_id: int | None, quantity: int = 1
) -> list[tuple[int, Sequence[ActivePromotion]]]:
    """Return the price of one unit of each product in cents, lowered by promotions of the catalogue, and those that lowered it.

    `quantity` is the number of units in the cart's line.

    Takes no statement where this process knows the promotions and they ask nothing of the customer, three at most.
    """
    version = products[0].version if products else None
    promotions = await _PROMOTIONS.active(scope, version) if version is not None else []
    if not promotions:
        return [(product.price_cents, ()) for product in products]
    context = await rule_context(scope, promotions, products, user_id, quantity)
    return [(line.price_cents, reductions) for line, reductions in lowered_lines(promotions, context)]


def shopper_id(scope: Scope) -> int | None:
    """Return the account that the caller's cart would have."""
    is_customer = scope.actor.kind in (ActorKind.CUSTOMER, ActorKind.STOREFRONT)
    return scope.actor.user_id if is_customer else None


async def active_promotions(scope: Scope) -> list[ActivePromotion]:
    """Return the store's active promotions of the catalogue, in one statement, and one more for those that this process doesn't know."""
    version = await fetchval(f"SELECT {_PROMOTIONS.version_sql}".replace("{tenant}", "$1"), scope.store.id)
    return [] if version is None else await _PROMOTIONS.active(scope, version)


async def rule_context(
    scope: Scope,
    promotions: Sequence[ActivePromotion],
    products: Sequence[CatalogueProduct],
    user_id: int | None,
    quantity: int = 1,
) -> RuleContext:
    """Return what the rules of promotions ask of products and customer, in two statements at most."""
    facts = await load_facts(scope, promotions, [product.id for product in products], user_id, None)
    usergroups: frozenset[int] = frozenset()
    used_by_customer: dict[int, int] = {}
    if user_id is not None and depend_on_customer(promotions):
        customer: Mapping[str, Any] = await load_context(scope, promotions, [], PromotionContext(user_id))
        usergroups = frozenset(customer["usergroups"])
        used_by_customer = uses_of(customer)
    return RuleContext(
        lines=[
            RuleLine(id_, quantity, cents, 0, category_ids(paths or ""), facts.features.get(id_, NO_FEATURES))
            for id_, cents, paths, _ in products
        ],
        user_id=user_id,
        usergroups=usergroups,
        used={promotion.id: promotion.used for promotion in promotions},
        used_by_customer=used_by_customer,
        earlier=facts.earlier,
        points=facts.points,
    )
