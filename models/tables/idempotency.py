"""Requests with an `Idempotency-Key` and their stored responses."""

from __future__ import annotations

from tortoise import fields

from kernel.clock import now
from models.tables.base import StoreModel


class IdempotencyClaim(StoreModel, table="idempotency_claims"):
    """A credential's key. `owner` is the request that claimed it; `result` the operation's result, `status` and `body` the response."""

    credential = fields.TextField()
    key = fields.TextField()
    fingerprint = fields.BinaryField()
    owner = fields.UUIDField()
    claimed_at = fields.DatetimeField(default=now)
    done_at = fields.DatetimeField(null=True)
    result = fields.TextField(null=True)
    status = fields.SmallIntField(null=True)
    body = fields.BinaryField(null=True)
    content_type = fields.TextField(default="")
