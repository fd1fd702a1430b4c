"""The version of what a store's settings say of purchases, which the rows of products carry, so that terms can be cached by it.

It names the stored versions of the settings' rows, as the statement saw them: no write leaves it as it was, also not within the transaction
that writes.
"""

from __future__ import annotations

TABLES = (
    "destinations", "destination_zipcodes", "shipping_methods", "shipping_rates", "taxes", "tax_rates", "shipping_method_taxes",
    "payment_method_taxes", "warehouses", "warehouse_areas", "warehouse_zipcodes", "warehouse_usergroups",
)  # fmt: skip
"""The tables whose rows apply to purchases whatever their products, customers and coupons."""
MAX_ROWS = 500
"""Stores with more rows have no version: to hash them would take longer than to read what applies."""

# `xmin` and `ctid` identify the stored version of a row.
_ROWS = " UNION ALL ".join(
    f"SELECT {number} AS source, xmin AS version, ctid AS place FROM {table} WHERE tenant_id = $1"
    for number, table in enumerate(TABLES)
)
VERSION_SQL = f"""(
SELECT hashtextextended(coalesce(string_agg(concat_ws(' ', source, version, place), ',' ORDER BY source, place), ''), 0)
FROM ({_ROWS} LIMIT {MAX_ROWS + 1}) AS stored HAVING count(*) <= {MAX_ROWS})"""
"""The SQL of the version of the terms of the store that is parameter 1; null for too many rows."""
