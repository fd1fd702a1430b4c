"""Decide which products and categories shoppers find, open and buy: the rules of docs/reference/shared.md#what-shoppers-see as conditions.

Everything that lists, counts, searches, opens or sells products uses these; nothing else compares the status of a product, of its vendor or
of its categories. What vendor and categories decide is in `unlisted_products`, which triggers keep (migration 0037).

    listed   found in lists, searches, facets and counts
    open     opened by id or slug, and bought

A condition is on the row `t`; `of_row` returns it for another alias.
"""

from __future__ import annotations

import re
from types import MappingProxyType

# `IS TRUE` keeps PostgreSQL from a join, which compares each product with each unlisted one while its statistics are older than an import.
_NOT_UNLISTED = (
    "(NOT EXISTS (SELECT 1 FROM unlisted_products u WHERE u.tenant_id = t.tenant_id AND u.product_id = t.id{})) IS TRUE"
)
_NOT_DISABLED = _NOT_UNLISTED.format(" AND u.is_disabled")

_LISTED_BY_OTHERS = _NOT_UNLISTED.format("")
LISTED = f"t.status = 'A' AND {_LISTED_BY_OTHERS}"
"""A listed product."""
LISTED_IN_CATEGORY = f"t.status = 'A' AND {_NOT_DISABLED}"
"""A product that is listed in a category it is in, when a shopper opens that category: a hidden one has products too."""
OPEN = f"t.status IN ('A', 'H') AND {_NOT_DISABLED}"
"""An open product; it may be deleted."""
IN_ADVANCE = "t.out_of_stock_action = 'B'"
"""A product that is sold before it is available, and beyond its stock."""
RELEASED = f"({IN_ADVANCE} OR t.available_since IS NULL OR t.available_since <= now())"
"""A product that is sold already."""

# Taken apart by a subquery: with `= ANY(…)` PostgreSQL would read all categories for each.
_NO_CATEGORY_ABOVE = (
    "NOT EXISTS (SELECT 1 FROM unnest(string_to_array(t.id_path, '/')::bigint[]) AS above (id)"
    " JOIN categories a ON a.tenant_id = t.tenant_id AND a.id = above.id WHERE a.status {})"
)
LISTED_CATEGORY = "t.status = 'A' AND " + _NO_CATEGORY_ABOVE.format("<> 'A'")
"""A listed category: active, as are all above it."""
OPEN_CATEGORY = "t.status <> 'D' AND " + _NO_CATEGORY_ABOVE.format("= 'D'")
"""An open category: neither it nor one above it is disabled."""


UNLISTED_CATEGORY = f"{OPEN_CATEGORY} AND NOT ({LISTED_CATEGORY})"
"""A category that is open and not listed: hidden, or below a hidden one."""
OPEN_RECORDS = MappingProxyType(
    {
        "products": OPEN,
        "categories": OPEN_CATEGORY,
        **dict.fromkeys(("pages", "vendors", "collections"), "t.status = 'A'"),
    }
)
"""What shoppers who aren't signed in may open, by table; it may be deleted."""


def listed_or(in_opened: str) -> str:
    """Return the condition of products that are listed, or would be but for hidden categories of which a shopper opened one."""
    return f"{LISTED_IN_CATEGORY} AND ({_LISTED_BY_OTHERS} OR {in_opened})"


def of_row(condition: str, alias: str) -> str:
    """Return a condition on the row `t` as one on another alias."""
    return re.sub(r"\bt\.", f"{alias}.", condition)
