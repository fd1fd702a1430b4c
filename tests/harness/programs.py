"""Start programs that are forked from a process with all imports (tests/harness/fork_server.py)."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import signal
import socket
import subprocess
import sys
import tempfile
from asyncio import StreamReader, StreamReaderProtocol, StreamWriter
from asyncio.subprocess import PIPE
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from server.embedded_postgres.locks import exclusive_lock
from tests.harness import forked

ROOT = Path(__file__).resolve().parents[2]
_LOCK_SECONDS = 60.0
_started: list[subprocess.Popen[bytes]] = []
VITRINE = "import sys; from server import cli; sys.exit(cli.main(sys.argv[1:]))"


@functools.cache
def fork_server() -> str:
    """Return the address of the test run's fork server, which the first process that needs it starts; it ends with the run."""
    run, process = os.environ.get("PYTEST_XDIST_TESTRUNUID"), os.getppid()
    if run is None:
        run, process = uuid4().hex, os.getpid()
    folder = Path(tempfile.gettempdir(), f"vt-fork-{run}")
    folder.mkdir(mode=0o700, exist_ok=True)
    address = folder / "socket"
    with exclusive_lock(folder / "lock", _LOCK_SECONDS):
        if not address.exists():
            _start_fork_server(address, process)
    return str(address)


def _start_fork_server(address: Path, process: int) -> None:
    """Start a fork server that ends with the process, and removes its folder."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(address))
        listener.listen()
        lifeline = os.pidfd_open(process)
        _started.append(
            subprocess.Popen(
                [sys.executable, "-m", "tests.harness.fork_server", str(listener.fileno())],
                cwd=ROOT,
                env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
                stdin=lifeline,
                pass_fds=[listener.fileno()],
            )
        )
        os.close(lifeline)


def shell_command(code: str = VITRINE) -> list[str]:
    """Return the command by which another process runs the program."""
    return [sys.executable, "-IS", forked.__file__, fork_server(), code]


def run(code: str, *arguments: str, environment: Mapping[str, str], out: IO[bytes], err: IO[bytes]) -> int:
    """Run a program without input and return its exit code."""
    with Path(os.devnull).open("rb") as null:
        descriptors = {0: null.fileno(), 1: out.fileno(), 2: err.fileno()}
        connection, _ = forked.request(fork_server(), code, arguments, environment, str(ROOT), descriptors)
    with connection:
        connection.settimeout(120)
        return int(forked.receive(connection))


class ForkedProcess:
    """A forked program, used like `asyncio.subprocess.Process`."""

    def __init__(self, connection: socket.socket, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdin: StreamWriter | None = None
        self.stdout: StreamReader | None = None
        self.stderr: StreamReader | None = None
        self._end = asyncio.create_task(self._wait(connection))

    async def _wait(self, connection: socket.socket) -> int:
        connection.setblocking(False)
        try:
            line = await asyncio.get_running_loop().sock_recv(connection, 16)
            self.returncode = int(line)
        finally:
            connection.close()
        return self.returncode

    async def wait(self) -> int:
        """Wait until it has ended and return the exit code."""
        return await asyncio.shield(self._end)

    async def communicate(self, data: bytes | None = None) -> tuple[bytes, bytes]:
        """Send the input and return all output, when it has ended."""
        if self.stdin is not None:
            with contextlib.suppress(ConnectionError):
                self.stdin.write(data or b"")
                await self.stdin.drain()
            self.stdin.close()
        out, err, _ = await asyncio.gather(_read(self.stdout), _read(self.stderr), self.wait())
        return out, err

    def send_signal(self, number: int) -> None:
        if self.returncode is not None:
            raise ProcessLookupError
        os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


async def start(
    code: str,
    *arguments: str,
    environment: Mapping[str, str],
    stdin: int = subprocess.DEVNULL,
    stdout: int | IO[bytes] = PIPE,
    stderr: int | IO[bytes] | None = PIPE,
    pass_fds: Sequence[int] = (),
    limit: int = 2**16,
    name: str = "",
    address: str = "",
) -> ForkedProcess:
    """Start `python -c code` in the folder of the program; other parameters as those of `asyncio.create_subprocess_exec`."""
    with contextlib.ExitStack() as parts:
        own_input: socket.socket | None = None
        input_: socket.socket | IO[bytes] = parts.enter_context(Path(os.devnull).open("rb"))
        if stdin == PIPE:
            own_input, input_ = socket.socketpair()
            parts.callback(input_.close)
        descriptors = {0: input_.fileno(), **{number: number for number in pass_fds}}
        readers: list[IO[bytes] | None] = []
        for number, stream in ((1, stdout), (2, stderr)):
            readers.append(None)
            if stream == PIPE:
                read, descriptors[number] = os.pipe()
                parts.callback(os.close, descriptors[number])
                readers[-1] = os.fdopen(read, "rb", buffering=0)
            else:
                assert not isinstance(stream, int)
                descriptors[number] = number if stream is None else stream.fileno()
        connection, pid = await asyncio.to_thread(
            forked.request, address or fork_server(), code, arguments, environment, str(ROOT), descriptors, name
        )
    process = ForkedProcess(connection, pid)
    process.stdout, process.stderr = [await _reader(pipe, limit) for pipe in readers]
    if own_input is not None:
        _, process.stdin = await asyncio.open_connection(sock=own_input)
    return process


async def _reader(pipe: IO[bytes] | None, limit: int) -> StreamReader | None:
    if pipe is None:
        return None
    reader = StreamReader(limit)
    await asyncio.get_running_loop().connect_read_pipe(lambda: StreamReaderProtocol(reader), pipe)
    return reader


async def _read(stream: StreamReader | None) -> bytes:
    return b"" if stream is None else await stream.read()


def fork_children(address: str) -> None:
    """Fork the children of `server.processes`, in a program that itself was forked; `children_of` finds them."""

    from server import processes

    async def create(program: str, *arguments: str, env: Mapping[str, str], **options: Any) -> ForkedProcess:
        assert (program, *arguments[:2]) == (sys.executable, "-P", "-c")
        name = _child_name(os.getpid())
        return await start(arguments[2], environment=env, stderr=None, name=name, address=address, **options)

    processes.asyncio.create_subprocess_exec = create  # type: ignore[attr-defined]


def _child_name(parent: int) -> str:
    return f"of-{parent}"


def children_of(parent: int) -> set[int]:
    """Return the child processes of a serving process."""
    children = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if folder.joinpath("comm").read_text().strip() == _child_name(parent):
                children.add(int(folder.name))
    for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        with contextlib.suppress(OSError):
            if b"run_child" in Path(f"/proc/{child}/cmdline").read_bytes():
                children.add(int(child))
    return children
