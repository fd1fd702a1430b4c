"""A process with all imports and schemas, from which tests fork programs: a start of `vitrine` takes milliseconds instead of seconds.

The process runs `python -m tests.harness.fork_server LISTENER`, whose argument is the descriptor of a listening Unix socket. It ends with
the process of which its standard input is a descriptor, and removes the socket's folder. Clients are `tests.harness.programs` and, for
shells, `tests/harness/forked.py`.

    client → {"code", "arguments", "environment", "folder", "targets", "name"} and descriptors, one for each number in `targets`
    server → the program's process id, and when it has ended, its exit code (negative: the signal)

A program whose client closes the connection is killed.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import json
import os
import selectors
import shutil
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.harness import processes

MODULES = (
    "server.cli",
    "server.commands.apps",
    "server.commands.import_data",
    "server.commands.serve",
    "server.commands.tenants",
    "server.commands.users",
    "server.demo.setup",
    "server.operations.checks",
    "server.workers.bulk",
    "server.workers.jobs",
    "server.workers.media",
    "server.workers.webhooks",
    "resolvers.bulk_mutations",
    "resolvers.bulk_queries",
    "resolvers.webhook_queries",
    "server.main",
    "uvloop",
    "logging.config",
    "tests.harness.programs",
)
MAX_REQUEST = 1024 * 1024
MAX_DESCRIPTORS = 32


@dataclass
class _Program:
    """A running program and the connection of its client."""

    pid: int
    ended: int
    connection: socket.socket
    is_abandoned: bool = False


class ForkServer:
    """Fork a program for each connection."""

    def __init__(self, listener: socket.socket, lifeline: int) -> None:
        self._listener = listener
        self._lifeline = lifeline
        self._selector = selectors.DefaultSelector()
        self._programs: dict[int, _Program] = {}

    def run(self) -> None:
        """Serve until the lifeline ends, then kill what still runs."""
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._selector.register(self._lifeline, selectors.EVENT_READ, None)
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    for program in self._programs.values():
                        os.kill(program.pid, signal.SIGKILL)
                    return
                key.data()

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        data, descriptors, _, _ = socket.recv_fds(connection, MAX_REQUEST, MAX_DESCRIPTORS)
        while not data.endswith(b"\n"):
            data += connection.recv(MAX_REQUEST)
        pid = os.fork()
        if pid == 0:
            self._close_all(connection)
            _run(json.loads(data), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        connection.sendall(b"%d\n" % pid)
        program = self._programs[pid] = _Program(pid, os.pidfd_open(pid), connection)
        self._selector.register(program.ended, selectors.EVENT_READ, lambda: self._end(program))
        self._selector.register(connection, selectors.EVENT_READ, lambda: self._abandon(program))

    def _end(self, program: _Program) -> None:
        """Report the exit code."""
        _, status = os.waitpid(program.pid, 0)
        self._selector.unregister(program.ended)
        os.close(program.ended)
        del self._programs[program.pid]
        if not program.is_abandoned:
            self._selector.unregister(program.connection)
            program.connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
        program.connection.close()

    def _abandon(self, program: _Program) -> None:
        program.is_abandoned = True
        self._selector.unregister(program.connection)
        os.kill(program.pid, signal.SIGKILL)

    def _close_all(self, connection: socket.socket) -> None:
        """Close what a forked program doesn't need."""
        self._selector.close()
        connection.close()
        self._listener.close()
        os.close(self._lifeline)
        for program in self._programs.values():
            program.connection.close()
            os.close(program.ended)


def _run(request: dict[str, Any], descriptors: list[int]) -> None:
    """Run a program as `python -c` does, and exit."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Out of the way of the targets first.
    copies = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 1_000) for descriptor in descriptors]
    for descriptor in descriptors:
        os.close(descriptor)
    for copy, target in zip(copies, request["targets"], strict=True):
        os.dup2(copy, target)
        os.close(copy)
    # Those of the server remember whether its descriptors can seek, which `reconfigure` asks.
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
    if request["name"]:
        Path("/proc/self/comm").write_text(request["name"], encoding="ascii")
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["-c", *request["arguments"]]
    program = compile(request["code"], "<string>", "exec")
    code = _exit_code(lambda: exec(program, {"__name__": "__main__"}))  # noqa: S102  # a test's own program
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    if code == -signal.SIGINT:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(code)


def _exit_code(program: Callable[[], None]) -> int:
    try:
        program()
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        print(error.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        traceback.print_exc()
        return -signal.SIGINT
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _preload() -> None:
    """Import everything and build the application once: schemas, routes and compiled operations are then shared by all programs."""
    processes.keep_compiled_patterns()
    for name in MODULES:
        importlib.import_module(name)
    from auth.schemes import authenticate
    from auth.store_resolution import CachedStoreResolver
    from kernel.settings import Settings
    from server.app import create_app

    settings = Settings()
    create_app(settings, store_resolver=CachedStoreResolver(settings.shared_hosts), authenticate=authenticate)


def main(listener: int) -> None:
    gc.disable()
    _preload()
    gc.collect()
    gc.freeze()
    gc.enable()
    # Ctrl-C in a terminal reaches this process too; it ends with its client.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lifeline = os.dup(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    server = socket.socket(fileno=listener)
    ForkServer(server, lifeline).run()
    shutil.rmtree(Path(server.getsockname()).parent, ignore_errors=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
