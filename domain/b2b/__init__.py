"""Sell to companies: managers, payment codes, partners and their mix of products, order limits, credit scores."""
