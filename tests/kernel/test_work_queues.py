"""Work in threads: what waits is limited by address and caller, and the addresses take turns."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from functools import partial
from time import thread_time
from uuid import UUID

import pytest

from kernel import clock, work_queues
from kernel.errors import RateLimited, Unavailable
from kernel.scope import Actor, ActorKind, Scope, Store, active_scope
from kernel.shares import BACKGROUND, shares_of
from kernel.work_queues import Threads, WorkQueue

STORE = Store(id=1, public_id=UUID("018f0000-0000-7000-8000-000000000001"), name="Demo")


def scope_of(address: str, actor: Actor | None = None, store: Store = STORE) -> Scope:
    caller = actor or Actor(ActorKind.ANONYMOUS, credential=f"ip:{address}")
    return Scope(store, caller, "test", clock.now(), "graphql", address)


class BusyThread:
    """One thread that is busy until `end`, and the names of the work that it did."""

    def __init__(self, *, most_waiting: int, count: int = 1) -> None:
        self.threads = Threads("test", count)
        self.queue = WorkQueue("documents", most_waiting=most_waiting, threads=self.threads)
        self.done: list[str] = []
        self.may_end = threading.Event()
        self.tasks: list[asyncio.Task[str]] = []

    def _work(self, name: str) -> str:
        self.may_end.wait(30)
        self.done.append(name)
        return name

    async def send(self, name: str, *shares: str, store: int | None = None) -> asyncio.Task[str]:
        """Send work, of a store or none, and let it begin to wait."""
        scope = nullcontext() if store is None else active_scope(scope_of("", store=replace(STORE, id=store)))
        with scope:
            task = asyncio.get_running_loop().create_task(self.queue.run(partial(self._work, name), shares))
        self.tasks.append(task)
        await asyncio.sleep(0)
        return task

    async def end(self) -> list[str | BaseException]:
        """Let all work end and return the results."""
        self.may_end.set()
        return await asyncio.gather(*self.tasks, return_exceptions=True)


@asynccontextmanager
async def busy_thread(most_waiting: int = 2) -> AsyncIterator[BusyThread]:
    thread = BusyThread(most_waiting=most_waiting)
    await thread.send("running", "ip:1")
    try:
        yield thread
    finally:
        await thread.end()


async def test_a_third_work_that_would_wait_for_an_address_is_refused_and_another_address_waits():
    async with busy_thread() as thread:
        for number in range(3):
            await thread.send(f"hostile {number}", "ip:1")
        await thread.send("other", "ip:2")
        results = await thread.end()
    assert [type(each) for each in results] == [str, str, str, RateLimited, str]
    refused = results[3]
    assert isinstance(refused, RateLimited)
    assert refused.retry_after == 1
    assert refused.details == {"detail": "more than 2 documents of this caller are waiting"}


async def test_addresses_take_turns():
    async with busy_thread(most_waiting=9) as thread:
        for number in range(3):
            await thread.send(f"hostile {number}", "ip:1")
        await thread.send("second", "ip:2")
        await thread.send("third", "ip:3")
        await thread.end()
    assert thread.done == ["running", "hostile 0", "second", "third", "hostile 1", "hostile 2"]


async def test_stores_take_turns_whatever_the_number_of_their_addresses():
    async with busy_thread(most_waiting=9) as thread:
        for number in range(3):
            await thread.send(f"greedy {number}", f"ip:{number}", store=1)
        await thread.send("second", "ip:1", store=2)
        await thread.send("third", BACKGROUND, store=3)
        await thread.end()
    assert thread.done == ["running", "greedy 0", "second", "third", "greedy 1", "greedy 2"]


async def test_a_store_has_at_most_half_of_the_threads():
    threads = BusyThread(most_waiting=9, count=4)
    for number in range(4):
        await threads.send(f"greedy {number}", f"ip:{number}", store=1)
    await threads.send("other", "ip:9", store=2)
    line = threads.threads._lines[asyncio.get_running_loop()]
    assert (line._free, line._taken) == (1, {1: 2, 2: 1})
    await threads.end()
    assert sorted(threads.done) == ["greedy 0", "greedy 1", "greedy 2", "greedy 3", "other"]
    await asyncio.sleep(0)
    assert (line._free, line._taken, line._turns) == (4, {}, {})


async def test_a_caller_with_many_addresses_waits_no_more_often():
    async with busy_thread() as thread:
        for number in range(3):
            await thread.send("hostile", f"ip:{number}", "1:user:7")
        await thread.send("other", "ip:0", "1:user:8")
        results = await thread.end()
    assert [type(each) for each in results] == [str, str, str, RateLimited, str]


async def test_what_waits_in_all_is_limited(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(work_queues, "MAX_WAITING", 3)
    async with busy_thread() as thread:
        for number in range(4):
            await thread.send("hostile", f"ip:{number}")
        results = await thread.end()
    assert [type(each) for each in results] == [str, str, str, str, Unavailable]


async def test_cancelled_work_waits_no_longer_and_a_running_one_keeps_its_thread():
    async with busy_thread() as thread:
        for number in range(2):
            (await thread.send(f"cancelled {number}", "ip:2")).cancel()
        await asyncio.sleep(0)
        await thread.send("kept", "ip:2")
        thread.tasks[0].cancel()  # the thread can't be stopped
        await asyncio.sleep(0)
        waiting = await thread.send("last", "ip:2")
        assert not waiting.done()
        results = await thread.end()
    assert thread.done == ["running", "kept", "last"]
    assert [isinstance(each, asyncio.CancelledError) for each in results] == [True, True, True, False, False]


async def test_work_that_is_cancelled_when_its_turn_comes_passes_the_thread_on():
    async with busy_thread() as thread:
        cancelled = await thread.send("cancelled", "ip:2")
        await thread.send("next", "ip:3")
        thread.may_end.set()
        while not thread.tasks[0].done():
            await asyncio.sleep(0)
        cancelled.cancel()
        assert await thread.tasks[2] == "next"
    assert "next" in thread.done


async def test_an_error_of_the_work_is_raised_and_frees_the_thread():
    queue = WorkQueue("documents", most_waiting=1, threads=Threads("test", 1))

    def fail() -> None:
        raise ValueError("wrong")

    for _ in range(3):
        with pytest.raises(ValueError, match="wrong"):
            await queue.run(fail)


async def test_work_counts_for_the_caller_of_the_running_task():
    async with busy_thread(most_waiting=1) as thread:
        with active_scope(scope_of("203.0.113.1")):
            waiting = asyncio.ensure_future(thread.queue.run(lambda: "waited"))
            await asyncio.sleep(0)
            with pytest.raises(RateLimited):
                await thread.queue.run(lambda: "refused")
        with active_scope(scope_of("203.0.113.2")):
            other = asyncio.ensure_future(thread.queue.run(lambda: "other"))
            await asyncio.sleep(0)
        await thread.end()
        assert (await waiting, await other) == ("waited", "other")


def test_a_storefront_key_counts_for_the_address_and_users_and_apps_for_themselves_too():
    key = Actor(ActorKind.STOREFRONT, storefront_key_id=7, credential="key:7")
    shopper = Actor(ActorKind.STOREFRONT, user_id=3, storefront_key_id=7, credential="key:7/user:3")
    user = Actor(ActorKind.CUSTOMER, user_id=3, credential="user:3")
    app = Actor(ActorKind.APP, app_id=4, credential="app:4")
    address = "ip:2001:db8::/64"
    for name, actor, shares in (
        ("no credential", None, (address,)),
        ("storefront key", key, (address,)),
        ("shopper", shopper, (address, "1:user:3")),
        ("user", user, (address, "1:user:3")),
        ("app", app, (address, "1:app:4")),
    ):
        assert tuple(shares_of(scope_of("2001:db8::5", actor))) == shares, name
    assert shares_of(None) == shares_of(scope_of("")) == (BACKGROUND,)


async def test_background_work_is_not_refused():
    async with busy_thread() as thread:
        for number in range(9):
            await thread.send(f"job {number}", BACKGROUND)
        await thread.send("other", "ip:2")
        assert await thread.end() == thread.done[:1] + [f"job {number}" for number in range(9)] + ["other"]
    assert thread.done[:3] == ["running", "job 0", "other"]


async def test_an_address_rests_after_long_work_while_others_are_served():
    threads = Threads("test", 1, rests=True)
    queue = WorkQueue("documents", most_waiting=9, threads=threads)
    done: list[str] = []

    def work(name: str, cpu_seconds: float) -> None:
        began = thread_time()
        while thread_time() - began < cpu_seconds:
            pass
        done.append(name)

    await queue.run(partial(work, "long", 0.1), ("ip:1",))
    await asyncio.sleep(0)
    next_of_it = asyncio.ensure_future(queue.run(partial(work, "next", 0), ("ip:1",)))
    await asyncio.sleep(0)
    for name in ("second", "third"):
        await queue.run(partial(work, name, 0), (f"ip:{name}",))
    await next_of_it
    assert done == ["long", "second", "third", "next"]
    # Short work and work in the background are not followed by a rest.
    for address, seconds in (("ip:2", 0.0), (BACKGROUND, 0.1)):
        await queue.run(partial(work, "first", seconds), (address,))
        await asyncio.sleep(0)
        assert address not in threads._lines[asyncio.get_running_loop()]._resting, address
