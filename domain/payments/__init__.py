"""Decide how orders are paid."""
