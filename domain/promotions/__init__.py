"""Decide what is given besides: discounts, free shipping, gifts."""
