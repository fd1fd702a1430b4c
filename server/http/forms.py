"""Receive bodies of `multipart/form-data` (RFC 7578): texts in memory, files on the disk until the request has ended.

Limits are counted while the body arrives, before a part is parsed (docs/reference/shared.md#request-bodies).
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import ClassVar
from uuid import UUID

from aiohttp import hdrs, web
from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header

from domain.bulk.files import UPLOADED, working_path
from domain.media.fetching import measure
from domain.media.uploads import LIFETIME
from domain.uploaded_files import ArrivingFile
from kernel.errors import MalformedRequest, TooLarge
from kernel.ids import uuid7
from kernel.received_files import MAX_BYTES, ReceivedFile, ReceivedForm
from rest_facade.bodies import CHUNK, body_chunks, reject_coded
from rest_facade.bodies import MAX_BYTES as MAX_TEXT_BYTES
from rest_facade.routing import SCOPE

MAX_FILES = 10
MAX_FORM_BYTES = MAX_BYTES + MAX_TEXT_BYTES
# Those of the files, `operations` and `map`, and as many that are ignored.
_MAX_PARTS = 20
_MAX_HEADER_BYTES = 4_096
# RFC 2046, section 5.1.1.
_MAX_BOUNDARY = 70


class ArrivingForm(ReceivedForm):
    """A form while it arrives, with the files that have to be removed when its request has ended."""

    def __init__(self, store: UUID) -> None:
        super().__init__()
        self._store = store
        self._files: list[ArrivingFile] = []
        self._part: _TextPart | _FilePart | None = None
        self._sizes = {_TextPart: 0, _FilePart: 0}

    async def add(self, event: MultipartSegment | bytes | bytearray | None) -> None:
        """Take what the parser found: the head of a part, some of its content, or None for its end."""
        if isinstance(event, MultipartSegment):
            self._part = self._begin(event)
            return
        assert self._part is not None
        if event is None:
            self.parts.append((self._part.name, await self._part.end()))
            return
        kind = type(self._part)
        self._sizes[kind] += len(event)
        if self._sizes[kind] > kind.most_bytes:
            raise TooLarge(f"the {kind.plural} of the form are larger than {kind.most_bytes} bytes")
        await self._part.write(event)

    def _begin(self, head: MultipartSegment) -> _TextPart | _FilePart:
        name = head.name or ""
        if head.filename is None:
            return _TextPart(name)
        if len(self._files) == MAX_FILES:
            raise MalformedRequest(detail=f"the form has more than {MAX_FILES} files")
        # Named as uploads of bulk operations: the job deletes both when they were interrupted.
        path = working_path(self._store, uuid7(), f"{UPLOADED}.part")
        self._files.append(ArrivingFile(path, MAX_BYTES))
        return _FilePart(name, self._files[-1], _base_name(head.filename), head.content_type or "")

    async def discard(self) -> None:
        """Remove the files."""
        for file in self._files:
            await file.discard()


_FORM = web.RequestKey("form", ArrivingForm)


@dataclass(slots=True)
class _TextPart:
    most_bytes: ClassVar[int] = MAX_TEXT_BYTES
    plural: ClassVar[str] = "texts"

    name: str
    _content: bytearray = field(default_factory=bytearray)

    async def write(self, content: bytes | bytearray) -> None:
        self._content += content

    async def end(self) -> str:
        try:
            return self._content.decode()
        except UnicodeDecodeError as error:
            raise MalformedRequest(detail=f"the part {self.name[:60]!a} is not UTF-8") from error


@dataclass(slots=True)
class _FilePart:
    most_bytes: ClassVar[int] = MAX_BYTES
    plural: ClassVar[str] = "files"

    name: str
    file: ArrivingFile
    file_name: str
    mime_type: str
    _waiting: bytearray = field(default_factory=bytearray)

    async def write(self, content: bytes | bytearray) -> None:
        # A client may send a byte at a time, and each write takes a thread.
        self._waiting += content
        if len(self._waiting) >= CHUNK:
            await self._flush()

    async def end(self) -> ReceivedFile:
        await self._flush()
        await self.file.close()
        sha256, size = await measure(self.file.path)
        return ReceivedFile(self.file.path, size, sha256, self.file_name, self.mime_type)

    async def _flush(self) -> None:
        content, self._waiting = bytes(self._waiting), bytearray()
        await self.file.write(content)


async def receive_form(request: web.Request) -> ReceivedForm:
    """Return the parts of a multipart body, the same for repeated calls; `respond_and_discard` removes its files.

    Raises `MalformedRequest` for what is no form or has too many parts, `TooLarge` and `Unavailable`.
    """
    if _FORM in request:
        return request[_FORM]
    reject_coded(request)
    boundary = _boundary(request)
    if (request.content_length or 0) > MAX_FORM_BYTES:
        raise _too_large()
    form = request[_FORM] = ArrivingForm(request[SCOPE].store.public_id)
    parser = PushMultipartParser(boundary, max_segment_count=_MAX_PARTS, max_header_size=_MAX_HEADER_BYTES)
    try:
        await _receive(request, form, parser)
    except MultipartError as error:
        raise MalformedRequest(
            detail=f"the body is no multipart form of at most {_MAX_PARTS} parts: {error.args[0]}"
        ) from error
    return form


async def _receive(request: web.Request, form: ArrivingForm, parser: PushMultipartParser) -> None:
    size = 0
    async for chunk in body_chunks(request, LIFETIME):
        size += len(chunk)
        if size > MAX_FORM_BYTES:
            raise _too_large()
        for event in parser.parse(chunk):
            await form.add(event)
    parser.close()


async def respond_and_discard(request: web.Request, response: Awaitable[web.StreamResponse]) -> web.StreamResponse:
    """Return the response, and remove the files of the request's form, if it was received."""
    try:
        return await response
    finally:
        if _FORM in request:
            await request[_FORM].discard()


def _boundary(request: web.Request) -> str:
    boundary = parse_options_header(request.headers.get(hdrs.CONTENT_TYPE, ""))[1].get("boundary", "")
    if not (0 < len(boundary) <= _MAX_BOUNDARY and boundary.isascii() and boundary.isprintable()):
        raise MalformedRequest(detail=f"the content type has no boundary of at most {_MAX_BOUNDARY} characters")
    return str(boundary)


def _base_name(file_name: str) -> str:
    """Return a name without the folders that a client sent with it (RFC 7578, section 4.2)."""
    return file_name.replace("\\", "/").rpartition("/")[2]


def _too_large() -> TooLarge:
    return TooLarge(f"the request body is larger than {MAX_FORM_BYTES} bytes")
