"""Follow the event feed (docs/clients.md): pages up to its end, then a stream, or pauses where streams don't pass."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypedDict

from vitrine_client import graphql
from vitrine_client.credentials import AppTokens
from vitrine_client.errors import ApiError, ConnectionFailed
from vitrine_client.transport import Request, Transport

PATH = "/api/admin/events"
_PAGE_SIZE = 500
_END = "end"
RECONNECTION_SECONDS, _LONGEST_PAUSE_SECONDS = 1.0, 60.0
# Streams that bring nothing before pages are read instead, and after how many rounds a stream is tried again.
_TRIED_STREAMS, _POLLS_UNTIL_STREAM = 3, 60

_DOCUMENT = """
query Events($after: String, $types: [String!], $first: Int!) {
  events(after: $after, types: $types, first: $first) {
    edges { node { id event timestamp: created_at tenant_id subject_type subject_id sequence data cursor } }
    page_info { has_next_page end_cursor }
  }
}
"""


class Event(TypedDict):
    """An event of the feed. `cursor` continues after it; `sequence` counts the events of one subject from 1."""

    id: str
    event: str
    timestamp: str
    tenant_id: str
    subject_type: str
    subject_id: str
    sequence: int
    data: dict[str, Any]
    cursor: str


@dataclass
class Message:
    """A message of an event stream; without `data` it only says how far the stream has come."""

    id: str
    event: str
    data: str


class StreamParser:
    """Split an event stream into messages (HTML standard, section 9.2.6)."""

    def __init__(self) -> None:
        self._rest = b""
        self._id = ""
        self._event = ""
        self._data: list[str] = []

    def feed(self, content: bytes) -> list[Message]:
        """Return the messages that these bytes complete."""
        lines = (self._rest + content).replace(b"\r\n", b"\n").split(b"\n")
        self._rest = lines.pop()
        messages = []
        for line in lines:
            if line:
                self._read(line.decode())
            else:
                messages.append(Message(self._id, self._event, "\n".join(self._data)))
                self._event, self._data = "", []
        return messages

    def _read(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._id = value


def pause_after_outage(error: ApiError | ConnectionFailed, outages: int) -> float:
    """Return how many seconds to wait after an error that passes; raise any other."""
    if isinstance(error, ApiError) and not error.is_passing:
        raise error
    backoff = min(_LONGEST_PAUSE_SECONDS, 2.0**outages)
    return (error.retry_after if isinstance(error, ApiError) else None) or backoff


class EventFeed:
    """The events after a cursor, which moves with each event that is yielded."""

    def __init__(
        self,
        transport: Transport,
        after: str,
        types: Sequence[str] | None,
        poll_seconds: float,
        idle_seconds: float,
    ) -> None:
        self._transport = transport
        self._cursor = after
        self._types = list(types) if types is not None else None
        self._poll_seconds = poll_seconds
        self._idle_seconds = idle_seconds
        self._is_app = isinstance(transport.credential, AppTokens)
        self._empty_streams = 0
        self._outages = 0

    async def follow(self) -> AsyncGenerator[Event, None]:
        """Yield events without end."""
        for polls in itertools.count(1):
            may_stream = self._is_app and (self._empty_streams < _TRIED_STREAMS or polls % _POLLS_UNTIL_STREAM == 0)
            pause = 0.0 if may_stream else self._poll_seconds
            try:
                async with aclosing(self._round(may_stream)) as events:
                    async for event in events:
                        self._cursor = event["cursor"]
                        yield event
            except (ApiError, ConnectionFailed) as error:
                pause = pause_after_outage(error, self._outages)
                self._outages += 1
            await asyncio.sleep(pause + random.uniform(0, RECONNECTION_SECONDS))

    async def _round(self, may_stream: bool) -> AsyncGenerator[Event, None]:
        """Yield what there is up to the end of the feed, and then, if it may, what a stream brings."""
        has_more = True
        while has_more:
            events, cursor, has_more = await self._page()
            self._outages = 0
            for event in events:
                yield event
            self._cursor = cursor
        if may_stream:
            async with aclosing(self._stream()) as streamed:
                async for event in streamed:
                    yield event

    async def _page(self) -> tuple[list[Event], str, bool]:
        if not self._is_app:
            variables = {"after": self._cursor, "types": self._types, "first": _PAGE_SIZE}
            connection = (await graphql.execute(self._transport, _DOCUMENT, variables))["events"]
            page_info = connection["page_info"]
            return [edge["node"] for edge in connection["edges"]], page_info["end_cursor"], page_info["has_next_page"]
        query = {**self._query, "after": self._cursor, "limit": _PAGE_SIZE}
        page = (await self._transport.send(Request("GET", PATH, query=query))).body
        return page["events"], page["cursor"], page["has_more"]

    async def _stream(self) -> AsyncGenerator[Event, None]:
        """Yield events until the stream ends: the connection or the credential did, or the server stopped."""
        headers = {"Accept": "text/event-stream", "Last-Event-ID": self._cursor}
        request = Request("GET", PATH, query=self._query, headers=headers)
        parser = StreamParser()
        try:
            async with self._transport.stream(request, idle_seconds=self._idle_seconds) as response:
                self._empty_streams += 1
                if not response.headers.get("Content-Type", "").startswith("text/event-stream"):
                    return  # something between the two does not let streams pass
                async for content in response.aiter_bytes():
                    self._empty_streams = 0
                    for message in parser.feed(content):
                        if message.event == _END:
                            return  # the next page has its reason as an error
                        if message.data:
                            yield json.loads(message.data)
                        self._cursor = message.id or self._cursor
        except ConnectionFailed:
            return

    @property
    def _query(self) -> dict[str, str]:
        return {"types": ",".join(self._types)} if self._types is not None else {}
