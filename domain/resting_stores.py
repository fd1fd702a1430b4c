"""Stores for which workers do nothing: copies of stores that move, or have moved, to another database."""

RESTING_STORES = "ARRAY(SELECT id FROM tenants WHERE status = 'S' AND is_read_only)"
"""Their ids, for the statements that claim work of all stores: `tenant_id <> ALL(…)`. Periodic jobs skip read-only stores anyway."""
