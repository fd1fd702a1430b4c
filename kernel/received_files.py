"""Files that arrived with a request, as facades pass them to operations: GraphQL's scalar `Upload` takes nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import orjson

MAX_BYTES = 20 * 1024 * 1024
"""The size of a media file, and of all files that come with one request."""


@dataclass(frozen=True, slots=True)
class ReceivedFile:
    """A file in memory, or on the disk of this machine until its request has ended; name and type are those that the client says."""

    content: bytes | Path = field(repr=False)
    size: int
    sha256: str = field(repr=False)
    file_name: str
    mime_type: str


def file_of_bytes(content: bytes, file_name: str, mime_type: str) -> ReceivedFile:
    """Return a file in memory."""
    return ReceivedFile(content, len(content), hashlib.sha256(content).hexdigest(), file_name, mime_type)


FormPart: TypeAlias = tuple[str, str | ReceivedFile]
"""A name, and a text or a file."""


class ReceivedForm:
    """The parts of a form in the order in which they arrived."""

    def __init__(self) -> None:
        self.parts: list[FormPart] = []

    def get(self, name: str) -> str | ReceivedFile | None:
        """Return the value of the last part with this name."""
        return next((value for part, value in reversed(self.parts) if part == name), None)

    def canonical(self) -> bytes:
        """Return a text that is the same for forms with the same parts, whatever separated them."""
        return orjson.dumps([[name, *_described(value)] for name, value in self.parts])


def _described(value: str | ReceivedFile) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    else:
        yield from (value.file_name, value.mime_type, value.sha256)
