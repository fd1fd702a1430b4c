"""The marketplace's ledger: accounts of vendors and of the store, and payouts (docs/ledger.md)."""

from __future__ import annotations

from tortoise import fields

from kernel.clock import now
from models.tables.base import StoreModel, Timestamped


class Payout(Timestamped, table="payouts"):
    """A payout to a vendor. `status` is `pending`, `paid` or `cancelled`; its number is its id."""

    vendor = fields.ForeignKeyField("models.Vendor", related_name="payouts")
    amount_cents = fields.BigIntField()
    currency = fields.TextField()
    status = fields.TextField(default="pending")
    note = fields.TextField(default="")
    paid_at = fields.DatetimeField(null=True)


class LedgerEntry(StoreModel, table="ledger_entries"):
    """An entry of the account of a vendor, or of the store's own (`vendor_id` null); never changed or deleted.

    `amount_cents` is what the account gains, negative what it loses; a payout can include it from `available_at` on, unless `is_split`.
    """

    vendor_id = fields.BigIntField(null=True)
    kind = fields.TextField()
    amount_cents = fields.BigIntField()
    order = fields.ForeignKeyField("models.Order", null=True, related_name="ledger_entries")
    payment = fields.ForeignKeyField("models.Payment", null=True, related_name="ledger_entries")
    payout = fields.ForeignKeyField("models.Payout", null=True, related_name="ledger_entries")
    is_split = fields.BooleanField(default=False)
    reason = fields.TextField(default="")
    available_at = fields.DatetimeField()
    created_at = fields.DatetimeField(default=now)
