"""Serve in several processes (`WEB_CONCURRENCY`): start them, start again those that end, stop them all.

    master    sockets → secret → database (embedded: started, migrated) → what runs once → processes → ready
    process   its own pools → application → the master's sockets

All take connections from the same sockets, so one that ends loses the requests it was answering and no others. A process is a program of
its own, not a fork: event loops, threads and pools don't survive one. It gets what it needs through its standard input, which stays open
for as long as the master lives: when the master is gone, however it ended, the processes see the end of it and stop.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import socket
import struct
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic

import uvloop

from kernel import logging
from kernel.settings import Settings
from server.database import DatabaseLocation
from server.process import FINISH_SECONDS, application, joined, serve_on, signals
from server.running import NotStarted

# A process that ends sooner than this is at fault itself: it is started again after a pause that doubles.
STEADY_SECONDS = 10.0
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
# How long the master waits for its processes beyond what they give their requests.
_PATIENCE_SECONDS = 5.0
_READY = b"ready\n"
# A Ctrl-C reaches every process of a terminal; one that comes while the program is still loading ends it without a word.
_PROGRAM = "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL); from server.processes import be_one; be_one()"
_LENGTH = struct.Struct("!I")


@dataclass(frozen=True, slots=True)
class _Orders:
    """What a process is told. Pickled, because both ends are this program."""

    settings: Settings
    place: DatabaseLocation
    sockets: tuple[int, ...]
    development: bool
    human: bool


class Processes:
    """Keep so many processes serving on the sockets."""

    def __init__(self, settings: Settings, place: DatabaseLocation, sockets: list[socket.socket]) -> None:
        self._count = settings.processes
        self._sockets = tuple(each.fileno() for each in sockets)
        development, human = logging.form()
        orders = pickle.dumps(_Orders(settings, place, self._sockets, development, human))
        self._orders = _LENGTH.pack(len(orders)) + orders
        self._running: dict[int, Process] = {}
        self._ready: set[int] = set()
        self._first_ready = asyncio.Event()
        self._stopping = asyncio.Event()

    async def run(self, stop: asyncio.Event, on_ready: Callable[[], None]) -> None:
        """Serve until told to stop; `on_ready` is called when all processes take requests for the first time.

        Raises NotStarted when the first of them can't.
        """
        keepers = [asyncio.create_task(self._keep(number)) for number in range(1, self._count + 1)]
        waiting = asyncio.create_task(stop.wait())
        ready = asyncio.create_task(self._first_ready.wait())
        try:
            await asyncio.wait({*keepers, waiting, ready}, return_when=asyncio.FIRST_COMPLETED)
            if self._first_ready.is_set() and not stop.is_set():
                on_ready()
                await asyncio.wait({*keepers, waiting}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
            waiting.cancel()
            logging.event("stopping")
            await asyncio.shield(self._stop(keepers))
        for keeper in keepers:
            keeper.result()

    async def _keep(self, number: int) -> None:
        """Keep one process running."""
        pause = 0.0
        while not self._stopping.is_set():
            began = monotonic()
            process = await self._start()
            self._running[number] = process
            assert process.stdout is not None
            if await process.stdout.readline() == _READY:
                self._ready.add(number)
                if len(self._ready) == self._count:
                    self._first_ready.set()
            code = await process.wait()
            del self._running[number]
            if self._stopping.is_set():
                return
            if not self._ready:
                raise NotStarted("no process could start; the lines above say why")
            pause = (
                0.0 if monotonic() - began >= STEADY_SECONDS else min(LONGEST_PAUSE, pause * 2 or FIRST_PAUSE)
            )
            logging.event(
                "a process ended and is started again", level="error", process=number, code=code, pause=pause
            )
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._stopping.wait()

    async def _start(self) -> Process:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        process = await asyncio.create_subprocess_exec(
            # -P: no folder that somebody happens to stand in is searched for modules.
            sys.executable, "-P", "-c", _PROGRAM,
            stdin=PIPE, stdout=PIPE, pass_fds=self._sockets, env=environment,
        )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(self._orders)
        return process

    async def _stop(self, keepers: list[asyncio.Task[None]]) -> None:
        """Let all finish what they are answering, and end those that don't."""
        self._stopping.set()
        for process in list(self._running.values()):
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
        _, late = await asyncio.wait(keepers, timeout=FINISH_SECONDS + _PATIENCE_SECONDS)
        if late:
            logging.event("processes don't stop and are ended", level="warning", processes=len(late))
            for process in list(self._running.values()):
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
            await asyncio.wait(keepers)


# --- One of them -----------------------------------------------------------------------------------------------------------


def be_one() -> None:
    """Be one of the processes: read the orders, serve, stop with the master."""
    (length,) = _LENGTH.unpack(_read(_LENGTH.size))
    orders: _Orders = pickle.loads(_read(length))
    logging.configure(development=orders.development, human=orders.human)
    try:
        uvloop.run(_serve(orders))
    except KeyboardInterrupt:
        pass  # a second Ctrl-C
    except Exception as error:
        logging.failure("a process could not serve", error)
        sys.exit(1)


def _read(length: int) -> bytes:
    read = b""
    while len(read) < length:
        part = os.read(0, length - len(read))
        if not part:
            sys.exit(0)  # the master is gone already
        read += part
    return read


async def _serve(orders: _Orders) -> None:
    stop = asyncio.Event()
    sockets = [socket.socket(fileno=number) for number in orders.sockets]
    with signals(stop), _master(stop):
        async with joined(orders.settings, orders.place):
            await serve_on(await application(orders.settings, orders.place), sockets, stop, _told)


@asynccontextmanager
async def _told() -> AsyncIterator[None]:
    os.write(1, _READY)
    # What is printed by accident must not fill a pipe that nobody reads.
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
    yield


class _master:  # noqa: N801  # it reads as the function it is used as
    """Stop when the master is gone: then the pipe it holds ends."""

    def __init__(self, stop: asyncio.Event) -> None:
        self._stop = stop

    def __enter__(self) -> None:
        asyncio.get_running_loop().add_reader(0, self._look)

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(0)

    def _look(self) -> None:
        if not os.read(0, 1):
            asyncio.get_running_loop().remove_reader(0)
            self._stop.set()
