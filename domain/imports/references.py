"""Map external ids of imported records to internal ids, which makes imports idempotent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kernel.ids import uuid7
from kernel.scope import Scope
from models.database import execute, fetch

# Concurrent imports of one source into one store are serialized per batch, so that the second finds what the first inserted.
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('import:' || $1::bigint || ':' || $2::text, 0))"
_SELECT = """
SELECT external_id, local_id FROM external_references
WHERE tenant_id = $1 AND source = $2 AND kind = $3 AND external_id = ANY($4::text[])
"""
_INSERT = """
INSERT INTO external_references (tenant_id, public_id, source, kind, external_id, local_id)
SELECT $1, new.public_id, $2, $3, new.external_id, new.local_id
FROM unnest($4::uuid[], $5::text[], $6::bigint[]) AS new (public_id, external_id, local_id)
"""


async def lock_import(scope: Scope, source: str) -> None:
    """Lock imports of the source into the store until the transaction ends."""
    await execute(_LOCK, scope.store.id, source)


async def find_imported_ids(scope: Scope, source: str, kind: str, external_ids: Iterable[str]) -> dict[str, int]:
    """Return the internal ids of records imported before, by their external ids."""
    rows = await fetch(_SELECT, scope.store.id, source, kind, list(external_ids))
    return {row["external_id"]: row["local_id"] for row in rows}


async def store_external_ids(scope: Scope, source: str, kind: str, ids: Mapping[str, int]) -> None:
    """Store the external ids of new records."""
    if ids:
        await execute(_INSERT, scope.store.id, source, kind, [uuid7() for _ in ids], list(ids), list(ids.values()))
