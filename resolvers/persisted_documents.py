"""Persisted documents of a store (docs/reference/graphql.md#persisted-documents)."""

from __future__ import annotations

from datetime import timedelta

from kernel.ids import uuid7
from kernel.scope import Scope
from models import database

# Documents per store, the least recently used evicted first. Longer texts are executed but not stored.
MAX_DOCUMENTS = 1000
MAX_TEXT_LENGTH = 20_000
_PREFIX = "sha256:"
_LAST_USED_PRECISION = timedelta(hours=1)


def _hash(document_id: str) -> bytes | None:
    try:
        digest = bytes.fromhex(document_id.removeprefix(_PREFIX)) if document_id.startswith(_PREFIX) else b""
    except ValueError:
        return None
    return digest if len(digest) == 32 else None


async def find_document(scope: Scope, document_id: str) -> str | None:
    """Return the document registered as `sha256:<hex>` in the store, or None."""
    digest = _hash(document_id)
    if digest is None:
        return None
    record = await database.fetchrow(
        "SELECT text, last_used_at FROM persisted_documents WHERE tenant_id = $1 AND hash = $2", scope.store.id, digest
    )
    if record is None:
        return None
    if scope.now - record["last_used_at"] > _LAST_USED_PRECISION:
        await database.execute(
            "UPDATE persisted_documents SET last_used_at = $3 WHERE tenant_id = $1 AND hash = $2",
            scope.store.id,
            digest,
            scope.now,
        )
    return str(record["text"])


async def save_document(scope: Scope, document_id: str, text: str) -> None:
    """Register a document under its hash; a store stores the 1,000 most recently used."""
    digest = _hash(document_id)
    if digest is None or len(text) > MAX_TEXT_LENGTH:
        return
    async with database.transaction(scope):
        await database.execute(
            "INSERT INTO persisted_documents (tenant_id, public_id, hash, text, last_used_at) VALUES ($1, $2, $3, $4, $5)"
            " ON CONFLICT (tenant_id, hash) DO UPDATE SET last_used_at = excluded.last_used_at",
            scope.store.id,
            uuid7(),
            digest,
            text,
            scope.now,
        )
        await database.execute(
            "DELETE FROM persisted_documents WHERE tenant_id = $1 AND id IN (SELECT id FROM persisted_documents"
            " WHERE tenant_id = $1 ORDER BY last_used_at DESC, id DESC OFFSET $2)",
            scope.store.id,
            MAX_DOCUMENTS,
        )
