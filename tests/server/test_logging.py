"""The format of log lines, and what they never contain."""

from __future__ import annotations

import logging as stdlib
import re
import warnings
from uuid import UUID

import orjson
import pytest

from kernel import logging


@pytest.fixture
def lines():
    root = stdlib.getLogger()
    handlers, level = root.handlers[:], root.level
    access = stdlib.getLogger("aiohttp.access").disabled
    output = dict(vars(logging._output))
    written: list[bytes] = []
    logging.set_sink(written.append)
    yield written
    vars(logging._output).update(output)
    root.handlers, root.level = handlers, level
    stdlib.getLogger("aiohttp.access").disabled = access
    stdlib.captureWarnings(False)


def raised(error: Exception, cause: Exception | None = None) -> Exception:
    try:
        raise error from cause
    except Exception as caught:
        return caught


def test_an_event_is_one_line_of_json(lines):
    logging.event("serving", port=8000, nothing=None)
    (line,) = lines
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    event = orjson.loads(line)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", event.pop("time"))
    assert event == {"level": "info", "event": "serving", "port": 8000}


def test_a_line_break_in_a_value_is_escaped(lines):
    logging.event("x", path="/a\n{}\r\x1b[31m")
    assert lines[0].count(b"\n") == 1


@pytest.mark.parametrize("value", ["\udcff", 2**70, object(), float("nan"), {"a": "\ud800"}, b"bytes"])
def test_an_unserializable_value_is_logged_anyway(lines, value):
    logging.event("x", value=value)
    assert orjson.loads(lines[0])["event"] == "x"


def test_lines_of_a_request_carry_its_id(lines):
    token = logging.request_id.set("abc")
    try:
        logging.event("x")
        stdlib.getLogger("vitrine.database")
    finally:
        logging.request_id.reset(token)
    assert orjson.loads(lines[0])["request_id"] == "abc"


def test_outside_development_an_exception_is_logged_without_its_message(lines):
    logging.configure(development=False)
    error = raised(RuntimeError("invalid input: hunter2"), ValueError("hunter2"))
    logging.failure("unexpected error", error)
    event = orjson.loads(lines[0])
    assert event["error"]["type"] == "RuntimeError"
    assert event["error"]["because"] == ["ValueError"]
    assert event["error"]["where"][-1].endswith("raised")
    assert b"hunter2" not in lines[0]


def test_in_development_an_exception_is_logged_with_its_message(lines):
    logging.configure(development=True, human=False)
    logging.failure("unexpected error", raised(RuntimeError("the words")))
    assert orjson.loads(lines[0])["error"]["message"] == "the words"


def test_on_a_terminal_lines_are_readable_with_traceback(lines):
    logging.configure(development=True, human=True)
    logging.event("serving", port=8000)
    logging.failure("unexpected error", raised(RuntimeError("the words")), path="/a")
    plain, failure = (line.decode() for line in lines)
    assert re.fullmatch(r"\d\d:\d\d:\d\d info    serving port=8000\n", plain)
    assert "unexpected error" in failure
    assert "path=/a" in failure
    assert failure.rstrip().endswith("RuntimeError: the words")


def test_library_logs_use_the_same_format(lines):
    logging.configure(development=False)
    stdlib.getLogger("asyncio").warning("slow: %s", "callback")
    stdlib.getLogger("vitrine.database").info("connected")
    stdlib.getLogger("asyncio").debug("not shown")
    try:
        raise KeyError("hunter2")
    except KeyError:
        stdlib.getLogger("aiohttp.server").exception("Error handling request")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old", stacklevel=1)
    shown = [(line["level"], line["event"][:22], line["source"]) for line in map(orjson.loads, lines)]
    assert shown[:3] == [
        ("warning", "slow: callback", "asyncio"),
        ("info", "connected", "vitrine.database"),
        ("error", "Error handling request", "aiohttp.server"),
    ]
    assert shown[3][2] == "py.warnings"
    assert not any(b"hunter2" in line for line in lines)


def test_aiohttps_own_access_log_stays_silent(lines):
    logging.configure(development=False)
    stdlib.getLogger("aiohttp.access").info("GET /?token=hunter2")
    assert lines == []


@pytest.mark.parametrize("inbound", ["a", "A.b_c-9", "x" * 128, "0"])
def test_a_valid_inbound_request_id_is_accepted(inbound):
    assert logging.request_id_from(inbound) == inbound


@pytest.mark.parametrize("inbound", [None, "", "x" * 129, "a b", "a\n", "a\r\nSet-Cookie: x", "é", "a/b", "\udc80"])
def test_an_invalid_request_id_is_replaced_by_a_uuid7(inbound):
    assert UUID(logging.request_id_from(inbound)).version == 7
