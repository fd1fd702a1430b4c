"""Load what conditions on features, earlier purchases and points need to know, in one statement, and only when a rule asks for it.

Earlier purchases are those of the customer's account: the paid and completed orders, that is those in a status that deducts stock, imported
ones included. Guests have none. An order that is priced again doesn't count itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from domain.promotions.calculation import ActivePromotion
from domain.promotions.conditions import tests_of
from domain.promotions.rules import NO_PURCHASES, EarlierPurchases, FeatureValues, feature_texts
from kernel.scope import Scope
from models.connection.database import fetch, json_value

# Imported orders never affect stock.
_IS_PAID = "(o.stock_state = 'D' OR o.imported AND o.status IN ('P', 'C')) AND o.deleted_at IS NULL"
_FACTS = f"""
SELECT
    (SELECT jsonb_agg(to_jsonb(entry)) FROM (
        SELECT v.product_id, v.feature_id, v.value, jsonb_agg(jsonb_build_array(x.id, x.name)) FILTER (WHERE x.id IS NOT NULL) AS variants
        FROM feature_values v
            LEFT JOIN feature_value_variants k ON k.tenant_id = v.tenant_id AND k.feature_value_id = v.id
            LEFT JOIN feature_variants x ON x.tenant_id = v.tenant_id AND x.id = coalesce(k.variant_id, v.variant_id)
        WHERE v.tenant_id = $1 AND v.product_id = ANY($2::bigint[]) AND v.feature_id = ANY($3::bigint[])
        GROUP BY v.product_id, v.feature_id, v.value
    ) AS entry) AS features,
    (SELECT jsonb_build_object('orders', count(*), 'cents', coalesce(sum(o.total_cents - o.refunded_cents), 0)) FROM orders o
        WHERE $4 AND o.tenant_id = $1 AND o.user_id = $5 AND {_IS_PAID} AND o.id IS DISTINCT FROM $6::bigint) AS earlier,
    (SELECT jsonb_object_agg(entry.product_id, entry.units) FROM (
        SELECT l.product_id, sum(l.quantity) AS units
        FROM orders o JOIN order_lines l ON l.tenant_id = o.tenant_id AND l.order_id = o.id AND l.product_id = ANY($7::bigint[])
        WHERE o.tenant_id = $1 AND o.user_id = $5 AND {_IS_PAID} AND o.id IS DISTINCT FROM $6
        GROUP BY l.product_id
    ) AS entry) AS products,
    (SELECT u.points - (SELECT coalesce(sum(e.points), 0) FROM point_entries e WHERE e.tenant_id = $1 AND e.order_id = $6)
        FROM users u WHERE u.tenant_id = $1 AND u.id = $5)::bigint AS points
"""
_HISTORY = frozenset({"orders_number", "orders_total"})
_NEED_FACTS = frozenset({"feature", "purchased_products", "points"}) | _HISTORY


@dataclass(frozen=True, slots=True)
class PurchaseFacts:
    """The values of features by product and feature, the customer's earlier purchases and points."""

    features: Mapping[int, Mapping[int, FeatureValues]] = field(default_factory=dict)
    earlier: EarlierPurchases = NO_PURCHASES
    points: int = 0


_NO_FACTS = PurchaseFacts()


async def load_facts(
    scope: Scope,
    promotions: Sequence[ActivePromotion],
    products: Sequence[int],
    user_id: int | None,
    order_id: int | None,
) -> PurchaseFacts:
    """Return the facts that the promotions' rules test, in one statement; none without such tests."""
    asking = [promotion.rule for promotion in promotions if not promotion.tests.isdisjoint(_NEED_FACTS)]
    if not asking:
        return _NO_FACTS
    tests = [test for rule in asking for test in tests_of(rule) if test["test"] in _NEED_FACTS]
    [record] = await fetch(
        _FACTS,
        scope.store.id,
        list(products),
        list({test["value"]["feature"] for test in tests if test["test"] == "feature"}),
        any(test["test"] in _HISTORY for test in tests),
        user_id,
        order_id,
        list({product["id"] for test in tests if test["test"] == "purchased_products" for product in test["value"]}),
    )
    earlier, purchased = json_value(record["earlier"]), json_value(record["products"]) or {}
    return PurchaseFacts(
        _features(json_value(record["features"]) or []),
        EarlierPurchases(
            earlier["orders"], int(earlier["cents"]), {int(product): int(units) for product, units in purchased.items()}
        ),
        record["points"] or 0,
    )


def _features(rows: Sequence[Mapping[str, Any]]) -> dict[int, dict[int, FeatureValues]]:
    features: dict[int, dict[int, FeatureValues]] = {}
    for row in rows:
        variants: list[tuple[int, str]] = row["variants"] or []
        texts = [name for _, name in variants] or [row["value"]]
        features.setdefault(row["product_id"], {})[row["feature_id"]] = FeatureValues(
            frozenset(number for number, _ in variants), feature_texts(*texts), _number(texts)
        )
    return features


def _number(texts: Sequence[str]) -> Decimal | None:
    try:
        number = Decimal(texts[0].strip()) if len(texts) == 1 else None
    except InvalidOperation:
        return None
    return number if number is not None and number.is_finite() else None
