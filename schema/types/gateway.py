"""Define what the payment gateway told: notifications and charges."""

from __future__ import annotations

import strawberry

from auth.access import Access
from domain.gateway.read import CHARGES, GATEWAY_NOTIFICATIONS
from schema.fields import column, entity, part
from schema.scalars import BigInt, Ident, Time

GATEWAY = Access(anonymous=True, note="The signature proves who asks.")


@entity(CHARGES, "Charge", "A demand for payment at the gateway. Money in cents of its currency.")
class ChargeObject:
    """A row of `charges`."""

    id: Ident = column("public_id", "The UUID.")
    charge_id: str = column(description="The gateway's identifier.")
    status: str = column(description="The gateway's word for its state.")
    payment_method: str = column(description="How it is paid, in the gateway's words.")
    currency: str = column(description="The currency, ISO 4217.")
    amount_cents: BigInt = column(description="What was asked for, in cents.")
    paid_cents: BigInt = column(description="What was paid, in cents.")
    refunded_cents: BigInt = column(description="What was given back, in cents.")
    last_event: str = column(description="The type of the notification that told of it last.")
    created_at: Time = column(description="When it was first told of.")
    updated_at: Time = column(description="When it was last told of.")


@entity(GATEWAY_NOTIFICATIONS, "GatewayNotification", "A notification received from the payment gateway.")
class GatewayNotificationObject:
    """A row of `gateway_notifications`; the body is never read through here."""

    id: BigInt = column(description="The number, which `gateway_notification_reprocess` takes.")
    event_id: str = column(description="The gateway's identifier of the event; empty when it sent none.")
    event_type: str = column(description="The type of the event, such as `charge.paid`.")
    charge_id: str | None = column(description="The gateway's identifier of the charge; null for none.")
    processed: bool = column(description="Whether it was processed.")
    error_message: str = column(
        description="What went wrong; may be given while `processed` is true: the charge is recorded, the order was not changed."
    )
    unsigned: bool = column(
        description="Whether it was taken without a signature, for the store has no secret."
    )
    created_at: Time = column(description="When it arrived.")
    processed_at: Time | None = column(description="When it was last processed.")


@part("GatewayReceipt", "What the gateway is answered.", access=GATEWAY)
class GatewayReceiptObject:
    """The answer to a notification."""

    message: str = strawberry.field(description="`received` or `duplicate ignored`.")
