"""The files of bulk operations in the storage (`domain/storage.py`), and the signed links to them.

A result is written in a folder of the machine first and then stored, outside of the transaction that reads it. Where this server serves
the files itself, it is stored twice, as it is and compressed with gzip: ranges of either can be loaded. Names are ours, never a client's.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

from domain.bulk.configuration import configured
from domain.signed_links import sign, verify
from domain.storage import storage
from domain.uploaded_files import storage_error
from kernel.scope import Scope
from kernel.work_queues import run_in_thread

LINK_LIFETIME = timedelta(hours=1)
DOWNLOAD, UPLOAD = "download", "upload"
RESULT, COMPRESSED, UPLOADED = ".jsonl", ".gz", ".upload"
CONTENT_TYPE = "application/jsonl"
ROUTE = "/files/bulk"
FOLDER = "bulk/"
_PURPOSE = "bulk files"
_GZIP_WINDOW = 31  # zlib's greatest window, with gzip's header
_GZIP_LEVEL = 4


@dataclass(frozen=True, slots=True)
class SignedLink:
    """A link to a file that needs no credential until it expires."""

    url: str
    expires_at: datetime


def folder_key(store: UUID) -> str:
    """Return what the keys of a store's files begin with."""
    return f"{FOLDER}{store}/"


def file_key(store: UUID, name: UUID | str, suffix: str = RESULT) -> str:
    """Return the key of a file: by its suffix a result, one compressed with gzip, or an upload."""
    return f"{folder_key(store)}{name}{suffix}"


def working_path(store: UUID, name: UUID | str, suffix: str) -> Path:
    """Return the path of a file of this machine that is being written or executed."""
    return configured().folder / str(store) / f"{name}{suffix}"


async def signed_link(scope: Scope, action: str, name: str) -> SignedLink:
    """Return a link to load or store the file of the store with this name, valid for an hour."""
    expires_at = (scope.now + LINK_LIFETIME).replace(microsecond=0)
    store = scope.store.public_id
    if action == DOWNLOAD:
        url = await storage().link("GET", file_key(store, name), LINK_LIFETIME)
    else:
        url = await storage().link("PUT", file_key(store, name, UPLOADED), LINK_LIFETIME)
    if url is not None:
        return SignedLink(url, expires_at)
    expires = int(expires_at.timestamp())
    signature = sign(_PURPOSE, f"{action}:{store}:{name}", expires)
    path = f"{ROUTE}/{store}/{name}.jsonl?expires={expires}&signature={signature}"
    return SignedLink(f"{configured().public_url}{path}", expires_at)


def verify_link(action: str, store: UUID, name: str, expires: int, signature: str, now: datetime) -> None:
    """Raise `Forbidden` for a link that this deployment did not sign, and after its time."""
    verify(_PURPOSE, f"{action}:{store}:{name}", expires, signature, now)


class ResultFile:
    """The result of an operation while it is written: it appears in the storage when it is complete.

    Each attempt writes files of its own, so that a worker that lost its claim damages nothing.
    """

    def __init__(self, store: UUID, operation: UUID, claim: UUID) -> None:
        suffixes = (RESULT,) if storage().local_path("") is None else (COMPRESSED, RESULT)
        self._keys = tuple(file_key(store, operation, suffix) for suffix in suffixes)
        self._parts = tuple(working_path(store, operation, f"{suffix}.{claim}.part") for suffix in suffixes)
        self._headers = {
            "Content-Type": CONTENT_TYPE,
            "Content-Disposition": f'attachment; filename="{operation}{RESULT}"',
        }
        self._files: list[BinaryIO] = []
        self._compressor = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
        self.size = 0

    async def write(self, content: bytes) -> None:
        """Append lines; raise `StorageFull` when they can't be written."""
        await _in_thread(lambda: self._write(content))
        self.size += len(content)

    async def complete(self) -> None:
        """Make the result appear; raise `StorageFull` when it can't be written, `Unavailable` without the storage."""
        await _in_thread(self._close)
        for part, key in zip(self._parts, self._keys, strict=True):
            await storage().put(key, part, self._headers)

    async def discard(self) -> None:
        """Remove what was written and has not appeared."""
        await run_in_thread(self._discard)

    def _write(self, content: bytes) -> None:
        *compressed, plain = self._open()
        plain.write(content)
        for file in compressed:
            file.write(self._compressor.compress(content))

    def _open(self) -> list[BinaryIO]:
        if not self._files:
            self._parts[0].parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            for part in self._parts:
                descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                self._files.append(os.fdopen(descriptor, "wb"))
        return self._files

    def _close(self) -> None:
        *compressed, _ = self._open()
        for file in compressed:
            file.write(self._compressor.flush())
        for file in self._files:
            file.close()

    def _discard(self) -> None:
        for file in self._files:
            with suppress(OSError):
                file.close()
        for part in self._parts:
            with suppress(OSError):
                part.unlink()


async def _in_thread(work: Callable[[], None]) -> None:
    try:
        await run_in_thread(work)
    except OSError as error:
        raise storage_error(error) from error


async def delete_files(store: UUID, operations: list[UUID]) -> None:
    """Delete the results of operations, and what was left of interrupted ones; those that are gone already are no error."""
    await storage().delete(file_key(store, each, suffix) for each in operations for suffix in (RESULT, COMPRESSED))
    await run_in_thread(_delete_parts, store, operations)


def _delete_parts(store: UUID, operations: list[UUID]) -> None:
    for operation in operations:
        for each in (configured().folder / str(store)).glob(f"{operation}.*"):
            each.unlink(missing_ok=True)
