"""Decide how orders travel."""
