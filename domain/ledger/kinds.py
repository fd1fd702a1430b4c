"""The accounts and kinds of entries of the ledger (docs/ledger.md#accounts-and-kinds)."""

from __future__ import annotations

from typing import TypeAlias

SALE, COMMISSION, SHIPPING = "sale", "commission", "shipping"
DISCOUNT, SURCHARGE, TAX, UNAPPLIED = "discount", "surcharge", "tax", "unapplied"
REFUND, COMMISSION_REFUND = "refund", "commission_refund"
ADJUSTMENT, PAYOUT = "adjustment", "payout"

Account: TypeAlias = int | None
"""A vendor's account, by its id, or the store's own."""
Targets: TypeAlias = dict[tuple[Account, str], int]
"""Cents of each account and kind."""
