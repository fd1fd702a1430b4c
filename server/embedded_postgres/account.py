"""Under which account PostgreSQL runs, and how a command is started under it."""

import errno
import json
import os
import pwd
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from server.embedded_postgres.errors import EmbeddedPostgresError

SERVICE = "vitrine-postgres"
USERADD_OPTIONS = (
    "--system",
    "--user-group",
    "--no-create-home",
    "--home-dir=/nonexistent",
    "--shell=/usr/sbin/nologin",
)
LAUNCHER = Path(__file__).with_name("launcher.py")


@dataclass(frozen=True)
class ServiceAccount:
    """Who owns the data and runs the server; `may_pass`: it may keep a capability to pass closed folders."""

    uid: int
    gid: int
    may_pass: bool

    def command(self, program: Sequence[str], reach: Sequence[Path]) -> list[str]:
        """Return the command that executes a program under this account, which must be able to reach the paths."""
        if self.uid == os.geteuid():
            return list(program)
        order = {"uid": self.uid, "gid": self.gid, "may_pass": self.may_pass, "reach": [*map(str, reach)]}
        return [sys.executable, "-I", "-S", str(LAUNCHER), json.dumps(order), *program]

    def own(self, path: Path) -> None:
        """Give a file or folder made by root to this account, where root is allowed to."""
        if self.uid == os.geteuid():
            return
        try:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)
        except OSError as problem:
            if problem.errno not in (errno.EPERM, errno.EINVAL):
                raise  # otherwise the launcher finds a way in which root's files are the account's, or says why not

    def own_tree(self, top: Path) -> None:
        """Give a folder and everything in it to this account, following no symbolic link."""
        for folder, _, files in os.walk(top):
            self.own(Path(folder))
            for name in files:
                self.own(Path(folder, name))


def account_for(folder: Path, data: Path) -> ServiceAccount:
    """Choose ourselves, or, for root, whoever owns the data or the folder already, or the service account."""
    if os.geteuid() != 0:
        return ServiceAccount(os.geteuid(), os.getegid(), may_pass=False)
    for path in (data, folder):
        if not path.exists():
            continue
        owner = path.stat()
        name = user_name(owner.st_uid)
        # Who owns postgresql.conf can make the server read anything it may read. So no person's server keeps a
        # capability: only the service account's, and that of an id without a name (data from another container).
        if owner.st_uid != 0 and (name is not None or path == data):
            return ServiceAccount(owner.st_uid, owner.st_gid, may_pass=name in (None, SERVICE, "nobody"))
    service = service_account()
    return ServiceAccount(service.pw_uid, service.pw_gid, may_pass=True)


def user_name(uid: int) -> str | None:
    """Return the name of a user id, if it has one."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return None


def service_account() -> pwd.struct_passwd:
    """Find the service account, making it when that is possible; otherwise settle for `nobody`."""
    useradd = shutil.which("useradd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    for _ in range(20):
        try:
            return pwd.getpwnam(SERVICE)
        except KeyError:
            if useradd is None or not os.access("/etc", os.W_OK):
                break
        made = subprocess.run([useradd, *USERADD_OPTIONS, SERVICE], capture_output=True, check=False)
        if made.returncode != 0:
            time.sleep(0.1)  # another process may be making it just now: useradd locks /etc/passwd
    try:
        return pwd.getpwnam("nobody")
    except KeyError:
        raise EmbeddedPostgresError(
            "PostgreSQL refuses to run as root and there is no account to run it under; "
            f"make one (useradd --system {SERVICE}), run as an ordinary user, or set DATABASE_URL"
        ) from None
