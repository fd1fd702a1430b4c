"""What the tests of the command line share: a program with an environment of its own."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# As in tests/auth: keys in the database of the tests are sealed with it.
SECRET = "the secret of the tests, 32 bytes"
PROGRAM = [sys.executable, "-m", "server.cli"]

# Commands that end by themselves are forked from a process that has imported everything: that saves most of their time.
_forked = multiprocessing.get_context("forkserver")
_forked.set_forkserver_preload(
    [
        "server.cli",
        "server.demo.making",
        "server.commands.findings",
        "server.worker",
        "uvloop",
        "logging.config",
    ]
)


def _command(arguments: list[str], environ: dict[str, str], out: str, err: str) -> None:
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(ROOT)
    for path, descriptor in ((os.devnull, 0), (out, 1), (err, 2)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), descriptor)
    from server import cli

    sys.exit(cli.main(arguments))


@dataclass(frozen=True)
class Answer:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)

    @property
    def refusal(self) -> str:
        """The one line on stderr of a refused command."""
        assert self.code == 1, self.out
        assert self.err.startswith("vitrine: ")
        assert self.err.count("\n") == 1, self.err
        return self.err.removeprefix("vitrine: ").rstrip("\n")


class Vitrine:
    """The command `vitrine` with settings."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.settings = {"VITRINE_DATA_DIR": str(folder / "data"), "VITRINE_SECRET_KEY": SECRET, **settings}

    def __call__(self, *arguments: str, **settings: str) -> Answer:
        with tempfile.TemporaryDirectory() as folder:
            out, err = Path(folder, "out"), Path(folder, "err")
            process = _forked.Process(
                target=_command, args=(list(arguments), self.environment(**settings), str(out), str(err))
            )
            process.start()
            process.join(120)
            if process.exitcode is None:
                process.kill()
            return Answer(
                process.exitcode if process.exitcode is not None else -1, out.read_text(), err.read_text()
            )

    def as_program(self, *arguments: str, **settings: str) -> Answer:
        """Run the command as a shell does, imports and all."""
        done = subprocess.run(
            [*PROGRAM, *arguments],
            cwd=ROOT,
            env=self.environment(**settings),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def environment(self, **settings: str) -> dict[str, str]:
        given = {**self.settings, **settings}
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            **{name: value for name, value in given.items() if value},
        }

    @asynccontextmanager
    async def running(self, command: str, **settings: str) -> AsyncIterator[Running]:
        """Run a command that goes on until it is told to stop, and stop it at the end."""
        process = await asyncio.create_subprocess_exec(
            *PROGRAM, command, cwd=ROOT, env=self.environment(**settings),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        try:
            yield Running(process)
        finally:
            if process.returncode is None:
                process.terminate()
                await asyncio.wait_for(process.communicate(), 60)


class Running:
    """A program that goes on."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said: list[str] = []

    async def until_it_says(self, words: str) -> str:
        """Wait for a line with the words and give it."""
        return await self._until(self.process.stdout, words)

    async def until_it_logs(self, words: str) -> str:
        return await self._until(self.process.stderr, words)

    async def _until(self, stream: asyncio.StreamReader | None, words: str) -> str:
        assert stream is not None
        async with asyncio.timeout(120):
            while line := (await stream.readline()).decode():
                self.said.append(line)
                if words in line:
                    return line
        _, errors = await self.process.communicate()
        raise AssertionError(f"it ended without saying {words!r}: {self.said} {errors.decode()}")

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send the signal and give the exit code."""
        self.process.send_signal(number)
        async with asyncio.timeout(60):
            await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode
