"""The sizes of images: rendered at the first request, stored next to the original.

A process caches which sizes it has seen, and those that can't be rendered for a while: one that needs too much would take its ten
seconds of CPU again with each request. Several processes may render the same size, with the same result.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from pathlib import Path

from domain.media.contents import Content, accepted_formats, object_headers, size_key
from domain.media.renderer import ImageError, RenderedFormat, configured
from domain.storage import storage
from kernel.cache import BoundedCache
from kernel.errors import NotFound, StorageFull, Unavailable
from kernel.scope import current_scope
from kernel.shares import shares_of

MAX_WAITING = 200
"""The sizes that wait to be rendered, of all callers."""
MAX_WAITING_OF_ADDRESS = 60
"""As many as a page with many images asks for at once."""
# Originals are up to 20 MB, and held in memory by who renders them.
_AT_ONCE = 4
# A file that was deleted and uploaded again has no sizes: what a provider serves isn't seen to be missing.
_STORED_SECONDS = 3_600.0
_FAILURE_SECONDS = 60
_ABSENT_SECONDS = 60.0
_MAX_CACHED = 20_000
_MAX_FAILED = 2_000


class ImageSizes:
    """Caches of the sizes that are and aren't stored, and those that it renders."""

    def __init__(self) -> None:
        self._stored: BoundedCache[str, float] = BoundedCache(_MAX_CACHED)
        self._absent: BoundedCache[str, float] = BoundedCache(_MAX_CACHED)
        self._failed: BoundedCache[str, float] = BoundedCache(_MAX_FAILED)
        self._running: dict[str, asyncio.Task[None]] = {}
        self._waiting: Counter[str] = Counter()
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def find_accepted(self, content: Content, size: int, accept: str) -> RenderedFormat:
        """Return the format of a size for a client: AVIF where it is stored, else what `accepted_formats` says."""
        best, *others = accepted_formats(accept, content.mime_type)
        if not others or await self.is_stored(size_key(content, size, best)):
            return best
        return others[0]

    async def is_stored(self, key: str) -> bool:
        """Return whether a size is in the storage; what is not there is looked for again after a minute."""
        if _is_recent(self._stored, key):
            return True
        if _is_recent(self._absent, key):
            return False
        if await storage().head(key) is None:
            self._absent.keep(key, time.monotonic() + _ABSENT_SECONDS)
            return False
        self._stored.keep(key, time.monotonic() + _STORED_SECONDS)
        return True

    def drop(self, key: str) -> None:
        """Drop a size that is not in the storage any more."""
        self._stored.drop(key)

    async def ensure(self, content: Content, size: int, file_format: RenderedFormat) -> str:
        """Return the key of a size, which is rendered if it isn't stored; a caller that leaves doesn't end that.

        Raises NotFound without the original, and Unavailable when the size can't be rendered or too many wait.
        """
        key = size_key(content, size, file_format)
        if _is_recent(self._stored, key):
            return key
        task = self._running.get(key) or self._start(content, key, size, file_format)
        await asyncio.shield(task)
        return key

    def _start(self, content: Content, key: str, size: int, file_format: RenderedFormat) -> asyncio.Task[None]:
        address = shares_of(current_scope())[0]
        if len(self._running) >= MAX_WAITING or self._waiting[address] >= MAX_WAITING_OF_ADDRESS:
            raise Unavailable("too many images are being rendered; try again")
        if _is_recent(self._failed, key):
            raise _not_rendered()
        self._waiting[address] += 1
        task = self._running[key] = asyncio.create_task(self._render(content, key, size, file_format))
        task.add_done_callback(lambda done: self._end(key, address, done))
        return task

    def _end(self, key: str, address: str, task: asyncio.Task[None]) -> None:
        del self._running[key]
        self._waiting -= Counter([address])
        if not task.cancelled():
            task.exception()  # no caller may be left who reads it

    async def _render(self, content: Content, key: str, size: int, file_format: RenderedFormat) -> None:
        async with self._turns:
            if await storage().head(key) is None:
                await self._store(content, key, size, file_format)
        self._stored.keep(key, time.monotonic() + _STORED_SECONDS)
        self._absent.drop(key)

    async def _store(self, content: Content, key: str, size: int, file_format: RenderedFormat) -> None:
        try:
            rendered = await _rendered(await load_original(content), size, file_format)
        except ImageError as error:
            raise self._failure(key) from error
        try:
            await _put(key, rendered, file_format)
        except (StorageFull, Unavailable) as error:
            # Of a disk that is full or read-only: each request would render it again.
            raise self._failure(key) from error

    def _failure(self, key: str) -> Unavailable:
        self._failed.keep(key, time.monotonic() + _FAILURE_SECONDS)
        return _not_rendered()


async def load_original(content: Content) -> Path | bytes:
    """Return the original of an image, or where it is; raises NotFound."""
    original = storage().local_path(content.key) or await storage().read(content.key)
    if original is None:
        raise NotFound("file")
    return original


async def store_size(original: Path | bytes, key: str, size: int, file_format: RenderedFormat) -> None:
    """Render a size of an image and store it; raises ImageError, and NotFound without the original."""
    await _put(key, await _rendered(original, size, file_format), file_format)


async def _rendered(original: Path | bytes, size: int, file_format: RenderedFormat) -> bytes:
    try:
        return await configured().render(original, size, file_format)
    except FileNotFoundError as error:
        raise NotFound("file") from error


async def _put(key: str, rendered: bytes, file_format: RenderedFormat) -> None:
    await storage().put(key, rendered, object_headers(f"image/{file_format}"))


def _not_rendered() -> Unavailable:
    error = Unavailable("this size of the image can't be rendered at the moment; try again later")
    error.retry_after = _FAILURE_SECONDS
    return error


def _is_recent(times: BoundedCache[str, float], key: str) -> bool:
    until = times.find(key)
    return until is not None and until > time.monotonic()
