"""The cache of what a store's settings say of purchases, so that a cart or an order seldom takes a statement for it.

Rows of products carry the version of these settings (`VERSION_SQL`). It names the stored versions of their rows, as the statement saw
them: no write leaves it as it was, also not within the transaction that writes. A process caches the terms that it read last, each with its
version, and uses them for rows of the same version only: nothing is invalidated.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from kernel.cache import BoundedCache

TABLES = (
    "destinations", "destination_zipcodes", "shipping_methods", "shipping_rates", "taxes", "tax_rates", "shipping_method_taxes",
    "payment_method_taxes", "warehouses", "warehouse_areas", "warehouse_zipcodes", "warehouse_usergroups",
)  # fmt: skip
"""The tables whose rows apply to purchases whatever their products, customers and coupons."""
MAX_ROWS = 500
"""Stores with more rows have no version: to hash them would take longer than to read what applies."""
MAX_BYTES = 8_000_000

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


class TermsCache(Generic[Terms]):
    """The terms that a process read, each under a key that begins with its store: the most recently used up to a number of bytes."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._terms: BoundedCache[Hashable, tuple[int, Terms, int]] = BoundedCache(
            max_weight=max_bytes, weigh=lambda entry: entry[2]
        )

    @property
    def size(self) -> int:
        """The bytes of all terms."""
        return self._terms.weight

    def find(self, key: Hashable, version: int | None) -> Terms | None:
        """Return the terms of this version, None where they are not cached."""
        entry = self._terms.find(key)
        return entry[1] if entry is not None and entry[0] == version else None

    def keep(self, key: Hashable, version: int | None, terms: Terms, size: int) -> None:
        """Cache the terms of a version in place of another version's; `size` is about that of the terms in bytes."""
        if version is None:
            self._terms.drop(key)
        else:
            self._terms.keep(key, (version, terms, size))
