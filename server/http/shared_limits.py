"""Count rate limits in Redis for all processes of a deployment, and per process while Redis is unavailable.

A count and its window are updated by one Lua script, so concurrent requests can't exceed the limit. While Redis is unavailable no
request is rejected for it: the process falls back to its own counters, logs it once, and checks every second whether Redis is back.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from contextvars import Context
from uuid import uuid4

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.commands.core import AsyncScript
from redis.exceptions import RedisError

from kernel import logging
from server.http.limits import MINUTE, Counters, ProcessCounters, RateLimitState

PREFIX = "vitrine:limit"
# The longest wait of a request, and only of the first one that finds Redis unavailable.
ANSWER_SECONDS = 0.5
RECHECK_SECONDS = 1.0
MOST_CONNECTIONS = 32

# A key without expiry (edited by hand, or a restored dump) would count forever; it gets a new one.
_HIT = """
local count = redis.call('INCR', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
    redis.call('PEXPIRE', KEYS[1], ARGV[1])
    left = tonumber(ARGV[1])
end
return {count, left}
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


class SharedCounters:
    """Count in Redis, or in this process while Redis is unavailable."""

    def __init__(self, url: str, *, fallback: Counters | None = None) -> None:
        self._redis = Redis(
            connection_pool=BlockingConnectionPool.from_url(
                url,
                max_connections=MOST_CONNECTIONS,
                timeout=ANSWER_SECONDS,
                socket_timeout=ANSWER_SECONDS,
                socket_connect_timeout=ANSWER_SECONDS,
                # A retried hit may be counted twice.
                retry=Retry(NoBackoff(), 0),
            )
        )
        self._hit = self._redis.register_script(_HIT)
        self._peek = self._redis.register_script(_PEEK)
        self._begin = self._redis.register_script(_BEGIN)
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
        await self._count(self._hit, "check", 1, 1.0)

    async def close(self) -> None:
        """Stop rechecking and close the connections."""
        if self._recheck_task is not None:
            self._recheck_task.cancel()
            with suppress(asyncio.CancelledError):
                await self._recheck_task
        await self._redis.aclose()

    async def hit(self, key: str, limit: int, window: float = MINUTE) -> RateLimitState:
        """Count one request; not allowed when the limit was reached before."""
        if self._recheck_task is None:
            try:
                return await self._count(self._hit, key, limit, window)
            except UNAVAILABLE as error:
                self._fall_back(error)
        return await self._fallback.hit(key, limit, window)

    async def peek(self, key: str, limit: int, window: float = MINUTE) -> RateLimitState:
        """Return what `hit` would return, without counting."""
        if self._recheck_task is None:
            try:
                return await self._count(self._peek, key, limit, window)
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

    async def _count(self, script: AsyncScript, key: str, limit: int, window: float) -> RateLimitState:
        length = int(window * 1_000)
        count, left = await script(keys=[f"{PREFIX}:{length}:{key}"], args=[length])
        return RateLimitState(limit, max(0, limit - count), time.time() + left / 1_000, count <= limit)

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
