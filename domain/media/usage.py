"""Which files records refer to, and the deletion of the others.

A file that nothing refers to is noted by `unused_files`. After 7 days it is deleted: no longer listed and not to be referred to. At a later
run, when every transaction that might have referred to it has ended, its bytes and its row are deleted while the row is locked: a file
that gets the same content takes its place (`domain.media.fetching.become`), before or after that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from domain.media.addresses import media_key, upload_key
from domain.storage import storage
from kernel.scope import Scope
from models.connection.database import execute, fetch, fetchrow, transaction
from models.rows import delete_rows

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
# Rows of uploads that are completed just now are left to the next run: waiting for one while others are locked could be a deadlock.
_MARK = f"""
WITH seen AS (
    SELECT f.id, CASE
        WHEN {IS_USED} THEN NULL
        WHEN f.unused_since IS NULL THEN $2::timestamptz
        WHEN f.unused_since <= $2::timestamptz - $3::interval THEN '-infinity'
        ELSE f.unused_since
    END AS unused_since
    FROM media_files f WHERE f.tenant_id = $1 AND f.original_id IS NULL AND f.next_attempt_at IS NULL
), changed AS (
    SELECT f.id, seen.unused_since FROM media_files f JOIN seen ON seen.id = f.id
    WHERE f.tenant_id = $1 AND f.unused_since IS DISTINCT FROM seen.unused_since FOR NO KEY UPDATE OF f SKIP LOCKED
)
UPDATE media_files f SET unused_since = changed.unused_since, updated_at = $2 FROM changed WHERE f.tenant_id = $1 AND f.id = changed.id
"""
_IS_DELETED = f"f.tenant_id = $1 AND f.unused_since = '-infinity' AND NOT {IS_USED}"
_DELETED = f"SELECT f.id FROM media_files f WHERE {_IS_DELETED} AND f.updated_at <= $2 ORDER BY f.id LIMIT $3"
_LOCK_DELETED = (
    f"SELECT f.public_id, f.sha256 FROM media_files f WHERE {_IS_DELETED} AND f.id = $2 FOR UPDATE OF f SKIP LOCKED"
)
_FREE_SOURCES = """
UPDATE media_files f SET source_url = NULL, next_attempt_at = NULL FROM media_files o
WHERE f.tenant_id = $1 AND f.source_url IS NOT NULL AND md5(f.source_url) = ANY($2::text[])
    AND o.tenant_id = f.tenant_id AND o.id = coalesce(f.original_id, f.id) AND o.unused_since = '-infinity'
"""


async def free_sources(scope: Scope, digests: Sequence[str]) -> None:
    """Take the sources with these digests from deleted files, in the open transaction, so that new files can have them."""
    await execute(_FREE_SOURCES, scope.store.id, digests)


async def delete_unused_files(scope: Scope, *, limit: int) -> int:
    """Delete up to `limit` files that nothing has referred to for 7 days, with their rendered sizes; return how many."""
    return sum([await _delete(scope, file) for file in await unused_files(scope, limit=limit)])


async def _delete(scope: Scope, file: int) -> bool:
    """Delete the bytes and the row of a deleted file; return False where it has been replaced, or is just now."""
    async with transaction(scope):
        row = await fetchrow(_LOCK_DELETED, scope.store.id, file)
        if row is None:
            return False
        if row["sha256"] is None:
            # An upload that was not completed may be stored.
            keys = [upload_key(scope.store.public_id, row["public_id"])]
        else:
            keys = await stored_keys(scope, row["sha256"])
        await storage().delete(keys)
        await delete_rows(scope, "media_files", id=file)
    return True


async def stored_keys(scope: Scope, sha256: str) -> list[str]:
    """Return the keys of a content and of its rendered sizes, as far as they are stored."""
    key = media_key(scope.store.public_id, sha256)
    folder = f"{key.rpartition('/')[0]}/"
    return [stored.key async for stored in storage().find(folder) if stored.key.startswith(key)]


async def unused_files(scope: Scope, *, limit: int) -> list[int]:
    """Note which files are unused since when, and return some that have been for 7 days, deleted at an earlier run."""
    async with transaction(scope):
        await execute(_LOCK_LONG_UNUSED, scope.store.id, scope.now - UNUSED_FOR)
        await execute(_MARK, scope.store.id, scope.now, UNUSED_FOR)
    return [row["id"] for row in await fetch(_DELETED, scope.store.id, scope.now - _SETTLED, limit)]
