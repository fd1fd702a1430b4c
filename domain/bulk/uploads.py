"""Uploaded files of bulk mutations: stored once by a signed link, read line by line.

The name of a file contains a hash of its caller, so that an upload is found by the caller that created it alone. A provider's link can be
used again while it is valid: an operation is created with a copy of the file, and executes that.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

from auth.secrets import keyed_hash
from domain.bulk.configuration import configured
from domain.bulk.files import (
    LINK_LIFETIME,
    UPLOAD,
    UPLOADED,
    SignedLink,
    file_key,
    folder_key,
    signed_link,
    working_path,
)
from domain.storage import StoredObject, storage
from domain.uploaded_files import UploadedFile, upload_too_large
from kernel.errors import Conflict, NotFound
from kernel.ids import parse_uuid, uuid7
from kernel.scope import Scope
from kernel.work_queues import run_in_thread
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
_NEEDED_UPLOADS = (
    "SELECT upload FROM bulk_operations WHERE tenant_id = $1 AND due_at IS NOT NULL AND upload IS NOT NULL"
)
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
    caller = name.partition(".")[2]
    files = [file async for file in storage().find(folder_key(store))]
    own = {_name_of(file) for file in files if _is_unused(file, scope.now)}
    ids = {UUID(other.partition(".")[0]) for other in own if other.partition(".")[2] == caller}
    used = await fetch(_USED_UPLOADS, scope.store.id, list(ids))
    if len(ids) - len(used) >= MAX_UNUSED:
        raise Conflict(
            f"{MAX_UNUSED} uploads are unused; use one, or wait until its link expires", reason="too_many_uploads"
        )
    await _check_space(store, files, 0)
    await storage().put(file_key(store, name, _PENDING), b"")
    return upload, await signed_link(scope, UPLOAD, name)


async def check_space(store: UUID, size: int) -> None:
    """Raise `Conflict` (`upload_space_used`) if the store's uploads would exceed its budget with one of this size."""
    await _check_space(store, [file async for file in storage().find(folder_key(store))], size)


async def _check_space(store: UUID, files: Sequence[StoredObject], size: int) -> None:
    taken = sum(file.size for file in files if file.key.endswith(UPLOADED) and not file.key.endswith(_USED))
    taken += await run_in_thread(_arriving_bytes, store)
    if taken + size > configured().store_upload_bytes or taken >= configured().store_upload_bytes:
        raise Conflict(
            f"the store's uploads take {taken} of {configured().store_upload_bytes} bytes; use them first",
            reason="upload_space_used",
        )


def _arriving(store: UUID) -> list[Path]:
    """Return the files of uploads that are arriving at this machine, or are executed by it."""
    return list((configured().folder / str(store)).glob(f"*{UPLOADED}*"))


def _arriving_bytes(store: UUID) -> int:
    """Return the size of these files, without those that are complete or refused meanwhile."""
    taken = 0
    for path in _arriving(store):
        with suppress(FileNotFoundError):
            taken += path.stat().st_size
    return taken


def _is_unused(file: StoredObject, at: datetime) -> bool:
    """Return whether a file is an upload, or the sign of one whose link is valid."""
    if file.key.endswith(_PENDING):
        return file.modified_at > at - LINK_LIFETIME
    return file.key.endswith(UPLOADED) and not file.key.endswith(_USED)


def _name_of(file: StoredObject) -> str:
    return file.key.rpartition("/")[2].removesuffix(UPLOADED).removesuffix(_PENDING)


async def use_upload(scope: Scope, upload: object) -> UUID | None:
    """Return the id of a complete upload of the caller, and keep it as it is now; None for an unknown one, or another caller's.

    One that an operation executes stays as that has it. Raise `TooLarge`, and `Unavailable` and `StorageFull` of the storage.
    """
    parsed = parse_uuid(str(upload))
    if parsed is None:
        return None
    store, name = scope.store.public_id, _name(scope, parsed)
    key, used = file_key(store, name, UPLOADED), file_key(store, name, _USED)
    size = await _size(key)
    if size is None:
        return None
    if str(parsed) in await _needed(scope):
        return parsed  # its operation has not ended, so that there will be no other
    if size <= configured().upload_bytes:
        await storage().copy(key, used)
        # It may have been stored again meanwhile.
        size = await _size(used) or 0
    if size > configured().upload_bytes:
        raise upload_too_large(configured().upload_bytes)
    await storage().delete([file_key(store, name, _PENDING)])
    return parsed


async def _size(key: str) -> int | None:
    head = await storage().head(key)
    return None if head is None else head.size


@asynccontextmanager
async def used_upload(
    scope: Scope, upload: UUID, claim: UUID
) -> AsyncIterator[tuple[Path, Callable[[], Coroutine[Any, Any, None]]]]:
    """Yield the path of an upload that an operation of the caller uses, and the function that brings it there; raise `NotFound`.

    After success the upload is deleted.
    """
    store, name = scope.store.public_id, _name(scope, upload)
    used, copy = file_key(store, name, _USED), working_path(store, name, f"{UPLOADED}.{claim}.part")

    async def load() -> None:
        await run_in_thread(copy.parent.mkdir, mode=0o700, parents=True, exist_ok=True)
        try:
            await storage().load(used, copy)
        except FileNotFoundError as error:
            raise NotFound("upload") from error

    try:
        yield copy, load
    finally:
        await run_in_thread(copy.unlink, missing_ok=True)
    await storage().delete([used, file_key(store, name, UPLOADED)])


def _name(scope: Scope, upload: UUID) -> str:
    return f"{upload}.{keyed_hash(_PURPOSE, scope.actor.credential)[:16]}"


async def delete_unused(scope: Scope) -> None:
    """Delete uploads, and what was left of interrupted ones, after `RETENTION`; not what an operation that has not ended executes."""
    store, before = scope.store.public_id, scope.now - RETENTION
    files = [file async for file in storage().find(folder_key(store)) if file.modified_at < before]
    uploads = [file.key for file in files if file.key.endswith((UPLOADED, _PENDING))]
    needed = await _needed(scope)
    await storage().delete(key for key in uploads if _upload_of(key) not in needed)
    await run_in_thread(_delete_interrupted, store, needed)


async def _needed(scope: Scope) -> set[str]:
    """Return the uploads of the store's operations that have not ended."""
    return {str(row["upload"]) for row in await fetch(_NEEDED_UPLOADS, scope.store.id)}


def _upload_of(key: str) -> str:
    return key.rpartition("/")[2].partition(".")[0]


def _delete_interrupted(store: UUID, needed: Collection[str]) -> None:
    limit = time.time() - RETENTION.total_seconds()
    for path in _arriving(store):
        with suppress(OSError):
            if path.stat().st_mtime < limit and _upload_of(path.name) not in needed:
                path.unlink()


def uploaded_file(store: UUID, name: str) -> UploadedFile:
    """Return an upload that begins to arrive."""
    part = working_path(store, name, f"{UPLOADED}.{uuid7()}.part")
    return UploadedFile(file_key(store, name, UPLOADED), part, configured().upload_bytes)


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
