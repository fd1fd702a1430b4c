"""SQL of what a shop shows of a product `t`: whether it can be bought, in which quantity, at which prices, and how it is rated.

A product with combinations is sold from their stock, one without from its own (`domain.catalog.stock`).
"""

from __future__ import annotations

from domain.catalog.listing import OPEN, of_row
from domain.combined_stock import combinations_of, stock_sql

_COMBINATIONS = combinations_of()
_ON_SALE = f"({OPEN} AND t.deleted_at IS NULL)"
IS_COMBINED = f"EXISTS (SELECT 1 FROM {_COMBINATIONS})"
"""Whether it has combinations, and so is sold in one of them only."""
STOCK, ON_HAND, RESERVED = (stock_sql(column=column) for column in ("stock", "on_hand", "reserved"))
"""Its units that can still be sold, on hand and reserved: those of its combinations if it has some, whatever its own row says."""

IS_AVAILABLE = (
    f"({_ON_SALE} AND (t.tracking = 'D' OR greatest(t.min_quantity, 1) <="
    f" coalesce((SELECT max(c.stock) FROM {_COMBINATIONS}), t.stock)))"
)
"""Whether it is on sale, and the minimum quantity is in stock."""

AVAILABLE_QUANTITY = f"CASE WHEN NOT {_ON_SALE} THEN 0 WHEN t.tracking <> 'D' THEN {STOCK} END"
"""The units in stock; null where stock isn't tracked."""

COMBINATION_IS_AVAILABLE = (
    "EXISTS (SELECT 1 FROM products p WHERE p.tenant_id = t.tenant_id AND p.id = t.product_id"
    f" AND {of_row(_ON_SALE, 'p')} AND (p.tracking = 'D' OR greatest(p.min_quantity, 1) <= t.stock))"
)
"""Of a combination `t`: whether its product is on sale, and the minimum quantity of the combination is in stock."""

# As `domain.purchase.option_selection.select_options`: numeric `round` rounds half away from zero.
_MODIFIERS = (
    "(SELECT coalesce(sum(CASE v.modifier_type WHEN 'A' THEN v.modifier"
    " ELSE round(t.price_cents::numeric * v.modifier / 10000) END), 0)"
    " FROM combination_choices k JOIN option_variants v ON v.tenant_id = k.tenant_id AND v.id = k.variant_id"
    " WHERE k.tenant_id = c.tenant_id AND k.combination_id = c.id)"
)
_COMBINATION_PRICE = f"greatest(0, t.price_cents + c.price_cents + {_MODIFIERS})::bigint"
LOWEST_PRICE = f"coalesce((SELECT min({_COMBINATION_PRICE}) FROM {_COMBINATIONS}), t.price_cents)"
"""The lowest price of its combinations in cents; its own without combinations."""
HIGHEST_PRICE = f"coalesce((SELECT max({_COMBINATION_PRICE}) FROM {_COMBINATIONS}), t.price_cents)"
"""The highest price of its combinations in cents; its own without combinations."""

_PUBLISHED_REVIEWS = (
    "discussion_threads th JOIN discussion_posts d ON d.tenant_id = th.tenant_id AND d.thread_id = th.id"
    " WHERE th.tenant_id = t.tenant_id AND th.object_type = 'P' AND th.object_id = t.id AND d.status = 'A'"
)
AVERAGE_RATING = f"(SELECT avg(d.rating)::float8 FROM {_PUBLISHED_REVIEWS})"
"""The mean of the published ratings, 1 to 5; null without ratings."""
REVIEW_COUNT = f"(SELECT count(*) FROM {_PUBLISHED_REVIEWS})"
"""The number of published reviews."""
