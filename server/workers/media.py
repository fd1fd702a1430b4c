"""Fetch media files from their sources: claim what is due, load, check and store it. Any number of workers share them."""

from __future__ import annotations

import asyncio
from time import monotonic

from domain.media import fetching
from domain.media.fetching import ClaimedFile
from domain.media.renderer import ImageError
from domain.media.sources import SourceContent, SourceFailed, load_source
from domain.stores import find_store
from domain.webhooks.endpoint_health import retry_after
from kernel import logging, metrics
from kernel.clock import now
from kernel.errors import DomainError, StorageFull, Unavailable
from kernel.event_loop import end_tasks, wait_at_most
from kernel.ids import uuid7
from kernel.scope import SYSTEM, Scope, active_scope
from kernel.store_usage import measured
from server.workers.failures import logged_failures

PAUSE = 1.0
PAUSE_AFTER_FAILURE = 2.0
# At shutdown current fetches get this long; the rest are released.
STOP_SECONDS = 5.0
INTERRUPTED = f"the attempts were interrupted {fetching.MAX_ATTEMPTS} times"
UNEXPECTED = "an unexpected error occurred"

_FETCHES = metrics.counter("vitrine_media_fetches_total", "Attempts to fetch a media file, by result.", "result")


class MediaWorker:
    """Fetch in this process; `run` returns after `stop`, leaving nothing half done."""

    def __init__(self, *, stop_seconds: float = STOP_SECONDS) -> None:
        self._stop_seconds = stop_seconds
        self._stopping = asyncio.Event()
        self._has_changed = asyncio.Event()
        self._running: set[asyncio.Task[None]] = set()
        self._quiet_until = 0.0
        self._ended = 0

    def stop(self) -> None:
        """Start no more fetches; current ones are finished or released."""
        self._stopping.set()
        self._has_changed.set()

    async def run(self) -> None:
        """Fetch until `stop`; database errors are logged and retried."""
        while not self._stopping.is_set():
            self._has_changed.clear()
            is_started = None
            with logged_failures("fetches of media files delayed"):
                is_started = await self._start_next()
            if is_started is None:
                await wait_at_most(self._stopping, PAUSE_AFTER_FAILURE)
            elif not is_started:
                await wait_at_most(self._has_changed, PAUSE)
        await end_tasks(self._running, self._stop_seconds)

    async def _start_next(self) -> bool:
        """Start the fetch that is due for longest, of a host that is not busy; return False when there is none."""
        # A long queue of a busy host is not searched more often than an empty one, but once for each fetch that made room.
        if not self._ended and monotonic() < self._quiet_until:
            return False
        claimed = await fetching.claim_due()
        self._ended = max(0, self._ended - 1)
        if claimed is None:
            self._ended, self._quiet_until = 0, monotonic() + PAUSE
            return False
        task = asyncio.create_task(_fetch(claimed))
        self._running.add(task)
        task.add_done_callback(self._end)
        return True

    def _end(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._ended += 1
        self._has_changed.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            # When the lease expires it is due again.
            logging.failure("the result of a media file's fetch was not stored", error)


async def _fetch(file: ClaimedFile) -> None:
    """Fetch a claimed file and store the result; a fetch that is cancelled is released."""
    scope = Scope(await find_store(file.store_id), SYSTEM, f"media-{uuid7()}", now(), family="graphql")
    with active_scope(scope):
        try:
            result = await measured(file.store_id, _attempt(scope, file))
        except asyncio.CancelledError:
            await asyncio.shield(fetching.release(scope, file))
            raise
    _FETCHES.add(result)


async def _attempt(scope: Scope, file: ClaimedFile) -> str:
    """Make one attempt; return what came of it."""
    try:
        if file.attempts > fetching.MAX_ATTEMPTS:
            raise SourceFailed(INTERRUPTED)
        source = await load_source(file.source_url, etag=file.source_etag, modified=file.source_modified)
        if source is None:
            await fetching.mark_unchanged(scope, file)
            return "unchanged"
        await _store(scope, file, source)
    except SourceFailed as error:
        pause = retry_after(error.status, error.retry_after, now())
        await fetching.mark_failed(scope, file, error.message, retry_after=pause)
    except (Unavailable, StorageFull) as error:
        await fetching.mark_delayed(scope, file, error.message)
    except (ImageError, DomainError) as error:
        await fetching.mark_failed(scope, file, error.message)
    except Exception as error:
        logging.failure("media file could not be fetched", error, file=str(file.public_id))
        await fetching.mark_failed(scope, file, UNEXPECTED)
    else:
        return "ready"
    return "failed"


async def _store(scope: Scope, file: ClaimedFile, source: SourceContent) -> None:
    """Check what was loaded, store it, and then say so in the database."""
    content = await fetching.inspect_image(source.content)
    async with fetching.stored_content(scope, source.content, content):
        await fetching.mark_ready(scope, file, content, etag=source.etag, modified=source.modified)
