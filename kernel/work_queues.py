"""Run work that would hold the event loop in threads that all callers share fairly.

Python runs one thread at a time, so that all work in Python has one thread: more would take the interpreter from the event loop. Who waits
for a thread is divided by store and then by client address; the stores take turns, and so do the addresses of a store: one that sends much
waits for itself. A store has at most half of the threads at a time. After long work an address rests, so that it gets a quarter of a
thread's time. What waits of one kind for one address, or for one caller from whatever addresses, is limited; more is refused.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from time import thread_time
from typing import ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from kernel.errors import RateLimited, Unavailable
from kernel.scope import current_scope
from kernel.shares import BACKGROUND, NO_STORE, most_for_store, shares_of
from kernel.store_usage import usage_of

MAX_WAITING = 1_000
"""What waits for the same threads, of all callers."""
_LONG_SECONDS = 0.05
"""CPU time of work after which its address rests."""
_REST = 3.0
"""How long it rests, in times of that work."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Threads:
    """Threads, and the callers that wait for them.

    With `rests` an address rests after long work: work in Python takes the interpreter from the event loop, password hashes don't.
    """

    def __init__(self, name: str, count: int, *, rests: bool = False) -> None:
        self._count = count
        self._rests = rests
        self._executor = ThreadPoolExecutor(count, thread_name_prefix=f"vitrine-{name}")
        # Futures belong to their loop; a process has one, tests have several.
        self._lines: WeakKeyDictionary[asyncio.AbstractEventLoop, _Line] = WeakKeyDictionary()

    async def run(self, work: Callable[[], _T], name: str, most_waiting: int, shares: Sequence[str]) -> _T:
        """Do what `WorkQueue.run` does."""
        loop = asyncio.get_running_loop()
        line = self._lines.get(loop)
        if line is None:
            line = self._lines[loop] = _Line(self._count)
        scope = current_scope()
        store = NO_STORE if scope is None else scope.store.id
        await line.enter(name, most_waiting, store, shares)
        context, seconds = copy_context(), 0.0

        def measured() -> _T:
            nonlocal seconds
            began = thread_time()
            try:
                return context.run(work)
            finally:
                seconds = thread_time() - began

        def end() -> None:
            if store != NO_STORE:
                usage_of(store).cpu_seconds += seconds
            line.leave(store, shares[0], seconds if self._rests else 0.0)

        def leave(_: object) -> None:
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(end)

        running = self._executor.submit(measured)
        running.add_done_callback(leave)
        return await asyncio.wrap_future(running)


PYTHON_WORK = Threads("python", 1, rests=True)
_FILE_WORK = Threads("files", min(32, (os.cpu_count() or 1) + 4))  # as many as asyncio's own


async def run_in_thread(work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Return the result of a function that waits for files, run in a thread, as `asyncio.to_thread` but fair to all stores."""
    return await _FILE_WORK.run(partial(work, *args, **kwargs), "file operations", 0, (BACKGROUND,))


class WorkQueue:
    """One kind of work, of which at most `most_waiting` waits for a thread of an address or caller."""

    def __init__(self, name: str, *, most_waiting: int, threads: Threads = PYTHON_WORK) -> None:
        self.name = name
        self.most_waiting = most_waiting
        self._threads = threads

    async def run(self, work: Callable[[], _T], shares: Sequence[str] | None = None) -> _T:
        """Return the result of the work, run in a thread; by default it counts for the caller of the running task.

        Raises `RateLimited` when too much of the caller's waits, and `Unavailable` when too much waits in all. The thread stays taken
        until the work ends, also when the request is cancelled.
        """
        counted = shares_of(current_scope()) if shares is None else shares
        return await self._threads.run(work, self.name, self.most_waiting, counted)


class _Line:
    """The callers that wait for threads, in one event loop."""

    def __init__(self, threads: int) -> None:
        self._free = threads
        self._share = most_for_store(threads)
        self._taken: Counter[int] = Counter()
        """Threads by store."""
        self._turns: OrderedDict[int, OrderedDict[str, deque[asyncio.Future[None]]]] = OrderedDict()
        """By store and address, the ones whose turn is next first."""
        self._resting: set[str] = set()
        self._waiting: Counter[tuple[str, str]] = Counter()
        """By kind of work and share."""

    async def enter(self, name: str, most_waiting: int, store: int, shares: Sequence[str]) -> None:
        """Wait for a thread; `leave` must follow."""
        if self._free and self._may_run(store, shares[0]):
            self._take(store)
            return
        counted = [(name, share) for share in shares]
        if shares[0] != BACKGROUND:
            if any(self._waiting[each] >= most_waiting for each in counted):
                raise RateLimited(f"more than {most_waiting} {name} of this caller are waiting", retry_after=1)
            if sum(len(turns) for addresses in self._turns.values() for turns in addresses.values()) >= MAX_WAITING:
                raise Unavailable
        self._waiting.update(counted)
        try:
            await self._turn(store, shares[0])
        finally:
            self._waiting -= Counter(counted)

    async def _turn(self, store: int, address: str) -> None:
        turn = asyncio.get_running_loop().create_future()
        turns = self._turns.setdefault(store, OrderedDict()).setdefault(address, deque())
        turns.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self._release(store)  # the turn came in the same round of the loop
            elif turn in turns:
                turns.remove(turn)
                self._delete_empty(store, address)
            raise

    def leave(self, store: int, address: str, seconds: float) -> None:
        """Pass the thread on after work that took so much CPU time."""
        if seconds > _LONG_SECONDS and address != BACKGROUND:
            self._resting.add(address)
            asyncio.get_running_loop().call_later(_REST * seconds, self._end_rest, address)
        self._release(store)

    def _end_rest(self, address: str) -> None:
        self._resting.discard(address)
        self._pass_on()

    def _may_run(self, store: int, address: str) -> bool:
        return address not in self._resting and (store == NO_STORE or self._taken[store] < self._share)

    def _take(self, store: int) -> None:
        self._free -= 1
        self._taken[store] += 1

    def _release(self, store: int) -> None:
        self._free += 1
        self._taken[store] -= 1
        if not self._taken[store]:
            del self._taken[store]
        self._pass_on()

    def _pass_on(self) -> None:
        """Give the free threads to the next store that has less than its share, and there to the next address that doesn't rest."""
        while self._free:
            waiting = ((store, address) for store, addresses in self._turns.items() for address in addresses)
            turn = next((each for each in waiting if self._may_run(*each)), None)
            if turn is None:
                return
            self._give(*turn)

    def _give(self, store: int, address: str) -> None:
        addresses = self._turns[store]
        turn = addresses[address].popleft()
        addresses.move_to_end(address)
        self._turns.move_to_end(store)
        self._delete_empty(store, address)
        if not turn.cancelled():
            self._take(store)
            turn.set_result(None)

    def _delete_empty(self, store: int, address: str) -> None:
        if not self._turns[store][address]:
            del self._turns[store][address]
        if not self._turns[store]:
            del self._turns[store]
