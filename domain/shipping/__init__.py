"""Shipping methods, rates and quotes."""
