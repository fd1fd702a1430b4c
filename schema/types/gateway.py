"""Define payment gateway notifications and charges."""

from __future__ import annotations

from auth.access import Access
from domain.gateway.read import CHARGES, GATEWAY_NOTIFICATIONS
from schema.fields import column, entity_type, object_type, output_field
from schema.scalars import ID, BigInt, DateTime
from schema.unset import Unset

GATEWAY = Access(anonymous=True, note="Authenticated by the request signature.")


@entity_type(CHARGES, "Charge")
class ChargeObject:
    """A payment gateway charge. Amounts in cents of its currency."""

    id: ID = column("public_id", "The unique ID (UUID).")
    charge_id: str = column(description="The gateway's charge ID.")
    status: str = column(description="The status as reported by the gateway.")
    payment_method: str = column(description="The payment method as reported by the gateway.")
    currency: str = column(description="The currency, ISO 4217.")
    amount_cents: BigInt = column(description="The charged amount, in cents.")
    paid_cents: BigInt = column(description="The paid amount, in cents.")
    refunded_cents: BigInt = column(description="The refunded amount, in cents.")
    last_event: str = column(description="The event type of the latest notification.")
    created_at: DateTime = column(description="When the first notification was processed.")
    updated_at: DateTime = column(description="When the latest notification was processed.")


@entity_type(GATEWAY_NOTIFICATIONS, "GatewayNotification")
class GatewayNotificationObject:
    """A notification received from the payment gateway."""

    id: BigInt = column(description="The numeric ID, as passed to `gateway_notification_reprocess`.")
    event_id: str = column(description="The gateway's event ID; empty if missing.", unset=Unset.LATER)
    event_type: str = column(description="The event type, such as `charge.paid`.")
    charge_id: str | None = column(description="The gateway's charge ID; null if missing.")
    processed: bool = column(description="Whether the notification was processed.")
    error_message: str = column(
        description="The processing error; may be set while `processed` is true: the charge was recorded, the order was not updated.",
        unset=Unset.LATER,
    )
    unsigned: bool = column(
        description="Whether the notification was accepted without a signature because the store has no gateway secret."
    )
    created_at: DateTime = column(description="When the notification was received.")
    processed_at: DateTime | None = column(description="When the notification was last processed.")


@object_type("GatewayReceipt", access=GATEWAY)
class GatewayReceiptObject:
    """The response to a gateway notification."""

    message: str = output_field("`received` or `duplicate ignored`.")
