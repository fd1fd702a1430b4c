"""Resolve payment methods and payments."""

from __future__ import annotations

import strawberry
from strawberry import Info

from auth.access import Access, open_to_shoppers
from domain.orders.payments import record_payment
from domain.payments.methods import PAYMENT_METHOD_RECORDS
from domain.payments.read import PAYMENT_METHODS, PAYMENTS
from resolvers.entity_mutations import build_entity_mutations
from resolvers.entity_queries import build_entity_queries
from resolvers.mutation_helpers import load_record
from schema.fields import root_field
from schema.scalars import ID, BigInt
from schema.types.orders import PaymentObject
from schema.types.pricing import PaymentMethodInput, PaymentMethodObject

_READ_METHODS = open_to_shoppers("view_payments", "read_orders")
_READ = Access(privileges=("view_payments",), app_scope="read_orders", vendor=True, customer=True)
_WRITE = Access(privileges=("manage_payments",))


@strawberry.type
class PaymentMutations:
    """Further mutations of payments."""

    @root_field(_WRITE)
    async def payment_record(
        self, info: Info, order_id: ID, amount_cents: BigInt, kind: str = "", installments: int = 1
    ) -> PaymentObject | None:
        """Record a manual payment for an order; the order status stays unchanged."""
        settled = await record_payment(info.context.scope, order_id, amount_cents, kind=kind, installments=installments)
        assert settled.payment_id is not None
        return await load_record(info, settled.payment_id)


QUERIES = (
    build_entity_queries(
        PaymentMethodObject, PAYMENT_METHODS, "payment_method", "payment_methods", access=_READ_METHODS
    ),
    build_entity_queries(PaymentObject, PAYMENTS, "payment", "payments", access=_READ),
)
MUTATIONS = (
    PaymentMutations,
    build_entity_mutations(
        PaymentMethodObject,
        "payment_method",
        PaymentMethodInput,
        PAYMENT_METHOD_RECORDS,
        _WRITE,
        field_names={"vendor_id": "vendor", "tax_ids": "taxes"},
        delete_description="Delete a payment method; it remains visible on existing orders.",
    ),
)
