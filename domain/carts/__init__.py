"""Carts: items, totals, checkout."""
