"""Send files of the storage's folder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter

CHUNK = 256 * 1024


class StoredFileResponse(web.FileResponse):
    """A file of which `If-Range` with another entity tag gets the whole (RFC 9110, section 13.1.5); aiohttp knows dates only.

    Errors are not kept by caches, whatever the headers say of the file; `on_missing` is called when it is gone.
    """

    def __init__(self, file: Path, headers: Mapping[str, str], on_missing: Callable[[], None] | None = None) -> None:
        super().__init__(file, chunk_size=CHUNK, headers=headers)
        self.file = file
        self._on_missing = on_missing

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Read the file's status, and send the head."""
        condition = request.headers.get(hdrs.IF_RANGE, "").strip()
        # A weak tag never matches.
        if condition.startswith(('"', "W/")) and condition != await asyncio.to_thread(_entity_tag, self.file):
            headers = request.headers.copy()
            headers.popall(hdrs.RANGE, None)
            request = request.clone(headers=headers)
        return await super().prepare(request)

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
