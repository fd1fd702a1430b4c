"""Assemble what can be asked and done about payment methods and payments."""

from __future__ import annotations

from auth.access import Access
from domain.payments.read import PAYMENT_METHODS, PAYMENTS
from resolvers.reads import reads
from schema.types.orders import Payment, PaymentMethod

_METHODS = Access(
    privileges=("view_payments",), app_scope="read_orders", vendor=True, customer=True, storefront="storefront:read"
)

QUERIES = (
    reads(PaymentMethod, PAYMENT_METHODS, "payment_method", "payment_methods", access=_METHODS),
    reads(Payment, PAYMENTS, "payment", "payments", access=Access(privileges=("view_payments",), app_scope="read_orders", vendor=True, customer=True)),
)
