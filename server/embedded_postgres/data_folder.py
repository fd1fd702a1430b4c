"""The data folder: recognised as ours and whole, or made in one step."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from server.embedded_postgres.account import ServiceAccount
from server.embedded_postgres.errors import EmbeddedPostgresError
from server.embedded_postgres.layout import MAJOR, Layout, described

OWNER = "vitrine_owner"
DATABASE = "vitrine"
SUPERUSER = "postgres"
MARK = "made_by_vitrine"
WAY_OUT = "restore a backup, or move the folder away to begin with an empty one, or set DATABASE_URL"

INITDB = (
    f"--username={SUPERUSER}",
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--locale=C",  # what is left to the C library (messages, money) must not depend on LANG
    "--auth-local=trust",  # only the account itself and root can reach the socket
    "--auth-host=reject",
    "--no-instructions",
)
# Single-user mode takes one statement a line.
FIRST_STATEMENTS = (
    f"CREATE ROLE {OWNER} LOGIN NOSUPERUSER NOCREATEDB CREATEROLE NOBYPASSRLS\n"
    f"CREATE DATABASE {DATABASE} OWNER {OWNER}\n"
)


def ensure(layout: Layout, account: ServiceAccount, *, sync: bool) -> None:
    """Make the data folder when there is none; raise EmbeddedPostgresError when it is not ours or not whole."""
    data = layout.data
    for unfinished in layout.folder.glob(
        "new-*"
    ):  # of a start that was killed; its initdb may still be writing there
        shutil.rmtree(unfinished, ignore_errors=True)
    if not data.exists() or (data.is_dir() and not is_foreign(data) and not any(data.iterdir())):
        create(layout, account, sync=sync)
        return
    check(data)
    if os.geteuid() == 0 and data.stat().st_uid == 0:  # copied by root
        account.own_tree(data)
    if data.stat().st_mode & 0o027:
        data.chmod(0o700)  # copied under a loose umask; PostgreSQL refuses it so


def is_foreign(data: Path) -> bool:
    """Tell whether the data belongs to another user, which only root can work with."""
    return os.geteuid() not in (0, data.stat().st_uid)


def check(data: Path) -> None:
    """Refuse, in one line, a folder that PostgreSQL would refuse in many, or that we did not make."""
    if not data.is_dir():
        raise EmbeddedPostgresError(f"{data} is a file, not a PostgreSQL data folder; move it away")
    if is_foreign(data):
        owner, me = described(data.stat().st_uid), described(os.geteuid())
        raise EmbeddedPostgresError(
            f"{data} belongs to {owner}, and this is {me}; run as its owner, move it away, or set DATABASE_URL"
        )
    if not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        raise EmbeddedPostgresError(
            f"{data} can't be read and written; make it so (chmod 700) or set DATABASE_URL"
        )
    version = data / "PG_VERSION"
    if not version.is_file():
        if (data / MARK).exists():
            raise EmbeddedPostgresError(f"{data} is broken: PG_VERSION is missing; {WAY_OUT}")
        raise EmbeddedPostgresError(
            f"{data} is not a PostgreSQL data folder; move it away, or set DATABASE_URL"
        )
    major = version.read_text(errors="replace").strip()
    if major != str(MAJOR):
        raise EmbeddedPostgresError(
            f"{data} was made by PostgreSQL {major[:20] or '(empty PG_VERSION)'}, and this is {MAJOR}; "
            "dump it with that version, move the folder away and load the dump, or set DATABASE_URL"
        )
    for part in ("global/pg_control", "base", "pg_wal", "pg_xact", "postgresql.conf", "pg_hba.conf"):
        if not (data / part).exists():
            raise EmbeddedPostgresError(f"{data} is broken: {part} is missing; {WAY_OUT}")
    if not (data / MARK).exists():
        raise EmbeddedPostgresError(
            f"{data} is a PostgreSQL data folder that Vitrine did not make; move it away, or set DATABASE_URL"
        )


def create(layout: Layout, account: ServiceAccount, *, sync: bool) -> None:
    """Make the data folder with role and database beside its place, then move it there: it is whole or absent."""
    new = Path(tempfile.mkdtemp(prefix="new-", dir=layout.folder))
    try:
        account.own(new)
        run(layout, account, new, ["initdb", *INITDB, "-D", str(new), *([] if sync else ["--no-sync"])])
        settings = ["-c", "exit_on_error=on", "-c", f"fsync={'on' if sync else 'off'}"]
        single = ["postgres", "--single", "-D", str(new), *settings, SUPERUSER]
        run(layout, account, new, single, FIRST_STATEMENTS)
        os.close(os.open(new / MARK, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
        account.own(new / MARK)
        new.rename(layout.data)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    if sync:
        sync_folder(layout.data)
        sync_folder(layout.folder)


def run(layout: Layout, account: ServiceAccount, data: Path, program: Sequence[str], text: str = "") -> None:
    """Run one of the wheel's programs to its end under the account, and report its last line of complaint."""
    command = account.command([str(layout.programs / program[0]), *program[1:]], [*layout.reach, data])
    done = subprocess.run(
        command, input=text.encode(), capture_output=True, cwd="/", env=environment(), check=False
    )
    if done.returncode != 0:
        reason = complaint(done.stderr.decode(errors="replace")) or f"exit code {done.returncode}"
        raise EmbeddedPostgresError(f"{layout.data} could not be made: {reason}")


def environment() -> dict[str, str]:
    """Return what PostgreSQL's programs get of our environment: no PG* settings, none of our secrets."""
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") if name in os.environ}
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC", **kept}


def complaint(output: str) -> str:
    """Return the last line that names an error, from its severity on, or else simply the last line."""
    errors = re.findall(r"\b(?:FATAL|PANIC|ERROR|error):.*", output)
    return (errors or output.strip().splitlines() or [""])[-1].strip()


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
