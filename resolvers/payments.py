"""Assemble what can be asked and done about payment methods and payments."""

from __future__ import annotations

import strawberry
from strawberry import Info

from auth.access import Access
from domain.orders.payments import record_payment
from domain.payments import methods
from domain.payments.read import PAYMENT_METHODS, PAYMENTS
from resolvers.changes import DeletedRecord, deleted, renamed, shown, words
from resolvers.reads import reads
from schema.fields import root
from schema.inputs.orders import PaymentMethodInput
from schema.scalars import BigInt, Ident
from schema.types.orders import Payment, PaymentMethod

_READ_METHODS = Access(
    privileges=("view_payments",),
    app_scope="read_orders",
    vendor=True,
    customer=True,
    storefront="storefront:read",
)
_READ = Access(privileges=("view_payments",), app_scope="read_orders", vendor=True, customer=True)
_WRITE = Access(privileges=("manage_payments",))

_METHOD_WORDS = {"vendor_id": "vendor"}


@strawberry.type
class PaymentMutations:
    """What can be done with payment methods and payments."""

    @root(_WRITE, "Make a way to pay.")
    async def payment_method_create(self, info: Info, input: PaymentMethodInput) -> PaymentMethod | None:
        """Make a payment method."""
        with words(_METHOD_WORDS):
            made = await methods.create_payment_method(info.context.scope, renamed(input, _METHOD_WORDS))
        return await shown(info, PAYMENT_METHODS, made)

    @root(_WRITE, "Change a way to pay.")
    async def payment_method_update(
        self, info: Info, id: Ident, input: PaymentMethodInput
    ) -> PaymentMethod | None:
        """Change a payment method."""
        with words(_METHOD_WORDS):
            changed = await methods.update_payment_method(
                info.context.scope, id, renamed(input, _METHOD_WORDS)
            )
        return await shown(info, PAYMENT_METHODS, changed)

    @root(_WRITE, "Delete a way to pay; orders paid with it go on showing it.")
    async def payment_method_delete(self, info: Info, id: Ident) -> DeletedRecord:
        """Delete a payment method."""
        await methods.delete_payment_method(info.context.scope, id)
        return deleted(id)

    @root(_WRITE, "Record money received for an order by hand; the order's status stays.")
    async def payment_record(
        self, info: Info, order_id: Ident, amount_cents: BigInt, kind: str = "", installments: int = 1
    ) -> Payment | None:
        """Record a payment."""
        settled = await record_payment(
            info.context.scope, order_id, amount_cents, kind=kind, installments=installments
        )
        assert settled.payment_id is not None
        return await shown(info, PAYMENTS, settled.payment_id)


QUERIES = (
    reads(PaymentMethod, PAYMENT_METHODS, "payment_method", "payment_methods", access=_READ_METHODS),
    reads(Payment, PAYMENTS, "payment", "payments", access=_READ),
)
MUTATIONS = (PaymentMutations,)
