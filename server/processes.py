"""Serve in several processes (`WEB_CONCURRENCY`): start child processes, restart those that exit, stop them all.

    parent    sockets → secret → database (embedded: started, migrated) → background work → children → ready
    child     its own pools → application → the parent's sockets

All accept connections from the same sockets, so a crash loses only the requests of one child. A child is a new program, not a fork:
event loops, threads and pools don't survive one. It reads its configuration from standard input, which stays open for the parent's
lifetime: end of file means the parent is gone, and the child stops. SIGTERM stops it after the drain time, a line there at once. Another
line asks for the values of its metrics, which it writes to its standard output.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import socket
import struct
import sys
import threading
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic

import uvloop

from kernel import logging, metrics
from kernel.event_loop import wait_at_most
from kernel.settings import Settings
from server.address_file import StartupError
from server.database import DatabaseLocation
from server.process import (
    FINISH_SECONDS,
    Stop,
    build_application,
    process_resources,
    serve_application,
    stop_on_signals,
)
from server.process_metrics import ProcessMetrics
from server.tracing import tracing_to_collector

# A child that exits sooner than this is restarted with exponential backoff.
STEADY_SECONDS = 10.0
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
# How long the parent waits for its children beyond their own shutdown timeout.
_EXTRA_STOP_SECONDS = 5.0
_READY = b"ready\n"
_AT_ONCE = b"stop at once\n"
_METRICS = b"metrics\n"
_METRICS_SECONDS = 2.0
# The longest line with the values of a process.
_LINE_BYTES = 16 * 1024 * 1024
# Ctrl-C reaches every process of a terminal; one during import must exit without a traceback.
_PROGRAM = """
import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)
from kernel.garbage_collection import collect_rarely_at_start; collect_rarely_at_start()
from server.processes import run_child; run_child()
"""
_LENGTH = struct.Struct("!I")


@dataclass(frozen=True, slots=True)
class _ChildConfig:
    """The configuration of a child. Pickled, because both ends are the same program."""

    settings: Settings
    location: DatabaseLocation
    sockets: tuple[int, ...]
    number: int
    development: bool
    human: bool


class ProcessPool:
    """Run the configured number of child processes on the sockets."""

    def __init__(self, settings: Settings, location: DatabaseLocation, sockets: list[socket.socket]) -> None:
        self._settings = settings
        self._location = location
        self._count = settings.processes
        self._sockets = tuple(listener.fileno() for listener in sockets)
        self._running: dict[int, Process] = {}
        # By number: those that serve, and how many answers they owe.
        self._serving: dict[int, Process] = {}
        self._owed: dict[int, int] = {}
        self._totals = metrics.Totals()
        self._totals_lock = asyncio.Lock()
        self._ready: set[int] = set()
        self._first_ready = asyncio.Event()
        self._stopping = asyncio.Event()

    async def run(self, stop: Stop, on_ready: Callable[[], None]) -> None:
        """Serve until `stop`; `on_ready` is called once, when all children accept requests.

        Raises StartupError when no child can start.
        """
        supervisors = [asyncio.create_task(self._supervise(number)) for number in range(1, self._count + 1)]
        waiting = asyncio.create_task(stop.wait())
        ready = asyncio.create_task(self._first_ready.wait())
        try:
            await asyncio.wait({*supervisors, waiting, ready}, return_when=asyncio.FIRST_COMPLETED)
            if self._first_ready.is_set() and not stop.is_set():
                on_ready()
                await asyncio.wait({*supervisors, waiting}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
            waiting.cancel()
            logging.event("stopping")
            await asyncio.shield(self._stop(supervisors, drains=stop.drains))
        for supervisor in supervisors:
            supervisor.result()

    async def _supervise(self, number: int) -> None:
        """Keep one child running; where the machine has no process or memory left for it, there may be some later."""
        pause = 0.0
        while not self._stopping.is_set():
            began = monotonic()
            ended: dict[str, object]
            try:
                ended = {"code": await self._run_child(number)}
            except OSError as error:
                ended = {"error": str(error)}
            if self._stopping.is_set():
                return
            if not self._ready:
                raise StartupError(f"no process could start: {ended.get('error', 'see the log lines above')}")
            pause = 0.0 if monotonic() - began >= STEADY_SECONDS else min(LONGEST_PAUSE, pause * 2 or FIRST_PAUSE)
            event = "a process exited and is restarted" if "code" in ended else "a process could not be started"
            logging.event(event, level="error", process=number, pause=pause, **ended)
            await wait_at_most(self._stopping, pause)

    async def _run_child(self, number: int) -> int:
        """Run one child until it ends, and return its exit code; raises OSError when it can't be started."""
        process = await self._start(number)
        self._running[number] = process
        if self._stopping.is_set():  # while it was being started
            process.terminate()
        assert process.stdout is not None
        if await process.stdout.readline() == _READY:
            self._ready.add(number)
            self._serving[number], self._owed[number] = process, 0
            if len(self._ready) == self._count:
                self._first_ready.set()
        code = await process.wait()
        del self._running[number]
        self._serving.pop(number, None)
        self._totals.end(str(number))
        return code

    async def values(self, own: metrics.Snapshot) -> metrics.Snapshot:
        """Return the metrics of all processes, with those of this one; a child that doesn't answer in time counts as when it last did."""
        async with self._totals_lock:
            await asyncio.gather(*(self._ask(number, process) for number, process in self._serving.items()))
            self._totals.update("parent", own)
            return self._totals.sum()

    async def _ask(self, number: int, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(_METRICS)
        self._owed[number] += 1
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_METRICS_SECONDS):
                while self._serving.get(number) is process and self._owed[number]:  # a late answer comes first
                    line = await process.stdout.readline()
                    if self._serving.get(number) is not process:
                        return
                    self._owed[number] -= 1
                    if line.endswith(b"\n"):  # not the last words of a killed process
                        self._totals.update(str(number), metrics.from_json(line))

    async def _start(self, number: int) -> Process:
        config = pickle.dumps(
            _ChildConfig(self._settings, self._location, self._sockets, number, *logging.line_format())
        )
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        process = await asyncio.create_subprocess_exec(
            # -P: don't search the current directory for modules.
            sys.executable, "-P", "-c", _PROGRAM,
            stdin=PIPE, stdout=PIPE, pass_fds=self._sockets, env=environment, limit=_LINE_BYTES,
        )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(_LENGTH.pack(len(config)) + config)
        return process

    async def _stop(self, supervisors: list[asyncio.Task[None]], *, drains: bool) -> None:
        """Let the children finish their requests, and kill those that don't in time."""
        self._stopping.set()
        for process in list(self._running.values()):
            with contextlib.suppress(ProcessLookupError):
                if drains:
                    process.terminate()
                elif process.stdin is not None:
                    process.stdin.write(_AT_ONCE)
        drain_seconds = self._settings.drain_time if drains else 0.0
        _, late = await asyncio.wait(supervisors, timeout=drain_seconds + FINISH_SECONDS + _EXTRA_STOP_SECONDS)
        if late:
            logging.event("processes did not stop in time and are killed", level="warning", processes=len(late))
            for process in list(self._running.values()):
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
            await asyncio.wait(supervisors)


# --- Child process ---------------------------------------------------------------------------------------------------------


def run_child() -> None:
    """Run a child process: read the configuration, serve, stop with the parent."""
    (length,) = _LENGTH.unpack(_read(_LENGTH.size))
    config: _ChildConfig = pickle.loads(_read(length))
    logging.configure(development=config.development, human=config.human)
    try:
        uvloop.run(_serve(config))
    except KeyboardInterrupt:
        pass  # a second Ctrl-C
    except Exception as error:
        logging.failure("a process could not serve", error)
        sys.exit(1)


def _read(length: int) -> bytes:
    data = b""
    while len(data) < length:
        part = os.read(0, length - len(data))
        if not part:
            sys.exit(0)  # the parent is gone
        data += part
    return data


async def _serve(config: _ChildConfig) -> None:
    stop = Stop()
    ProcessMetrics.number = str(config.number)
    sockets = [socket.socket(fileno=number) for number in config.sockets]
    with stop_on_signals(stop, is_child=True), _obey_parent(stop):
        async with tracing_to_collector(config.settings, "web"), process_resources(config.settings, config.location):
            await serve_application(
                await build_application(config.settings, config.location), sockets, stop, _report_ready
            )


@asynccontextmanager
async def _report_ready() -> AsyncIterator[None]:
    os.write(1, _READY)
    # Stray output must not be read as values of metrics.
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
    yield


class _obey_parent:  # noqa: N801  # used like a function
    """Stop when the parent is gone, which closes the pipe, or asks for it there; write the values of metrics when it asks for them."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        self._output = os.dup(1)
        self._output_lock = threading.Lock()
        self._writing: asyncio.Future[None] | None = None
        self._received = b""

    def __enter__(self) -> None:
        asyncio.get_running_loop().add_reader(0, self._on_readable)

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(0)

    def _on_readable(self) -> None:
        data = os.read(0, 4_096)
        if not data:
            asyncio.get_running_loop().remove_reader(0)
            self._stop.request(drains=True)
        *lines, self._received = (self._received + data).splitlines(keepends=True) or [b""]
        if self._received.endswith(b"\n"):
            lines, self._received = [*lines, self._received], b""
        for line in lines:
            if line == _AT_ONCE:
                self._stop.request(drains=False)
            elif line == _METRICS:
                # In a thread: the pipe takes 64 KB before the parent has to read.
                self._writing = asyncio.get_running_loop().run_in_executor(
                    None, self._write, metrics.to_json(metrics.snapshot())
                )

    def _write(self, line: bytes) -> None:
        with contextlib.suppress(OSError), self._output_lock:
            while line:
                line = line[os.write(self._output, line) :]
