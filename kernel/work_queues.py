"""Run work that would hold the event loop in threads that all callers share fairly.

Python runs one thread at a time, so that all work in Python has one thread: more would take the interpreter from the event loop. Who waits
for a thread is divided by client address, and the addresses take turns: one that sends much waits for itself. What waits of one kind for
one address, or for one caller from whatever addresses, is limited; more is refused.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from typing import TypeVar
from weakref import WeakKeyDictionary

from kernel.errors import RateLimited, Unavailable
from kernel.scope import current_scope
from kernel.shares import BACKGROUND, shares_of

MAX_WAITING = 1_000
"""What waits for the same threads, of all callers."""

_T = TypeVar("_T")


class Threads:
    """Threads, and the callers that wait for them."""

    def __init__(self, name: str, count: int) -> None:
        self._count = count
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
        running = self._executor.submit(copy_context().run, work)

        def leave(_: object) -> None:
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(line.leave)

        running.add_done_callback(leave)
        return await asyncio.wrap_future(running)


PYTHON_WORK = Threads("python", 1)


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
        self._waiting: Counter[tuple[str, str]] = Counter()
        """By kind of work and share."""

    async def enter(self, name: str, most_waiting: int, shares: Sequence[str]) -> None:
        """Wait for a thread; `leave` must follow."""
        if self._free:
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
                self.leave()  # the turn came in the same round of the loop
            elif turn in turns:
                turns.remove(turn)
                if not turns:
                    del self._turns[address]
            raise

    def leave(self) -> None:
        """Pass the thread to the next address."""
        if not self._turns:
            self._free += 1
            return
        address, turns = next(iter(self._turns.items()))
        turn = turns.popleft()
        if turns:
            self._turns.move_to_end(address)
        else:
            del self._turns[address]
        if turn.cancelled():
            self.leave()
        else:
            turn.set_result(None)
