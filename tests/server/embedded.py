"""Helpers for tests of the embedded PostgreSQL: folders, other processes, queries."""

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import asyncpg

from server.embedded_postgres import EmbeddedPostgres, EmbeddedServer
from tests.harness.processes import restore_sigint

ROOT = os.geteuid() == 0
CHECKOUT = Path(__file__).parents[2]
FAST = {"fsync": "off", "shared_buffers": "16MB"}
PROGRAM = """
import sys
from pathlib import Path
from server.embedded_postgres import EmbeddedPostgres

postgres = EmbeddedPostgres(Path(sys.argv[1]), options={"fsync": "off", "shared_buffers": "16MB"})
try:
    print(postgres.start().superuser_url(), flush=True)
    sys.stdin.read()
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.stdin.read()
finally:
    postgres.stop()
"""


def postgres_processes(folder: Path) -> list[int]:
    """List the postmasters whose command line contains this folder's data."""
    parents = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"/postgres") and os.fsencode(folder / "data") in words:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
    # A child has its parent's command line until it sets its own title.
    return [pid for pid, parent in parents.items() if parent not in parents]


@contextlib.contextmanager
def fresh_folder() -> Iterator[Path]:
    """Yield a path for a server's folder below a private one; kill all processes in it afterwards."""
    home = Path(tempfile.mkdtemp(prefix="vt-"))
    try:
        yield home / "postgres"
    finally:
        while OtherProcess.started:
            OtherProcess.started.pop().kill()
        for path in [home / "postgres", *home.rglob("postgres")]:
            for pid in postgres_processes(path):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(home)


@functools.cache
def template() -> tempfile.TemporaryDirectory[str]:
    """Create, once per test process, the folder of a server that was started and stopped."""
    home = tempfile.TemporaryDirectory(prefix="vt-template-")
    with running_postgres(Path(home.name) / "postgres"):
        pass
    return home


def copy_used_folder(folder: Path) -> Path:
    """Copy the folder of a server that has run, which is faster than creating one."""
    subprocess.run(["cp", "-a", f"{template().name}/postgres", str(folder)], check=True)
    return folder


@contextlib.contextmanager
def running_postgres(folder: Path) -> Iterator[EmbeddedServer]:
    postgres = EmbeddedPostgres(folder, options=FAST)
    try:
        yield postgres.start()
    finally:
        postgres.stop()


class OtherProcess:
    """Run another process that uses the server until it is released; its first line is the superuser's URL."""

    started: ClassVar[list["OtherProcess"]] = []

    def __init__(
        self,
        folder: Path,
        *,
        program: str = PROGRAM,
        python: Sequence[str] = (sys.executable,),
        code: Path = CHECKOUT,
        **options,
    ) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [*python, "-c", program, str(folder)],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            text=True,
            cwd="/",
            env={**os.environ, "PYTHONPATH": str(code)},
            preexec_fn=restore_sigint,
            **options,
        )

        self.started.append(self)

    def line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        assert line, self.process.communicate()
        return line

    def release(self) -> None:
        _, errors = self.process.communicate(timeout=30)
        assert self.process.returncode == 0, errors

    def error_line(self) -> str:
        _, errors = self.process.communicate(timeout=30)
        last = errors.splitlines()[-1]
        assert "EmbeddedPostgresError" in last
        return last

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


async def query(url: str, *statements: str):
    connection = await asyncpg.connect(url)
    try:
        return [await connection.fetchval(statement) for statement in statements][-1]
    finally:
        await connection.close()


WRITE = ("CREATE TABLE kept (n int)", "INSERT INTO kept VALUES (7)")
READ = "SELECT n FROM kept"
