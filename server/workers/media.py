"""Fetch media files from their sources: claim what is due, load, check and store it. Any number of workers share them."""

from __future__ import annotations

import asyncio
from collections import Counter
from time import monotonic

from domain.media import fetching
from domain.media.addresses import media_key
from domain.media.contents import Content, object_headers
from domain.media.fetching import ClaimedFile
from domain.media.renderer import ImageError
from domain.media.sources import SourceContent, SourceFailed, load_source, source_host
from domain.storage import storage
from domain.stores import find_store
from domain.webhooks.retries import retry_after
from kernel import logging, metrics
from kernel.clock import now
from kernel.errors import DomainError
from kernel.event_loop import end_tasks, wait_at_most
from kernel.ids import uuid7
from kernel.scope import SYSTEM, Scope, active_scope
from server.workers.avif import AvifQueue

# Fetches of this process at once, and those of one source host.
MAX_RUNNING = 16
MAX_RUNNING_OF_HOST = 4
PAUSE = 1.0
PAUSE_AFTER_FAILURE = 2.0
# At shutdown current fetches get this long; the rest are released.
STOP_SECONDS = 5.0
INTERRUPTED = f"the attempts were interrupted {fetching.MAX_ATTEMPTS} times"
UNEXPECTED = "an unexpected error occurred"

_FETCHES = metrics.counter("vitrine_media_fetches_total", "Attempts to fetch a media file, by result.", "result")


class MediaWorker:
    """Fetch in this process; `run` returns after `stop`, leaving nothing half done."""

    def __init__(
        self,
        *,
        max_running: int = MAX_RUNNING,
        max_running_of_host: int = MAX_RUNNING_OF_HOST,
        stop_seconds: float = STOP_SECONDS,
    ) -> None:
        self._max_running = max_running
        self._max_running_of_host = max_running_of_host
        self._stop_seconds = stop_seconds
        self._stopping = asyncio.Event()
        self._has_changed = asyncio.Event()
        self._running: set[asyncio.Task[None]] = set()
        self._hosts: Counter[str] = Counter()
        self._avif = AvifQueue()
        self._found_nothing: tuple[list[str], float] = ([], 0.0)

    def stop(self) -> None:
        """Start no more fetches; current ones are finished or released."""
        self._stopping.set()
        self._has_changed.set()

    async def run(self) -> None:
        """Fetch until `stop`; database errors are logged and retried."""
        avif = asyncio.create_task(self._avif.run())
        while not self._stopping.is_set():
            self._has_changed.clear()
            try:
                if not await self._start_next():
                    await wait_at_most(self._has_changed, PAUSE)
            except Exception as error:
                logging.failure("fetches of media files delayed", error)
                await wait_at_most(self._stopping, PAUSE_AFTER_FAILURE)
        await end_tasks(self._running, self._stop_seconds)
        avif.cancel()
        await asyncio.wait([avif])

    async def _start_next(self) -> bool:
        """Start the fetch that is due for longest, of a host that is not busy; return False when there is none."""
        busy = sorted(host for host, count in self._hosts.items() if count >= self._max_running_of_host)
        hosts, until = self._found_nothing
        # A long queue of a busy host is not searched for other hosts' files more often than an empty one.
        if len(self._running) >= self._max_running or (busy and busy == hosts and monotonic() < until):
            return False
        claimed = await fetching.claim_pending(1, busy_hosts=busy)
        if not claimed:
            self._found_nothing = (busy, monotonic() + PAUSE)
            return False
        [file] = claimed
        host = source_host(file.source_url)
        self._hosts[host] += 1
        task = asyncio.create_task(_fetch(file, self._avif))
        self._running.add(task)
        task.add_done_callback(lambda done: self._end(done, host))
        return True

    def _end(self, task: asyncio.Task[None], host: str) -> None:
        self._running.discard(task)
        self._hosts -= Counter([host])
        self._has_changed.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            # When the lease expires it is due again.
            logging.failure("the result of a media file's fetch was not stored", error)


async def _fetch(file: ClaimedFile, avif: AvifQueue) -> None:
    """Fetch a claimed file and store the result; a fetch that is cancelled is released."""
    scope = Scope(await find_store(file.store_id), SYSTEM, f"media-{uuid7()}", now(), family="graphql")
    with active_scope(scope):
        try:
            result = await _attempt(scope, file, avif)
        except asyncio.CancelledError:
            await asyncio.shield(fetching.release(scope, file))
            raise
    _FETCHES.add(result)


async def _attempt(scope: Scope, file: ClaimedFile, avif: AvifQueue) -> str:
    """Make one attempt; return what came of it."""
    try:
        if file.attempts > fetching.MAX_ATTEMPTS:
            raise SourceFailed(INTERRUPTED)
        source = await load_source(file.source_url, etag=file.source_etag, modified=file.source_modified)
        if source is None:
            await fetching.mark_unchanged(scope, file)
            return "unchanged"
        avif.add(await _store(scope, file, source))
    except SourceFailed as error:
        pause = retry_after(error.status, error.retry_after, now())
        await fetching.mark_failed(scope, file, error.message, retry_after=pause)
    except (ImageError, DomainError) as error:
        await fetching.mark_failed(scope, file, error.message)
    except Exception as error:
        logging.failure("media file could not be fetched", error, file=str(file.public_id))
        await fetching.mark_failed(scope, file, UNEXPECTED)
    else:
        return "ready"
    return "failed"


async def _store(scope: Scope, file: ClaimedFile, source: SourceContent) -> Content:
    """Check what was loaded, store it, and then say so in the database; return it."""
    content = await fetching.inspect_image(source.content)
    key = media_key(scope.store.public_id, content.sha256)
    headers = object_headers(content.mime_type)
    await storage().put(key, source.content, headers)
    await fetching.mark_ready(scope, file, content, etag=source.etag, modified=source.modified)
    # The job that deletes unused files may have deleted an earlier file with this content in the meantime, with its bytes.
    if await storage().head(key) is None:
        await storage().put(key, source.content, headers)
    return Content(key, content.mime_type, max(content.width, content.height), "", "")
