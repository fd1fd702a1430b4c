"""Write log lines to stderr, one per event: JSON, or plain text on a developer's terminal. Lines carry the id of their request.

    {"time":"2026-03-01T12:30:00.123456Z","level":"info","event":"request","request_id":"…","path":"/api/products", …}

The product calls `event` and `failure`. After `configure`, the standard `logging` module (used by libraries) writes the same form.

Lines contain no query string, body or mail text (docs/reference/shared.md#logs). An exception's message may quote them (`invalid
literal for int(): …`, PostgreSQL's `Key (email)=(…)`), so outside development only its type, its traceback locations and the names
of database objects are written.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import re
import secrets
import sys
import traceback
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from time import time_ns
from typing import Any

import orjson

Sink = Callable[[bytes], object]

request_id: ContextVar[str] = ContextVar("vitrine_request_id", default="")
"""The id of the request that the running task serves, or ""."""

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_RANDOM_BYTES = 4_096
_JSON = orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS | orjson.OPT_APPEND_NEWLINE
_FRAMES = 12
_MAX_CAUSES = 5
_SAFE_ATTRIBUTES = ("sqlstate", "constraint_name", "table_name", "column_name")
_COLOURS = {"warning": "\x1b[33m", "error": "\x1b[31m"}
_RESET = "\x1b[0m"
# A write to a pipe is atomic up to this many bytes (PIPE_BUF on Linux), however many processes write.
_MAX_ATOMIC_WRITE = 4_096
# How long the line of a finished request may be buffered.
_FLUSH_SECONDS = 0.05


class _RequestIds:
    """Generate UUIDs of version 7 as text, unordered within a millisecond, for one thread: at a third of the cost."""

    def __init__(self) -> None:
        self._random = ""
        self._offset = 0

    def next(self) -> str:
        """Return the next id."""
        start, end = self._offset, self._offset + _REQUEST_ID_DIGITS
        if end > len(self._random):
            self._random = secrets.token_hex(_RANDOM_BYTES)
            start, end = 0, _REQUEST_ID_DIGITS
        self._offset = end
        random = self._random[start:end]
        at = f"{time_ns() // 1_000_000:012x}"
        return f"{at[:8]}-{at[8:]}-7{random[:3]}-{_VARIANTS[random[3]]}{random[4:7]}-{random[7:]}"


# The two bits 10 before the random ones of a digit (RFC 9562, section 4.1).
_VARIANTS = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}
_REQUEST_ID_DIGITS = 19
_request_ids = _RequestIds()


def request_id_from(inbound: str | None) -> str:
    """Return a valid inbound request id (1-128 characters `[A-Za-z0-9._-]`), else a new one (docs/reference/shared.md#request-id)."""
    if inbound is not None and _REQUEST_ID.fullmatch(inbound):
        return inbound
    return _request_ids.next()


def _to_stderr(line: bytes) -> None:
    # One unbuffered write per line, so that lines of several processes in one pipe don't interleave.
    try:
        os.write(2, line)
    except OSError:
        pass  # there is nowhere to report it


class _LineBuffer:
    """Buffer the lines of finished requests: a system call for each would cost as much as all else about the line.

    They are flushed after a short delay, before any other line, and at exit.
    """

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._size = 0
        self._flush_loop: asyncio.AbstractEventLoop | None = None

    def add(self, line: bytes) -> None:
        """Buffer a line; without a running event loop it is written at once."""
        if self._size + len(line) > _MAX_ATOMIC_WRITE:
            self.flush()
        self._lines.append(line)
        self._size += len(line)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.flush()
            return
        if loop is not self._flush_loop:
            self._flush_loop = loop
            loop.call_later(_FLUSH_SECONDS, self._flush_later)

    def flush(self) -> None:
        """Write the buffered lines."""
        if self._lines:
            lines, self._lines, self._size = self._lines, [], 0
            _to_stderr(b"".join(lines))

    def _flush_later(self) -> None:
        self._flush_loop = None
        self.flush()


_line_buffer = _LineBuffer()
atexit.register(_line_buffer.flush)


class _Output:
    """The sink and format of log lines."""

    def __init__(self) -> None:
        self.sink: Sink = _to_stderr
        self.is_human = False
        self.is_development = False


_output = _Output()


def configure(*, development: bool, human: bool | None = None, level: int = logging.INFO) -> None:
    """Route everything that this process logs through this module.

    `human` (plain text) defaults to a terminal in development. Exception messages are written in development only.
    """
    _output.is_development = development
    _output.is_human = development and sys.stderr.isatty() if human is None else human
    root = logging.getLogger()
    root.handlers = [_LibraryHandler()]
    root.setLevel(level)
    logging.captureWarnings(True)
    # Our access line has the same fields, without the query string.
    logging.getLogger("aiohttp.access").disabled = True


def line_format() -> tuple[bool, bool]:
    """Return the arguments `development` and `human` with which another process gets the same format."""
    return _output.is_development, _output.is_human


def set_sink(sink: Sink | None) -> Sink:
    """Send lines to `sink` (None: stderr) from now on, and return the previous sink."""
    previous = _output.sink
    _output.sink = sink or _to_stderr
    return previous


def event(name: str, /, *, level: str = "info", **fields: Any) -> None:
    """Log one event; fields that are None are omitted."""
    line: dict[str, Any] = {"time": datetime.now(UTC), "level": level, "event": name}
    if current := request_id.get():
        line["request_id"] = current
    line.update((key, value) for key, value in fields.items() if value is not None)
    _write(line, None)


def failure(name: str, error: BaseException, /, **fields: Any) -> None:
    """Log an event of level `error` with the exception."""
    line: dict[str, Any] = {"time": datetime.now(UTC), "level": "error", "event": name}
    if current := request_id.get():
        line["request_id"] = current
    line.update((key, value) for key, value in fields.items() if value is not None)
    line["error"] = describe_error(error)
    _write(line, error)


def access(line: dict[str, Any]) -> None:
    """Log a finished request; the caller passes every field but the time, in order."""
    line = {"time": datetime.now(UTC), "level": "info", "event": "request", **line}
    if _output.sink is _to_stderr and not _output.is_human:
        _line_buffer.add(_as_json(line))
    else:
        _write(line, None)


def describe_error(error: BaseException) -> dict[str, Any]:
    """Return an exception's type and traceback locations, and its message in development only."""
    description: dict[str, Any] = {"type": _name(error)}
    if _output.is_development:
        description["message"] = str(error)
    for attribute in _SAFE_ATTRIBUTES:
        value = getattr(error, attribute, None)
        if isinstance(value, str):
            description[attribute] = value
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    description["where"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    causes: list[str] = []
    cause = error.__cause__ or error.__context__
    while cause is not None and len(causes) < _MAX_CAUSES:
        causes.append(_name(cause))
        cause = cause.__cause__ or cause.__context__
    if causes:
        description["because"] = causes
    return description


def _name(error: BaseException) -> str:
    type_ = type(error)
    return type_.__qualname__ if type_.__module__ == "builtins" else f"{type_.__module__}.{type_.__qualname__}"


def _write(line: dict[str, Any], error: BaseException | None) -> None:
    _line_buffer.flush()
    _output.sink(_as_text(line, error) if _output.is_human else _as_json(line))


def _as_json(line: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(line, default=str, option=_JSON)
    except (TypeError, ValueError):
        # Lone surrogates, integers past 64 bits: a log line must not fail a request.
        return orjson.dumps({key: _safe_value(value) for key, value in line.items()}, option=_JSON)


def _safe_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value
    text = value if isinstance(value, str) else ascii(value)
    return text.encode("utf-8", "backslashreplace").decode()


def _as_text(line: Mapping[str, Any], error: BaseException | None) -> bytes:
    time, level, name = line["time"], line["level"], line["event"]
    rest = {key: value for key, value in line.items() if key not in ("time", "level", "event", "error")}
    colour = _COLOURS.get(level, "")
    words = [f"{time:%H:%M:%S}", f"{colour}{level:<7}{_RESET if colour else ''}", str(name)]
    words += [f"{key}={value}" for key, value in rest.items()]
    text = " ".join(words) + "\n"
    if error is not None:
        text += "".join(traceback.format_exception(error))
    return text.encode("utf-8", "backslashreplace")


class _LibraryHandler(logging.Handler):
    """Write what libraries log in the same format as the product's events."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; `source` is its logger."""
        try:
            fields = {"source": record.name}
            level = "error" if record.levelno >= logging.ERROR else record.levelname.lower()
            error = record.exc_info[1] if record.exc_info else None
            if error is not None:
                failure(record.getMessage(), error, **fields)
            else:
                event(record.getMessage(), level=level, **fields)
        except Exception:  # as in logging's own handlers
            self.handleError(record)
