"""The files of bulk operations, in a folder that web processes and workers share or in an object storage, and the signed links to them.

In the folder a result is kept twice, as it is and compressed with gzip: ranges of either can be loaded. For an object storage a result is
written in the folder first and then stored as it is, outside of the transaction that reads it. Names are ours, never a client's.
"""

from __future__ import annotations

import asyncio
import errno
import hmac
import os
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

from auth.secrets import keyed_hash, keyed_hashes
from domain.bulk.configuration import configured
from kernel import logging
from kernel.errors import Forbidden, StorageFull, Unavailable
from kernel.scope import Scope

LINK_LIFETIME = timedelta(hours=1)
DOWNLOAD, UPLOAD = "download", "upload"
RESULT, UPLOADED = ".jsonl", ".upload"
CONTENT_TYPE = "application/jsonl"
_OBJECT_LINKS = {DOWNLOAD: ("GET", RESULT), UPLOAD: ("PUT", UPLOADED)}
ROUTE = "/files/bulk"
_PURPOSE = "bulk files"
_GZIP_WINDOW = 31  # zlib's greatest window, with gzip's header
_GZIP_LEVEL = 4


@dataclass(frozen=True, slots=True)
class SignedLink:
    """A link to a file that needs no credential until it expires."""

    url: str
    expires_at: datetime


def result_path(store: UUID, operation: UUID | str) -> Path:
    """Return the path of an operation's result."""
    return configured().folder / str(store) / f"{operation}{RESULT}"


def compressed_path(path: Path) -> Path:
    """Return the path of the same result compressed with gzip."""
    return path.with_suffix(".gz")


def object_key(store: UUID, name: str, suffix: str = RESULT) -> str:
    """Return the key of a file in the object storage."""
    return f"{store}/{name}{suffix}"


def signed_link(scope: Scope, action: str, name: str) -> SignedLink:
    """Return a link to load or store the file of the store with this name, valid for an hour."""
    objects = configured().objects
    if objects is not None:
        method, suffix = _OBJECT_LINKS[action]
        url = objects.link(method, object_key(scope.store.public_id, name, suffix), LINK_LIFETIME, scope.now)
        return SignedLink(url, (scope.now + LINK_LIFETIME).replace(microsecond=0))
    expires_at = (scope.now + LINK_LIFETIME).replace(microsecond=0)
    expires = int(expires_at.timestamp())
    signature = keyed_hash(_PURPOSE, _signed_text(action, scope.store.public_id, name, expires))
    path = f"{ROUTE}/{scope.store.public_id}/{name}.jsonl?expires={expires}&signature={signature}"
    return SignedLink(f"{configured().public_url}{path}", expires_at)


def verify_link(action: str, store: UUID, name: str, expires: int, signature: str, now: datetime) -> None:
    """Raise `Forbidden` for a link that this deployment did not sign, and after its time."""
    text = _signed_text(action, store, name, expires)
    if not signature.isascii() or not any(
        hmac.compare_digest(known, signature) for known in keyed_hashes(_PURPOSE, text)
    ):
        raise Forbidden("link_invalid", details={"detail": "the signature of the link is wrong"})
    if now.timestamp() > expires:
        raise Forbidden("link_expired", details={"detail": "the link has expired; ask for another one"})


def _signed_text(action: str, store: UUID, name: str, expires: int) -> str:
    return f"{action}:{store}:{name}:{expires}"


class ResultFile:
    """The result of an operation while it is written: it appears at its path when it is complete.

    Each attempt writes files of its own, so that a worker that lost its claim damages nothing.
    """

    def __init__(self, store: UUID, operation: UUID, claim: UUID) -> None:
        path = result_path(store, operation)
        self._objects = configured().objects
        self._key = object_key(store, str(operation))
        self._headers = {"content-type": CONTENT_TYPE, "content-disposition": f'attachment; filename="{path.name}"'}
        self._paths = (compressed_path(path), path) if self._objects is None else (path,)
        self._parts = tuple(each.with_name(f"{each.name}.{claim}.part") for each in self._paths)
        self._files: list[BinaryIO] = []
        self._compressor = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
        self.size = 0

    async def write(self, content: bytes) -> None:
        """Append lines; raise `StorageFull` when they can't be written."""
        await _in_thread(lambda: self._write(content))
        self.size += len(content)

    async def finish(self) -> None:
        """Make the result appear; raise `StorageFull` when it can't be written, `Unavailable` without the object storage."""
        await _in_thread(self._close)
        if self._objects is None:
            await _in_thread(self._publish)
        else:
            await self._objects.save(self._parts[0], self._key, self._headers)

    async def discard(self) -> None:
        """Remove what was written and has not appeared."""
        await asyncio.to_thread(self._discard)

    def _write(self, content: bytes) -> None:
        *compressed, plain = self._open()
        plain.write(content)
        for file in compressed:
            file.write(self._compressor.compress(content))

    def _open(self) -> list[BinaryIO]:
        if not self._files:
            self._paths[0].parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            for part in self._parts:
                descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                self._files.append(os.fdopen(descriptor, "wb"))
        return self._files

    def _close(self) -> None:
        *compressed, _ = self._open()
        for file in compressed:
            file.write(self._compressor.flush())
        for file in self._files:
            file.flush()
            os.fsync(file.fileno())
            file.close()

    def _publish(self) -> None:
        for part, path in zip(self._parts, self._paths, strict=True):
            part.rename(path)

    def _discard(self) -> None:
        for file in self._files:
            with suppress(OSError):
                file.close()
        for part in self._parts:
            with suppress(OSError):
                part.unlink()


async def _in_thread(work: Callable[[], None]) -> None:
    try:
        await asyncio.to_thread(work)
    except OSError as error:
        raise storage_error(error) from error


def storage_error(error: OSError) -> StorageFull | Unavailable:
    """Return `StorageFull` where there is no space left; else log why the directory can't be written to, and return `Unavailable`."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull()
    logging.failure("bulk files can't be written", error)
    return Unavailable("files can't be stored at the moment")


async def delete_files(store: UUID, operations: list[UUID]) -> None:
    """Delete the results of operations, and what was left of interrupted ones; those that are gone already are no error."""
    objects = configured().objects
    if objects is not None:
        await objects.delete([object_key(store, str(operation)) for operation in operations])
    await asyncio.to_thread(_delete_local, store, operations)


def _delete_local(store: UUID, operations: list[UUID]) -> None:
    for operation in operations:
        path = result_path(store, operation)
        for each in path.parent.glob(f"{operation}.*"):
            each.unlink(missing_ok=True)
