"""Render the AVIF of fetched images, one after another: it takes longer than other formats, and what isn't there is sent as WebP."""

from __future__ import annotations

import asyncio

from domain.media.addresses import SIZES
from domain.media.contents import Content, size_key
from domain.media.renderer import ImageError, RenderedFormat
from domain.media.sizes import load_original, store_size
from domain.storage import storage
from kernel import logging
from kernel.errors import DomainError

_MAX_WAITING = 10_000


class AvifQueue:
    """The images whose AVIF this process has to render; those that it doesn't get to are left without."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[Content] = asyncio.Queue(_MAX_WAITING)

    def add(self, content: Content) -> None:
        """Render the AVIF of an image later."""
        if not self._waiting.full():
            self._waiting.put_nowait(content)

    async def run(self) -> None:
        """Render until this is cancelled."""
        while True:
            content = await self._waiting.get()
            try:
                await render_avif(content)
            except (ImageError, DomainError, OSError) as error:
                logging.event("AVIF not rendered", level="warning", key=content.key, reason=str(error))


async def render_avif(content: Content) -> None:
    """Render and keep an image in each listed size that is not larger than it is, as far as it isn't kept."""
    original = await load_original(content)
    for size in SIZES.values():
        key = size_key(content, size, RenderedFormat.AVIF)
        if size <= content.longest and await storage().head(key) is None:
            await store_size(original, key, size, RenderedFormat.AVIF)
