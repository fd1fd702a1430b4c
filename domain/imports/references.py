"""Remember what records are called where they came from, so that importing again adds nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kernel.ids import uuid7
from kernel.scope import Scope
from models.database import execute, rows

# Two imports of one source into one store take turns, a batch at a time: the second finds what the first has made.
_TURN = "SELECT pg_advisory_xact_lock(hashtextextended('import:' || $1::bigint || ':' || $2::text, 0))"
_KNOWN = """
SELECT external_id, local_id FROM external_references
WHERE tenant_id = $1 AND source = $2 AND kind = $3 AND external_id = ANY($4::text[])
"""
_REMEMBER = """
INSERT INTO external_references (tenant_id, public_id, source, kind, external_id, local_id)
SELECT $1, given.public_id, $2, $3, given.external_id, given.local_id
FROM unnest($4::uuid[], $5::text[], $6::bigint[]) AS given (public_id, external_id, local_id)
"""


async def take_turn(scope: Scope, source: str) -> None:
    """Wait until no other import of the source works on the store; until the transaction ends."""
    await execute(_TURN, scope.store.id, source)


async def known(scope: Scope, source: str, kind: str, external_ids: Iterable[str]) -> dict[str, int]:
    """Give the internal ids of those that were imported before, by their external ids."""
    found = await rows(_KNOWN, scope.store.id, source, kind, list(external_ids))
    return {record["external_id"]: record["local_id"] for record in found}


async def remember(scope: Scope, source: str, kind: str, ids: Mapping[str, int]) -> None:
    """Remember new records by their external ids."""
    if ids:
        await execute(
            _REMEMBER, scope.store.id, source, kind, [uuid7() for _ in ids], list(ids), list(ids.values())
        )
