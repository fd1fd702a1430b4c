"""Map external ids of imported records to internal ids, which makes imports idempotent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kernel.ids import uuid7
from kernel.scope import Scope
from models.connection.database import execute, fetch
from models.rows import insert_rows

REFERENCE_KEY = ("source", "kind", "external_id")

# Concurrent imports of one source into one store are serialized per batch, so that the second finds what the first inserted.
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('import:' || $1::bigint || ':' || $2::text, 0))"
_SELECT = """
SELECT external_id, local_id FROM external_references
WHERE tenant_id = $1 AND source = $2 AND kind = $3 AND external_id = ANY($4::text[])
"""


async def lock_import(scope: Scope, source: str) -> None:
    """Lock imports of the source into the store until the transaction ends."""
    await execute(_LOCK, scope.store.id, source)


async def begin_import(
    scope: Scope, source: str, kind: str, records: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Lock imports of the source and return copies of the records that were not imported before, each with a new `public_id`."""
    await lock_import(scope, source)
    imported = await find_imported_ids(scope, source, kind, (row["external_id"] for row in records))
    return [{**row, "public_id": uuid7()} for row in records if row["external_id"] not in imported]


async def find_imported_ids(scope: Scope, source: str, kind: str, external_ids: Iterable[str]) -> dict[str, int]:
    """Return the internal ids of records imported before, by their external ids."""
    rows = await fetch(_SELECT, scope.store.id, source, kind, list(external_ids))
    return {row["external_id"]: row["local_id"] for row in rows}


async def store_external_ids(scope: Scope, source: str, kind: str, ids: Mapping[str, int]) -> None:
    """Store the external ids of new records."""
    rows = [reference_row(source, kind, external_id, local_id) for external_id, local_id in ids.items()]
    await insert_rows(scope, "external_references", rows)


def reference_row(source: str, kind: str, external_id: str, local_id: int) -> dict[str, Any]:
    """Return the row that maps an external id to an internal one."""
    return {"source": source, "kind": kind, "external_id": external_id, "local_id": local_id}
