"""Streams of events: what Server-Sent Events and GraphQL subscriptions share (docs/reference/shared.md#event-streams).

A stream is a position in the store's feed and a caller, who is authenticated again before each batch of events and at each heartbeat: it
ends when the credential does. It holds no slot among the concurrent requests of its address, because it seldom works; it is limited by the
number of streams of its caller and of the process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import TypeAlias

from aiohttp import hdrs, web

from auth.access import Access
from domain import event_feed
from kernel.errors import DomainError, RateLimited
from kernel.scope import Scope, active_scope
from kernel.settings import Settings
from resolvers.events import ShoppersEvents
from rest_facade.apps.errors import body_of
from rest_facade.apps.events import EVENT_STREAM, OPEN_STREAM
from rest_facade.responses import lift_timeout, to_json
from rest_facade.routing import CLIENT_IP, REQUEST_ID, SCOPE
from rest_facade.streaming import prepare_stream
from server.http.authentication import Authenticator
from server.http.connections import SETTINGS
from server.http.event_tails import EVENT_TAILS, EventTails, StoreTail, TailEvent
from server.http.limits import ConcurrencyLimiter, RateLimiter
from server.http.routes import POLICIES

HEARTBEAT_SECONDS = 15.0
RETRY_MS = 1_000
"""After how long a client connects again when its stream was ended by the server."""
_BATCH_SIZE = 200

RenewScope: TypeAlias = Callable[[], Awaitable[Scope]]
"""Authenticate the caller of a stream again; raises when the credential has ended."""


class StreamLimits:
    """The streams that are open in this process, in all and by caller; 0 means no limit."""

    def __init__(self, settings: Settings) -> None:
        self._process = ConcurrencyLimiter(settings.streams)
        self._callers = ConcurrencyLimiter(settings.caller_streams)

    @contextmanager
    def count(self, scope: Scope) -> Iterator[None]:
        """Count a stream meanwhile; raises `RateLimited`."""
        caller = f"{scope.store.id}:{scope.actor.credential}"
        with _one_of(self._process, "", "open streams"), _one_of(self._callers, caller, "open streams of this caller"):
            yield


@contextmanager
def _one_of(limiter: ConcurrencyLimiter, key: str, name: str) -> Iterator[None]:
    count = limiter.begin(key)
    try:
        if limiter.limit and count > limiter.limit:
            raise RateLimited(f"more than {limiter.limit} {name}", retry_after=5)
        yield
    finally:
        limiter.end(key)


STREAM_LIMITS = web.AppKey("stream_limits", StreamLimits)
AUTHENTICATOR = web.AppKey("authenticator", Authenticator)
RATE_LIMITER = web.AppKey("rate_limiter", RateLimiter)


def add_streams(app: web.Application, limiter: RateLimiter, authenticator: Authenticator) -> None:
    """Add what the streams of the application share; they end when it shuts down."""
    tails = app[EVENT_TAILS] = EventTails()
    app[STREAM_LIMITS] = StreamLimits(app[SETTINGS])
    app[AUTHENTICATOR], app[RATE_LIMITER] = authenticator, limiter
    app[OPEN_STREAM] = send_events

    async def stop(_: web.Application) -> None:
        tails.stop()

    async def close(_: web.Application) -> None:
        await tails.close()

    app.on_shutdown.append(stop)
    app.on_cleanup.append(close)


def lift_limits(request: web.Request) -> None:
    """Exempt a request from the time-out and from the number of concurrent requests: it becomes a stream."""
    lift_timeout(request)
    request.app[RATE_LIMITER].end_request(request)


def renewal(request: web.Request, headers: Mapping[str, str] | None = None) -> RenewScope:
    """Return how to authenticate the caller of a request again, by the request's headers unless others are passed."""
    policy = request.app[POLICIES][request.match_info.route]
    return partial(
        request.app[AUTHENTICATOR].create_scope, request, policy, request[CLIENT_IP], request[REQUEST_ID], headers
    )


class EventStream:
    """The events of a store after a position, as far as a caller may read them."""

    def __init__(
        self,
        tails: EventTails,
        tail: StoreTail,
        scope: Scope,
        renew: RenewScope,
        types: Sequence[str] | None,
        shoppers: ShoppersEvents | None,
        access: Access,
    ) -> None:
        self._tails = tails
        self._tail = tail
        self._renew = renew
        self._types = types
        self._shoppers = shoppers
        self._access = access
        self._position = 0
        self.scope = scope

    async def begin(self, after: str | None) -> None:
        """Set the position; raises the errors of `event_feed` for the cursor and the types."""
        names = await self._first_names()
        position = await event_feed.start_position(self.scope, after or event_feed.LATEST)
        self._position = (await event_feed.read_page(self.scope, position, names, 0)).start

    @property
    def cursor(self) -> str:
        """Return the cursor after all events that were returned."""
        return event_feed.encode_cursor(self.scope.store, self._position)

    @property
    def is_stopping(self) -> bool:
        """Return whether the process stops, so that the stream has to end."""
        return self._tails.is_stopping

    async def next(self) -> Sequence[TailEvent]:
        """Wait for events; an empty batch is a heartbeat. Raises the error of a credential that has ended."""
        await self._tail.wait(self._position, HEARTBEAT_SECONDS)
        self.scope = await self._renew()
        names = self._readable()
        reading = self._tail.read(self._position, names, _BATCH_SIZE)
        while reading is None:
            with active_scope(self.scope):
                page = await self._tails.read(self.scope, self._position, sorted(names))
            self._position = page.end
            if page.events:
                return self._shown(page.events)
            reading = self._tail.read(self._position, names, _BATCH_SIZE)
        self._position = reading.end
        return self._shown(reading.events)

    def _shown(self, events: Sequence[TailEvent]) -> Sequence[TailEvent]:
        shoppers = self._shoppers
        return events if shoppers is None else [event for event in events if shoppers.shows(self.scope, event.event)]

    async def _first_names(self) -> Sequence[str]:
        """Return the names of the events; raises the caller's errors."""
        self._access.check(self.scope)
        if self._shoppers is None:
            return event_feed.readable_events(self.scope, self._types)
        await self._shoppers.check(self.scope)
        return self._shoppers.events

    def _readable(self) -> set[str]:
        """Return the names of the events that the caller may read now; raises the caller's error when there are none."""
        self._access.check(self.scope)
        if self._shoppers is not None:
            return set(self._shoppers.events)
        names = set(event_feed.readable_events(self.scope))
        return names if self._types is None else names & set(self._types)


@asynccontextmanager
async def open_stream(
    app: web.Application,
    scope: Scope,
    renew: RenewScope,
    after: str | None,
    types: Sequence[str] | None,
    shoppers: ShoppersEvents | None = None,
    access: Access = event_feed.ACCESS,
) -> AsyncIterator[EventStream]:
    """Open a stream after a cursor, by default after the newest event; raises the errors of limits, access, cursor, types and order."""
    tails = app[EVENT_TAILS]
    async with AsyncExitStack() as stack:
        stack.enter_context(app[STREAM_LIMITS].count(scope))
        with active_scope(scope):
            tail = await stack.enter_async_context(tails.open(scope))
            stream = EventStream(tails, tail, scope, renew, types, shoppers, access)
            await stream.begin(after)
        yield stream


# --- Server-Sent Events ------------------------------------------------------------------------------------------------------


async def send_events(request: web.Request, after: str | None, types: list[str] | None) -> web.StreamResponse:
    """Send the feed as Server-Sent Events (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""
    async with open_stream(request.app, request[SCOPE], renewal(request), after, types) as stream:
        response = await start_response(request)
        if request.method == hdrs.METH_HEAD:
            return response
        await response.write(f"retry: {RETRY_MS}\nid: {stream.cursor}\n\n".encode())
        while not stream.is_stopping:
            try:
                batch = await stream.next()
            except DomainError as error:
                await response.write(b"event: end\ndata: " + to_json(body_of(error)) + b"\n\n")
                break
            # The id of a heartbeat moves the client past events that it doesn't see: they may be deleted one day.
            await response.write(b"".join(map(_message, batch)) or f": \nid: {stream.cursor}\n\n".encode())
        return response


def _message(event: TailEvent) -> bytes:
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (event.cursor.encode(), event.event.name.encode(), event.json)


async def start_response(request: web.Request) -> web.StreamResponse:
    """Begin a response of Server-Sent Events, without the limits of a request that works."""
    lift_limits(request)
    headers = {
        hdrs.CONTENT_TYPE: EVENT_STREAM,
        hdrs.CACHE_CONTROL: "no-store",
        "X-Accel-Buffering": "no",  # nginx passes each message on at once
    }
    response = web.StreamResponse(headers=headers)
    await prepare_stream(request, response)
    return response
