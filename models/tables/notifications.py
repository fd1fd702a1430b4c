"""The inbox notifications of users."""

from __future__ import annotations

from datetime import datetime

from tortoise import fields

from kernel.clock import now
from models.tables.base import StoreModel


class Notification(StoreModel, table="notifications"):
    """A notification in a user's inbox; unread until `read_at`. `type` is `order`, `stock` or `app`."""

    user = fields.ForeignKeyField("models.User", related_name="notifications")
    type = fields.TextField()
    title = fields.TextField()
    message = fields.TextField(default="")
    created_at: datetime = fields.DatetimeField(default=now)
    read_at: datetime | None = fields.DatetimeField(null=True)
