"""Resolve payment methods, payments and notifications of the payment gateway."""

from __future__ import annotations

from strawberry import Info

from auth.access import Access, open_to_shoppers
from domain.gateway import notifications
from domain.gateway.read import GATEWAY_NOTIFICATIONS
from domain.orders.payments import record_payment
from domain.payments import app_reports, cancellation, creation, options, refunds
from domain.payments.methods import PAYMENT_METHOD_RECORDS
from domain.payments.orders import may_open
from domain.payments.read import PAYMENT_SCOPES
from domain.payments.requests import parse_input
from kernel.errors import ValidationFailed
from models.reading import row_reads
from models.reading.queries import Row, by_id
from resolvers.engine.complete import load_record
from resolvers.entity_mutations import build_entity_mutations
from resolvers.entity_queries import build_entity_queries
from resolvers.results import linked
from schema.declaration import declare
from schema.enums import PaymentKind
from schema.fields import LIST_SIZE, root_field
from schema.inputs import provided_fields
from schema.scalars import ID, BigInt, Bytes, parse_id
from schema.selection import requested_shape
from schema.types.gateway import GATEWAY, GatewayNotificationObject, GatewayReceiptObject
from schema.types.payments import (
    HANDLE_PAYMENTS,
    PAY,
    BillingInput,
    PaymentObject,
    PaymentOptionObject,
    PaymentReportInput,
    ReportedPaymentObject,
)
from schema.types.pricing import PaymentMethodInput, PaymentMethodObject

_READ_METHODS = open_to_shoppers("view_payments", "read_orders")
_READ = Access(privileges=("view_payments",), app_scope=PAYMENT_SCOPES, vendor=True, customer=True)
_OPEN = Access(
    privileges=("view_payments",),
    app_scope=PAYMENT_SCOPES,
    vendor=True,
    customer=True,
    storefront="storefront:checkout",
    note="The order's access token grants access to its payments.",
)
_WRITE = Access(privileges=("manage_payments",))


@declare
class PaymentQueries:
    """Queries of payments that shoppers make too."""

    @root_field(_OPEN)
    async def payment(self, info: Info, id: ID, token: str | None = None) -> PaymentObject | None:
        """Return a payment by ID; null if it doesn't exist."""
        scope, reference = info.context.scope, parse_id(id)
        if reference is None or not await may_open(scope, reference, token):
            return None
        return await row_reads.fetch_first(scope, requested_shape(info), by_id(reference))  # type: ignore[return-value]

    @root_field(PAY, metadata={LIST_SIZE: 4})
    async def payment_options(
        self, info: Info, order_id: ID | None = None, cart_id: ID | None = None, token: str | None = None
    ) -> list[PaymentOptionObject]:
        """Return what the store offers to pay an order or a cart with, exactly one of them: kinds, totals, and instalments with their
        interest.
        """
        scope = info.context.scope
        if (order_id is None) is (cart_id is None):
            raise ValidationFailed("expected exactly one of order_id and cart_id", field="order_id", code="required")
        if cart_id is not None:
            return linked(info, await options.cart_options(scope, cart_id))  # type: ignore[no-any-return]
        return linked(info, await options.order_options(scope, order_id, token))  # type: ignore[no-any-return]


@declare
class PaymentMutations:
    """Further mutations of payments."""

    @root_field(PAY, calls_out=True)
    async def payment_create(
        self,
        info: Info,
        order_id: ID,
        kind: PaymentKind,
        token: str | None = None,
        card_token: str | None = None,
        installments: int = 1,
        billing: BillingInput | None = None,
    ) -> PaymentObject | None:
        """Create a payment of what an order still costs, and ask its gateway for it; a payment that the order still waits for is cancelled
        first. Its status says what the gateway answered: a payment that stays `PENDING` without a code is in doubt, and settled within a
        minute. With an Idempotency-Key, a repeated request gets the same payment.
        """
        billing_fields = provided_fields(billing) if billing is not None else {}
        values = {"card_token": card_token, "installments": installments, "billing": billing_fields}
        number = await creation.create_payment(info.context.scope, order_id, token, parse_input(kind, values))
        return await load_record(info, number)

    @root_field(PAY, calls_out=True)
    async def payment_cancel(self, info: Info, payment_id: ID, token: str | None = None) -> PaymentObject | None:
        """Cancel a payment that has not been paid."""
        return await load_record(info, await cancellation.cancel_payment(info.context.scope, payment_id, token))

    @root_field(_WRITE, calls_out=True)
    async def payment_refund(self, info: Info, payment_id: ID, amount_cents: BigInt) -> PaymentObject | None:
        """Refund a payment, or a part of it, through its gateway; `refunds` say what became of it. An order whose payment is refunded in
        full is cancelled.
        """
        return await load_record(info, await refunds.refund_payment(info.context.scope, payment_id, amount_cents))

    @root_field(HANDLE_PAYMENTS, calls_out=True)
    async def payment_report(self, info: Info, payment_id: ID, input: PaymentReportInput) -> ReportedPaymentObject:
        """Report what became of a payment that the calling app is the gateway of; repeated, it changes nothing."""
        values = provided_fields(input)
        return await app_reports.report_payment(  # type: ignore[return-value]
            info.context.scope, payment_id, values.pop("status"), values
        )

    @root_field(_WRITE)
    async def payment_record(
        self, info: Info, order_id: ID, amount_cents: BigInt, kind: str = "", installments: int = 1
    ) -> PaymentObject | None:
        """Record a manual payment for an order; the order status stays unchanged."""
        settled = await record_payment(info.context.scope, order_id, amount_cents, kind=kind, installments=installments)
        assert settled.payment_id is not None
        return await load_record(info, settled.payment_id)


_STAFF = GATEWAY_NOTIFICATIONS.visible.access  # type: ignore[attr-defined]


@declare
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


@declare
class PaymentSubscriptions:
    """What happens to the payments of an order, for who pays it."""

    @root_field(
        PAY,
        "Sends a payment of an order when it is created, paid, cancelled, refunded, charged back, or has failed or expired, over"
        " Server-Sent Events or WebSockets (docs/reference/graphql.md#subscriptions).",
    )
    async def payment_changed(self, info: Info, order_id: ID, token: str | None = None) -> PaymentObject | None:
        """Return the payment that the event of one execution, its root value, is about."""
        scope, event = info.context.scope, info.root_value
        return await row_reads.fetch_first(scope, requested_shape(info), by_id(event.subject_id))  # type: ignore[return-value]


QUERIES = (
    build_entity_queries(PaymentMethodObject, access=_READ_METHODS),
    PaymentQueries,
    build_entity_queries(PaymentObject, access=_READ, one=False),
    build_entity_queries(GatewayNotificationObject),
)
SUBSCRIPTIONS = (PaymentSubscriptions,)
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
