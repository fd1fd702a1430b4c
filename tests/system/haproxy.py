"""Start, reload and kill an HAProxy with a configuration of the documentation: deploy/haproxy.cfg, or deploy/cells/haproxy.cfg."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import os
import shutil
import signal
import subprocess
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic

from bench.servers import ROOT, stable_port

PROGRAM = shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
CONFIGURATION = ROOT / "deploy" / "haproxy.cfg"
CELLS = ROOT / "deploy" / "cells" / "haproxy.cfg"
_MAP = "/var/lib/vitrine-cells/cells.map"
_START_SECONDS = 20.0
_RELOAD_SECONDS = 1.0


def configuration(port: int, backends: Mapping[str, Sequence[int]], folder: Path) -> str:
    """Return the configuration of the documentation with the addresses of the backends; that of cells unless there is one, `web`."""
    lines: list[str] = []
    servers: Sequence[int] = ()
    file = CONFIGURATION if [*backends] == ["web"] else CELLS
    for line in file.read_text(encoding="utf-8").splitlines():
        words = line.split()
        if words[:1] == ["backend"]:
            servers = backends.get(words[1], ())
            lines.append(line)
        elif words[:1] == ["bind"]:
            lines.append(f"    bind 127.0.0.1:{port}")
        elif words[:2] == ["stats", "socket"]:
            lines.append(line.replace(words[2], str(folder / "haproxy.sock")).replace("mode 660 ", ""))
        elif words[:1] == ["server"]:
            lines += [f"    server web{number} 127.0.0.1:{each}" for number, each in enumerate(servers, 1)]
            servers = ()
        elif words[:2] == ["log", "/dev/log"]:
            lines.append("    log stdout format raw local0")
        elif words[:1] not in (["user"], ["group"], ["maxconn"]):  # what needs root
            lines.append(line.replace(_MAP, str(folder / "cells.map")))
    return "\n".join(lines) + "\n"


class HAProxy:
    """An HAProxy that distributes requests among the ports, of one deployment or several cells; its address stays across restarts."""

    def __init__(
        self, folder: Path, servers: Sequence[int] | Mapping[str, Sequence[int]], port: int | None = None
    ) -> None:
        port = port or stable_port()
        self.address = f"http://127.0.0.1:{port}"
        self.port = port
        backends = servers if isinstance(servers, Mapping) else {"web": servers}
        self._count = sum(len(ports) for ports in backends.values())
        self.socket = folder / "haproxy.sock"
        self._file = folder / "haproxy.cfg"
        self._file.write_text(configuration(port, backends, folder), encoding="utf-8")
        self._process: Process | None = None
        self.log = folder / "haproxy.log"

    async def start(self) -> None:
        """Start it and wait until it listens."""
        assert PROGRAM is not None
        with self.log.open("ab") as log:
            # As Debian's unit does: a master, which a reload lets start another worker.
            self._process = await asyncio.create_subprocess_exec(
                PROGRAM, "-W", "-db", "-f", str(self._file), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        async with asyncio.timeout(_START_SECONDS):
            while not await self._is_listening():
                if self._process.returncode is not None:
                    raise RuntimeError(f"haproxy did not start: {self.log.read_text(errors='replace')}")
                await asyncio.sleep(0.02)

    async def reload(self) -> None:
        """Read the configuration again, as `systemctl reload haproxy` does: a new worker takes over the sockets."""
        assert self._process is not None
        old, asked_at = set(self._workers()), -_RELOAD_SECONDS
        async with asyncio.timeout(_START_SECONDS):
            while not set(self._workers()) - old:
                if (
                    monotonic() - asked_at > _RELOAD_SECONDS
                ):  # a master that has just started may not notice the first signal
                    self._process.send_signal(signal.SIGUSR2)
                    asked_at = monotonic()
                await asyncio.sleep(0.02)

    async def kill(self) -> None:
        """End it as a crash would."""
        if self._process is not None:
            workers = self._workers()
            self._process.kill()
            for pid in workers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            await self._process.wait()
            self._process = None

    async def wait_until_up(self, count: int | None = None, seconds: float = 60.0) -> None:
        """Wait until this many servers (by default all) get requests; raise TimeoutError after `seconds`."""
        async with asyncio.timeout(seconds):
            while await self.count_up() != (self._count if count is None else count):
                await asyncio.sleep(0.05)

    async def count_up(self) -> int:
        """Return how many servers get requests."""
        try:
            reader, writer = await asyncio.open_unix_connection(str(self.socket))
            writer.write(b"show stat\n")
            lines = (await reader.read()).decode().removeprefix("# ").splitlines()
            writer.close()
        except OSError:
            return 0
        rows = csv.DictReader(lines)
        # "UP 1/2": a check has failed, but not often enough.
        return sum(row["svname"].startswith("web") and row["status"].startswith("UP") for row in rows)

    def _workers(self) -> list[int]:
        assert self._process is not None
        try:
            children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
            return [int(pid) for pid in children.read_text(encoding="ascii").split()]
        except OSError:
            return []

    async def _is_listening(self) -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        writer.close()
        return True
