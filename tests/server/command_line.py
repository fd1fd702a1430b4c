"""Helpers for command-line tests: run `vitrine` with its own environment."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.harness import programs
from tests.harness.processes import restore_sigint
from tests.harness.programs import ROOT, ForkedProcess

# As in tests/auth: keys in the test database are encrypted with it.
SECRET = "the secret of the tests, 32 bytes"
PROGRAM = [sys.executable, "-m", "server.cli"]


@dataclass(frozen=True)
class CommandResult:
    """The output and exit code of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)

    @property
    def error_line(self) -> str:
        """Return the one line on stderr of a failed command."""
        assert self.code == 1, self.out
        assert self.err.startswith("vitrine: ")
        assert self.err.count("\n") == 1, self.err
        return self.err.removeprefix("vitrine: ").rstrip("\n")


class Vitrine:
    """The command `vitrine` with settings."""

    def __init__(self, folder: Path, root: Path = ROOT, **settings: str) -> None:
        """Set the folder of the data, and that of the program, where it isn't this one: then only subprocesses run it."""
        self.folder = folder
        self.root = root
        defaults = {
            "VITRINE_DATA_DIR": str(folder / "data"),
            "VITRINE_SECRET_KEY": SECRET,
            "VITRINE_DRAIN_TIME": "0",
            "VITRINE_METRICS_PORT": "0",
        }
        self.settings = {**defaults, **settings}

    def __call__(self, *arguments: str, **settings: str) -> CommandResult:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            environment = self.environment(**settings)
            code = programs.run(programs.VITRINE, *arguments, environment=environment, out=out, err=err)
            out.seek(0)
            err.seek(0)
            return CommandResult(code, out.read().decode(), err.read().decode())

    def run_subprocess(self, *arguments: str, **settings: str) -> CommandResult:
        """Run the command as a shell does, including imports."""
        process = subprocess.run(
            [*PROGRAM, *arguments],
            cwd=self.root,
            env=self.environment(**settings),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        return CommandResult(process.returncode, process.stdout, process.stderr)

    def environment(self, **settings: str) -> dict[str, str]:
        values = {**self.settings, **settings}
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            **{name: value for name, value in values.items() if value},
        }

    async def start(
        self, command: str, *arguments: str, log: Path | None = None, stdin: int = subprocess.DEVNULL, **settings: str
    ) -> RunningCommand:
        """Start a long-running command, which the caller stops; one that logs a lot needs a file, since the pipe is not read."""
        with nullcontext(subprocess.PIPE) if log is None else log.open("ab") as errors:
            if self.root == ROOT:
                return RunningCommand(
                    await programs.start(
                        programs.VITRINE,
                        command,
                        *arguments,
                        environment=self.environment(**settings),
                        stdin=stdin,
                        stderr=errors,
                    )
                )
            return RunningCommand(
                await asyncio.create_subprocess_exec(
                    *PROGRAM, command, *arguments, cwd=self.root, env=self.environment(**settings),
                    stdin=stdin, stdout=subprocess.PIPE, stderr=errors, preexec_fn=restore_sigint,
                )
            )  # fmt: skip

    @asynccontextmanager
    async def running(self, command: str, log: Path | None = None, **settings: str) -> AsyncIterator[RunningCommand]:
        """Run a long-running command and stop it at the end; `log` as in `start`."""
        running = await self.start(command, log=log, stdin=subprocess.DEVNULL, **settings)
        process = running.process
        try:
            yield running
        finally:
            if process.returncode is None:
                process.terminate()
                await asyncio.wait_for(process.communicate(), 60)


class RunningCommand:
    """A long-running command."""

    def __init__(self, process: Process | ForkedProcess) -> None:
        self.process = process
        self.output: list[str] = []

    async def wait_for_output(self, text: str) -> str:
        """Wait for an output line containing the text and return it."""
        return await self._until(self.process.stdout, text)

    async def wait_for_log(self, text: str) -> str:
        return await self._until(self.process.stderr, text)

    async def _until(self, stream: asyncio.StreamReader | None, text: str) -> str:
        assert stream is not None
        async with asyncio.timeout(120):
            while line := (await stream.readline()).decode():
                self.output.append(line)
                if text in line:
                    return line
        _, errors = await self.process.communicate()
        raise AssertionError(f"it exited without printing {text!r}: {self.output} {errors.decode()}")

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send the signal and return the exit code."""
        self.process.send_signal(number)
        async with asyncio.timeout(60):
            await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode
