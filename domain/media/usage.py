"""Which files records refer to, and the deletion of the others: bytes first, then the row, whose digest keeps the content from coming back.

A file that nothing refers to is noted by `unused_files`. After 7 days it is deleted: no longer listed and not to be referred to. At a later
run, when every transaction that might have referred to it has ended, its bytes are deleted, and then its row (`forget_files`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from domain.media.addresses import media_key, upload_key
from domain.storage import storage
from kernel.scope import Scope
from models.connection.database import execute, fetch, transaction

REFERRERS: Mapping[str, str] = {
    "product_images": "url",
    **dict.fromkeys(
        (
            *("categories", "option_variants", "combinations", "pages", "vendors", "vendor_banners", "collections"),
            *("users", "review_images", "store_logos"),
        ),
        "image_url",
    ),
    "attachments": "url",
}
"""The tables whose column `media_id` refers to files, with the column of the link."""
UNUSED_FOR = timedelta(days=7)
# No transaction is open for so long.
_SETTLED = timedelta(hours=1)

_REFERENCES = [
    f"EXISTS (SELECT FROM {table} r WHERE r.tenant_id = f.tenant_id AND r.media_id = f.id)" for table in REFERRERS
]
IS_USED = f"({' OR '.join(_REFERENCES)})"
"""The condition that a record refers to the file `f`."""
# Before they are marked as deleted: it waits for the transactions that refer to them (`domain.media.images.resolve_images`).
_LOCK_LONG_UNUSED = """
SELECT FROM media_files
WHERE tenant_id = $1 AND original_id IS NULL AND next_attempt_at IS NULL AND unused_since > '-infinity' AND unused_since <= $2
ORDER BY id FOR UPDATE
"""
_MARK = f"""
UPDATE media_files f SET unused_since = n.unused_since, updated_at = $2
FROM (
    SELECT f.id, CASE
        WHEN {IS_USED} THEN NULL
        WHEN f.unused_since IS NULL THEN $2::timestamptz
        WHEN f.unused_since <= $2::timestamptz - $3::interval THEN '-infinity'
        ELSE f.unused_since
    END AS unused_since
    FROM media_files f WHERE f.tenant_id = $1 AND f.original_id IS NULL AND f.next_attempt_at IS NULL
) AS n
WHERE f.tenant_id = $1 AND f.id = n.id AND f.unused_since IS DISTINCT FROM n.unused_since
"""
_DELETED = f"""
SELECT f.id, f.public_id, f.sha256 FROM media_files f
WHERE f.tenant_id = $1 AND f.unused_since = '-infinity' AND f.updated_at <= $2 AND NOT {IS_USED} ORDER BY f.id LIMIT $3
"""
_FORGET = "DELETE FROM media_files WHERE tenant_id = $1 AND id = ANY($2::bigint[]) AND unused_since = '-infinity'"


@dataclass(frozen=True, slots=True)
class DeletedFile:
    """A file whose bytes are to be deleted; `sha256` is None for one without content: an upload that was not completed may be stored."""

    id: int
    public_id: UUID
    sha256: str | None


async def delete_unused_files(scope: Scope, *, limit: int) -> int:
    """Delete up to `limit` files that nothing has referred to for 7 days, with their rendered sizes; return how many."""
    files = await unused_files(scope, limit=limit)
    for file in files:
        if file.sha256 is None:
            await storage().delete([upload_key(scope.store.public_id, file.public_id)])
        else:
            await storage().delete(await stored_keys(scope, file.sha256))
    await forget_files(scope, files)
    return len(files)


async def stored_keys(scope: Scope, sha256: str) -> list[str]:
    """Return the keys of a content and of its rendered sizes, as far as they are stored."""
    key = media_key(scope.store.public_id, sha256)
    folder = f"{key.rpartition('/')[0]}/"
    return [stored.key async for stored in storage().find(folder) if stored.key.startswith(key)]


async def unused_files(
    scope: Scope, *, limit: int, older_than: timedelta = UNUSED_FOR, settled: timedelta = _SETTLED
) -> list[DeletedFile]:
    """Note which files are unused since when, and return some that have been for longer, deleted at an earlier run."""
    async with transaction(scope):
        await execute(_LOCK_LONG_UNUSED, scope.store.id, scope.now - older_than)
        await execute(_MARK, scope.store.id, scope.now, older_than)
    rows = await fetch(_DELETED, scope.store.id, scope.now - settled, limit)
    return [DeletedFile(row["id"], row["public_id"], row["sha256"]) for row in rows]


async def forget_files(scope: Scope, files: Sequence[DeletedFile]) -> None:
    """Delete the rows of files whose bytes were deleted."""
    async with transaction(scope):
        await execute(_FORGET, scope.store.id, [file.id for file in files])
