"""Taxes: rates and assignment; `domain.purchase.totals` calculates them."""
