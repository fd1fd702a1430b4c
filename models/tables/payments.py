"""Payment methods, payments, charges and payment gateway notifications."""

from __future__ import annotations

from tortoise import fields

from kernel.clock import now
from models.tables.base import SoftDeletable, StoreModel


class PaymentMethod(SoftDeletable, table="payment_methods"):
    """A payment method. `processor` is a name (`pix`, `offline`, a gateway); its parameters are encrypted.

    `kind` is the `PaymentKind` that its gateway takes, or empty.
    `settles_at_once`: an order is paid when it is created. `hold_minutes`: how long unpaid orders reserve stock (0: without limit).
    `surcharge_cents` and `surcharge_percent` (hundredths of a percent) are added to the order.
    """

    vendor = fields.ForeignKeyField("models.Vendor", null=True, related_name="payment_methods")
    name = fields.TextField()
    description = fields.TextField(default="")
    instructions = fields.TextField(default="")
    processor = fields.TextField(default="offline")
    processor_params = fields.BinaryField(null=True)
    kind = fields.TextField(default="")
    surcharge_cents = fields.BigIntField(default=0)
    surcharge_percent = fields.BigIntField(default=0)
    settles_at_once = fields.BooleanField(default=False)
    hold_minutes = fields.IntField(default=4320)
    position = fields.IntField(default=0)
    status = fields.TextField(default="A")


class Payment(StoreModel, table="payments"):
    """A payment of an order: reported by a client or a gateway (`gateway` is empty), or created here and asked of a gateway.

    `amount_cents` may differ from the order total, and what arrived (`paid_cents`, null in reported ones) from the amount.
    `shares` are what its gateway pays to each recipient itself (`domain.ledger.split.ChargeShare`).
    """

    order = fields.ForeignKeyField("models.Order", related_name="payments")
    sequence = fields.IntField(default=1)
    kind = fields.TextField(default="")
    installments = fields.IntField(default=1)
    amount_cents = fields.BigIntField()
    created_at = fields.DatetimeField(default=now)
    status = fields.TextField(default="PAID")
    currency = fields.TextField(default="")
    gateway = fields.TextField(default="")
    gateway_charge_id = fields.TextField(null=True)
    payment_method = fields.ForeignKeyField("models.PaymentMethod", null=True, related_name="payments")
    surcharge_cents = fields.BigIntField(default=0)
    paid_cents = fields.BigIntField(null=True)
    refunded_cents = fields.BigIntField(default=0)
    expires_at = fields.DatetimeField(null=True)
    paid_at = fields.DatetimeField(null=True)
    failure = fields.JSONField[dict[str, object]](null=True)
    pix = fields.JSONField[dict[str, object]](null=True)
    boleto = fields.JSONField[dict[str, object]](null=True)
    card = fields.JSONField[dict[str, object]](null=True)
    creation_hash = fields.BinaryField(null=True)
    attempted_at = fields.DatetimeField(null=True)
    due_at = fields.DatetimeField(null=True)
    attempts = fields.IntField(default=0)
    cancel_requested_at = fields.DatetimeField(null=True)
    shares = fields.JSONField[list[list[object]]](null=True)


class PaymentRefund(StoreModel, table="payment_refunds"):
    """A refund that a payment's gateway is asked for. `status` is `PENDING`, `DONE` or `FAILED`."""

    payment = fields.ForeignKeyField("models.Payment", related_name="refunds")
    amount_cents = fields.BigIntField()
    refunded_before_cents = fields.BigIntField(default=0)
    status = fields.TextField(default="PENDING")
    failure = fields.JSONField[dict[str, object]](null=True)
    creation_hash = fields.BinaryField(null=True)
    attempted_at = fields.DatetimeField(null=True)
    due_at = fields.DatetimeField(null=True)
    attempts = fields.IntField(default=0)
    created_at = fields.DatetimeField(default=now)
    updated_at = fields.DatetimeField(default=now)


class Charge(StoreModel, table="charges"):
    """A charge of the payment gateway, by the gateway's id. Amounts in cents of its currency.

    `paid_cents` and `refunded_cents` are the totals reported by the gateway; `counted` when they are included in the order's amounts.
    `order` is null when the referenced order does not exist. `status` is the gateway's.
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


class GatewayNotification(StoreModel, table="gateway_notifications"):
    """A payment gateway notification with its raw body. `unsigned`: the store had no secret configured.

    `fingerprint` is a SHA-256 for deduplication. A background job retries those not `processed` after `due_at`.
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
