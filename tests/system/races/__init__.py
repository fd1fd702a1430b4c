"""Races between the writing operations on orders, carts, stock, promotions and limits, for the tests and `python -m tests.system.races`."""
