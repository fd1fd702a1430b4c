"""Send requests and judge their answers: by status, by whether a fault was under way, and by isolation."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import aiohttp
import orjson

from tests.system.soak.model import StoreModel, World

# The server cuts requests off after 30 s (VITRINE_REQUEST_TIMEOUT).
REQUEST_SECONDS = 40.0
# A claim of an idempotency key whose process died is taken over after 60 s (docs/reference/shared.md#idempotency).
SETTLE_SECONDS = 150.0
NO_ANSWER = 0
BAD_GATEWAY = 502
"""HAProxy's answer for a server that closed its connection before it had answered."""
UNAVAILABLE = 503
SHOPPERS = "storefront"
"""The family of requests that shoppers wait for."""
_TOO_MANY, _IN_PROGRESS = 429, 409
TRANSIENT = frozenset((NO_ANSWER, UNAVAILABLE, _TOO_MANY))
_STALE_PAUSE = 0.01
# GraphQL answers 200; these codes of its errors count as the status they have elsewhere (docs/reference/shared.md#error-codes).
_GRAPHQL_STATUS = {
    "UNAVAILABLE": UNAVAILABLE, "TENANT_CLOSED": UNAVAILABLE, "RATE_LIMITED": _TOO_MANY, "CONFLICT": 409, "NOT_FOUND": 404,
    "RULE_VIOLATION": 422, "FORBIDDEN": 403, "UNAUTHENTICATED": 401, "VALIDATION_FAILED": 400, "QUERY_TOO_COMPLEX": 400,
    "GRAPHQL_VALIDATION_FAILED": 400,
}  # fmt: skip


@dataclass
class Window:
    """A time at which requests may fail with some statuses (0: without an answer)."""

    began: float
    statuses: frozenset[int]
    cause: str
    ended: float | None = None


class Timeline:
    """The times at which requests may fail, because a fault was under way or the service was recovering from it."""

    def __init__(self) -> None:
        self._windows: list[Window] = []

    @property
    def description(self) -> str:
        """Say what happened last."""
        if not self._windows:
            return "before any fault"
        window, now = self._windows[-1], monotonic()
        ended = "" if window.ended is None else f", {now - window.ended:.1f} s after its end"
        return f"{now - window.began:.1f} s after the beginning{ended} of: {window.cause}"

    def open(self, statuses: frozenset[int] = TRANSIENT, cause: str = "a fault") -> None:
        """Begin a time of failures."""
        self._windows.append(Window(monotonic(), statuses, cause))

    def close(self) -> None:
        """End it."""
        self._windows[-1].ended = monotonic()

    def is_quiet(self, started_at: float, ended_at: float) -> bool:
        """Return whether a request met no fault."""
        return not any(
            window.began <= ended_at and (window.ended is None or window.ended >= started_at)
            for window in self._windows
        )

    def covers(self, started_at: float, ended_at: float, status: int = NO_ANSWER) -> bool:
        """Return whether a request met a time of such failures."""
        return any(
            status in window.statuses
            and window.began <= ended_at
            and (window.ended is None or window.ended >= started_at)
            for window in self._windows
        )


@dataclass(frozen=True)
class Answer:
    """The answer to a request; `status` is 0 when none arrived, and that of the error for GraphQL."""

    status: int
    body: Any = None
    text: str = ""
    is_replayed: bool = False
    failure: str = ""
    names_pause: bool = True
    """Whether a 503 or 429 has `Retry-After`."""

    @property
    def is_in_progress(self) -> bool:
        """Return whether the first request with the same Idempotency-Key is still running."""
        return self.status == _IN_PROGRESS and "in_progress" in self.text

    @property
    def is_transient(self) -> bool:
        """Return whether the request is worth an automatic retry."""
        return self.status in TRANSIENT or self.status == BAD_GATEWAY or self.is_in_progress


@dataclass
class Tally:
    """Answers by family and status, and the time they took in seconds."""

    answers: dict[str, Counter[str]] = field(default_factory=dict)
    replays: int = 0
    retries: int = 0
    slowest: float = 0.0
    shopper_seconds: list[float] = field(default_factory=list)
    """Of each answer to a shopper while no fault was under way."""
    times: list[tuple[float, bool]] = field(default_factory=list)
    """Of each answer: when it ended (monotonic seconds), and whether it was no failure."""
    reads: int = 0
    stale: list[float] = field(default_factory=list)
    """For how long after the first attempt reads showed what preceded a write, in seconds."""

    def count(self, family: str, answer: Answer, *, is_failure: bool = False) -> None:
        """Count an answer."""
        label = str(answer.status) if answer.status else answer.failure
        self.answers.setdefault(family, Counter())[label] += 1
        self.replays += answer.is_replayed
        self.times.append((monotonic(), not is_failure))

    @property
    def total(self) -> int:
        """Return the number of requests."""
        return sum(counter.total() for counter in self.answers.values())


class Client:
    """One HTTP client of a store."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        base_url: str,
        world: World,
        timeline: Timeline,
        tally: Tally,
        *,
        stale_seconds: float = 0.0,
    ) -> None:
        """`stale_seconds` is for how long a read may show what preceded a write of another request."""
        self.stale_seconds = stale_seconds
        self.session = session
        self.base_url = base_url
        self.world = world
        self.timeline = timeline
        self.tally = tally

    def at(self, base_url: str) -> Client:
        """Return a client of another address."""
        return Client(self.session, base_url, self.world, self.timeline, self.tally, stale_seconds=self.stale_seconds)

    def on(self, session: aiohttp.ClientSession) -> Client:
        """Return a client with connections of its own."""
        return Client(session, self.base_url, self.world, self.timeline, self.tally, stale_seconds=self.stale_seconds)

    async def send(
        self,
        store: StoreModel,
        family: str,
        method: str,
        path: str,
        json: Any = None,
        *,
        headers: Mapping[str, str],
        expected: Collection[int] = (200,),
        is_repeated: bool = False,
    ) -> Answer:
        """Send one request; report an answer that is neither expected nor the failure that a fault excuses.

        `is_repeated` says that an earlier attempt got no answer, which therefore may still be running.
        """
        started_at = monotonic()
        answer = await self._exchange(method, path, json, {"X-Tenant-ID": store.tenant_id, **headers})
        ended_at = monotonic()
        is_expected = answer.status in expected or (answer.is_in_progress and is_repeated)
        self.tally.count(family, answer, is_failure=not is_expected)
        self.tally.slowest = max(self.tally.slowest, ended_at - started_at)
        if family == SHOPPERS and self.timeline.is_quiet(started_at, ended_at):
            self.tally.shopper_seconds.append(ended_at - started_at)
        about = f"{family} {method} {path}"
        asked = f"{path} {(_content(json) or b'').decode(errors='replace')}"
        self.world.check_isolation(store, answer.text, asked=asked, about=about)
        if is_expected:
            return answer
        if not answer.names_pause:
            self.world.findings.add("status", f"{about}: {answer.status} without Retry-After: {answer.text[:200]}")
        if not (answer.is_transient and self.timeline.covers(started_at, ended_at, answer.status)):
            kind = "server error" if answer.status >= 500 else "no answer" if not answer.status else "status"
            when = f" ({self.timeline.description})"
            text = f"{about}: {answer.status or answer.failure}{when}, expected {sorted(expected)}: {answer.text[:200]}"
            self.world.findings.add(kind, text)
        return answer

    async def settle(self, *arguments: Any, is_repeated: bool = False, **options: Any) -> Answer:
        """Repeat a request that may be repeated until its outcome is known; report one that never gets an answer."""
        deadline = monotonic() + SETTLE_SECONDS
        while True:
            answer = await self.send(*arguments, is_repeated=is_repeated, **options)
            if not answer.is_transient:
                return answer
            if monotonic() > deadline:
                self.world.findings.add("lost", f"{arguments[1:4]} has no outcome after {SETTLE_SECONDS:.0f} s")
                return answer
            is_repeated = True
            self.tally.retries += 1
            await asyncio.sleep(random.uniform(0.2, 0.8))

    async def read(
        self,
        store: StoreModel,
        family: str,
        path: str,
        *,
        headers: Mapping[str, str],
        is_current: Callable[[Answer], bool],
        body: Any = None,
    ) -> Answer:
        """Read until the answer is a current 200; one that is not after `stale_seconds` is returned, and reported unless a 200."""
        began = monotonic()
        self.tally.reads += 1
        for attempt in itertools.count():
            may_be_stale = monotonic() - began < self.stale_seconds
            expected = (200, 404) if may_be_stale else (200,)
            method = "GET" if body is None else "POST"
            answer = await self.settle(store, family, method, path, body, headers=headers, expected=expected)
            is_settled = answer.status == 200 and is_current(answer)
            if is_settled and attempt:
                self.tally.stale.append(monotonic() - began)
            if is_settled or not may_be_stale:
                return answer
            await asyncio.sleep(_STALE_PAUSE)
        raise AssertionError

    async def _exchange(self, method: str, path: str, json: Any, headers: Mapping[str, str]) -> Answer:
        data = _content(json)
        sent = dict(headers)
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        sent.setdefault("X-Forwarded-For", client_address())
        try:
            async with self.session.request(method, self.base_url + path, data=data, headers=sent) as response:
                if response.status == 200 and response.content_type.startswith("image/"):
                    return Answer(200, await response.read())
                text = await response.text()
                replayed = response.headers.get("Idempotent-Replayed") == "true"
                names_pause = response.status not in (UNAVAILABLE, _TOO_MANY) or "Retry-After" in response.headers
                return read_answer(path, response.status, text, is_replayed=replayed, names_pause=names_pause)
        except TimeoutError:
            return Answer(NO_ANSWER, failure="time-out")
        except (aiohttp.ClientError, OSError) as error:
            return Answer(NO_ANSWER, failure="refused" if isinstance(error, ConnectionRefusedError) else "cut off")


def _content(body: Any) -> bytes | None:
    """Return the content of a request: bytes as they are, else JSON."""
    return body if body is None or isinstance(body, bytes) else orjson.dumps(body)


def open_session() -> aiohttp.ClientSession:
    """Return a session that never repeats a request by itself, which aiohttp does with a GET on a connection that was cut."""
    session = aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=REQUEST_SECONDS), connector=aiohttp.TCPConnector(limit=0)
    )
    session._retry_connection = False
    return session


def read_answer(path: str, status: int, text: str, *, is_replayed: bool = False, names_pause: bool = True) -> Answer:
    """Parse an answer; a body that is not JSON is a 599, an error of GraphQL has the status of its code, 500 if unknown."""
    try:
        body = orjson.loads(text) if text else None
    except orjson.JSONDecodeError:
        return Answer(599, None, text, failure=f"{status} without JSON")
    if path == "/graphql" and status == 200 and isinstance(body, dict) and body.get("errors"):
        code = body["errors"][0].get("extensions", {}).get("code", "")
        status = _GRAPHQL_STATUS.get(code, 500)
    return Answer(status, body, text, is_replayed, names_pause=names_pause)


def client_address() -> str:
    """Return an address for X-Forwarded-For, so that limits per address never count two clients as one."""
    return f"10.{random.randrange(256)}.{random.randrange(256)}.{random.randrange(1, 255)}"
