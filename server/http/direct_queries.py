"""Answer queries whose document has a plan, sent with a head that was sent before, without aiohttp's request and response.

Half of what a small read costs is the way to its plan and back: parsing the head, the objects of a request and a response, the task of the
connection. Here the head is recognized by its bytes (`server.http.request_heads`), and the body's document by its text, as
`RepeatedQueries` does. Whatever turns out not to be a plain answer (an error, a plan that doesn't fit) is not answered here: the request
goes the whole way, is counted there, and fails there in the same way without executing its plan again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, NamedTuple

from aiohttp import hdrs, web
from graphql.execution.values import VariableValues

from kernel import clock, logging
from kernel.request_bodies import MalformedBody, parse_json
from kernel.scope import Scope, activate
from models.reading.answer_size import too_many_bytes
from models.reading.response_shapes import NotCompiled
from resolvers.query_compiler import ReusablePlan
from rest_facade.compression import MIN_SIZE, encode, preferred_coding
from server.http.access_log import CLIENT_GONE
from server.http.catalogue_cache import has_no_shopper
from server.http.graphql_view import HAS_PLAN, RepeatedQueries, serialize
from server.http.remembered import Remembered
from server.http.request_heads import Admission, RequestHead, RequestHeads, lasting_head
from server.http.timeout import RequestTimeout, RequestTimeouts

_OK = 200
_BEGINNING = b"POST /graphql "
_END = b"\r\n\r\n"
# What a client sends in a head may be kept several times, as its `Origin` is.
_MAX_HEADS, _MAX_HEAD_BYTES = 2_000, 4_000
# Larger ones come in several segments.
_MAX_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class KnownHead:
    """The head of a request of so many bytes, and how its answers begin: small ones, larger ones, and compressed ones."""

    head: RequestHead
    size: int
    length: int
    """The size of the body."""
    may_be_kept: bool
    """Whether answers of the catalogue to its caller are kept in memory."""
    accept: str
    coding: str | None
    small: bytes
    large: bytes
    compressed: bytes


class RunningQuery(NamedTuple):
    """A query that was counted, and what returns its response; it raises whatever its plan fails with."""

    admission: Admission
    response: Coroutine[Any, Any, bytes]


class FailedQuery(NamedTuple):
    """What the plan of a query failed with, and when it began (`perf_counter`)."""

    error: Exception
    started: float


class DirectQueries:
    """The heads of queries that a process remembers."""

    def __init__(self, heads: RequestHeads, queries: RepeatedQueries, timeouts: RequestTimeouts) -> None:
        self._heads = heads
        self._queries = queries
        self._timeouts = timeouts
        self._known: Remembered[KnownHead] = Remembered(_MAX_HEADS)

    @property
    def timeout(self) -> float:
        """How many seconds a query may take."""
        return self._timeouts.seconds

    @property
    def is_last(self) -> bool:
        """Whether the server stops, so that a connection ends after its response."""
        return self._heads.health.stopping

    def find(self, data: bytes) -> KnownHead | None:
        """Return the known head of a request."""
        size = _head_size(data)
        known = self._known.find(data[:size]) if size and len(data) <= _MAX_BYTES else None
        return known if known is not None and len(data) == known.size + known.length else None

    def begin(self, known: KnownHead, data: bytes, remote: str) -> RunningQuery | None:
        """Begin to answer a request of the connection with this peer; None for one that must go the whole way.

        If it fails, `give_up` must follow.
        """
        try:
            body = parse_json(data[known.size :])
        except MalformedBody:
            return None
        matched = self._queries.find(known.head.caller.actor, known.accept, body, is_kept=known.may_be_kept)
        planned = None if matched is None else self._queries.executor.find_plan(*matched)
        if planned is None or planned[0].plan.writes:
            return None
        admission = self._heads.admit(known.head, remote)
        if admission is None:
            return None
        # Counted as running at once: other connections may begin queries before the task does.
        scope = self._heads.begin(admission)
        return RunningQuery(admission, self._answer(known, admission, scope, *planned))

    def give_up(self, query: RunningQuery, *, is_lost: bool) -> None:
        """Undo what was counted of a query that failed; not if its client `is_lost`, so that it will not go the whole way."""
        if is_lost:
            self._heads.finish(query.admission, CLIENT_GONE)
        else:
            self._heads.take_back(query.admission)

    async def _answer(
        self, known: KnownHead, admission: Admission, scope: Scope, plan: ReusablePlan, values: VariableValues
    ) -> bytes:
        logging.request_id.set(scope.request_id)
        activate(scope)  # the connection runs this in a task of its own
        try:
            with RequestTimeout(self._timeouts, asyncio.get_running_loop()):
                answer = await self._queries.executor.execute_plan(scope, plan, values)
                if answer is None:
                    raise NotCompiled
                content = await serialize(self._queries.limits, answer)
                if content is None:
                    raise too_many_bytes(self._queries.limits)
                begin = known.small
                if len(content) > MIN_SIZE:
                    begin = known.large
                    if known.coding is not None and len(encoded := await encode(content, known.coding)) < len(content):
                        begin, content = known.compressed, encoded
        finally:
            self._heads.end(admission)
        own = self._heads.finish(admission, _OK)
        if self.is_last:
            own += b"Connection: close\r\n"
        return b"%s%sContent-Length: %d\r\n\r\n%s" % (begin, own, len(content), content)

    def remember(self, data: bytes, request: web.BaseRequest, response: web.StreamResponse) -> None:
        """Remember the head of a request that was answered by a plan, if it came before."""
        if HAS_PLAN not in request._state or not isinstance(request, web.Request) or response.status != _OK:
            return
        size = _head_size(data)
        if not size or not self._known.is_repeated(data[:size]):
            return
        known = self._known.find(data[:size])
        if known is not None and self._heads.is_valid(known.head, clock.now()):
            return  # what was asked has no plain answer
        head = self._heads.read(request, response)
        if head is None:
            return
        headers = dict(response.headers)
        headers.pop(hdrs.CONTENT_ENCODING, None)
        vary = [name for name in headers.pop(hdrs.VARY, "").split(", ") if name and name != hdrs.ACCEPT_ENCODING]
        small = headers | {hdrs.VARY: ", ".join(vary)} if vary else headers
        large = headers | {hdrs.VARY: ", ".join([hdrs.ACCEPT_ENCODING, *vary])}
        coding = preferred_coding(request)
        known = KnownHead(
            head,
            size,
            int(request.headers.get(hdrs.CONTENT_LENGTH, 0)),
            has_no_shopper(head.caller.actor),
            request.headers.get(hdrs.ACCEPT, ""),
            coding,
            lasting_head(response, small),
            lasting_head(response, large),
            lasting_head(response, large | {hdrs.CONTENT_ENCODING: coding or ""}),
        )
        self._known.add(data[:size], known)

    def __len__(self) -> int:
        return len(self._known)


def _head_size(data: bytes) -> int:
    """Return how many bytes of a request are a head that may be known; 0 for another."""
    end = data.find(_END, 0, _MAX_HEAD_BYTES) if data.startswith(_BEGINNING) else -1
    return 0 if end < 0 else end + len(_END)
