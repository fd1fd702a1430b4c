"""Run the processes of a deployment as a service manager does: restart those that end, keep their output."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic

import orjson

from bench.servers import ROOT

_RESTART_PAUSE = 0.5
_STOP_SECONDS = 40.0
# After it was killed, a web master may find its port taken until its orphans have finished (docs/deploy.md#processes).
_ORPHAN_SECONDS = 60.0


class Service:
    """A command that is started again whenever it ends; `unplanned_ends` counts the times it had not been killed lately."""

    def __init__(self, name: str, arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self.name = name
        self._command = [sys.executable, "-m", "server.cli", *arguments]
        self._environment = environment
        self.log = log
        self.unplanned_ends = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._killed_at = -_ORPHAN_SECONDS
        self._keeper: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the command and keep it running."""
        self._keeper = asyncio.create_task(self._keep())

    @property
    def pid(self) -> int | None:
        """Return the process id, None between two starts."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def children(self) -> list[int]:
        """Return the serving child processes (`WEB_CONCURRENCY`), oldest first."""
        try:
            pids = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text(encoding="ascii").split()
            serving = [int(pid) for pid in pids if b"run_child" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        except OSError:
            return []
        return sorted(serving, key=_start_time)

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        self._signal(signal.SIGKILL)

    def kill_all(self) -> None:
        """Kill the process and its children with SIGKILL, as the loss of a machine does."""
        children = self.children()
        self.kill()
        for pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    async def restart(self) -> None:
        """End the process with SIGTERM, and wait until it is started again."""
        old = self._process
        self._signal(signal.SIGTERM)
        async with asyncio.timeout(_STOP_SECONDS):
            while self._process is old:
                await asyncio.sleep(0.05)

    def _signal(self, number: signal.Signals) -> None:
        if (pid := self.pid) is not None:
            self._killed_at = monotonic()
            os.kill(pid, number)

    async def stop(self) -> int | None:
        """End the process with SIGTERM; return its exit code, None when it had to be killed."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait([self._keeper])
        process = self._process
        if process is None:
            return 0
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            return await asyncio.to_thread(process.wait, _STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            await asyncio.to_thread(process.wait)
            return None

    def logged_errors(self) -> Counter[str]:
        """Count the log lines of the level `error` by event."""
        counts: Counter[str] = Counter()
        for line in self.log.read_bytes().splitlines() if self.log.exists() else ():
            if b'"error"' in line:
                with contextlib.suppress(orjson.JSONDecodeError):
                    record = orjson.loads(line)
                    if isinstance(record, dict) and record.get("level") == "error":
                        counts[str(record.get("event"))] += 1
        return counts

    async def _keep(self) -> None:
        while True:
            with self.log.open("ab") as output:
                self._process = subprocess.Popen(
                    self._command, cwd=ROOT, env=dict(self._environment), stdin=subprocess.DEVNULL,
                    stdout=output, stderr=output,
                )  # fmt: skip
            process = self._process
            # Polled, not waited for in a thread: many faults kill it.
            while process.poll() is None:
                await asyncio.sleep(0.1)
            if monotonic() - self._killed_at > _ORPHAN_SECONDS:
                self.unplanned_ends += 1
            await asyncio.sleep(_RESTART_PAUSE)


def run_command(*arguments: str, environment: Mapping[str, str]) -> str:
    """Run a `vitrine` command to its end and return its output; raise SystemExit with its last line when it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "server.cli", *arguments], cwd=ROOT, env=dict(environment), capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise SystemExit(f"soak: vitrine {' '.join(arguments)} failed: {lines[-1] if lines else 'without output'}")
    return done.stdout


def resident_mb(pid: int) -> float | None:
    """Return the resident memory of a process in MB (proc(5), VmRSS); None when it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS:")), None)


def _start_time(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19])
