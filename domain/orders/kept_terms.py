"""Keep what the settings of a store say of purchases, so that a cart or an order seldom takes a statement for it.

Rows of products carry the version of these settings (`VERSION_SQL`). It names the stored versions of their rows, as the statement saw
them: no write leaves it as it was, also not within the transaction that writes. A process keeps the terms that it read last, each with its
version, and uses them for rows of the same version only: nothing is invalidated.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

TABLES = (
    "destinations", "destination_zipcodes", "shipping_methods", "shipping_rates", "taxes", "tax_rates", "shipping_method_taxes",
    "payment_method_taxes", "warehouses", "warehouse_areas", "warehouse_zipcodes", "warehouse_usergroups",
)  # fmt: skip
"""The tables whose rows apply to purchases whatever their products, customers and coupons."""
MAX_ROWS = 500
"""Stores with more rows have no version: to hash them would take longer than to read what applies."""
MAX_KEPT_BYTES = 8_000_000

# `xmin` and `ctid` identify the stored version of a row.
_ROWS = " UNION ALL ".join(
    f"SELECT {number} AS source, xmin AS version, ctid AS place FROM {table} WHERE tenant_id = $1"
    for number, table in enumerate(TABLES)
)
VERSION_SQL = f"""(
SELECT hashtextextended(coalesce(string_agg(concat_ws(' ', source, version, place), ',' ORDER BY source, place), ''), 0)
FROM ({_ROWS} LIMIT {MAX_ROWS + 1}) AS stored HAVING count(*) <= {MAX_ROWS})"""
"""The SQL of the version of the terms of the store that is parameter 1; null for too many rows."""

Terms = TypeVar("Terms")


class KeptTerms(Generic[Terms]):
    """What a process keeps, each under a key that begins with its store: the most recently used up to a number of bytes."""

    def __init__(self, max_bytes: int = MAX_KEPT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._kept: OrderedDict[Hashable, tuple[int, Terms, int]] = OrderedDict()
        self.size = 0

    def find(self, key: Hashable, version: int | None) -> Terms | None:
        """Return the terms of this version, None where they are not kept."""
        kept = self._kept.get(key)
        if kept is None or kept[0] != version:
            return None
        self._kept.move_to_end(key)
        return kept[1]

    def keep(self, key: Hashable, version: int | None, terms: Terms, size: int) -> None:
        """Keep the terms of a version in place of another version's; `size` is about that of the terms in bytes."""
        replaced = self._kept.pop(key, None)
        if replaced is not None:
            self.size -= replaced[2]
        if version is None:
            return
        self._kept[key] = version, terms, size
        self.size += size
        while self.size > self._max_bytes:
            self.size -= self._kept.popitem(last=False)[1][2]
