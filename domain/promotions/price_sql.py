"""Write the price that a caller pays as SQL, so that products can be compared, counted and sorted by it.

The promotions of the catalogue that may lower a price of the caller become a chain of subqueries, each of which lowers the price of the one
before, by the arithmetic of `domain.promotions.calculation`. What conditions ask of the customer is decided before; what they ask of a
product is a condition on its search entry `t`, by its price, categories or id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from domain.promotions.calculation import ActivePromotion, in_order
from domain.promotions.catalog import CatalogueProduct, active_promotions, rule_context
from domain.promotions.conditions import tests_of
from domain.promotions.rules import NEGATING, Rule, RuleContext, RuleLine, evaluate
from kernel.scope import Scope, active_scope
from models.connection.database import fetch
from models.reading.queries import Condition

PAID = "paid.cents"
"""The price in cents that the caller pays for one unit, where the joins of `paid_price` are."""
_OPERATORS = {"eq": "=", "neq": "<>", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_OF_ONE_PRODUCT = frozenset({"products", "purchased_products", "feature"})
_ANY_PRODUCT = RuleLine(0, 1, 0)
_FEATURED = "SELECT DISTINCT product_id FROM feature_values WHERE tenant_id = $1 AND feature_id = ANY($2::bigint[])"


async def paid_price(scope: Scope, user_id: int | None) -> Condition | None:
    """Return the joins that give an entry `t` its `PAID` price; None where that is the catalogue's.

    Takes the statements of `active_promotions` and `rule_context`, and one for conditions on features.
    """
    with active_scope(scope):
        promotions = await active_promotions(scope)
        features = {
            test["value"]["feature"]
            for promotion in promotions
            for test in tests_of(promotion.rule)
            if test["test"] == "feature"
        }
        rows = await fetch(_FEATURED, scope.store.id, list(features)) if features else []
        products = [CatalogueProduct(row["product_id"], 0, None, None) for row in rows]
        context = await rule_context(scope, promotions, products, user_id)
    chain = _Chain(context)
    for promotion in in_order(promotions):
        chain.add(promotion)
    return chain.joins()


@dataclass(slots=True)
class _Chain:
    """The subqueries so far: `price` is the SQL of the last price, each of the `stops` whether a promotion ends the chain."""

    context: RuleContext
    texts: list[str] = field(default_factory=list)
    params: list[Any] = field(default_factory=list)
    price: str = "t.price_cents"
    stops: list[str] = field(default_factory=list)

    def add(self, promotion: ActivePromotion) -> None:
        """Lower the price by a promotion whose conditions are met, unless one before it was the last."""
        due = _rule_sql(promotion.rule, self.context, promotion.id)
        if promotion.is_used_up or due is False:
            return
        condition = Condition("true") if due is True else due
        name = f"d{len(self.texts)}"
        unless = "".join([f" AND NOT {stop}" for stop in self.stops])
        self._join(name, f"({condition.sql}){unless} AS due", condition.params)
        for gift in promotion.gifts:
            applies, params = _applies(gift)
            discounted, value = _discounted(gift, self.price)
            column = f"CASE WHEN {name}.due{applies} THEN {discounted} ELSE {self.price} END AS cents"
            self.price = f"x{len(self.texts)}.cents"
            self._join(self.price.removesuffix(".cents"), column, (*params, *value))
        if promotion.stop:
            self.stops.append(f"{name}.due")

    def joins(self) -> Condition | None:
        """Return the joins; None where no promotion may lower a price."""
        if not self.texts:
            return None
        self._join("paid", f"{self.price} AS cents", ())
        return Condition("".join(self.texts), tuple(self.params))

    def _join(self, name: str, column: str, params: Iterable[Any]) -> None:
        # OFFSET 0 keeps an expression from being written again wherever it is used, twice as often with each promotion.
        self.texts.append(f" CROSS JOIN LATERAL (SELECT {column} OFFSET 0) {name}")
        self.params += params


def _applies(gift: Mapping[str, Any]) -> tuple[str, tuple[Any, ...]]:
    products, categories = gift.get("products"), gift.get("categories")
    if products is None and categories is None:
        return "", ()
    sql = " AND (t.product_id = ANY({}::bigint[]) OR t.category_ids && {}::bigint[])"
    return sql, (list(products or ()), list(categories or ()))


def _discounted(gift: Mapping[str, Any], price: str) -> tuple[str, tuple[int, ...]]:
    """Return the price less the discount of a gift, which is never negative and at most all of it; percentages are rounded half up."""
    percentage = f"floor(({price}::numeric * {{}}::bigint + 50000) / 100000)::bigint"
    lowered = {
        "by_percent": f"{price} - {percentage}",
        "to_percent": percentage,
        "by_cents": f"{price} - {{}}::bigint",
    }.get(gift["way"], "{}::bigint")
    return f"greatest(0, least({price}, {lowered}))", (gift["value"],)


def _rule_sql(rule: Rule, context: RuleContext, promotion_id: int) -> Condition | bool:
    """Return the condition on an entry under which `evaluate` accepts its product alone; a boolean where that is the same for all."""
    if "set" not in rule:
        return _test_sql(rule, context, promotion_id)
    needs_all, holds = rule["set"] == "all" or not rule["of"], rule["holds"]
    texts: list[str] = []
    params: list[Any] = []
    for part in [_rule_sql(part, context, promotion_id) for part in rule["of"]]:
        if isinstance(part, bool):
            if (part is holds) is not needs_all:
                return not needs_all
            continue
        texts.append(f"({part.sql})" if holds else f"NOT ({part.sql})")
        params += part.params
    return Condition((" AND " if needs_all else " OR ").join(texts), tuple(params)) if texts else needs_all


def _test_sql(test: Rule, context: RuleContext, promotion_id: int) -> Condition | bool:
    name, operator, value = test["test"], test["op"], test["value"]
    if name == "price":
        return Condition(f"t.price_cents {_OPERATORS[operator]} {{}}::bigint", (value,))
    if name == "categories":
        negation = "NOT " if operator in NEGATING else ""
        return Condition(f"{negation}t.category_ids && {{}}::bigint[]", (list(value),))
    usual = evaluate(test, context, promotion_id, _ANY_PRODUCT)
    if name not in _OF_ONE_PRODUCT:
        return usual
    others = [
        line.product_id
        for line in _tested_lines(name, value, context)
        if evaluate(test, context, promotion_id, line) is not usual
    ]
    if not others:
        return usual
    return Condition(f"{'NOT ' if usual else ''}t.product_id = ANY({{}}::bigint[])", (others,))


def _tested_lines(name: str, value: Any, context: RuleContext) -> Sequence[RuleLine]:
    """Return the lines of products that a test may treat unlike others."""
    if name == "feature":
        return context.lines
    return [_ANY_PRODUCT._replace(product_id=product["id"]) for product in value]
