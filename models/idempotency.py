"""Keep which requests were sent with an `Idempotency-Key`, and what came of them."""

from __future__ import annotations

from tortoise import fields

from kernel.clock import now
from models.base import StoreManager, StoreModel


class IdempotencyClaim(StoreModel):
    """One key of one credential. `owner` is the request that has it; `result` what the operation gave, `status` and `body` the answer."""

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

    class Meta:
        table = "idempotency_claims"
        manager = StoreManager()
