"""Keep GraphQL documents that clients registered, so that afterwards the id alone is enough."""

from __future__ import annotations

from tortoise import fields

from kernel.clock import now
from models.base import StoreManager, StoreModel


class PersistedDocument(StoreModel):
    """A document's text by its SHA-256; a store keeps the ones used last."""

    hash = fields.BinaryField()
    text = fields.TextField()
    last_used_at = fields.DatetimeField(default=now)

    class Meta:
        table = "persisted_documents"
        manager = StoreManager()
