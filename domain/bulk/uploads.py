"""Uploaded files of bulk mutations: stored once by a signed link, read line by line.

The name of a file contains a hash of its caller, so that an upload is found by the caller that created it alone. A link to an object
storage can be used again while it is valid: an operation is created with a copy of the file, and executes that.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

from auth.secrets import keyed_hash
from domain.bulk.configuration import configured
from domain.bulk.files import LINK_LIFETIME, UPLOAD, UPLOADED, SignedLink, object_key, signed_link, storage_error
from kernel.errors import Conflict, NotFound, TooLarge
from kernel.ids import parse_uuid, uuid7
from kernel.scope import Scope
from models.connection.database import fetch

_PURPOSE = "bulk uploads"
# An upload that no mutation has used by then is deleted.
RETENTION = timedelta(days=1)
# As a request body.
MAX_LINE_BYTES = 2 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"
_USED = ".used" + UPLOADED
_PENDING = ".pending"
MAX_UNUSED = 2
"""The uploads of a caller that no operation uses, links without a file included."""
_USED_UPLOADS = "SELECT upload FROM bulk_operations WHERE tenant_id = $1 AND upload = ANY($2::uuid[]) GROUP BY upload"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of an upload: its number from 1 on, its content (None: it is too long), and where the next one begins."""

    number: int
    content: bytes | None
    next_offset: int


async def new_upload(scope: Scope) -> tuple[UUID, SignedLink]:
    """Return the id of a new upload of the caller and the link to store it.

    Raise `Conflict`: `too_many_uploads` while the caller has `MAX_UNUSED` that no operation uses, links without a file included, and
    `upload_space_used` when the files of the store take as much as it may have.
    """
    upload, store = uuid7(), scope.store.public_id
    name = _name(scope, upload)
    own = await asyncio.to_thread(_unused_names, store)
    objects = configured().objects
    if objects is not None:
        keys = await objects.keys_before(f"{store}/", scope.now + RETENTION)
        own |= {key.partition("/")[2].removesuffix(UPLOADED) for key in keys if key.endswith(UPLOADED)}
    caller = name.partition(".")[2]
    ids = {UUID(other.partition(".")[0]) for other in own if other.partition(".")[2] == caller}
    used = await fetch(_USED_UPLOADS, scope.store.id, list(ids))
    if len(ids) - len(used) >= MAX_UNUSED:
        raise Conflict(
            f"{MAX_UNUSED} uploads are unused; use one, or wait until its link expires", reason="too_many_uploads"
        )
    await check_space(store, 0)
    await asyncio.to_thread(_reserve, upload_path(store, name))
    return upload, signed_link(scope, UPLOAD, name)


async def check_space(store: UUID, size: int) -> None:
    """Raise `Conflict` (`upload_space_used`) if the uploads in the store's folder would exceed its budget with one of this size."""
    taken = await asyncio.to_thread(lambda: sum(path.stat().st_size for path in _uploads(store)))
    if taken + size > configured().store_upload_bytes or taken >= configured().store_upload_bytes:
        raise Conflict(
            f"the store's uploads take {taken} of {configured().store_upload_bytes} bytes; use them first",
            reason="upload_space_used",
        )


def _uploads(store: UUID) -> list[Path]:
    """Return the files of uploads in the store's folder, those that are arriving included."""
    return list((configured().folder / str(store)).glob(f"*{UPLOADED}*"))


def _unused_names(store: UUID) -> set[str]:
    """Return the names of the uploads in the store's folder, and of those whose links are valid."""
    limit = time.time() - LINK_LIFETIME.total_seconds()
    names = {path.name.partition(UPLOADED)[0] for path in _uploads(store)}
    for path in (configured().folder / str(store)).glob(f"*{_PENDING}"):
        with suppress(OSError):
            if path.stat().st_mtime > limit:
                names.add(path.name.removesuffix(_PENDING))
    return names


def _reserve(path: Path) -> None:
    """Remember that a link to an upload was made."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.with_suffix(_PENDING).touch(mode=0o600)
    except OSError as error:
        raise storage_error(error) from error


def upload_path(store: UUID, name: str) -> Path:
    """Return the path of an upload by the name in its link."""
    return configured().folder / str(store) / f"{name}{UPLOADED}"


async def use_upload(scope: Scope, upload: object) -> UUID | None:
    """Return the id of a complete upload of the caller, and keep it as it is now; None for an unknown one, or another caller's.

    Raise `TooLarge`, and `Unavailable` and `StorageFull` of an object storage.
    """
    parsed, objects = parse_uuid(str(upload)), configured().objects
    if parsed is None:
        return None
    store, name = scope.store.public_id, _name(scope, parsed)
    path = upload_path(store, name)
    if objects is None and not path.is_file():
        return None
    if objects is None:
        await asyncio.to_thread(path.with_suffix(_PENDING).unlink, missing_ok=True)
        return parsed
    size = await objects.size(object_key(store, name, UPLOADED))
    if size is None:
        return None
    if size <= configured().upload_bytes:
        await objects.copy(object_key(store, name, UPLOADED), object_key(store, name, _USED))
        # It may have been stored again meanwhile.
        size = await objects.size(object_key(store, name, _USED)) or 0
    if size > configured().upload_bytes:
        raise upload_too_large()
    await asyncio.to_thread(path.with_suffix(_PENDING).unlink, missing_ok=True)
    return parsed


@asynccontextmanager
async def used_upload(
    scope: Scope, upload: UUID, claim: UUID
) -> AsyncIterator[tuple[Path, Callable[[], Coroutine[Any, Any, None]]]]:
    """Yield the path of an upload that an operation of the caller uses, and the function that brings it there; raise `NotFound`.

    After success the upload is deleted.
    """
    store, name, objects = scope.store.public_id, _name(scope, upload), configured().objects
    path = upload_path(store, name)
    if objects is None:

        async def check() -> None:
            if not path.is_file():
                raise NotFound("upload")

        yield path, check
        await asyncio.to_thread(path.unlink, missing_ok=True)
        return
    used, copy = object_key(store, name, _USED), path.with_name(f"{path.name}.{claim}.part")

    async def load() -> None:
        if await objects.size(used) is None:
            raise NotFound("upload")
        await asyncio.to_thread(copy.parent.mkdir, mode=0o700, parents=True, exist_ok=True)
        await objects.load(used, copy)

    try:
        yield copy, load
    finally:
        await asyncio.to_thread(copy.unlink, missing_ok=True)
    await objects.delete([used, object_key(store, name, UPLOADED)])


def _name(scope: Scope, upload: UUID) -> str:
    return f"{upload}.{keyed_hash(_PURPOSE, scope.actor.credential)[:16]}"


async def delete_unused(store: UUID, at: datetime) -> None:
    """Delete uploads, and what was left of interrupted ones, after `RETENTION`."""
    await asyncio.to_thread(_delete_unused_local, store)
    objects = configured().objects
    if objects is not None:
        keys = await objects.keys_before(f"{store}/", at - RETENTION)
        await objects.delete([key for key in keys if key.endswith(UPLOADED)])


def _delete_unused_local(store: UUID) -> None:
    limit = time.time() - RETENTION.total_seconds()
    for path in [*_uploads(store), *(configured().folder / str(store)).glob(f"*{_PENDING}")]:
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
            raise storage_error(error) from error

    async def finish(self) -> int:
        """Make the upload appear and return its size; raise `Conflict` (`uploaded`) if it is there already, `StorageFull`."""
        try:
            await asyncio.to_thread(self._finish)
        except FileExistsError as error:
            raise Conflict("the file was uploaded before; create another upload", reason="uploaded") from error
        except OSError as error:
            raise storage_error(error) from error
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
