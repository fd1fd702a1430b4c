"""Send files of the storage's folder."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Mapping
from operator import attrgetter
from pathlib import Path

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter

CHUNK = 256 * 1024
_CONDITIONS = (
    hdrs.RANGE,
    hdrs.IF_RANGE,
    hdrs.IF_MATCH,
    hdrs.IF_NONE_MATCH,
    hdrs.IF_MODIFIED_SINCE,
    hdrs.IF_UNMODIFIED_SINCE,
)
_DATES = {
    hdrs.IF_RANGE: attrgetter("if_range"),
    hdrs.IF_MODIFIED_SINCE: attrgetter("if_modified_since"),
    hdrs.IF_UNMODIFIED_SINCE: attrgetter("if_unmodified_since"),
}
_ONE_RANGE = re.compile(r"bytes=(?:[0-9]+-[0-9]*|-0*[1-9][0-9]*)")


class StoredFileResponse(web.FileResponse):
    """A file that is sent whole where RFC 9110 lets `Range` be ignored and aiohttp doesn't (sections 13.1.5 and 14.2).

    That is with another entity tag in `If-Range`, of which aiohttp knows dates only, with several ranges or another unit, and for HEAD.
    Conditions with a date of which aiohttp can't even say that it is none are ignored.

    Errors are not kept by caches, whatever the headers say of the file; `on_missing` is called when it is gone. A file that `is_small` (at
    most `CHUNK` bytes, without a compressed copy) is read in one turn of a thread, where aiohttp takes three.
    """

    def __init__(
        self,
        file: Path,
        headers: Mapping[str, str],
        on_missing: Callable[[], None] | None = None,
        *,
        is_small: bool = False,
    ) -> None:
        super().__init__(file, chunk_size=CHUNK, headers=headers)
        self.file = file
        self._on_missing = on_missing
        self._is_small = is_small

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Read the file's status, and send the head."""
        if (
            self._is_small
            and request.method == hdrs.METH_GET
            and not any(map(request.headers.__contains__, _CONDITIONS))
        ):
            loaded = await asyncio.get_running_loop().run_in_executor(None, _load_small, self.file)
            if loaded is not None:
                return await self._send_whole(request, *loaded)
        ignored = _unreadable_dates(request)
        if hdrs.RANGE in request.headers and (hdrs.IF_RANGE in ignored or not await self._takes_range(request)):
            ignored.append(hdrs.RANGE)
        if ignored:
            headers = request.headers.copy()
            for name in ignored:
                headers.popall(name)
            request = request.clone(headers=headers)
        return await super().prepare(request)

    async def _takes_range(self, request: web.BaseRequest) -> bool:
        """Return whether the answer is the range that the request asks for, or says that the file has no such range."""
        if request.method != hdrs.METH_GET or _ONE_RANGE.fullmatch(request.headers[hdrs.RANGE].strip()) is None:
            return False
        condition = request.headers.get(hdrs.IF_RANGE, "").strip()
        # A weak tag never matches.
        return not condition.startswith(('"', "W/")) or condition == await asyncio.to_thread(_entity_tag, self.file)

    async def _send_whole(
        self, request: web.BaseRequest, status: os.stat_result, content: bytes
    ) -> AbstractStreamWriter | None:
        """Send all of a file with the head that aiohttp gives it."""
        self.etag = _tag_of(status)
        self.last_modified = status.st_mtime
        self.content_length = len(content)
        self.headers[hdrs.ACCEPT_RANGES] = "bytes"
        writer = await web.StreamResponse.prepare(self, request)
        await self.write_eof(content)
        return writer

    def set_status(self, status: int, reason: str | None = None) -> None:
        """Set the status, which aiohttp decides on while it prepares the response."""
        super().set_status(status, reason)
        if status < 400:
            return
        self.headers[hdrs.CACHE_CONTROL] = "no-store"
        if status == 404 and self._on_missing is not None:
            self._on_missing()


def _unreadable_dates(request: web.BaseRequest) -> list[str]:
    """Return the headers whose date has a number beyond those of C, which aiohttp raises."""
    unreadable: list[str] = []
    for name, read in _DATES.items():
        try:
            read(request)
        except OverflowError:
            unreadable.append(name)
    return unreadable


def _entity_tag(file: Path) -> str | None:
    """Return the entity tag of a file as aiohttp writes it; None for one that is gone."""
    try:
        return f'"{_tag_of(file.stat())}"'
    except FileNotFoundError:
        return None


def _tag_of(status: os.stat_result) -> str:
    return f"{status.st_mtime_ns:x}-{status.st_size:x}"


def _load_small(file: Path) -> tuple[os.stat_result, bytes] | None:
    """Return the status and content of a small file; None for another one, or none."""
    try:
        with file.open("rb", buffering=0) as opened:
            status = os.fstat(opened.fileno())
            return (status, opened.read(CHUNK)) if status.st_size <= CHUNK else None
    except OSError:
        return None
