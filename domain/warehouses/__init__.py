"""Warehouses: their delivery areas, the usergroups they serve, and which one dispatches an order (docs/reference/legacy.md#warehouses)."""
