"""Send files of the storage's folder."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter

CHUNK = 256 * 1024
_ONE_RANGE = re.compile(r"bytes=(?:[0-9]+-[0-9]*|-0*[1-9][0-9]*)")


class StoredFileResponse(web.FileResponse):
    """A file that is sent whole where RFC 9110 lets `Range` be ignored and aiohttp doesn't (sections 13.1.5 and 14.2).

    That is with another entity tag in `If-Range`, of which aiohttp knows dates only, with several ranges or another unit, and for HEAD.

    Errors are not kept by caches, whatever the headers say of the file; `on_missing` is called when it is gone.
    """

    def __init__(self, file: Path, headers: Mapping[str, str], on_missing: Callable[[], None] | None = None) -> None:
        super().__init__(file, chunk_size=CHUNK, headers=headers)
        self.file = file
        self._on_missing = on_missing

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send the head, of the whole file where a range is ignored."""
        if hdrs.RANGE in request.headers and not await self._takes_range(request):
            headers = request.headers.copy()
            headers.popall(hdrs.RANGE)
            request = request.clone(headers=headers)
        return await super().prepare(request)

    async def _takes_range(self, request: web.BaseRequest) -> bool:
        """Return whether the answer is the range that the request asks for, or says that the file has no such range."""
        if request.method != hdrs.METH_GET or _ONE_RANGE.fullmatch(request.headers[hdrs.RANGE].strip()) is None:
            return False
        condition = request.headers.get(hdrs.IF_RANGE, "").strip()
        # A weak tag never matches.
        return not condition.startswith(('"', "W/")) or condition == await asyncio.to_thread(_entity_tag, self.file)

    def set_status(self, status: int, reason: str | None = None) -> None:
        """Set the status, which aiohttp decides on while it prepares the response."""
        super().set_status(status, reason)
        if status < 400:
            return
        self.headers[hdrs.CACHE_CONTROL] = "no-store"
        if status == 404 and self._on_missing is not None:
            self._on_missing()


def _entity_tag(file: Path) -> str | None:
    """Return the entity tag of a file as aiohttp writes it; None for one that is gone."""
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return f'"{status.st_mtime_ns:x}-{status.st_size:x}"'
