"""Bulk operations: reads and writes of many records that a worker executes."""

from __future__ import annotations

from tortoise import fields
from tortoise.contrib.postgres.fields import ArrayField

from kernel.clock import now
from models.tables.base import StoreModel


class BulkOperation(StoreModel, table="bulk_operations"):
    """A bulk operation of a user or an installed app. `due_at`, null when it has ended, is when a worker may claim it."""

    kind = fields.TextField()
    state = fields.TextField(default="pending")
    credential = fields.TextField()
    user = fields.ForeignKeyField("models.User", related_name="bulk_operations", null=True)
    installation = fields.ForeignKeyField("models.AppInstallation", related_name="bulk_operations", null=True)
    scopes = ArrayField(element_type="text", default=list)
    document = fields.TextField()
    upload = fields.UUIDField(null=True)
    is_atomic = fields.BooleanField(default=False)
    object_count = fields.BigIntField(default=0)
    root_object_count = fields.BigIntField(default=0)
    error_count = fields.BigIntField(default=0)
    file_size = fields.BigIntField(default=0)
    error_code = fields.TextField(default="")
    error_message = fields.TextField(default="")
    due_at = fields.DatetimeField(null=True)
    claim = fields.UUIDField(null=True)
    tries = fields.IntField(default=0)
    created_at = fields.DatetimeField(default=now)
    started_at = fields.DatetimeField(null=True)
    finished_at = fields.DatetimeField(null=True)
    expires_at = fields.DatetimeField(null=True)
