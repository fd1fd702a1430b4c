"""Assemble what can be asked and done about payment methods and payments."""

from __future__ import annotations

import strawberry
from strawberry import Info

from auth.access import Access
from domain.orders.payments import record_payment
from domain.payments import methods
from domain.payments.read import PAYMENT_METHODS, PAYMENTS
from resolvers.changes import shown
from resolvers.reads import reads
from resolvers.writes import Writer, writes
from schema.fields import root
from schema.inputs.orders import PaymentMethodInput
from schema.scalars import BigInt, Ident
from schema.types.orders import PaymentMethodObject, PaymentObject

_READ_METHODS = Access(
    privileges=("view_payments",),
    app_scope="read_orders",
    vendor=True,
    customer=True,
    storefront="storefront:read",
)
_READ = Access(privileges=("view_payments",), app_scope="read_orders", vendor=True, customer=True)
_WRITE = Access(privileges=("manage_payments",))

METHOD_WRITER = Writer(
    create=methods.create_payment_method,
    update=methods.update_payment_method,
    delete=methods.delete_payment_method,
    access=_WRITE,
    words={"vendor_id": "vendor", "tax_ids": "taxes"},
    texts=(
        "Make a way to pay.",
        "Change a way to pay.",
        "Delete a way to pay; orders paid with it go on showing it.",
    ),
)


@strawberry.type
class PaymentMutations:
    """What else can be done with payments."""

    @root(_WRITE, "Record money received for an order by hand; the order's status stays.")
    async def payment_record(
        self, info: Info, order_id: Ident, amount_cents: BigInt, kind: str = "", installments: int = 1
    ) -> PaymentObject | None:
        """Record a payment."""
        settled = await record_payment(
            info.context.scope, order_id, amount_cents, kind=kind, installments=installments
        )
        assert settled.payment_id is not None
        return await shown(info, PAYMENTS, settled.payment_id)


QUERIES = (
    reads(PaymentMethodObject, PAYMENT_METHODS, "payment_method", "payment_methods", access=_READ_METHODS),
    reads(PaymentObject, PAYMENTS, "payment", "payments", access=_READ),
)
MUTATIONS = (
    PaymentMutations,
    writes(PaymentMethodObject, PAYMENT_METHODS, "payment_method", PaymentMethodInput, METHOD_WRITER),
)
