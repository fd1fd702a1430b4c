"""Answer requests as they come from the socket where that is possible, and parse all others: the part of the protocol that decides.

What comes from the socket is a request by itself only if nothing of another one is before it. A connection is `between` requests as long as
each piece was a whole request, parsed or not; after any other piece (a request in two segments, two in one) it is not known where one
begins, and all that follows is parsed. While a query runs, what comes is kept until it is answered: responses have the order of requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from aiohttp import hdrs, web
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler, _ErrInfo

from server.http.catalogue_cache import KEPT_ANSWER
from server.http.direct_queries import DirectQueries, FailedQuery, RunningQuery
from server.http.graphql_view import HAS_PLAN
from server.http.repeated_requests import RepeatedRequests

# What a client may send while a query runs, before it is no longer read.
_MAX_WAITING = 64 * 1024


@dataclass(frozen=True, slots=True)
class DirectAnswers:
    """What answers a request by its bytes."""

    repeated: RepeatedRequests
    queries: DirectQueries


class DirectConnection(RequestHandler):
    """aiohttp's protocol, before which requests may be answered."""

    __slots__ = ("_closes", "_direct", "_is_between", "_query", "_remote", "_sent", "_waiting", "failed", "is_excess")

    def __init__(self, direct: DirectAnswers | None, **options: Any) -> None:
        super().__init__(**options)
        self._direct = direct
        self._is_between = direct is not None
        self._remote = ""
        # The bytes of the request that aiohttp serves now.
        self._sent: bytes | None = None
        self._query: asyncio.Task[None] | None = None
        self._waiting = b""
        # Whether the connection closes when the query has ended.
        self._closes = False
        self.is_excess = False
        """Whether its address has too many connections: the first request is answered with 429."""
        self.failed: FailedQuery | None = None
        """What became of the request that aiohttp serves when it was to be answered directly: its plan is not executed again."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember the address of the client."""
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self._remote = peer[0] if peer and not isinstance(peer, str) else ""

    def data_received(self, data: bytes) -> None:
        """Answer a request, or parse the data."""
        if self._query is not None:
            self._waiting += data
            if len(self._waiting) > _MAX_WAITING and self.transport is not None:
                self.transport.pause_reading()
        elif not (self._is_between and self._is_answered(data)):
            self.parse(data)

    def parse(self, data: bytes) -> None:
        """Let aiohttp parse the data, and notice whether it was one request."""
        if not self._is_between:
            super().data_received(data)
            return
        count, is_idle = len(self._messages), self._is_idle()
        super().data_received(data)
        self._is_between = len(self._messages) == count + 1 and _is_whole(data, self._messages[-1])
        self._sent = data if self._is_between and is_idle else None

    def _is_idle(self) -> bool:
        return self._waiter is not None and not self._waiter.done()

    def _is_answered(self, data: bytes) -> bool:
        """Answer a request at once, or begin to."""
        direct, transport = self._direct, self.transport
        if direct is None or transport is None or not self._is_idle() or self.is_excess:
            return False
        if self._paused or self._force_close or self._close:
            return False
        known = direct.queries.find(data)
        if known is None or known.may_be_kept:
            response = direct.repeated.answer(data, self._remote)
            if response is not None:
                transport.write(response)
                self._keep_open(0)
                return True
        query = None if known is None else direct.queries.begin(known, data, self._remote)
        if query is None:
            return False
        self._keep_open(direct.queries.timeout)
        self._query = self._loop.create_task(self._finish_query(direct.queries, query, data))
        return True

    async def _finish_query(self, queries: DirectQueries, query: RunningQuery, data: bytes) -> None:
        """Send the answer to a query, or let aiohttp serve the request; then go on with what came meanwhile."""
        response = None
        try:
            response = await query.response
        except Exception as error:  # whatever it is, it is reported by the whole way
            self.failed = FailedQuery(error, query.admission.started)
        except asyncio.CancelledError:
            queries.give_up(query, is_lost=True)
            self.force_close()
            raise
        waiting, self._waiting, self._query = self._waiting, b"", None
        transport = self.transport
        if response is None:
            queries.give_up(query, is_lost=transport is None)
        if transport is None:
            return
        if response is None:
            self.parse(data)
        else:
            transport.write(response)
            self._keep_open(0)
        if self._closes or queries.is_last:
            self.close()  # after a request that aiohttp serves now
            if response is not None:
                transport.close()
            return
        if waiting:
            if len(waiting) > _MAX_WAITING:
                transport.resume_reading()  # first: aiohttp may pause again
            self.data_received(waiting)

    def _keep_open(self, seconds: float) -> None:
        """Begin the keep-alive time again, after so many seconds."""
        self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout + seconds

    def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> Coroutine[Any, Any, tuple[web.StreamResponse, bool]]:
        """Send the response, and remember a request that may be answered directly the next time."""
        sent, self._sent, self.failed = self._sent, None, None
        finished = super().finish_response(request, resp, start_time)
        state = request._state
        if sent is None or not (KEPT_ANSWER in state or HAS_PLAN in state):
            return finished
        return self._remember(sent, request, finished)

    async def _remember(
        self, sent: bytes, request: web.BaseRequest, finished: Coroutine[Any, Any, tuple[web.StreamResponse, bool]]
    ) -> tuple[web.StreamResponse, bool]:
        response, is_lost = await finished
        if self._direct is not None and not is_lost:
            self._direct.repeated.remember(sent, request, response)
            self._direct.queries.remember(sent, request, response)
        return response, is_lost

    def close(self) -> None:
        """Close the connection when nothing runs on it."""
        if self._query is None:
            super().close()
        else:
            self._closes = True

    async def shutdown(self, timeout: float | None = 15.0) -> None:
        """Wait for a query that runs, as aiohttp does for its requests."""
        if self._query is not None:
            await asyncio.wait([self._query], timeout=timeout)
            if self._query is not None:
                self._query.cancel()
        await super().shutdown(timeout)


def _is_whole(data: bytes, message: tuple[RawRequestMessage | _ErrInfo, StreamReader]) -> bool:
    """Return whether a request that was parsed with the data is all of the data."""
    head, payload = message
    if isinstance(head, _ErrInfo) or not payload.is_eof():
        return False
    end = data.find(b"\r\n\r\n")
    return end + 4 + int(head.headers.get(hdrs.CONTENT_LENGTH, 0)) == len(data)
