"""Promotions and coupons: conditions, discounts, free shipping, gifts."""
