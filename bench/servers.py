"""Start and stop the contestants' processes on the servers' core."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.database import cpu_seconds
from bench.load import UnexpectedResponse, send_request
from bench.machine import SERVER_CORE

ROOT = Path(__file__).resolve().parents[1]
# Output of the servers, including access logs.
LOGS = ROOT / ".vitrine" / "build" / "bench" / "logs"
_START_SECONDS = 180.0
_STOP_SECONDS = 25.0


class NotStarted(Exception):
    """A contestant could not be started; the message is one line."""


@dataclass(frozen=True)
class Server:
    """A running contestant."""

    name: str
    address: tuple[str, int]
    process: subprocess.Popen[bytes]

    @property
    def cpu_seconds(self) -> float:
        """Return the user and system time of the process with all threads."""
        return cpu_seconds(self.process.pid)

    @property
    def memory_mb(self) -> float:
        """Return the resident memory of the process, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(kilobytes) / 1024


@contextmanager
def run_server(
    name: str,
    command: Sequence[str | Path],
    environment: Mapping[str, str],
    *,
    port: int,
    path: str = "/health/live",
    folder: Path = ROOT,
) -> Iterator[Server]:
    """Run a server until the block ends; it is ready when it responds at `path`."""
    LOGS.mkdir(parents=True, exist_ok=True)
    pinned = [sys.executable, "-m", "bench.pin_core", str(SERVER_CORE), *map(str, command)]
    # Contestants don't inherit other settings.
    inherited = {variable: os.environ[variable] for variable in ("PATH", "HOME", "LANG") if variable in os.environ}
    with (LOGS / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            pinned,
            cwd=folder,
            env={**inherited, "PYTHONPATH": str(ROOT), **environment},
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


def stable_port() -> int:
    """Return a free port that no outgoing connection takes while its server is restarted."""
    ephemeral = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    while True:
        port = random.SystemRandom().randrange(10_000, ephemeral)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _wait(server: Server, path: str) -> None:
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
    deadline = time.monotonic() + _START_SECONDS
    while server.process.poll() is None and time.monotonic() < deadline:
        try:
            send_request(server.address, request)
        except (OSError, UnexpectedResponse):
            time.sleep(0.01)
        else:
            return
    lines = (LOGS / f"{server.name}.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise NotStarted(f"{server.name} did not start: {lines[-1] if lines else 'without output'}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
