"""SQL of what a shop shows of a product `t`: whether it can be bought, in which quantity, at which prices, and how it is rated.

A product with combinations is sold from their stock, one without from its own (`domain.catalog.stock`).
"""

from __future__ import annotations

from domain.catalog.listing import IN_ADVANCE, OPEN, RELEASED, of_row
from domain.combined_stock import combinations_of, stock_sql
from kernel.ids import parse_uuid
from models.reading.queries import ColumnSql, Condition

_COMBINATIONS = combinations_of()
_ON_SALE = f"({OPEN} AND {RELEASED} AND t.deleted_at IS NULL)"
_UNLIMITED = f"(t.tracking = 'D' OR {IN_ADVANCE})"
IS_COMBINED = f"EXISTS (SELECT 1 FROM {_COMBINATIONS})"
"""Whether it has combinations, and so is sold in one of them only."""
STOCK, ON_HAND, RESERVED = (stock_sql(column=column) for column in ("stock", "on_hand", "reserved"))
"""Its units that can still be sold, on hand and reserved: those of its combinations if it has some, whatever its own row says."""

_IS_STOCKED = f"greatest(t.min_quantity, 1) <= coalesce((SELECT max(c.stock) FROM {_COMBINATIONS}), t.stock)"
IS_AVAILABLE = f"({_ON_SALE} AND ({_UNLIMITED} OR {_IS_STOCKED}))"
"""Whether it is on sale, and the minimum quantity is in stock or sold in advance."""

IS_IN_ADVANCE = (
    f"({_ON_SALE} AND {IN_ADVANCE}"
    f" AND (coalesce(t.available_since > now(), false) OR (t.tracking <> 'D' AND NOT {_IS_STOCKED})))"
)
"""Whether it can be bought in advance only."""

AVAILABLE_QUANTITY = f"CASE WHEN NOT {_ON_SALE} THEN 0 WHEN NOT {_UNLIMITED} THEN {STOCK} END"
"""The units in stock; null where stock doesn't limit what is sold."""

COMBINATION_IS_AVAILABLE = (
    "EXISTS (SELECT 1 FROM products p WHERE p.tenant_id = t.tenant_id AND p.id = t.product_id"
    f" AND {of_row(_ON_SALE, 'p')} AND ({of_row(_UNLIMITED, 'p')} OR greatest(p.min_quantity, 1) <= t.stock))"
)
"""Of a combination `t`: whether its product is on sale, and the minimum quantity of the combination is in stock or sold in advance."""


def available_combinations(product_id: str | None = None) -> ColumnSql:
    """Return the SQL of the ids of the combinations with the variant `t` that can be bought, of one product or of all."""
    combinations = (
        "ARRAY(SELECT c.public_id::text FROM combination_choices k"
        " JOIN combinations c ON c.tenant_id = k.tenant_id AND c.id = k.combination_id"
        " WHERE k.tenant_id = t.tenant_id AND k.variant_id = t.id AND c.deleted_at IS NULL"
        f" AND {of_row(COMBINATION_IS_AVAILABLE, 'c')}{{}} ORDER BY c.position, c.id)"
    )
    if product_id is None:
        return combinations.format("")
    of_product = (
        " AND c.product_id = (SELECT q.id FROM products q WHERE q.tenant_id = t.tenant_id AND q.public_id = {}::uuid)"
    )
    return lambda _: Condition(combinations.format(of_product), (parse_uuid(product_id),))


# As `domain.catalog.product_options.modifier_cents` of a variant `v`: numeric `round` rounds half away from zero.
_MODIFIER = (
    "CASE v.modifier_type WHEN 'A' THEN v.modifier ELSE round({p}.price_cents::numeric * v.modifier / 10000) END"
)


def _combination_price(product: str, combination: str) -> str:
    """Return the price of a combination before promotions, in cents; may be negative."""
    return (
        f"({product}.price_cents + {combination}.price_cents + (SELECT coalesce(sum({_MODIFIER.format(p=product)}), 0)::bigint"
        " FROM combination_choices k JOIN option_variants v ON v.tenant_id = k.tenant_id AND v.id = k.variant_id"
        f" WHERE k.tenant_id = {combination}.tenant_id AND k.combination_id = {combination}.id))"
    )


COMBINATION_PRICE = (
    f"(SELECT greatest(0, {_combination_price('p', 't')}) FROM products p"
    " WHERE p.tenant_id = t.tenant_id AND p.id = t.product_id)"
)
"""Of a combination `t`: the price of one unit before promotions, in cents."""


_FURTHER_OPTIONS = (
    "(SELECT concat(coalesce(sum(CASE WHEN o.required THEN m.least ELSE least(m.least, 0) END), 0), ' ',"
    " coalesce(sum(CASE WHEN o.required THEN m.most ELSE greatest(m.most, 0) END), 0))"
    " FROM product_options l JOIN options o ON o.tenant_id = l.tenant_id AND o.id = l.option_id CROSS JOIN LATERAL"
    f" (SELECT min(x.cents) AS least, max(x.cents) AS most FROM (SELECT {_MODIFIER.format(p='t')} AS cents"
    " FROM option_variants v WHERE v.tenant_id = o.tenant_id AND v.option_id = o.id) x) m"
    " WHERE l.tenant_id = t.tenant_id AND l.product_id = t.id AND o.status = 'A' AND o.deleted_at IS NULL"
    f" AND NOT EXISTS (SELECT FROM {_COMBINATIONS} AND EXISTS (SELECT FROM combination_choices k"
    " WHERE k.tenant_id = c.tenant_id AND k.combination_id = c.id AND k.option_id = o.id)))"
)
PRICES = (
    f"coalesce((SELECT string_agg(DISTINCT {_combination_price('t', 'c')}::text, ' ') FROM {_COMBINATIONS}), t.price_cents::text)",
    _FURTHER_OPTIONS,
)
"""Texts: the prices of its combinations in cents, its own without any; what options that no combination has add at least and at most."""

# `OFFSET 0` keeps PostgreSQL from an index of another column, which reads all reviews while its statistics are older than an import.
_PUBLISHED_REVIEWS = (
    "discussion_threads th CROSS JOIN LATERAL (SELECT d.rating, d.status FROM discussion_posts d"
    " WHERE d.tenant_id = th.tenant_id AND d.thread_id = th.id OFFSET 0) d"
    " WHERE th.tenant_id = t.tenant_id AND th.object_type = 'P' AND th.object_id = t.id AND d.status = 'A'"
)
AVERAGE_RATING = f"(SELECT avg(d.rating)::float8 FROM {_PUBLISHED_REVIEWS})"
"""The mean of the published ratings, 1 to 5; null without ratings."""
REVIEW_COUNT = f"(SELECT count(*) FROM {_PUBLISHED_REVIEWS})"
"""The number of published reviews."""
