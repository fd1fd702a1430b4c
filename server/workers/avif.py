"""Render the sizes of images in AVIF, one after another, each of which takes seconds. Any number of workers share them."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from domain.media import avif
from domain.media.addresses import media_key
from domain.media.avif import ClaimedImage
from domain.media.contents import Content
from domain.media.renderer import ImageError, NotAnImage
from domain.stores import find_store
from kernel import logging, metrics
from kernel.clock import now
from kernel.errors import StorageFull, Unavailable
from kernel.event_loop import end_tasks, wait_at_most
from kernel.ids import uuid7
from kernel.scope import SYSTEM, Scope, active_scope
from server.workers.failures import logged_failures

PAUSE = 2.0
PAUSE_AFTER_FAILURE = 10.0
# At shutdown the image that is being rendered gets this long; then it is released.
STOP_SECONDS = 2.0

_IMAGES = metrics.counter("vitrine_media_avif_total", "Images rendered in AVIF, by result.", "result")


class AvifWorker:
    """Render in this process; `run` returns after `stop`, leaving nothing half done."""

    def __init__(self, *, stop_seconds: float = STOP_SECONDS) -> None:
        self._stop_seconds = stop_seconds
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Start no more images; the present one is finished or released."""
        self._stopping.set()

    async def run(self) -> None:
        """Render until `stop`; database errors are logged and retried."""
        work = asyncio.create_task(self._run())
        await self._stopping.wait()
        await end_tasks([work], self._stop_seconds)

    async def _run(self) -> None:
        while not self._stopping.is_set():
            pause = PAUSE_AFTER_FAILURE
            with logged_failures("AVIF delayed"):
                claimed = await avif.claim_image()
                if claimed is None:
                    pause = PAUSE
                elif await _render(claimed) != "delayed":
                    pause = 0.0
            await wait_at_most(self._stopping, pause)


async def _render(claimed: ClaimedImage) -> str:
    """Render a claimed image and store the result, which is returned; one that is cancelled is released."""
    store = await find_store(claimed.store_id)
    scope = Scope(store, SYSTEM, f"avif-{uuid7()}", now(), family="graphql")
    key = media_key(store.public_id, claimed.sha256)
    with active_scope(scope):
        try:
            result = await _attempt(scope, claimed, Content(key, claimed.mime_type, claimed.longest, "", ""))
        except asyncio.CancelledError:
            await asyncio.shield(avif.release(scope, claimed))
            raise
    _IMAGES.add(result)
    return result


async def _attempt(scope: Scope, claimed: ClaimedImage, content: Content) -> str:
    """Make one attempt; return what came of it."""
    try:
        await avif.render_avif(content)
    except (Unavailable, StorageFull):
        await avif.release(scope, claimed, delay=timedelta(seconds=PAUSE_AFTER_FAILURE))
        return "delayed"
    except Exception as error:
        is_tried_again = await avif.mark_failed(scope, claimed, is_final=isinstance(error, NotAnImage))
        reason = error.message if isinstance(error, ImageError) else repr(error)
        level = "info" if is_tried_again else "warning"
        logging.event("AVIF not rendered", level=level, key=content.key, reason=reason, is_tried_again=is_tried_again)
        return "failed"
    await avif.mark_rendered(scope, claimed)
    return "ready"
