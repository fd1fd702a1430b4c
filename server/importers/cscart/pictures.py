"""Copy the pictures of an imported shop: its links become files of the store, which a worker of this process fetches."""

from __future__ import annotations

import asyncio

from domain.media.copies import copy_links, failed_copies, read_progress
from domain.stores import update_settings
from kernel.event_loop import wait_at_most
from kernel.scope import Scope
from server.importers.cscart.progress import Progress
from server.importers.cscart.report import EntityCount, Report
from server.workers.media import MediaWorker

NAME = "pictures"
_PAUSE = 0.5


async def copy_pictures(scope: Scope, report: Report, progress: Progress) -> None:
    """Copy all pictures and wait for them: each is tried twice, the other attempts are left to the workers of the deployment."""
    await update_settings(scope, {"image_copies": True})
    before = await read_progress(scope)
    await copy_links(scope)
    progress.begin(NAME)
    worker = MediaWorker()
    running = asyncio.create_task(worker.run())
    try:
        await _wait(scope, running, progress)
    finally:
        worker.stop()
        await running
        progress.end()
    after = await read_progress(scope)
    report.counts[NAME] = EntityCount(read=after.files, added=after.ready - before.ready, present=before.ready)
    for source, error in await failed_copies(scope):
        report.fail(NAME, source, error)


async def _wait(scope: Scope, running: asyncio.Task[None], progress: Progress) -> None:
    """Wait until no picture is fetched now or soon."""
    ended = asyncio.Event()
    running.add_done_callback(lambda _: ended.set())
    done = 0
    while (state := await read_progress(scope)).waiting and not ended.is_set():
        progress.expect(state.files)
        progress.advance(state.files - state.waiting - done)
        done = state.files - state.waiting
        await wait_at_most(ended, _PAUSE)
    progress.advance(state.files - state.waiting - done)
