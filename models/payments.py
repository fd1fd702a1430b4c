"""Keep how orders are paid and what was received."""

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
