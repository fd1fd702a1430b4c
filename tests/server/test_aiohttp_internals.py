"""What `rest_facade/aiohttp_internals.py` relies on, name by name: a failure here says what a version of aiohttp has changed."""

from __future__ import annotations

import ast
import asyncio
from pathlib import Path

import pytest
from aiohttp import StreamReader, web, web_protocol
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_parser import HttpRequestParserPy
from aiohttp.test_utils import make_mocked_request
from yarl import URL

from rest_facade import aiohttp_internals
from rest_facade.aiohttp_internals import (
    AppRunner,
    LineTooLong,
    PayloadEncodingError,
    buffered_chunks,
    head_waiter,
    replace_url,
)


async def answer(request: web.BaseRequest) -> web.Response:
    return web.Response()


class Connection(web.RequestHandler):
    """A connection that records the errors of requests that can't be parsed."""

    def __init__(self, *arguments, **options) -> None:
        super().__init__(*arguments, **options)
        self.errors: list[BaseException | None] = []

    def handle_error(self, request, status=500, exc=None, message=None):
        self.errors.append(exc)
        return super().handle_error(request, status, exc, message)


class Running:
    """A server with one route, and what was sent to it."""

    def __init__(self, handler=answer) -> None:
        async def start(request: web.BaseRequest) -> web.StreamResponse:
            return await handler(request)

        self.server = web.Server(start)
        self.protocol = Connection(self.server, loop=asyncio.get_running_loop())

    async def __aenter__(self) -> Running:
        self.listening = await asyncio.get_running_loop().create_server(lambda: self.protocol, "127.0.0.1", 0)
        port = self.listening.sockets[0].getsockname()[1]
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()
        await self.server.shutdown(1)
        self.listening.close()

    async def send(self, content: bytes) -> bytes:
        self.writer.write(content)
        return await self.reader.readuntil(b"\r\n\r\n")


async def test_line_too_long_is_the_error_of_a_long_header_with_the_limit_as_its_second_argument():
    async with Running() as running:
        head = await running.send(b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 9000 + b"\r\n\r\n")
    assert b" 400 " in head
    (error,) = running.protocol.errors
    assert isinstance(error, LineTooLong)
    assert error.args[1] == 8190


async def test_payload_encoding_error_is_what_the_parser_in_python_raises_for_a_malformed_chunk(monkeypatch):
    """It isn't `web.RequestPayloadError`. The compiled parser refuses such a request before it is answered."""
    monkeypatch.setattr(web_protocol, "HttpRequestParser", HttpRequestParserPy)
    errors, has_begun = [], asyncio.Event()

    async def read(request: web.BaseRequest) -> web.Response:
        has_begun.set()
        try:
            await request.read()
        except Exception as error:
            errors.append(error)
        return web.Response()

    async with Running(read) as running:
        running.writer.write(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        await has_begun.wait()
        await running.send(b"no size\r\n\r\n")
    (error,) = errors
    assert isinstance(error, PayloadEncodingError)
    assert not isinstance(error, web.RequestPayloadError)


async def test_head_waiter_is_pending_before_the_head_of_a_request_is_complete_and_none_while_it_is_answered():
    during = []

    async def look(request: web.BaseRequest) -> web.Response:
        during.append(head_waiter(request.protocol))
        return web.Response()

    async with Running(look) as running:
        running.writer.write(b"GET / HTTP/1.1\r\nHost: ")
        while not running.server.connections or head_waiter(running.protocol) is None:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        waiter = head_waiter(running.protocol)
        assert waiter is not None
        assert not waiter.done()
        await running.send(b"a\r\n\r\n")
        assert waiter.done()
        assert during == [None]
        while head_waiter(running.protocol) is None:
            await asyncio.sleep(0.01)
        assert not head_waiter(running.protocol).done()


@pytest.mark.parametrize("chunks", [[b"one"], [b"one", b"two"]])
async def test_buffered_chunks_are_what_arrived_and_reading_removes_them(chunks):
    loop = asyncio.get_running_loop()
    stream = StreamReader(BaseProtocol(loop), 2**16, loop=loop)
    for chunk in chunks:
        stream.feed_data(chunk)
    assert list(buffered_chunks(stream)) == chunks
    assert stream.total_bytes == len(b"".join(chunks))
    assert not stream.is_eof()
    stream.feed_eof()
    assert stream.is_eof()
    assert not stream.at_eof()
    assert await stream.readany() == b"".join(chunks)
    assert list(buffered_chunks(stream)) == []
    assert stream.at_eof()


async def test_replace_url_changes_every_address_of_a_request_whose_url_was_read():
    request = make_mocked_request("GET", "/old?a=1")
    assert request.rel_url == URL("/old?a=1")
    replace_url(request, URL("/new?b=2"))
    assert (request.rel_url, request.path, request.path_qs, dict(request.query)) == (
        URL("/new?b=2"),
        "/new",
        "/new?b=2",
        {"b": "2"},
    )


async def test_app_runner_runs_the_server_for_which_it_asks_once_the_application_has_started():
    app, events = web.Application(), []

    async def started(_: web.Application) -> None:
        events.append("started")

    app.on_startup.append(started)

    class Runner(AppRunner):
        def server_for(self, server: web.Server) -> web.Server:
            events.append("asked")
            return web.Server(answer, request_factory=server.request_factory)

    runner = Runner(app)
    await runner.setup()
    try:
        assert events == ["started", "asked"]
        assert runner.server.request_handler is answer
    finally:
        await runner.cleanup()


def test_every_name_of_the_module_has_a_test():
    module = ast.parse(Path(aiohttp_internals.__file__).read_text(encoding="utf-8"))
    names = {node.name for node in module.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    names |= {node.target.id for node in module.body if isinstance(node, ast.AnnAssign)}
    names |= {alias.asname for node in module.body if isinstance(node, ast.ImportFrom) for alias in node.names} - {None}
    tests = [
        node
        for node in ast.parse(Path(__file__).read_text(encoding="utf-8")).body
        if isinstance(node, ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]
    tested = {each.id for test in tests for each in ast.walk(test) if isinstance(each, ast.Name)}
    assert names - tested == set()
