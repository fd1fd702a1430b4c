"""Write what happens to stderr, one line an event: JSON for machines, or a plainer line on a developer's terminal.

    {"time":"2026-03-01T12:30:00.123456Z","level":"info","event":"request","request_id":"…","path":"/api/products", …}

`event` and `failure` are for our own code. What libraries and `logging.getLogger(...)` write takes the same way out, once
`configure` was called.

Lines hold no query string, body or mail text (decisions section 10). An exception's own words may quote them (`invalid literal
for int(): …`, PostgreSQL's `Key (email)=(…)`), so outside development only its type, its place and the names of database
objects are written.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

import orjson

Sink = Callable[[bytes], object]

request_id: ContextVar[str] = ContextVar("vitrine_request_id", default="")
"""Holds the id of the request that the running task serves, or ""."""

_JSON = orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS | orjson.OPT_APPEND_NEWLINE
_FRAMES = 12
_LONGEST_CHAIN = 5
_SAFE_ATTRIBUTES = ("sqlstate", "constraint_name", "table_name", "column_name")
_COLOURS = {"warning": "\x1b[33m", "error": "\x1b[31m"}
_PLAIN = "\x1b[0m"
# What is written into a pipe in one go stays whole up to this many bytes (POSIX's PIPE_BUF on Linux), however many processes write.
_WHOLE = 4_096
# How long the line of a finished request may wait for others, in seconds.
_MOMENT = 0.05


def _to_stderr(line: bytes) -> None:
    # One write a line, past Python's buffers: lines of several processes into one pipe stay whole.
    try:
        os.write(2, line)
    except OSError:
        pass  # nobody is left to be told


class _Together:
    """Write the lines of finished requests a few at a time: a system call each would cost as much as all else about them.

    They wait for a moment at most, and for the end of the program, and stand before whatever else is written meanwhile.
    """

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._size = 0
        self._waiting_in: asyncio.AbstractEventLoop | None = None

    def add(self, line: bytes) -> None:
        """Take a line; without an event loop to wait in it is written at once."""
        if self._size + len(line) > _WHOLE:
            self.flush()
        self._lines.append(line)
        self._size += len(line)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.flush()
            return
        if loop is not self._waiting_in:
            self._waiting_in = loop
            loop.call_later(_MOMENT, self._end_wait)

    def flush(self) -> None:
        """Write what waits."""
        if self._lines:
            lines, self._lines, self._size = self._lines, [], 0
            _to_stderr(b"".join(lines))

    def _end_wait(self) -> None:
        self._waiting_in = None
        self.flush()


_together = _Together()
atexit.register(_together.flush)


class _Output:
    """Hold where lines go and which form they have."""

    def __init__(self) -> None:
        self.sink: Sink = _to_stderr
        self.is_human = False
        self.is_development = False


_output = _Output()


def configure(*, development: bool, human: bool | None = None, level: int = logging.INFO) -> None:
    """Send everything that is logged in this process our way.

    `human` defaults to a terminal in development. Messages of exceptions are written in development only.
    """
    _output.is_development = development
    _output.is_human = development and sys.stderr.isatty() if human is None else human
    root = logging.getLogger()
    root.handlers = [_LibraryHandler()]
    root.setLevel(level)
    logging.captureWarnings(True)
    # Our own access line says all of it, and without the query string.
    logging.getLogger("aiohttp.access").disabled = True


def form() -> tuple[bool, bool]:
    """Say for another process how lines are written here: its `development` and `human`."""
    return _output.is_development, _output.is_human


def send_to(sink: Sink | None) -> Sink:
    """Send lines to `sink` (None: stderr) from now on, and give back where they went before."""
    before = _output.sink
    _output.sink = sink or _to_stderr
    return before


def event(name: str, /, *, level: str = "info", **fields: Any) -> None:
    """Write one event; fields that are None are left out."""
    line: dict[str, Any] = {"time": datetime.now(UTC), "level": level, "event": name}
    if current := request_id.get():
        line["request_id"] = current
    line.update((key, value) for key, value in fields.items() if value is not None)
    _write(line, None)


def failure(name: str, error: BaseException, /, **fields: Any) -> None:
    """Write an event of level `error` with what went wrong and where."""
    line: dict[str, Any] = {"time": datetime.now(UTC), "level": "error", "event": name}
    if current := request_id.get():
        line["request_id"] = current
    line.update((key, value) for key, value in fields.items() if value is not None)
    line["error"] = describe(error)
    _write(line, error)


def access(line: dict[str, Any]) -> None:
    """Write the line of a finished request; the caller gives all of it but the time, in the order wanted."""
    line = {"time": datetime.now(UTC), "level": "info", "event": "request", **line}
    if _output.sink is _to_stderr and not _output.is_human:
        _together.add(_as_json(line))
    else:
        _write(line, None)


def describe(error: BaseException) -> dict[str, Any]:
    """Say what an exception is and where it was raised, without its words outside development."""
    described: dict[str, Any] = {"type": _name(error)}
    if _output.is_development:
        described["message"] = str(error)
    for attribute in _SAFE_ATTRIBUTES:
        value = getattr(error, attribute, None)
        if isinstance(value, str):
            described[attribute] = value
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    described["where"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    causes: list[str] = []
    cause = error.__cause__ or error.__context__
    while cause is not None and len(causes) < _LONGEST_CHAIN:
        causes.append(_name(cause))
        cause = cause.__cause__ or cause.__context__
    if causes:
        described["because"] = causes
    return described


def _name(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _write(line: dict[str, Any], error: BaseException | None) -> None:
    _together.flush()
    _output.sink(_for_people(line, error) if _output.is_human else _as_json(line))


def _as_json(line: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(line, default=str, option=_JSON)
    except (TypeError, ValueError):
        # Lone surrogates, integers past 64 bits: a log line must not end a request.
        return orjson.dumps({key: _harmless(value) for key, value in line.items()}, option=_JSON)


def _harmless(value: Any) -> Any:
    if isinstance(value, datetime):
        return value
    text = value if isinstance(value, str) else ascii(value)
    return text.encode("utf-8", "backslashreplace").decode()


def _for_people(line: Mapping[str, Any], error: BaseException | None) -> bytes:
    time, level, name = line["time"], line["level"], line["event"]
    rest = {key: value for key, value in line.items() if key not in ("time", "level", "event", "error")}
    colour = _COLOURS.get(level, "")
    words = [f"{time:%H:%M:%S}", f"{colour}{level:<7}{_PLAIN if colour else ''}", str(name)]
    words += [f"{key}={value}" for key, value in rest.items()]
    text = " ".join(words) + "\n"
    if error is not None:
        text += "".join(traceback.format_exception(error))
    return text.encode("utf-8", "backslashreplace")


class _LibraryHandler(logging.Handler):
    """Write what libraries log in the same form as our own events."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; its logger stands in `source`."""
        try:
            fields = {"source": record.name}
            level = "error" if record.levelno >= logging.ERROR else record.levelname.lower()
            error = record.exc_info[1] if record.exc_info else None
            if error is not None:
                failure(record.getMessage(), error, **fields)
            else:
                event(record.getMessage(), level=level, **fields)
        except Exception:  # what logging itself does: complain, and let the program go on
            self.handleError(record)
