"""The data folder: validated, or created atomically."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from server.embedded_postgres.account import ServiceAccount
from server.embedded_postgres.errors import EmbeddedPostgresError
from server.embedded_postgres.layout import MAJOR, Layout, describe_user

OWNER = "vitrine_owner"
DATABASE = "vitrine"
SUPERUSER = "postgres"
MARKER = "made_by_vitrine"
REMEDY = "restore a backup, or move the folder away to start with an empty one, or set DATABASE_URL"

INITDB = (
    f"--username={SUPERUSER}",
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--locale=C",  # the C library's part (messages, money) must not depend on LANG
    "--auth-local=trust",  # only the account itself and root can reach the socket
    "--auth-host=reject",
    "--no-instructions",
)
# Single-user mode takes one statement per line.
INITIAL_STATEMENTS = (
    f"CREATE ROLE {OWNER} LOGIN NOSUPERUSER NOCREATEDB CREATEROLE NOBYPASSRLS\n"
    f"CREATE DATABASE {DATABASE} OWNER {OWNER}\n"
)


def ensure_data_folder(layout: Layout, account: ServiceAccount, *, sync: bool) -> None:
    """Create the data folder if missing; raise EmbeddedPostgresError when it is foreign or incomplete."""
    data = layout.data
    for leftover in layout.folder.glob("new-*"):  # of a killed start; its initdb may still be writing there
        shutil.rmtree(leftover, ignore_errors=True)
    if not data.exists() or (data.is_dir() and not is_foreign(data) and not any(data.iterdir())):
        create_data_folder(layout, account, sync=sync)
        return
    check_data_folder(data)
    if os.geteuid() == 0 and data.stat().st_uid == 0:  # copied by root
        account.own_tree(data)
    if data.stat().st_mode & 0o027:
        data.chmod(0o700)  # copied with a loose umask, which PostgreSQL rejects


def is_foreign(data: Path) -> bool:
    """Return whether the data belongs to another user, which only root can use."""
    return os.geteuid() not in (0, data.stat().st_uid)


def check_data_folder(data: Path) -> None:
    """Raise, in one line, for a folder that PostgreSQL would reject or that Vitrine did not create."""
    if not data.is_dir():
        raise EmbeddedPostgresError(f"{data} is a file, not a PostgreSQL data folder; move it away")
    if is_foreign(data):
        owner, current_user = describe_user(data.stat().st_uid), describe_user(os.geteuid())
        raise EmbeddedPostgresError(
            f"{data} belongs to {owner}, and this is {current_user}; run as its owner, move it away, or set DATABASE_URL"
        )
    if not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        raise EmbeddedPostgresError(f"{data} can't be read and written; grant access (chmod 700) or set DATABASE_URL")
    version = data / "PG_VERSION"
    if not version.is_file():
        if (data / MARKER).exists():
            raise EmbeddedPostgresError(f"{data} is broken: PG_VERSION is missing; {REMEDY}")
        raise EmbeddedPostgresError(f"{data} is not a PostgreSQL data folder; move it away, or set DATABASE_URL")
    major = version.read_text(errors="replace").strip()
    if major != str(MAJOR):
        raise EmbeddedPostgresError(
            f"{data} was created by PostgreSQL {major[:20] or '(empty PG_VERSION)'}, and this is {MAJOR}; "
            "dump it with that version, move the folder away and load the dump, or set DATABASE_URL"
        )
    for part in ("global/pg_control", "base", "pg_wal", "pg_xact", "postgresql.conf", "pg_hba.conf"):
        if not (data / part).exists():
            raise EmbeddedPostgresError(f"{data} is broken: {part} is missing; {REMEDY}")
    if not (data / MARKER).exists():
        raise EmbeddedPostgresError(
            f"{data} is a PostgreSQL data folder that Vitrine did not create; move it away, or set DATABASE_URL"
        )


def create_data_folder(layout: Layout, account: ServiceAccount, *, sync: bool) -> None:
    """Create the data folder with role and database under a temporary name, then rename it: it is complete or absent."""
    new = Path(tempfile.mkdtemp(prefix="new-", dir=layout.folder))
    try:
        account.own(new)
        run(layout, account, new, ["initdb", *INITDB, "-D", str(new), *([] if sync else ["--no-sync"])])
        settings = ["-c", "exit_on_error=on", "-c", f"fsync={'on' if sync else 'off'}"]
        single = ["postgres", "--single", "-D", str(new), *settings, SUPERUSER]
        run(layout, account, new, single, INITIAL_STATEMENTS)
        os.close(os.open(new / MARKER, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
        account.own(new / MARKER)
        new.rename(layout.data)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    if sync:
        sync_folder(layout.data)
        sync_folder(layout.folder)


def run(layout: Layout, account: ServiceAccount, data: Path, program: Sequence[str], text: str = "") -> None:
    """Run one of the wheel's programs under the account; on failure raise its last error line."""
    command = account.command([str(layout.programs / program[0]), *program[1:]], [*layout.required_paths, data])
    result = subprocess.run(command, input=text.encode(), capture_output=True, cwd="/", env=environment(), check=False)
    if result.returncode != 0:
        reason = last_error(result.stderr.decode(errors="replace")) or f"exit code {result.returncode}"
        raise EmbeddedPostgresError(f"{layout.data} could not be created: {reason}")


def environment() -> dict[str, str]:
    """Return the environment of PostgreSQL's programs: no PG* settings, none of our secrets."""
    library_paths = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") if name in os.environ}
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC", **library_paths}


def last_error(output: str) -> str:
    """Return the last line that names an error, from its severity on, or else the last line."""
    errors = re.findall(r"\b(?:FATAL|PANIC|ERROR|error):.*", output)
    return (errors or output.strip().splitlines() or [""])[-1].strip()


def sync_folder(folder: Path) -> None:
    """Sync a folder's entries to disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
