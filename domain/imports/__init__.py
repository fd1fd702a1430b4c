"""Import vendors, customers, a catalog, orders and reviews from another system in batches (docs/reference/shared.md#olist-import)."""
