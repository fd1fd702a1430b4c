"""Persisted GraphQL documents, which clients execute by their hash."""

from __future__ import annotations

from tortoise import fields

from kernel.clock import now
from models.tables.base import StoreModel


class PersistedDocument(StoreModel, table="persisted_documents"):
    """A GraphQL document by its SHA-256; each store keeps the most recently used of each registrar (`resolvers/persisted_documents.py`)."""

    hash = fields.BinaryField()
    text = fields.TextField()
    registrar = fields.TextField(default="visitor:")
    last_used_at = fields.DatetimeField(default=now)
