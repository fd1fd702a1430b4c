"""Copies of all linked images of a store: files whose sources are the links that its records have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from domain.media.addresses import source_digest
from domain.media.images import add_sources
from domain.media.usage import REFERRERS
from kernel.scope import Scope
from models.connection.database import execute, fetch, fetchrow, transaction

_IMAGES = {table: link for table, link in REFERRERS.items() if table != "attachments"}
_LINKS = " UNION ".join(
    f"SELECT {link} AS url FROM {table} WHERE tenant_id = $1 AND media_id IS NULL AND {link} ~* '^https?://'"
    for table, link in _IMAGES.items()
)
# A link of a file is that of the file with the same content, as where records are written.
_REFER = """
UPDATE {table} t SET media_id = o.id, {link} = coalesce(o.source_url, t.{link})
FROM media_files f JOIN media_files o ON o.tenant_id = f.tenant_id AND o.id = coalesce(f.original_id, f.id)
WHERE t.tenant_id = $1 AND t.media_id IS NULL AND f.tenant_id = $1 AND md5(f.source_url) = ANY($2::text[])
    AND md5(f.source_url) = md5(t.{link}) AND f.source_url = t.{link} AND o.unused_since IS DISTINCT FROM '-infinity'
"""
# Not counted: what is tried again minutes later. A fetch that runs has its lease as the time of the next attempt.
_PROGRESS = """
SELECT count(*) AS files, count(*) FILTER (WHERE status = 'ready') AS ready,
    count(*) FILTER (WHERE attempts <= 2 AND next_attempt_at <= clock_timestamp() + interval '3 minutes') AS waiting
FROM media_files WHERE tenant_id = $1 AND source_url IS NOT NULL
"""
_FAILED = "SELECT source_url, error FROM media_files WHERE tenant_id = $1 AND status = 'failed' AND source_url IS NOT NULL ORDER BY id"


@dataclass(frozen=True, slots=True)
class CopyProgress:
    """The numbers of a store's files with a source: all, those that are ready, and those that are fetched now or soon."""

    files: int
    ready: int
    waiting: int


async def copy_links(scope: Scope) -> None:
    """Make a file of each link to an image that a record of the store has; workers fetch them."""
    async with transaction(scope):
        links = [row["url"] for row in await fetch(_LINKS, scope.store.id)]
        await add_sources(scope, links)
        await _refer(scope, links)


async def _refer(scope: Scope, links: Sequence[str]) -> None:
    digests = [source_digest(link) for link in links]
    for table, link in _IMAGES.items():
        await execute(_REFER.format(table=table, link=link), scope.store.id, digests)


async def read_progress(scope: Scope) -> CopyProgress:
    """Return how far the files of the store are fetched."""
    row = await fetchrow(_PROGRESS, scope.store.id)
    assert row is not None  # an aggregate has one row
    return CopyProgress(row["files"], row["ready"], row["waiting"])


async def failed_copies(scope: Scope) -> list[tuple[str, str]]:
    """Return source and error of each file of the store that could not be fetched."""
    return [(row["source_url"], row["error"]) for row in await fetch(_FAILED, scope.store.id)]
