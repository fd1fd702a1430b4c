"""The fetching of files from their sources, as the worker does it: claim what is due, and store what came of each attempt.

A file is claimed by moving `next_attempt_at` past a lease and counting the attempt; a result counts only for the attempt that made it, so
that a worker that lost its claim changes nothing. Attempts follow the schedule of webhook deliveries, at most `MAX_ATTEMPTS`, by the clock
of the database: a worker whose clock is behind would make all at once. A claim counts what all workers fetch at that time, and of which
hosts, by their leases (`fetching_until`).
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from domain.media import renderer
from domain.media.addresses import media_key, original_path
from domain.media.contents import object_headers
from domain.media.usage import IS_USED, REFERRERS
from domain.resting_stores import RESTING_STORES
from domain.storage import storage
from kernel.errors import DomainError, Unavailable
from kernel.ids import uuid7
from kernel.retries import RETRY_DELAYS, retry_delay
from kernel.scope import Scope
from kernel.work_queues import run_in_thread
from models.connection.database import (
    cross_store_connection,
    execute,
    fetchrow,
    fetchval,
    separate_transaction,
    transaction,
)
from models.rows import delete_rows, from_row, json_text, update_row

MAX_ATTEMPTS = 5
# A fetch ends long before this: 20 s, and the time that the renderer takes.
LEASE = timedelta(minutes=2)
MAX_RUNNING = 16
MAX_RUNNING_OF_HOST = 4
"""The fetches of the installation at once, and those of one source host (with its port)."""
_MAX_ERROR = 1_000

# One claim at a time, each of which counts those before it.
_LOCK_CLAIMS = "SELECT pg_advisory_xact_lock(hashtextextended('media fetches', 0))"
_HOST = "lower(substring(source_url from '^[a-zA-Z]+://([^/?#]*)'))"
_CLAIM = f"""
WITH running AS (
    SELECT {_HOST} AS host, count(*) AS fetches FROM media_files WHERE fetching_until > clock_timestamp() GROUP BY 1
), due AS (
    SELECT tenant_id, id FROM media_files
    WHERE next_attempt_at <= clock_timestamp() AND {_HOST} <> ALL(ARRAY(SELECT host FROM running WHERE fetches >= {MAX_RUNNING_OF_HOST}))
        AND tenant_id <> ALL({RESTING_STORES})
    ORDER BY next_attempt_at
    LIMIT CASE WHEN (SELECT sum(fetches) FROM running) >= {MAX_RUNNING} THEN 0 ELSE 1 END FOR UPDATE SKIP LOCKED
)
UPDATE media_files f
SET next_attempt_at = clock_timestamp() + $1, fetching_until = clock_timestamp() + $1, attempts = f.attempts + 1
FROM due WHERE f.tenant_id = due.tenant_id AND f.id = due.id
RETURNING f.tenant_id AS store_id, f.id, f.public_id, f.source_url, f.source_etag, f.source_modified, f.attempts
"""
_LOCK = """
SELECT id, sha256 FROM media_files
WHERE tenant_id = $1 AND id = $2 AND attempts = $3 AND next_attempt_at IS NOT NULL FOR NO KEY UPDATE
"""
# Of two files that get the same content at once, the second sees the first.
_LOCK_CONTENTS = """
SELECT pg_advisory_xact_lock(hashtextextended('media:' || $1::bigint || ':' || c.sha256, 0))
FROM (SELECT DISTINCT sha256 FROM unnest($2::text[]) AS sha256 ORDER BY 1) c
"""
_SAME = f"""
SELECT f.id, f.sha256, f.mime_type, f.source_url, f.unused_since = '-infinity' AND NOT {IS_USED} AS is_deleted FROM media_files f
WHERE f.tenant_id = $1 AND f.sha256 = $2 AND f.id <> $3 FOR NO KEY UPDATE OF f
"""
# Not by a transaction that gives a file the content at this moment, perhaps the open one.
_TRY_LOCK_CONTENT = "SELECT pg_try_advisory_xact_lock(hashtextextended('media:' || $1::bigint || ':' || $2, 0))"
_ENTER = """
INSERT INTO media_files (tenant_id, public_id, sha256, status, unused_since, avif_due_at, created_at, updated_at)
SELECT $1, r.public_id, r.sha256, 'ready', '-infinity', NULL, $3, $3
FROM jsonb_to_recordset($2::text::jsonb) AS r (public_id uuid, sha256 text)
ON CONFLICT (tenant_id, sha256) WHERE sha256 IS NOT NULL DO NOTHING
"""
_MOVE_COPIES = "UPDATE media_files SET original_id = $3 WHERE tenant_id = $1 AND original_id = $2"
_FAILED = """
UPDATE media_files SET status = CASE WHEN sha256 IS NULL THEN 'failed' ELSE status END, error = $4, updated_at = $6,
    next_attempt_at = clock_timestamp() + $5::interval,
    fetching_until = NULL, attempts = attempts - $7::int
WHERE tenant_id = $1 AND id = $2 AND attempts = $3 AND next_attempt_at IS NOT NULL
"""
_RELEASE = """
UPDATE media_files SET attempts = attempts - 1, next_attempt_at = clock_timestamp(), fetching_until = NULL
WHERE tenant_id = $1 AND id = $2 AND attempts = $3 AND next_attempt_at IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class ClaimedFile:
    """A file to fetch; `attempts` counts this one. `source_etag` and `source_modified` are those of the stored content, empty for none."""

    store_id: int
    id: int
    public_id: UUID
    source_url: str
    source_etag: str
    source_modified: str
    attempts: int


@dataclass(frozen=True, slots=True)
class FileContent:
    """What is known of a content that is stored under its digest: an image has a size and a placeholder."""

    sha256: str
    mime_type: str
    bytes: int
    width: int = 0
    height: int = 0
    blurhash: str = ""


async def inspect_image(content: bytes | Path) -> FileContent:
    """Return what is known of the content of an image, or of a file; raises ImageError."""
    info = await renderer.configured().inspect(content)
    sha256, size = await measure(content)
    return FileContent(sha256, info.mime_type, size, info.width, info.height, info.blurhash)


async def measure(content: bytes | Path) -> tuple[str, int]:
    """Return the SHA-256 and the size in bytes of a content, or of a file."""
    return await run_in_thread(_measured, content)


def _measured(content: bytes | Path) -> tuple[str, int]:
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest(), len(content)
    with content.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest(), content.stat().st_size


@asynccontextmanager
async def stored_content(scope: Scope, content: bytes | Path, facts: FileContent) -> AsyncIterator[None]:
    """Store a content under its digest before a file becomes it in the block.

    It is stored again where the job that deletes unused files deleted an earlier file of the same content in between. Where the block
    raises a domain error and no other file has the content, the job deletes it.
    """
    key, headers = media_key(scope.store.public_id, facts.sha256), object_headers(facts.mime_type)
    await storage().put(key, content, headers)
    try:
        yield
    except DomainError as error:
        if not isinstance(error, Unavailable):
            async with separate_transaction(scope):
                if await fetchval(_TRY_LOCK_CONTENT, scope.store.id, facts.sha256):
                    await enter_deleted(scope, [facts.sha256])
        raise
    if await storage().head(key) is None:
        await storage().put(key, content, headers)


async def claim_due() -> ClaimedFile | None:
    """Claim the file of all stores whose attempt is due for longest; None when none is due or as many are fetched as may be."""
    async with cross_store_connection() as platform, platform.transaction():
        await platform.execute(_LOCK_CLAIMS)
        row = await platform.fetchrow(_CLAIM, LEASE)
    return None if row is None else from_row(ClaimedFile, row)


async def mark_ready(
    scope: Scope, claimed: ClaimedFile, content: FileContent, *, etag: str = "", modified: str = ""
) -> bool:
    """Store what a fetch found; the content is in the storage already. Return whether the file is another than before.

    A content that another file has makes this one a source of that: records refer to it from then on.
    """
    async with transaction(scope):
        row = await fetchrow(_LOCK, scope.store.id, claimed.id, claimed.attempts)
        if row is None:
            await enter_deleted(scope, [content.sha256])
            return False
        is_other: bool = row["sha256"] != content.sha256
        source: dict[str, Any] = {
            "source_etag": etag,
            "source_modified": modified,
            "error": "",
            "next_attempt_at": None,
            "fetching_until": None,
        }
        if await become(scope, claimed.id, content):
            await update_row(scope, "media_files", claimed.id, **source)
        else:
            await update_row(scope, "media_files", claimed.id, **source, updated_at=scope.now)
    return is_other


async def become(scope: Scope, file_id: int, content: FileContent) -> int | None:
    """Give a file its content, in the open transaction; return the id of the file that has the same content already, if there is one.

    A deleted one doesn't: this file takes its place.
    """
    await lock_contents(scope, [content.sha256])
    same = await fetchrow(_SAME, scope.store.id, content.sha256, file_id)
    if same is None or same["is_deleted"]:
        if same is not None:
            await execute(_MOVE_COPIES, scope.store.id, same["id"], file_id)
            await delete_rows(scope, "media_files", id=same["id"])
        columns = {name: getattr(content, name) for name in FileContent.__slots__}
        avif: dict[str, Any] = {"avif_due_at": scope.now, "avif_attempts": 0}
        await update_row(scope, "media_files", file_id, status="ready", **columns, **avif, updated_at=scope.now)
        return None
    # As if it were new: it has been unused for 7 days from now at the earliest.
    await update_row(scope, "media_files", same["id"], unused_since=None)
    link = same["source_url"] or original_path(same["sha256"], same["mime_type"])
    for table, column in REFERRERS.items():
        sql = f"UPDATE {table} SET media_id = $3, {column} = $4 WHERE tenant_id = $1 AND media_id = $2"
        await execute(sql, scope.store.id, file_id, same["id"], link)
    await execute(_MOVE_COPIES, scope.store.id, file_id, same["id"])
    await update_row(
        scope, "media_files", file_id, status="ready", sha256=None, original_id=same["id"], updated_at=scope.now
    )
    return int(same["id"])


async def lock_contents(scope: Scope, digests: Sequence[str]) -> None:
    """Let no other transaction give a file one of these contents before the open one ends."""
    await execute(_LOCK_CONTENTS, scope.store.id, list(digests))


async def enter_deleted(scope: Scope, digests: Sequence[str]) -> None:
    """Enter contents without a file as deleted ones, in the open transaction: the job deletes them unless a file gets them before."""
    rows = [{"public_id": uuid7(), "sha256": digest} for digest in digests]
    await lock_contents(scope, digests)
    await execute(_ENTER, scope.store.id, json_text(rows), scope.now)


async def mark_unchanged(scope: Scope, claimed: ClaimedFile) -> None:
    """Store that the source has the content that is there already (304)."""
    async with transaction(scope):
        if await fetchrow(_LOCK, scope.store.id, claimed.id, claimed.attempts) is not None:
            await update_row(scope, "media_files", claimed.id, error="", next_attempt_at=None, fetching_until=None)


async def release(scope: Scope, claimed: ClaimedFile) -> None:
    """Give up an attempt that was not finished, because this worker stops: another one makes it at once."""
    async with transaction(scope):
        await execute(_RELEASE, scope.store.id, claimed.id, claimed.attempts)


async def mark_delayed(scope: Scope, claimed: ClaimedFile, error: str) -> None:
    """Store why an attempt failed that the source has no part in, as on a full disk: it counts nothing, and is made again in minutes."""
    async with transaction(scope):
        await execute(
            _FAILED, scope.store.id, claimed.id, claimed.attempts, error[:_MAX_ERROR], RETRY_DELAYS[1], scope.now, 1
        )


async def mark_failed(
    scope: Scope, claimed: ClaimedFile, error: str, *, retry_after: timedelta | None = None, chance: float | None = None
) -> bool:
    """Store why an attempt failed; return whether there will be another one. A content that was fetched earlier stays.

    `retry_after` is what the source asked for; `chance` as in `kernel.retries.retry_delay`.
    """
    delay = None if claimed.attempts >= MAX_ATTEMPTS else retry_delay(claimed.attempts, retry_after, chance=chance)
    async with transaction(scope):
        await execute(_FAILED, scope.store.id, claimed.id, claimed.attempts, error[:_MAX_ERROR], delay, scope.now, 0)
    return delay is not None
