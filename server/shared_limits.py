"""Count requests in Redis for all processes of a deployment, and in this process's memory while Redis is away.

A count and its window are one Lua script, so no two clients can both be the last that fits. While Redis doesn't answer nobody is
refused for it: the process goes on with counts of its own, says so once, and looks every second whether Redis is back.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from contextvars import Context

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.commands.core import AsyncScript
from redis.exceptions import RedisError

from kernel import logging
from kernel.settings import Settings
from server.limits import MINUTE, Counters, ProcessCounters, RateLimitState, told

PREFIX = "vitrine:limit"
# A request waits so long at most, and only the one that finds Redis gone.
ANSWER_SECONDS = 0.5
LOOK_AGAIN_SECONDS = 1.0
MOST_CONNECTIONS = 32

# A key that lost its end (by hand, or by a restored dump) would count for ever; it is given a new one.
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
# What means that Redis can't count at the moment: away, silent, full, loading, or a replica.
LOST = (RedisError, OSError, TimeoutError)


class SharedCounters:
    """Count in Redis, or in this process while Redis is lost."""

    def __init__(self, url: str, *, own: Counters | None = None) -> None:
        self._redis = Redis(
            connection_pool=BlockingConnectionPool.from_url(
                url,
                max_connections=MOST_CONNECTIONS,
                timeout=ANSWER_SECONDS,
                socket_timeout=ANSWER_SECONDS,
                socket_connect_timeout=ANSWER_SECONDS,
                # A hit that is sent again may be counted twice.
                retry=Retry(NoBackoff(), 0),
            )
        )
        self._hit = self._redis.register_script(_HIT)
        self._peek = self._redis.register_script(_PEEK)
        self._own = own or ProcessCounters()
        self._looking: asyncio.Task[None] | None = None

    @property
    def is_shared(self) -> bool:
        """Say whether Redis counts, as far as is known."""
        return self._looking is None

    async def open(self) -> None:
        """Look whether Redis counts, so that the first request needn't find out."""
        try:
            await self.check()
        except LOST as error:
            self._lost(error)

    async def check(self) -> None:
        """Raise one of `LOST` unless Redis counts: a ping would be answered by one that is full or read-only too."""
        await self._counted(self._hit, "check", 1, 1.0)

    async def close(self) -> None:
        """Stop looking for Redis, and leave it."""
        if self._looking is not None:
            self._looking.cancel()
            with suppress(asyncio.CancelledError):
                await self._looking
        await self._redis.aclose()

    async def hit(self, key: str, limit: int, window: float = MINUTE) -> RateLimitState:
        """Count one more; not allowed when the limit was reached before."""
        if self._looking is None:
            try:
                return await self._counted(self._hit, key, limit, window)
            except LOST as error:
                self._lost(error)
        return await told(self._own.hit(key, limit, window))

    async def peek(self, key: str, limit: int, window: float = MINUTE) -> RateLimitState:
        """Say what one more hit would be told, without counting it."""
        if self._looking is None:
            try:
                return await self._counted(self._peek, key, limit, window)
            except LOST as error:
                self._lost(error)
        return await told(self._own.peek(key, limit, window))

    async def _counted(self, script: AsyncScript, key: str, limit: int, window: float) -> RateLimitState:
        length = int(window * 1_000)
        count, left = await script(keys=[f"{PREFIX}:{length}:{key}"], args=[length])
        return RateLimitState(limit, max(0, limit - count), time.time() + left / 1_000, count <= limit)

    def _lost(self, error: BaseException) -> None:
        """Count here from now on; the requests that were waiting for the same answer say nothing more."""
        if self._looking is None:
            logging.event(
                "Redis is lost: request limits are counted per process until it is back",
                level="warning",
                cause=type(error).__name__,
            )
            # Of no request: what it writes and does later is not the doing of the one that found out.
            self._looking = asyncio.create_task(self._look(), context=Context())

    async def _look(self) -> None:
        """Wait until Redis counts again."""
        while True:
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
            try:
                await self.check()
            except LOST:
                continue
            self._looking = None
            logging.event("Redis is back: request limits are shared again")
            return


def counters_for(settings: Settings) -> SharedCounters | None:
    """Give what counts in the Redis of the settings; None when each process counts alone."""
    return None if settings.redis_url is None else SharedCounters(settings.redis_url)


def described(settings: Settings) -> str:
    """Say how requests are counted, for the start line."""
    if settings.redis_url is None:
        return "request limits are counted per process"
    return "request limits are shared through Redis"
