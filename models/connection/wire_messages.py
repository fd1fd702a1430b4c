"""Messages of PostgreSQL's protocol that are sent before those of asyncpg (PostgreSQL documentation, section 54.7).

They have no Sync of their own: a statement in them and asyncpg's, which follows, are answered together, and if the first fails, the second
isn't executed. asyncpg takes no notice of statements that return no rows.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

FLUSH = b"H\0\0\0\4"

_AS_THEY_ARE = (str, int, UUID)
_LENGTH = struct.Struct("!i").pack
_COUNTS = struct.Struct("!hh").pack
_NULL = _LENGTH(-1)


def parse(prepared_name: str, sql: str) -> bytes:
    """Return Parse, for the unnamed statement with an empty name."""
    return _message(b"P", b"%s\0%s\0\0\0" % (prepared_name.encode(), sql.encode()))


def bind_and_execute(prepared_name: str, parameters: Sequence[str | None]) -> bytes:
    """Return Bind and Execute of a prepared statement: the unnamed portal, parameters in text format, no limit of rows."""
    parts = [b"\0%s\0%s" % (prepared_name.encode(), _COUNTS(0, len(parameters)))]
    for parameter in parameters:
        if parameter is None:
            parts.append(_NULL)
        else:
            value = parameter.encode()
            parts += (_LENGTH(len(value)), value)
    parts.append(b"\0\0")
    return _message(b"B", b"".join(parts)) + _EXECUTE


def parameter_text(value: object) -> str | None:
    """Return a parameter in PostgreSQL's text format, an array of such values as well; None is NULL. Raise TypeError for other types."""
    if value is None or type(value) is str:
        return value
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, _AS_THEY_ARE):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    if isinstance(value, list):
        return f"{{{','.join(map(_element, value))}}}"
    raise TypeError(f"no text format for {type(value).__name__}")


def _element(value: object) -> str:
    text = parameter_text(value)
    if text is None:
        return "NULL"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _message(kind: bytes, content: bytes) -> bytes:
    return kind + _LENGTH(len(content) + 4) + content


_EXECUTE = _message(b"E", b"\0\0\0\0\0")
BEGIN = parse("", "begin") + bind_and_execute("", ())
