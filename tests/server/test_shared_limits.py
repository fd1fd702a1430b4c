"""Rate limits in Redis: shared by all processes, and counted per process while Redis is unavailable."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson
import pytest
from aiohttp import web
from redis.asyncio import Redis

from kernel import logging
from kernel.settings import Settings
from rest_facade.responses import json_response
from rest_facade.routing import Credential, Route
from server.http import shared_limits
from server.http.shared_limits import PREFIX, SharedCounters
from server.operations.check_results import Severity
from server.operations.checks import _check_redis
from tests.server.middleware_server import run_server
from tests.server.redis_server import RedisServer, needs_redis, redis_server
from tests.server.test_main import running, stopped

pytestmark = [needs_redis, pytest.mark.redis]

LOST = "Redis is unavailable: rate limits are counted per process until it is back"
BACK = "Redis is available again: rate limits are shared"


@pytest.fixture
async def redis() -> AsyncIterator[RedisServer]:
    async with redis_server() as server:
        yield server


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Redis answer late, as on a busy machine."""
    monkeypatch.setattr(shared_limits, "ANSWER_SECONDS", 30.0)


@asynccontextmanager
async def counting(url: str) -> AsyncIterator[SharedCounters]:
    counters = SharedCounters(url)
    try:
        yield counters
    finally:
        await counters.close()


@asynccontextmanager
async def logged() -> AsyncIterator[list[str]]:
    """Collect the names of log events, without those of requests: a stream of the test before may end meanwhile."""
    lines: list[bytes] = []
    before = logging.set_sink(lines.append)
    events: list[str] = []
    try:
        yield events
    finally:
        logging.set_sink(before)
        events += [event for line in lines if (event := orjson.loads(line)["event"]) != "request"]


async def until(true: object, seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # type: ignore[operator]
            await asyncio.sleep(0.02)


async def test_two_clients_together_never_exceed_the_limit(redis: RedisServer) -> None:
    async with counting(redis.url) as one, counting(redis.url) as other:
        verdicts = await asyncio.gather(*(counters.hit("app", 120) for _ in range(100) for counters in (one, other)))
        assert sum(verdict.allowed for verdict in verdicts) == 120
        assert sorted(verdict.remaining for verdict in verdicts) == [0] * 80 + list(range(120))
        assert one.is_shared
        assert other.is_shared


async def test_requests_that_come_together_are_counted_together_and_each_by_itself(redis: RedisServer) -> None:
    async with counting(redis.url) as counters, Redis.from_url(redis.url) as client:
        await counters.hit("warm", 1)
        await client.config_resetstat()
        hits = [asyncio.create_task(counters.hit(f"key {i % 3}", 1_000 + i % 3)) for i in range(1_300)]
        left = asyncio.create_task(counters.hit("key 0", 1_000))
        await asyncio.sleep(0)
        left.cancel()
        for i, state in enumerate(await asyncio.gather(*hits)):
            assert (state.limit, state.limit - state.remaining) == (1_000 + i % 3, 1 + i // 3), i
        counts = [await client.get(f"{PREFIX}:60000:key {i}") for i in range(3)]
        assert counts == [b"435", b"433", b"433"]
        commands = await client.info("commandstats")
    assert commands["cmdstat_eval"]["calls"] <= 5


async def test_all_that_wait_are_counted_by_the_process_when_redis_ends(redis: RedisServer) -> None:
    async with counting(redis.url) as counters:
        await counters.open()
        redis.kill()
        async with logged() as events:
            states = await asyncio.gather(*(counters.hit("k", 20) for _ in range(50)))
        assert sorted(state.remaining for state in states) == [0] * 31 + list(range(1, 20))
        assert events == [LOST]


async def test_a_window_starts_with_its_first_hit_and_ends(redis: RedisServer) -> None:
    async with counting(redis.url) as one, counting(redis.url) as other:
        before = time.time()
        first = await one.hit("k", 2, 0.4)
        second = await other.hit("k", 2, 0.4)
        third = await one.hit("k", 2, 0.4)
        assert [first[1], second[1], third[1]] == [1, 0, 0]
        assert [first.allowed, second.allowed, third.allowed] == [True, True, False]
        assert before + 0.3 < first.reset_at < before + 1
        assert third.reset_at == pytest.approx(first.reset_at, abs=0.1)
        await asyncio.sleep(0.45)
        assert (await other.hit("k", 2, 0.4)).remaining == 1


async def test_peeking_does_not_count(redis: RedisServer) -> None:
    async with counting(redis.url) as one, counting(redis.url) as other:
        assert (await one.peek("k", 2)).remaining == 1
        await one.hit("k", 2)
        for repetition in range(3):
            peeked = await other.peek("k", 2)
            assert (peeked.remaining, peeked.allowed) == (0, True), repetition
        await one.hit("k", 2)
        assert not (await other.peek("k", 2)).allowed


async def test_keys_and_windows_are_counted_separately_and_expire(redis: RedisServer) -> None:
    async with counting(redis.url) as counters:
        for key, window in (("a", 60.0), ("b", 60.0), ("a", 30.0)):
            assert (await counters.hit(key, 1, window)).allowed
        assert not (await counters.hit("a", 1, 60.0)).allowed
    async with Redis.from_url(redis.url) as client:
        keys = await client.keys(f"{PREFIX}:*")
        assert len(keys) == 3
        assert all([0 < await client.pttl(key) <= 60_000 for key in keys])


async def test_what_runs_is_counted_in_all_processes_until_it_ends_or_expires(redis: RedisServer) -> None:
    async with counting(redis.url) as one, counting(redis.url) as other:
        first = await one.begin("store", 2, 60.0)
        assert first
        assert await other.begin("store", 2, 0.2)
        assert await one.begin("store", 2, 60.0) is None
        assert await one.begin("other", 2, 60.0)
        one.end("store", first)
        async with asyncio.timeout(10):
            while (third := await other.begin("store", 2, 60.0)) is None:
                await asyncio.sleep(0.02)
        async with asyncio.timeout(10):  # that of a process that was killed
            while await one.begin("store", 2, 60.0) is None:
                await asyncio.sleep(0.02)
        redis.kill()
        assert [await one.begin("store", 1, 60.0) for _ in range(2)] == ["", None]
        one.end("store", "")
        assert await one.begin("store", 1, 60.0) == ""
        one.end("store", third)  # Redis isn't there: it expires


async def test_a_count_without_expiry_gets_a_new_one(redis: RedisServer) -> None:
    async with counting(redis.url) as counters, Redis.from_url(redis.url) as client:
        await client.set(f"{PREFIX}:60000:k", 5)
        assert (await counters.peek("k", 3)).allowed
        assert not (await counters.hit("k", 3)).allowed
        assert 0 < await client.pttl(f"{PREFIX}:60000:k") <= 60_000


async def test_each_process_counts_alone_while_redis_is_down(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_limits, "RECHECK_SECONDS", 0.05)
    async with logged() as events, counting(redis.url) as one, counting(redis.url) as other:
        for _ in range(3):
            await one.hit("k", 3)
        assert not (await other.hit("k", 3)).allowed
        redis.kill()
        verdicts = await asyncio.gather(*(one.hit("k", 3) for _ in range(50)))
        assert sum(verdict.allowed for verdict in verdicts) == 3
        assert (await other.hit("k", 3)).allowed
        assert (await other.peek("k", 3)).remaining == 1
        assert not one.is_shared
        await redis.start()
        await until(lambda: all(each.is_shared for each in (one, other)))
        # A new Redis is empty.
        assert [(await each.hit("k", 3)).remaining for each in (one, other, one)] == [2, 1, 0]
    assert events == [LOST, LOST, BACK, BACK]


async def test_a_connection_that_redis_closed_is_opened_again(redis: RedisServer) -> None:
    async with logged() as events, counting(redis.url) as counters, Redis.from_url(redis.url) as client:
        for remaining in (2, 1, 0):
            assert (await counters.hit("k", 3)).remaining == remaining
            await client.client_kill_filter(_type="normal", skipme=True)
        redis.kill()
        await redis.start()
        assert [(await counters.hit("k", 3)).remaining for _ in range(2)] == [2, 1]
    assert events == []


async def test_a_hanging_redis_delays_requests_only_briefly(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_limits, "ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(shared_limits, "RECHECK_SECONDS", 0.05)
    monkeypatch.setattr(shared_limits, "MOST_HITS_AT_ONCE", 10)
    async with logged() as events, counting(redis.url) as counters:
        await counters.hit("k", 100)
        redis.freeze()
        began = time.monotonic()
        verdicts = await asyncio.gather(*(counters.hit("k", 100) for _ in range(80)))
        assert time.monotonic() - began < 3
        assert all(verdict.allowed for verdict in verdicts)
        began = time.monotonic()
        await counters.hit("k", 100)
        assert time.monotonic() - began < 0.2
        redis.thaw()
        await until(lambda: counters.is_shared)
        assert (await counters.hit("k", 1_000)).allowed
    assert events == [LOST, BACK]


async def test_no_request_waits_for_a_server_that_answers_something_else() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while commands := await reader.read(65_536):
            writer.write(b"+OK\r\n" * commands.count(b"*"))  # some arrive together
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with logged() as events, counting(f"redis://127.0.0.1:{port}/0") as counters, asyncio.timeout(10):
            for count in (1, 2):
                assert (await counters.hit("k", 5)).remaining == 5 - count
    assert events == [LOST]


async def test_a_script_that_redis_has_forgotten_is_sent_again(redis: RedisServer) -> None:
    async with counting(redis.url) as one, counting(redis.url) as other, Redis.from_url(redis.url) as client:
        await one.open()
        await one.peek("app", 700)
        await client.script_flush()
        assert (await one.peek("app", 700)).remaining == 699
        verdicts = await asyncio.gather(*(counters.hit("app", 700) for _ in range(1_000) for counters in (one, other)))
        assert sum(verdict.allowed for verdict in verdicts) == 700
        assert one.is_shared
        assert other.is_shared


async def test_an_unavailable_redis_is_logged_at_start(redis: RedisServer) -> None:
    redis.kill()
    async with logged() as events, counting(redis.url) as counters:
        await counters.open()
        assert not counters.is_shared
        assert (await counters.hit("k", 1)).allowed
        assert not (await counters.hit("k", 1)).allowed
    assert events == [LOST]


async def test_a_full_redis_counts_as_unavailable() -> None:
    async with (
        redis_server("--maxmemory", "10kb", "--maxmemory-policy", "noeviction") as full,
        counting(full.url) as counters,
    ):
        assert (await counters.hit("k", 1)).allowed
        assert not counters.is_shared


async def fine(request: web.Request) -> web.Response:
    return json_response({})


async def test_servers_with_a_common_redis_share_every_limit(redis: RedisServer) -> None:
    routes = (
        Route("GET", "/api/v1/admin/things", fine, Credential.ADMIN),
        Route("GET", "/api/admin/things", fine, Credential.APP),
        Route("GET", "/api/v1/storefront/things", fine, Credential.STOREFRONT_KEY),
        Route("GET", "/api/things", fine, Credential.LEGACY_ADMIN),
    )
    settings = Settings(ip_rate=40, failed_auth_rate=2, legacy_rate=3)
    async with (
        counting(redis.url) as first,
        counting(redis.url) as second,
        run_server(*routes, settings=settings, counters=first, limit_of=lambda actor: 4) as one,
        run_server(*routes, settings=settings, counters=second, limit_of=lambda actor: 4) as other,
    ):

        async def statuses(path: str, number: int, caller: str | None, **headers: str) -> list[int]:
            return [(await (one, other)[turn % 2].get(path, caller, **headers)).status for turn in range(number)]

        assert await statuses("/api/admin/things", 6, "Bearer vat_live_app") == [200] * 4 + [429] * 2
        assert await statuses("/api/things", 5, "Basic admin") == [200] * 3 + [429] * 2
        key = {"X_API_Key": "sfk_shop"}
        assert await statuses("/api/v1/storefront/things", 6, None, **key) == [200] * 4 + [429] * 2
        assert await statuses("/api/v1/admin/things", 4, "Bearer wrong") == [401] * 2 + [429] * 2
        # 21 requests so far from one address.
        assert await statuses("/nowhere", 21, None) == [404] * 19 + [429] * 2


async def test_doctor_reports_whether_limits_are_shared(redis: RedisServer) -> None:
    finding = await _check_redis(Settings(redis_url=redis.url))
    assert (finding.level, finding.text) == (Severity.OK, "shared through Redis")
    redis.kill()
    finding = await _check_redis(Settings(redis_url=redis.url))
    assert finding.level is Severity.FAIL
    assert finding.text.startswith("REDIS_URL can't be used, so each process counts alone: ")


@pytest.mark.slow
async def test_the_processes_of_a_server_share_limits_and_log_it(tmp_path: object, redis: RedisServer) -> None:
    environ = {"REDIS_URL": redis.url, "WEB_CONCURRENCY": "2", "VITRINE_IP_RATE": "60"}
    async with running(tmp_path, **environ) as (process, client):  # type: ignore[arg-type]

        async def ask() -> int:
            async with client.get("/nowhere", headers={"Connection": "close"}) as response:
                return int(response.status)

        # Not all at once: the processes open connections to Redis as they need them, and don't wait long for one.
        responses = [status for _ in range(20) for status in await asyncio.gather(*(ask() for _ in range(5)))]
        assert sorted(responses) == [404] * 60 + [429] * 40
        events = await stopped(process)
    assert "rate limits are shared through Redis" in events
    assert LOST not in events
