"""HAProxy in front of several servers, as docs/deploy.md configures it."""

from __future__ import annotations

import asyncio
import csv
import shutil
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.servers import free_port

PROGRAM = shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
CONFIGURATION = Path(__file__).resolve().parents[2] / "deploy" / "haproxy.cfg"

needs_haproxy = pytest.mark.skipif(PROGRAM is None, reason="haproxy is not installed: apt-get install haproxy")


def configuration(port: int, servers: Sequence[int], socket: Path) -> str:
    """Return the configuration of the documentation with these addresses."""
    lines = []
    for line in CONFIGURATION.read_text(encoding="utf-8").splitlines():
        words = line.split()
        if words[:1] == ["bind"]:
            lines.append(f"    bind 127.0.0.1:{port}")
        elif words[:2] == ["stats", "socket"]:
            lines.append(f"    stats socket {socket} level admin")
        elif words[:1] == ["server"]:
            lines += [f"    server web{number} 127.0.0.1:{each}" for number, each in enumerate(servers, 1)]
            servers = ()
        elif words[:1] not in (["user"], ["group"], ["log"], ["maxconn"]):  # what needs root
            lines.append(line)
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class HAProxy:
    """A running HAProxy."""

    address: str
    socket: Path

    async def wait_until_up(self, count: int) -> None:
        """Wait until this many servers get requests."""
        async with asyncio.timeout(60):
            while sum(row["status"] == "UP" for row in await self._servers()) != count:
                await asyncio.sleep(0.05)

    async def _servers(self) -> list[dict[str, str]]:
        reader, writer = await asyncio.open_unix_connection(str(self.socket))
        writer.write(b"show stat\n")
        lines = (await reader.read()).decode().removeprefix("# ").splitlines()
        writer.close()
        return [row for row in csv.DictReader(lines) if row["svname"].startswith("web")]


@asynccontextmanager
async def running_haproxy(folder: Path, servers: Sequence[int]) -> AsyncIterator[HAProxy]:
    """Yield an HAProxy that distributes requests among the ports."""
    assert PROGRAM is not None
    port, file = free_port(), folder / "haproxy.cfg"
    file.write_text(configuration(port, servers, folder / "haproxy.sock"), encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        PROGRAM, "-db", "-f", str(file), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        async with asyncio.timeout(20):
            while not await _is_listening(port):
                assert process.returncode is None, await process.communicate()
        yield HAProxy(f"http://127.0.0.1:{port}", folder / "haproxy.sock")
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


async def _is_listening(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionRefusedError:
        await asyncio.sleep(0.05)
        return False
    writer.close()
    return True
