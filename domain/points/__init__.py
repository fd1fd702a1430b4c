"""Reward points: the balance of each customer, and the ledger of what changed it."""
