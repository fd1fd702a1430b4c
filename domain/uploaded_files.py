"""Files that clients send to this server: written to the disk as they arrive, stored when they are complete."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from domain.storage import storage
from kernel import logging
from kernel.errors import Conflict, StorageFull, TooLarge, Unavailable
from kernel.work_queues import run_in_thread


class ArrivingFile:
    """A file while it arrives at `path`, on the disk of this machine."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._file: BinaryIO | None = None
        self.size = 0

    async def write(self, content: bytes) -> None:
        """Append bytes; raise `TooLarge` over the limit, `StorageFull` when they can't be written."""
        self.size += len(content)
        self.check_size(self.size)
        try:
            await run_in_thread(self._write, content)
        except OSError as error:
            raise storage_error(error) from error

    def check_size(self, size: int) -> None:
        """Raise `TooLarge` for a size over the limit."""
        if size > self._max_bytes:
            raise upload_too_large(self._max_bytes)

    async def close(self) -> None:
        """Complete the file; raise `StorageFull`."""
        try:
            await run_in_thread(self._close)
        except OSError as error:
            raise storage_error(error) from error

    async def discard(self) -> None:
        """Remove what was written."""
        await run_in_thread(self._discard)

    def _open(self) -> BinaryIO:
        if self._file is None:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.fdopen(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        return self._file

    def _write(self, content: bytes) -> None:
        self._open().write(content)

    def _close(self) -> None:
        self._open().close()

    def _discard(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
        with suppress(OSError):
            self.path.unlink()


class UploadedFile(ArrivingFile):
    """An upload that appears in the storage when it is complete."""

    def __init__(self, key: str, path: Path, max_bytes: int) -> None:
        super().__init__(path, max_bytes)
        self._key = key

    async def complete(self) -> int:
        """Make the upload appear and return its size; raise `Conflict` (`uploaded`) if it is there already, `StorageFull`."""
        await self.close()
        try:
            await storage().put(self._key, self.path, replaces=False)
        except FileExistsError as error:
            raise Conflict("the file was uploaded before; create another upload", reason="uploaded") from error
        return self.size


def upload_too_large(max_bytes: int) -> TooLarge:
    """Return the error of an upload over the limit."""
    return TooLarge(f"the file is larger than {max_bytes} bytes")


def storage_error(error: OSError) -> StorageFull | Unavailable:
    """Return `StorageFull` where there is no space left; else log why the directory can't be written to, and return `Unavailable`."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull()
    logging.failure("files can't be written", error)
    return Unavailable("files can't be stored at the moment")
