"""Taxes: rates, assignment, calculation."""
