"""A streaming replica of a local PostgreSQL: created with pg_basebackup, delayed, suspended, killed and restarted."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from pathlib import Path

import asyncpg

from server.embedded_postgres import layout
from server.embedded_postgres.account import account_for
from server.embedded_postgres.data_folder import OWNER, SUPERUSER

_START_SECONDS = 60.0
# As many connections as the primary at least.
_OPTIONS = {
    "listen_addresses": "",
    "hot_standby": "on",
    "fsync": "off",
    "shared_buffers": "32MB",
    "port": "5432",
    "max_connections": "300",
}


class Standby:
    """A standby in a folder, of the server whose socket is in another; its URL stays the same across restarts."""

    def __init__(self, folder: Path, primary: Path, primary_port: int) -> None:
        self._data = folder / "data"
        self.socket_dir = folder
        self._primary, self._primary_port = primary, primary_port
        self._account = account_for(primary, primary)
        self._account.own_tree(folder)
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, database: str, role: str = OWNER) -> str:
        """Return the URL of a database for a role."""
        return f"postgresql://{role}@/{database}?host={self.socket_dir}&port={_OPTIONS['port']}"

    def create(self) -> None:
        """Copy the primary."""
        programs = layout.wheel_programs()
        command = [str(programs / "pg_basebackup"), "-D", str(self._data), "-R", "-X", "stream", "-c", "fast", "-N"]
        command += ["-h", str(self._primary), "-p", str(self._primary_port), "-U", SUPERUSER]
        paths = [programs / "pg_basebackup", self._primary, self.socket_dir]
        subprocess.run(self._account.command(command, paths), check=True, capture_output=True, cwd="/")

    async def start(self, **settings: str) -> None:
        """Start it and wait until it answers queries."""
        programs = layout.wheel_programs()
        command = [str(programs / "postgres"), "-D", str(self._data)]
        for name, value in (_OPTIONS | {"unix_socket_directories": str(self.socket_dir)} | settings).items():
            command += ["-c", f"{name}={value}"]
        with (self.socket_dir / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._account.command(command, [programs / "postgres", self._data, self._primary]),
                stdout=log,
                stderr=log,
                cwd="/",
                start_new_session=True,
            )
        async with asyncio.timeout(_START_SECONDS):
            while True:
                with contextlib.suppress(OSError, asyncpg.PostgresError):
                    connection = await asyncpg.connect(self.url("postgres", SUPERUSER), timeout=5)
                    await connection.close()
                    return
                await asyncio.sleep(0.05)

    async def execute(self, statement: str) -> object:
        """Run a statement as the superuser, such as pg_wal_replay_pause(), and return its first value."""
        connection = await asyncpg.connect(self.url("postgres", SUPERUSER), timeout=5)
        try:
            return await connection.fetchval(statement)
        finally:
            await connection.close()

    def signal_all(self, number: signal.Signals) -> None:
        """Send a signal to all its processes: SIGSTOP makes it hang, SIGCONT goes on."""
        for pid in self._pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def shut_down(self) -> None:
        """End it with a fast shutdown."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(_START_SECONDS)
            self._process = None

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process is None:
            return
        pids = self._pids()
        self._process.kill()
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait(20)
        self._process = None
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def _pids(self) -> list[int]:
        """Return the postmaster and its children."""
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        with contextlib.suppress(OSError):
            return [self._process.pid, *map(int, children.read_text().split())]
        return [self._process.pid]
