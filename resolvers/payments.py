"""Resolve payment methods, payments and notifications of the payment gateway."""

from __future__ import annotations

import strawberry
from strawberry import Info

from auth.access import Access, open_to_shoppers
from domain.gateway import notifications
from domain.gateway.read import GATEWAY_NOTIFICATIONS
from domain.orders.payments import record_payment
from domain.payments.methods import PAYMENT_METHOD_RECORDS
from models.reading.queries import Row
from resolvers.entity_mutations import build_entity_mutations
from resolvers.entity_queries import build_entity_queries
from resolvers.mutation_helpers import load_record
from schema.fields import root_field
from schema.scalars import ID, BigInt, Bytes
from schema.types.gateway import GATEWAY, GatewayNotificationObject, GatewayReceiptObject
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


_STAFF = GATEWAY_NOTIFICATIONS.visible.access  # type: ignore[attr-defined]


@strawberry.type
class GatewayMutations:
    """Mutations of gateway notifications."""

    @root_field(GATEWAY, internal=True)
    async def gateway_notification_receive(
        self, info: Info, body: Bytes, signatures: list[str | None]
    ) -> GatewayReceiptObject:
        """Receive a raw gateway notification: stored in one transaction, processed in another."""
        message = await notifications.receive(info.context.scope, body, signatures)
        return Row(message=message)  # type: ignore[return-value]

    @root_field(_STAFF)
    async def gateway_notification_reprocess(self, info: Info, id: ID) -> GatewayNotificationObject | None:
        """Reprocess a notification: records its charge and sets the order status mapped to the event, even if the transition is not allowed
        otherwise. Nothing is changed on failure.
        """
        # The public id is a number: `str` makes it one again for `parse_reference`.
        number = await notifications.reprocess(info.context.scope, str(id))
        return await load_record(info, number)


QUERIES = (
    build_entity_queries(PaymentMethodObject, access=_READ_METHODS),
    build_entity_queries(PaymentObject, access=_READ),
    build_entity_queries(GatewayNotificationObject),
)
MUTATIONS = (
    PaymentMutations,
    build_entity_mutations(
        PaymentMethodObject,
        PaymentMethodInput,
        PAYMENT_METHOD_RECORDS,
        _WRITE,
        field_names={"tax_ids": "taxes"},
        delete_description="Delete a payment method; it remains visible on existing orders.",
    ),
    GatewayMutations,
)
