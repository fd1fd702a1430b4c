"""Assemble what can be asked and done about orders."""

from __future__ import annotations

from domain.orders.read import ORDERS
from resolvers.reads import reads
from schema.types.orders import Order

QUERIES = (reads(Order, ORDERS, "order", "orders", connection=True),)
