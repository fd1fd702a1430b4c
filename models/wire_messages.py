"""Messages of PostgreSQL's protocol that are sent before those of asyncpg (PostgreSQL documentation, section 54.7).

They have no Sync of their own: a statement in them and asyncpg's, which follows, are answered together, and if the first fails, the second
isn't executed. asyncpg takes no notice of statements that return no rows.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

_AS_THEY_ARE = (str, int, UUID)


def parse(prepared_name: str, sql: str) -> bytes:
    """Return Parse, for the unnamed statement with an empty name."""
    return _message(b"P", b"%s\0%s\0\0\0" % (prepared_name.encode(), sql.encode()))


def bind_and_execute(prepared_name: str, parameters: Sequence[str | None]) -> bytes:
    """Return Bind and Execute of a prepared statement: the unnamed portal, parameters in text format, no limit of rows."""
    values = b"".join([_value(parameter) for parameter in parameters])
    head = b"\0%s\0%s" % (prepared_name.encode(), struct.pack("!hh", 0, len(parameters)))
    return _message(b"B", head + values + b"\0\0") + _EXECUTE


def parameter_text(value: object) -> str | None:
    """Return a parameter in PostgreSQL's text format, an array of such values as well; None is NULL. Raise TypeError for other types."""
    if value is None:
        return None
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


def _value(parameter: str | None) -> bytes:
    if parameter is None:
        return b"\xff\xff\xff\xff"
    value = parameter.encode()
    return struct.pack("!i", len(value)) + value


def _message(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("!i", len(content) + 4) + content


_EXECUTE = _message(b"E", b"\0\0\0\0\0")
BEGIN = parse("", "begin") + bind_and_execute("", ())
