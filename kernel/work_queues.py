"""Run work that would hold the event loop in threads that all callers share fairly.

Python runs one thread at a time, so that all work in Python has one thread: more would take the interpreter from the event loop. Who waits
for a thread is divided by client address, and the addresses take turns: one that sends much waits for itself. After long work an address
rests, so that it gets a quarter of a thread's time. What waits of one kind for one address, or for one caller from whatever addresses, is
limited; more is refused.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from time import thread_time
from typing import TypeVar
from weakref import WeakKeyDictionary

from kernel.errors import RateLimited, Unavailable
from kernel.scope import current_scope
from kernel.shares import BACKGROUND, shares_of

MAX_WAITING = 1_000
"""What waits for the same threads, of all callers."""
_LONG_SECONDS = 0.05
"""CPU time of work after which its address rests."""
_REST = 3.0
"""How long it rests, in times of that work."""

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
        await line.enter(name, most_waiting, shares)
        context, seconds = copy_context(), 0.0

        def measured() -> _T:
            nonlocal seconds
            began = thread_time()
            try:
                return context.run(work)
            finally:
                seconds = thread_time() - began

        def leave(_: object) -> None:
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(line.leave, shares[0], seconds if self._rests else 0.0)

        running = self._executor.submit(measured)
        running.add_done_callback(leave)
        return await asyncio.wrap_future(running)


PYTHON_WORK = Threads("python", 1, rests=True)


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
        self._turns: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        """By address, the one whose turn is next first."""
        self._resting: set[str] = set()
        self._waiting: Counter[tuple[str, str]] = Counter()
        """By kind of work and share."""

    async def enter(self, name: str, most_waiting: int, shares: Sequence[str]) -> None:
        """Wait for a thread; `leave` must follow."""
        if self._free and shares[0] not in self._resting:
            self._free -= 1
            return
        counted = [(name, share) for share in shares]
        if shares[0] != BACKGROUND:
            if any(self._waiting[each] >= most_waiting for each in counted):
                raise RateLimited(f"more than {most_waiting} {name} of this caller are waiting", retry_after=1)
            if sum(map(len, self._turns.values())) >= MAX_WAITING:
                raise Unavailable
        self._waiting.update(counted)
        try:
            await self._turn(shares[0])
        finally:
            self._waiting -= Counter(counted)

    async def _turn(self, address: str) -> None:
        turn = asyncio.get_running_loop().create_future()
        turns = self._turns.setdefault(address, deque())
        turns.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self._pass_on()  # the turn came in the same round of the loop
            elif turn in turns:
                turns.remove(turn)
                if not turns:
                    del self._turns[address]
            raise

    def leave(self, address: str, seconds: float) -> None:
        """Pass the thread on after work that took so much CPU time."""
        if seconds > _LONG_SECONDS and address != BACKGROUND:
            self._resting.add(address)
            asyncio.get_running_loop().call_later(_REST * seconds, self._end_rest, address)
        self._pass_on()

    def _end_rest(self, address: str) -> None:
        self._resting.discard(address)
        if self._free and address in self._turns:
            self._free -= 1
            self._pass_on()

    def _pass_on(self) -> None:
        """Give the thread to the next address that doesn't rest."""
        address = next((each for each in self._turns if each not in self._resting), None)
        if address is None:
            self._free += 1
            return
        turns = self._turns[address]
        turn = turns.popleft()
        if turns:
            self._turns.move_to_end(address)
        else:
            del self._turns[address]
        if turn.cancelled():
            self._pass_on()
        else:
            turn.set_result(None)
