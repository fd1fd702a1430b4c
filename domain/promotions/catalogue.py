"""Lower the prices of a list of products by the promotions of the catalogue, for one caller.

The rows of the products carry what it takes (`product_sql`): price, categories, and the version of the store's promotions. A process keeps
the promotions of a version that it has read, so that a list seldom takes a statement for them. A version names the stored versions of
their rows: no write leaves it as it was.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from domain.promotions.calculation import ActivePromotion, lowered_lines
from domain.promotions.conditions import tests_of
from domain.promotions.facts import load_facts
from domain.promotions.rewards import (
    ONCE,
    RULE_COLUMNS,
    PromotionContext,
    category_ids,
    load_context,
    promotions_from,
    uses_of,
)
from domain.promotions.rules import NO_FEATURES, RuleContext, RuleLine
from kernel.scope import Scope
from models.database import Plans, fetch

MAX_STORES = 1_000
_MAX_KEPT_PROMOTIONS = 200
# Tests of the customer that take a statement.
_OF_CUSTOMERS = frozenset({"usergroups", ONCE})

_WHERE = (
    "p.tenant_id = {tenant} AND p.deleted_at IS NULL AND p.status = 'A' AND p.zone = 'catalog' AND p.coupon_key = ''"
)
# `xmin` and `ctid` identify the stored version of a row, also within the transaction that writes it.
_VERSION = (
    "(SELECT hashtextextended(string_agg(concat_ws(' ', p.id, p.xmin, p.ctid), ',' ORDER BY p.id), 0)"
    f" FROM promotions p WHERE {_WHERE})"
)
_PROMOTIONS = f"""
SELECT p.id, p.zone, {RULE_COLUMNS}, p.coupon_code, p.usage_cap, p.used, p.priority, p.stop, p.name, false AS is_issued,
    p.from_at, p.to_at, {_VERSION} AS version
FROM promotions p WHERE {_WHERE}
""".replace("{tenant}", "$1")


class CatalogueProduct(NamedTuple):
    """A product of a list: its id, its price in cents, the paths of its categories, and the version of the promotions, None for none."""

    id: int
    price_cents: int
    category_paths: str | None
    version: int | None


def product_sql() -> str:
    """Return the SQL of a `CatalogueProduct` for the product `t`; `{tenant}` is the store."""
    return f"""(t.id, t.price_cents, CASE WHEN EXISTS (SELECT FROM promotions p WHERE {_WHERE}) THEN (
        SELECT string_agg(c.id_path, '/') FROM product_categories pc
            JOIN categories c ON c.tenant_id = pc.tenant_id AND c.id = pc.category_id
        WHERE pc.tenant_id = {{tenant}} AND pc.product_id = t.id) END, {_VERSION})"""


@dataclass(frozen=True, slots=True)
class _Promotion:
    promotion: ActivePromotion
    from_at: datetime | None
    to_at: datetime | None

    def is_active(self, now: datetime) -> bool:
        return (self.from_at is None or self.from_at <= now) and (self.to_at is None or self.to_at >= now)


# By the store's UUID: its number may be that of another store in another database.
_kept: OrderedDict[UUID, tuple[int, Sequence[_Promotion]]] = OrderedDict()


async def lower_catalogue_prices(
    scope: Scope, products: Sequence[CatalogueProduct], user_id: int | None
) -> list[tuple[int, Sequence[ActivePromotion]]]:
    """Return the price of one unit of each product in cents, lowered by promotions of the catalogue, and those that lowered it.

    Takes no statement where this process knows the promotions and they ask nothing of the customer, three at most.
    """
    version = products[0].version if products else None
    promotions = await _active_promotions(scope, version) if version is not None else []
    if not promotions:
        return [(product.price_cents, ()) for product in products]
    context = await _rule_context(scope, promotions, products, user_id)
    return [(line.price_cents, reductions) for line, reductions in lowered_lines(promotions, context)]


async def _active_promotions(scope: Scope, version: int) -> list[ActivePromotion]:
    store = scope.store.public_id
    known = _kept.get(store)
    if known is not None and known[0] == version:
        dated = known[1]
        _kept.move_to_end(store)
    else:
        rows = await fetch(_PROMOTIONS, scope.store.id, plans=Plans.REUSED)
        promotions = promotions_from(rows)
        dated = [
            _Promotion(promotion, row["from_at"], row["to_at"]) for promotion, row in zip(promotions, rows, strict=True)
        ]
        if 0 < len(dated) <= _MAX_KEPT_PROMOTIONS:
            _kept[store] = rows[0]["version"], dated
            _kept.move_to_end(store)
            if len(_kept) > MAX_STORES:
                _kept.popitem(last=False)
    return [each.promotion for each in dated if each.is_active(scope.now)]


async def _rule_context(
    scope: Scope, promotions: Sequence[ActivePromotion], products: Sequence[CatalogueProduct], user_id: int | None
) -> RuleContext:
    rules = [promotion.rule for promotion in promotions]
    facts = await load_facts(scope, rules, [product.id for product in products], user_id, None)
    usergroups: frozenset[int] = frozenset()
    used_by_customer: dict[int, int] = {}
    if user_id is not None and any(test["test"] in _OF_CUSTOMERS for rule in rules for test in tests_of(rule)):
        customer: Mapping[str, Any] = await load_context(scope, promotions, [], PromotionContext(user_id))
        usergroups = frozenset(customer["usergroups"])
        used_by_customer = uses_of(customer)
    return RuleContext(
        lines=[
            RuleLine(id_, 1, cents, 0, category_ids(paths or ""), facts.features.get(id_, NO_FEATURES))
            for id_, cents, paths, _ in products
        ],
        user_id=user_id,
        usergroups=usergroups,
        used={promotion.id: promotion.used for promotion in promotions},
        used_by_customer=used_by_customer,
        earlier=facts.earlier,
        points=facts.points,
    )
