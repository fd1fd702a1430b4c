"""Persisted and trusted GraphQL documents, which clients execute by their hash."""

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


class TrustedDocument(StoreModel, table="trusted_documents"):
    """A GraphQL document of a storefront key or an app, by its SHA-256 (`domain/apps/trusted_documents.py`)."""

    storefront_key_id = fields.BigIntField(null=True)
    installation_id = fields.BigIntField(null=True)
    hash = fields.BinaryField()
    text = fields.TextField()
    created_at = fields.DatetimeField(default=now)
