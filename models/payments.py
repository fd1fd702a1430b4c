"""Keep how orders are paid, what was received, and what the payment gateway told."""

from __future__ import annotations

from tortoise import fields

from kernel.clock import now
from models.base import Erasable, StoreManager, StoreModel


class PaymentMethod(Erasable):
    """A way to pay. `processor` is a word (`pix`, `offline`, a gateway); its parameters are encrypted as a whole.

    `settles_at_once`: an order placed with it is paid already. `hold_minutes`: how long a checkout waits for the payment (0 = for
    ever). `surcharge_cents` and `surcharge_percent` (hundredths of a percent) are added to the order.
    """

    vendor = fields.ForeignKeyField("models.Vendor", null=True, related_name="payment_methods")
    name = fields.TextField()
    description = fields.TextField(default="")
    instructions = fields.TextField(default="")
    processor = fields.TextField(default="offline")
    processor_params = fields.BinaryField(null=True)
    surcharge_cents = fields.BigIntField(default=0)
    surcharge_percent = fields.BigIntField(default=0)
    settles_at_once = fields.BooleanField(default=False)
    hold_minutes = fields.IntField(default=4320)
    position = fields.IntField(default=0)
    status = fields.TextField(default="A")

    class Meta:
        table = "payment_methods"
        manager = StoreManager()


class Payment(StoreModel):
    """Money received for an order, as the payer's side reported it. `amount_cents` may differ from the order's total."""

    order = fields.ForeignKeyField("models.Order", related_name="payments")
    sequence = fields.IntField(default=1)
    kind = fields.TextField(default="")
    installments = fields.IntField(default=1)
    amount_cents = fields.BigIntField()
    created_at = fields.DatetimeField(default=now)

    class Meta:
        table = "payments"
        manager = StoreManager()


class Charge(StoreModel):
    """A demand for payment at the gateway, by the gateway's own id. Amounts in cents of its currency.

    `paid_cents` and `refunded_cents` are what the gateway told in all; `counted` says that the order's own sums hold them. `order`
    is null while the order that the charge names is not there. `status` is the gateway's word.
    """

    charge_id = fields.TextField()
    order = fields.ForeignKeyField("models.Order", null=True, related_name="charges")
    status = fields.TextField(default="")
    last_event = fields.TextField(default="")
    payment_method = fields.TextField(default="")
    currency = fields.TextField(default="")
    amount_cents = fields.BigIntField(default=0)
    paid_cents = fields.BigIntField(default=0)
    refunded_cents = fields.BigIntField(default=0)
    counted = fields.BooleanField(default=False)
    created_at = fields.DatetimeField(default=now)
    updated_at = fields.DatetimeField(default=now)

    class Meta:
        table = "charges"
        manager = StoreManager()


class GatewayNotification(StoreModel):
    """A notification of the payment gateway with the bytes that were sent. `unsigned`: the store had emptied its secret.

    `fingerprint` is a SHA-256 that equal notifications share. One that is not `processed` is applied by the sweep after `due_at`.
    """

    event_id = fields.TextField(default="")
    event_type = fields.TextField(default="")
    charge_id = fields.TextField(null=True)
    fingerprint = fields.BinaryField()
    body = fields.BinaryField()
    unsigned = fields.BooleanField(default=False)
    processed = fields.BooleanField(default=False)
    error_message = fields.TextField(default="")
    attempts = fields.IntField(default=0)
    due_at = fields.DatetimeField(default=now)
    processed_at = fields.DatetimeField(null=True)
    created_at = fields.DatetimeField(default=now)

    class Meta:
        table = "gateway_notifications"
        manager = StoreManager()
