"""Start, kill and restart a PgBouncer in transaction mode in front of a local PostgreSQL."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Mapping
from configparser import ConfigParser
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

from bench.database import cpu_seconds
from bench.servers import ROOT, stable_port
from server.embedded_postgres.account import account_for

PROGRAM = os.environ.get("VITRINE_TEST_PGBOUNCER") or shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
CONFIGURATION = ROOT / "deploy" / "pgbouncer.ini"
ROLE = "pooled_login"
ROLE_STATEMENTS = (
    f"do $$ begin create role {ROLE} login noinherit; exception when duplicate_object or unique_violation then null; end $$",
    f"grant vitrine_app, vitrine_worker to {ROLE}",
)
_START_SECONDS = 20.0


def shipped_settings() -> dict[str, str]:
    """Return the settings of the file that deployments use."""
    parser = ConfigParser(interpolation=None, inline_comment_prefixes=None)
    parser.read(CONFIGURATION, encoding="utf-8")
    return dict(parser["pgbouncer"])


class PgBouncer:
    """A PgBouncer for the server whose socket is in a folder; its address stays the same across restarts."""

    def __init__(
        self,
        folder: Path,
        server: Path,
        server_port: int,
        *,
        options: Mapping[str, str | int] = MappingProxyType({}),
    ) -> None:
        self._folder = folder
        self._server = server
        self._process: subprocess.Popen[bytes] | None = None
        self.port = stable_port()
        users = folder / "users.txt"
        users.write_text("".join(f'"{name}" ""\n' for name in (ROLE, "vitrine_owner", "postgres")))
        settings: dict[str, str | int] = {
            **shipped_settings(),
            "listen_addr": "127.0.0.1",
            "listen_port": self.port,
            "unix_socket_dir": str(folder),  # for `restart`
            "auth_type": "trust",
            "auth_file": str(users),
            "log_connections": 0,
            "log_disconnections": 0,
            "log_stats": 0,
            "logfile": str(folder / "pgbouncer.log"),
            "pidfile": str(folder / "pgbouncer.pid"),
        }
        if self.version >= (1, 21):
            settings["max_prepared_statements"] = 500
        # As root it refuses to run; PostgreSQL's account can reach the socket.
        self._account = account_for(server, server)
        self._account.own_tree(folder)
        lines = [f"{name} = {value}" for name, value in {**settings, **options}.items()]
        self._configuration = folder / "pgbouncer.ini"
        self._configuration.write_text(
            f"[databases]\n* = host={server} port={server_port}\n[pgbouncer]\n" + "\n".join(lines) + "\n"
        )

    @property
    def version(self) -> tuple[int, int]:
        """The version of the program."""
        assert PROGRAM is not None
        output = subprocess.run([PROGRAM, "--version"], check=True, capture_output=True, text=True).stdout
        major, minor = output.split()[1].split(".")[:2]
        return int(major), int(minor)

    @property
    def cpu_seconds(self) -> float:
        """Return the user and system time of its process."""
        assert self._process is not None
        return cpu_seconds(self._process.pid)

    def url(self, database: str, role: str = ROLE) -> str:
        """Return the URL of a database through the pooler."""
        return f"postgresql://{role}@127.0.0.1:{self.port}/{quote(database)}?sslmode=disable"

    def start(self, *options: str) -> None:
        """Start it and wait until it accepts connections."""
        assert PROGRAM is not None
        command = [PROGRAM, "--quiet", *options, str(self._configuration)]
        self._process = subprocess.Popen(
            self._account.command(command, [self._folder, self._server]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + _START_SECONDS
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            if self._process.poll() is not None or time.monotonic() > deadline:
                log = self._folder / "pgbouncer.log"
                raise RuntimeError(f"pgbouncer did not start: {log.read_text() if log.exists() else ''}")
            time.sleep(0.02)

    def restart(self) -> None:
        """Let a new process take over the open connections (`pgbouncer --reboot`)."""
        old = self._process
        assert old is not None
        self.start("--reboot")
        old.wait(_START_SECONDS)

    def keep_running(self) -> None:
        """Start it again whenever it ends by itself, as a service manager does.

        Version 1.18 ends when a server connection is lost while its parameters are set ("bad client state: 0").
        """

        def start_again() -> None:
            while (process := self._process) is not None:
                process.wait()
                if self._process is process:
                    self.start()

        threading.Thread(target=start_again, daemon=True).start()

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End it, by default as a crash would."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(number)
            process.wait(20)
