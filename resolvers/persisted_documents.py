"""Persisted documents of a store (docs/reference/graphql.md#persisted-documents)."""

from __future__ import annotations

from datetime import timedelta

from kernel.scope import Scope
from models.connection import database
from models.rows import insert_row

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
        used = "ON CONFLICT (tenant_id, hash) DO UPDATE SET last_used_at = excluded.last_used_at"
        await insert_row(scope, "persisted_documents", hash=digest, text=text, last_used_at=scope.now, conflict=used)
        await database.execute(
            "DELETE FROM persisted_documents WHERE tenant_id = $1 AND id IN (SELECT id FROM persisted_documents"
            " WHERE tenant_id = $1 ORDER BY last_used_at DESC, id DESC OFFSET $2)",
            scope.store.id,
            MAX_DOCUMENTS,
        )
