"""Uploaded files of bulk mutations: stored once by a signed link, read line by line.

The name of a file contains a hash of its caller, so that an upload is found by the caller that created it alone.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

from auth.secrets import keyed_hash
from domain.bulk.configuration import configured
from domain.bulk.files import UPLOAD, SignedLink, signed_link
from kernel.errors import Conflict, StorageFull, TooLarge
from kernel.ids import parse_uuid, uuid7
from kernel.scope import Scope

_PURPOSE = "bulk uploads"
# An upload that no mutation has used by then is deleted.
RETENTION = timedelta(days=1)
# As a request body.
MAX_LINE_BYTES = 2 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"
_SUFFIX = ".upload"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of an upload: its number from 1 on, its content (None: it is too long), and where the next one begins."""

    number: int
    content: bytes | None
    next_offset: int


def new_upload(scope: Scope) -> tuple[UUID, SignedLink]:
    """Return the id of a new upload of the caller and the link to store it."""
    upload = uuid7()
    return upload, signed_link(scope, UPLOAD, _name(scope, upload))


def upload_path(store: UUID, name: str) -> Path:
    """Return the path of an upload by the name in its link."""
    return configured().folder / str(store) / f"{name}{_SUFFIX}"


def find_upload(scope: Scope, upload: object) -> tuple[UUID, Path] | None:
    """Return the id and path of a complete upload of the caller; None for an unknown one, or another caller's."""
    parsed = parse_uuid(str(upload))
    path = upload_path(scope.store.public_id, _name(scope, parsed)) if parsed is not None else None
    return (parsed, path) if parsed is not None and path is not None and path.is_file() else None


def _name(scope: Scope, upload: UUID) -> str:
    return f"{upload}.{keyed_hash(_PURPOSE, scope.actor.credential)[:16]}"


def delete_unused(store: UUID) -> None:
    """Delete uploads, and what was left of interrupted ones, after `RETENTION`."""
    limit = time.time() - RETENTION.total_seconds()
    for path in (configured().folder / str(store)).glob(f"*{_SUFFIX}*"):
        with suppress(OSError):
            if path.stat().st_mtime < limit:
                path.unlink()


# --- Writing ----------------------------------------------------------------------------------------------------------


class UploadedFile:
    """An upload while it arrives; it appears at its path when it is complete."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._part = path.with_name(f"{path.name}.{uuid7()}.part")
        self._file: BinaryIO | None = None
        self._size = 0

    async def write(self, content: bytes) -> None:
        """Append bytes; raise `TooLarge` over the limit, `StorageFull` when they can't be written."""
        self._size += len(content)
        if self._size > configured().upload_bytes:
            raise upload_too_large()
        try:
            await asyncio.to_thread(self._write, content)
        except OSError as error:
            raise StorageFull from error

    async def finish(self) -> int:
        """Make the upload appear and return its size; raise `Conflict` (`uploaded`) if it is there already, `StorageFull`."""
        try:
            await asyncio.to_thread(self._finish)
        except FileExistsError as error:
            raise Conflict("the file was uploaded before; create another upload", reason="uploaded") from error
        except OSError as error:
            raise StorageFull from error
        return self._size

    async def discard(self) -> None:
        """Remove what was written and has not appeared."""
        await asyncio.to_thread(self._discard)

    def _open(self) -> BinaryIO:
        if self._file is None:
            self._part.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.fdopen(os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        return self._file

    def _write(self, content: bytes) -> None:
        self._open().write(content)

    def _finish(self) -> None:
        file = self._open()
        file.flush()
        os.fsync(file.fileno())
        file.close()
        # Unlike a renaming, a link replaces nothing: an operation may be reading the file.
        os.link(self._part, self._path)

    def _discard(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
        with suppress(OSError):
            self._part.unlink()


def upload_too_large() -> TooLarge:
    """Return the error of an upload over the limit."""
    return TooLarge(f"the file is larger than {configured().upload_bytes} bytes")


# --- Reading ----------------------------------------------------------------------------------------------------------


def read_lines(path: Path, number: int, offset: int, *, count: int, size: int) -> list[Line]:
    """Return up to `count` lines, about `size` bytes, from an offset on, before which there are `number` lines.

    Raise OSError when the file can't be read.
    """
    lines: list[Line] = []
    with path.open("rb") as file:
        file.seek(offset)
        total = 0
        for content, length in _contents(file):
            number, offset = number + 1, offset + length
            if number == 1 and content is not None:
                content = content.removeprefix(_BOM)
            lines.append(Line(number, content, offset))
            total += len(content or b"")
            if len(lines) == count or total >= size:
                break
    return lines


def _contents(file: BinaryIO) -> Iterator[tuple[bytes | None, int]]:
    """Yield the lines of a file without their ends, None for one over the limit, whose rest is skipped, and their whole length."""
    while content := file.readline(MAX_LINE_BYTES + 2):
        length, line = len(content), content.rstrip(b"\r\n")
        if len(line) <= MAX_LINE_BYTES:
            yield line, length
            continue
        while content and not content.endswith(b"\n"):
            content = file.readline(MAX_LINE_BYTES)
            length += len(content)
        yield None, length
