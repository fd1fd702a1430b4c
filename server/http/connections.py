"""Run aiohttp's HTTP protocol with error responses of our own and limits on what a connection may occupy.

docs/reference/shared.md#connections lists the limits.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any, cast

from aiohttp import hdrs, web
from multidict import istr

from kernel import logging
from kernel.errors import MalformedRequest
from kernel.ip_addresses import is_trusted, rate_limit_key
from kernel.settings import Settings
from rest_facade.aiohttp_internals import AppRunner, LineTooLong, head_waiter
from rest_facade.responses import UNEXPECTED_ERROR
from server.http import graphql_errors
from server.http.limits import ConcurrencyLimiter
from server.http.telemetry import REQUEST_ID_HEADER

# How long the rest of a rejected body is read and discarded, so that a client still sending it can read the response.
LINGER_SECONDS = 3.0
# Connections beyond the limit of an address get a 429; beyond a multiple of it they are closed at once.
_MAX_EXCESS = 2
OPTIONS: dict[str, Any] = {
    "lingering_time": LINGER_SECONDS,
    "access_log": None,
    # rest_facade/bodies.py decompresses, up to the size limit and only bodies that are read.
    "auto_decompress": False,
}

_NOT_ASCII = re.compile(rb"[\x80-\xff]")

_CONTINUE = "100-continue"
# aiohttp itself refuses repeated headers of HTTP, such as `Host`.
_SINGLE_HEADERS = (hdrs.AUTHORIZATION, istr("X-API-Key"), istr("X-Tenant-ID"), istr("Idempotency-Key"))

# Replaces aiohttp's default, which reveals the versions of Python and aiohttp.
SERVER_NAME = "vitrine"
SETTINGS = web.AppKey("settings", Settings)


class Connection(web.RequestHandler):
    """Answer malformed HTTP and errors outside the middleware in JSON, with a request id; close connections that exceed a limit.

    The route is unknown here, so the body carries `error`, `message` and `status` like `graphql_errors`.
    """

    __slots__ = ("_address_key", "_head_timer", "_is_new", "_limits", "_write_timer", "is_excess")

    def __init__(self, limits: _ConnectionLimits, **options: Any) -> None:
        super().__init__(**options)
        self._limits = limits
        self.is_excess = False
        """Whether its address has too many connections: the first request is answered with 429."""
        self._address_key = ""
        self._is_new = True
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the connection of its address."""
        super().connection_made(transport)
        limits = self._limits
        cast(asyncio.Transport, transport).set_write_buffer_limits(high=limits.settings.write_buffer)
        peer = transport.get_extra_info("peername")
        if not limits.connections.limit or not peer or isinstance(peer, str):
            return  # a Unix socket has no address
        if is_trusted(peer[0], limits.settings.trusted_proxies):
            return
        self._address_key = rate_limit_key(peer[0])
        count = limits.connections.begin(self._address_key)
        if count > _MAX_EXCESS * limits.connections.limit:
            cast(asyncio.Transport, transport).abort()
        elif count > limits.connections.limit:
            self.is_excess = True
            self._start_head_timer()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Release what the connection occupies."""
        if self._address_key:
            self._limits.connections.end(self._address_key)
            self._address_key = ""
        self._cancel_head_timer()
        self._cancel_write_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse the data; start the time-out of a request head that is incomplete."""
        is_first, self._is_new = self._is_new, False
        waiter = head_waiter(self)
        if is_first or (self._head_timer is None and waiter is not None and not waiter.done()):
            data = _with_ascii_target(data)
        super().data_received(data)
        if is_first and waiter is None:  # the task that waits for heads has not begun
            asyncio.get_running_loop().call_soon(self._watch_head)
        elif data:
            self._watch_head()

    def _watch_head(self) -> None:
        waiter = head_waiter(self)
        if waiter is None or waiter.done():
            self._cancel_head_timer()
        elif self._head_timer is None:
            self._start_head_timer()

    def _start_head_timer(self) -> None:
        loop = asyncio.get_running_loop()
        self._head_timer = loop.call_later(self._limits.settings.header_timeout, self._abandon_head)

    def _cancel_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _abandon_head(self) -> None:
        self._head_timer = None
        waiter = head_waiter(self)
        if waiter is not None and not waiter.done():
            self.force_close()

    def pause_writing(self) -> None:
        """Start the write time-out: the client has not read what is buffered."""
        super().pause_writing()
        self._start_write_timer()

    def resume_writing(self) -> None:
        """Stop the write time-out."""
        self._cancel_write_timer()
        super().resume_writing()

    def _start_write_timer(self) -> None:
        if self.transport is not None:
            self._write_timer = asyncio.get_running_loop().call_later(
                self._limits.settings.write_timeout, self._abandon_response, self.transport.get_write_buffer_size()
            )

    def _cancel_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _abandon_response(self, buffered: int) -> None:
        """Close the connection unless the client has read enough since the timer was started."""
        transport = self.transport
        if transport is None:
            return
        # A response that aiohttp writes in one piece may be larger than the limit: then it must shrink by that much each time.
        if buffered - transport.get_write_buffer_size() >= self._limits.settings.write_buffer:
            self._start_write_timer()
            return
        logging.event("a client does not read its response: connection closed", level="warning")
        transport.abort()

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """Answer a request that could not be parsed (400), or an error in aiohttp itself (500)."""
        request_id = logging.request_id_from(request.headers.get(REQUEST_ID_HEADER))
        if status < 500:
            logging.event("bad request", status=status, request_id=request_id, error=type(exc).__name__)
            response = graphql_errors.render(MalformedRequest("bad request", detail=_reason(exc)))
        else:
            # A client that is gone has its line in the access log (499).
            if not (isinstance(exc, ConnectionError) and self.transport is None):
                logging.failure(UNEXPECTED_ERROR, exc or RuntimeError(message or ""), request_id=request_id)
            response = graphql_errors.internal_error(False)
        if request.writer.output_size > 0:
            raise ConnectionError("part of another response was already sent")
        response.headers.update(
            {REQUEST_ID_HEADER: request_id, hdrs.SERVER: SERVER_NAME, hdrs.CACHE_CONTROL: "no-store"}
        )
        response.force_close()
        return response


def _with_ascii_target(head: bytes) -> bytes:
    """Percent-encode the bytes of a head's first line that are not ASCII, which the parser refuses.

    Scripts in PHP send a name as it is (`?q=Calçado`); CS-Cart and the usual web servers read it.
    """
    end = head.find(b"\n")
    line = head if end < 0 else head[:end]
    return head if line.isascii() else _NOT_ASCII.sub(lambda byte: b"%%%02X" % byte[0][0], line) + head[len(line) :]


def _reason(error: BaseException | None) -> str:
    """Return why a request can't be read."""
    if isinstance(error, LineTooLong):
        return f"its first line or a header is longer than {error.args[1]} bytes"
    return "this is not HTTP as this server reads it"


class _ConnectionLimits:
    """The settings of all connections of a server, and the number of those open by client address."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.connections = ConcurrencyLimiter(settings.address_connections)


class _Server(web.Server):
    def __init__(self, limits: _ConnectionLimits, handler: Any, **options: Any) -> None:
        super().__init__(handler, **options)
        self._limits = limits

    def __call__(self) -> web.RequestHandler:
        return Connection(
            self._limits,
            manager=self,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=self._limits.settings.keep_alive,
            **OPTIONS,
        )


class Runner(AppRunner):
    """Run the application with `Connection` as the protocol."""

    __slots__ = ()

    def server_for(self, server: web.Server) -> web.Server:
        """Return the server of the connections."""
        limits = _ConnectionLimits(self.app[SETTINGS])
        make_request = _with_combined_headers(server.request_factory)
        return _Server(limits, server.request_handler, request_factory=make_request)


def _with_combined_headers(make_request: Callable[..., web.BaseRequest]) -> Callable[..., web.BaseRequest]:
    """Make requests in which a credential, store or key that was sent several times is one list (RFC 9110, section 5.3).

    The list is malformed, so that such a request is refused, whichever of the values a proxy in front looked at. Expectations other than
    100-continue, which aiohttp refuses, are left out: they may be ignored (section 10.1.1).
    """

    def make(*arguments: Any) -> web.BaseRequest:
        request = make_request(*arguments)
        sent = request.headers
        if not sent:  # as of a head that can't be parsed
            return request
        repeated = {name: values for name in _SINGLE_HEADERS if len(values := sent.getall(name, ())) > 1}
        has_other_expectation = sent.get(hdrs.EXPECT, _CONTINUE).lower() != _CONTINUE
        if not (repeated or has_other_expectation):
            return request
        headers = sent.copy()
        for name, values in repeated.items():
            headers[name] = ", ".join(values)
        if has_other_expectation:
            headers.popall(hdrs.EXPECT)
        return request.clone(headers=headers)

    return make
