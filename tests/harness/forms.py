"""Bodies of `multipart/form-data`, written byte by byte so that tests can send malformed ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

BOUNDARY = "----vitrine-test-boundary"


class Part(NamedTuple):
    """A part of a form; without a file name it is a text."""

    name: str
    content: bytes | str
    file_name: str | None = None
    mime_type: str = ""

    def encode(self) -> bytes:
        """Return head and content."""
        file_name = "" if self.file_name is None else f'; filename="{self.file_name}"'
        head = f'Content-Disposition: form-data; name="{self.name}"{file_name}\r\n'
        head += f"Content-Type: {self.mime_type}\r\n" if self.mime_type else ""
        content = self.content.encode() if isinstance(self.content, str) else self.content
        return head.encode() + b"\r\n" + content


def form(parts: Sequence[Part], boundary: str = BOUNDARY) -> tuple[bytes, dict[str, str]]:
    """Return the body of a form, and its headers."""
    delimiter = f"--{boundary}".encode()
    lines = [line for part in parts for line in (delimiter, part.encode())]
    body = b"\r\n".join([*lines, delimiter + b"--", b""])
    return body, {"Content-Type": f"multipart/form-data; boundary={boundary}"}


def operation(query: str, variables: Mapping[str, Any], places: Mapping[str, Sequence[str]]) -> list[Part]:
    """Return the first two parts of a GraphQL multipart request."""
    operations = {"query": query, "variables": variables}
    return [Part("operations", json.dumps(operations)), Part("map", json.dumps(places))]
