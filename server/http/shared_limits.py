"""Count rate limits in Redis for all processes of a deployment, and per process while Redis is unavailable.

A count and its window are updated by one Lua script, so concurrent requests can't exceed the limit. Requests that arrive while the script
runs are counted together by the next one, so that a busy process sends few. While Redis is unavailable no request is rejected for it: the
process falls back to its own counters, logs it once, and checks every second whether Redis is back.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from contextvars import Context
from typing import Any, NamedTuple
from uuid import uuid4

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from kernel import logging
from server.http.limits import MINUTE, Counters, ProcessCounters, RateLimitState

PREFIX = "vitrine:limit"
# The longest wait of a request, and only of the first one that finds Redis unavailable.
ANSWER_SECONDS = 0.5
RECHECK_SECONDS = 1.0
MOST_CONNECTIONS = 32
# Redis does nothing else while a script runs.
MOST_HITS_AT_ONCE = 500

# A key without expiry (edited by hand, or a restored dump) would count forever; it gets a new one.
_HIT = """
local states = {}
for i, key in ipairs(KEYS) do
    local count = redis.call('INCR', key)
    local left = redis.call('PTTL', key)
    if left < 0 then
        redis.call('PEXPIRE', key, ARGV[i])
        left = tonumber(ARGV[i])
    end
    states[i] = {count, left}
end
return states
"""
_PEEK = """
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
    return {1, tonumber(ARGV[1])}
end
return {tonumber(redis.call('GET', KEYS[1]) or '0') + 1, left}
"""
# Scores are the times at which what a process no longer ends, because it was killed, expires.
_BEGIN = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then
    return 0
end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
"""
# Raised while Redis can't count: unreachable, timed out, out of memory, loading, or a replica.
UNAVAILABLE = (RedisError, OSError, TimeoutError)


class _Hit(NamedTuple):
    """A request to count, and the future that gets `(count, milliseconds left)`."""

    key: str
    milliseconds: int
    counted: asyncio.Future[tuple[int, int]]


class SharedCounters:
    """Count in Redis, or in this process while Redis is unavailable."""

    def __init__(self, url: str, *, fallback: Counters | None = None) -> None:
        self._pool = BlockingConnectionPool.from_url(
            url,
            max_connections=MOST_CONNECTIONS,
            timeout=ANSWER_SECONDS,
            socket_timeout=ANSWER_SECONDS,
            socket_connect_timeout=ANSWER_SECONDS,
            # A retried hit may be counted twice.
            retry=Retry(NoBackoff(), 0),
        )
        self._redis = Redis(connection_pool=self._pool)
        self._peek = self._redis.register_script(_PEEK)
        self._begin = self._redis.register_script(_BEGIN)
        self._hits: list[_Hit] = []
        self._sending: asyncio.Task[None] | None = None
        self._sender: AbstractConnection | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._fallback = fallback or ProcessCounters()
        self._recheck_task: asyncio.Task[None] | None = None

    @property
    def is_shared(self) -> bool:
        """Return whether Redis is believed to be available."""
        return self._recheck_task is None

    async def open(self) -> None:
        """Check Redis at start, so that the first request doesn't have to."""
        try:
            await self.check()
        except UNAVAILABLE as error:
            self._fall_back(error)

    async def check(self) -> None:
        """Raise one of `UNAVAILABLE` unless Redis counts: a ping also succeeds on a full or read-only server."""
        await self._count("check", 1, 1.0)

    async def close(self) -> None:
        """Stop rechecking and close the connections."""
        if self._recheck_task is not None:
            self._recheck_task.cancel()
            with suppress(asyncio.CancelledError):
                await self._recheck_task
        if self._sending is not None:
            await self._sending
        await self._pool.aclose()

    async def hit(self, key: str, limit: int, window: float = MINUTE) -> RateLimitState:
        """Count one request; not allowed when the limit was reached before."""
        if self._recheck_task is None:
            try:
                return await self._count(key, limit, window)
            except UNAVAILABLE as error:
                self._fall_back(error)
        return await self._fallback.hit(key, limit, window)

    async def peek(self, key: str, limit: int, window: float = MINUTE) -> RateLimitState:
        """Return what `hit` would return, without counting."""
        if self._recheck_task is None:
            try:
                length = int(window * 1_000)
                return _state(limit, *await self._peek(keys=[_key(key, length)], args=[length]))
            except UNAVAILABLE as error:
                self._fall_back(error)
        return await self._fallback.peek(key, limit, window)

    async def begin(self, key: str, limit: int, seconds: float) -> str | None:
        """Count what runs until `end` is called with the result, and at most for so long; None when so much runs already."""
        if self._recheck_task is None:
            token = uuid4().hex
            try:
                begun = await self._begin(keys=[f"{PREFIX}:running:{key}"], args=[limit, int(seconds * 1_000), token])
            except UNAVAILABLE as error:
                self._fall_back(error)
            else:
                return token if begun else None
        return await self._fallback.begin(key, limit, seconds)

    def end(self, key: str, token: str) -> None:
        """Count it no longer; what Redis counts of it while it is unavailable expires."""
        if not token:
            self._fallback.end(key, token)
            return
        task = asyncio.get_running_loop().create_task(self._end(key, token), context=Context())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _end(self, key: str, token: str) -> None:
        with suppress(*UNAVAILABLE):
            await self._redis.zrem(f"{PREFIX}:running:{key}", token)

    async def _count(self, key: str, limit: int, window: float) -> RateLimitState:
        length = int(window * 1_000)
        counted = asyncio.get_running_loop().create_future()
        self._hits.append(_Hit(_key(key, length), length, counted))
        if self._sending is None:
            self._sending = asyncio.create_task(self._send(), context=Context())
        return _state(limit, *await counted)

    async def _send(self) -> None:
        """Count what waits, and what has come meanwhile, until nothing waits. When Redis fails, all that waits fails with it."""
        hits: list[_Hit] = []
        try:
            while self._hits:
                hits = self._hits[:MOST_HITS_AT_ONCE]
                del self._hits[:MOST_HITS_AT_ONCE]
                for hit, (count, left) in zip(hits, await self._count_at_once(hits), strict=True):
                    if not hit.counted.done():
                        hit.counted.set_result((count, left))
        except Exception as error:  # whichever it is, the requests that wait raise it
            if isinstance(error, TypeError | ValueError):
                error = RedisError("the answer is not one of the script")
            for hit in (*hits, *self._hits):
                if not hit.counted.done():
                    hit.counted.set_exception(error)
            self._hits.clear()
        finally:
            self._sending = None

    async def _count_at_once(self, hits: list[_Hit]) -> Any:
        """Return what the script returns, by a connection that only this task uses: every request waits for it.

        The client would take a connection of the pool and give it back each time, which takes longer than to send the script's text. After
        an error, or when Redis has closed it meanwhile, the connection opens again.
        """
        if self._sender is None:
            self._sender = await self._pool.get_connection()  # type: ignore[no-untyped-call]
        elif self._sender.is_connected and await self._sender.can_read():
            await self._sender.disconnect()
        keys, lengths = [hit.key for hit in hits], [hit.milliseconds for hit in hits]
        await self._sender.send_command("EVAL", _HIT, len(hits), *keys, *lengths)
        return await self._sender.read_response()

    def _fall_back(self, error: BaseException) -> None:
        """Count in this process from now on; log it once."""
        if self._recheck_task is None:
            logging.event(
                "Redis is unavailable: rate limits are counted per process until it is back",
                level="warning",
                cause=type(error).__name__,
            )
            # An empty context, so that later log lines don't carry this request's id.
            self._recheck_task = asyncio.create_task(self._recheck(), context=Context())

    async def _recheck(self) -> None:
        """Wait until Redis counts again."""
        while True:
            await asyncio.sleep(RECHECK_SECONDS)
            try:
                await self.check()
            except UNAVAILABLE:
                continue
            self._recheck_task = None
            logging.event("Redis is available again: rate limits are shared")
            return


def _key(key: str, milliseconds: int) -> str:
    return f"{PREFIX}:{milliseconds}:{key}"


def _state(limit: int, count: int, left: int) -> RateLimitState:
    return RateLimitState(limit, max(0, limit - count), time.time() + left / 1_000, count <= limit)
