"""Start the contestants, each a program of its own on the servers' core, and stop them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.load import WrongAnswer, ask
from bench.machine import SERVER_CORE

ROOT = Path(__file__).resolve().parents[1]
# What servers write, the access log included, goes to files here.
LOGS = ROOT / ".vitrine" / "build" / "bench" / "logs"
_START_SECONDS = 60.0
_STOP_SECONDS = 25.0


class NotStarted(Exception):
    """Tell in one line why a contestant can't take part."""


@dataclass(frozen=True)
class Server:
    """A running contestant."""

    name: str
    address: tuple[str, int]
    process: subprocess.Popen[bytes]

    @property
    def cpu_seconds(self) -> float:
        """Give user and system time of the process so far, all its threads together (proc(5), /proc/pid/stat)."""
        text = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii")
        fields = text.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def memory_mb(self) -> float:
        """Give the resident memory of the process, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(kilobytes) / 1024


@contextmanager
def started(
    name: str,
    command: Sequence[str | Path],
    environment: Mapping[str, str],
    *,
    port: int,
    path: str = "/health/live",
    folder: Path = ROOT,
) -> Iterator[Server]:
    """Run a server until the block ends; it is ready when it answers at `path`."""
    LOGS.mkdir(parents=True, exist_ok=True)
    pinned = [sys.executable, "-m", "bench.pinned", str(SERVER_CORE), *map(str, command)]
    # Nothing of the caller's settings reaches a contestant.
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    with (LOGS / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            pinned,
            cwd=folder,
            env={**kept, "PYTHONPATH": str(ROOT), **environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    server = Server(name, ("127.0.0.1", port), process)
    try:
        _wait(server, path)
        yield server
    finally:
        _stop(process)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(server: Server, path: str) -> None:
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
    deadline = time.monotonic() + _START_SECONDS
    while server.process.poll() is None and time.monotonic() < deadline:
        try:
            ask(server.address, request)
        except (OSError, WrongAnswer):
            time.sleep(0.1)
        else:
            return
    said = (LOGS / f"{server.name}.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise NotStarted(f"{server.name} did not start: {said[-1] if said else 'it says nothing'}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
