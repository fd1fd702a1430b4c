"""The ledger of reward points."""

from __future__ import annotations

from tortoise import fields

from kernel.clock import now
from models.tables.base import StoreModel


class PointEntry(StoreModel, table="point_entries"):
    """A change of a user's points; `balance` is the one after it. `kind` is `earned`, `reversed`, `spent`, `returned` or `adjusted`."""

    user = fields.ForeignKeyField("models.User", related_name="point_entries")
    order = fields.ForeignKeyField("models.Order", null=True, related_name="point_entries")
    kind = fields.TextField()
    points = fields.IntField()
    balance = fields.IntField()
    reason = fields.TextField(default="")
    created_at = fields.DatetimeField(default=now)
