"""The account PostgreSQL runs under, and the commands to run programs under it."""

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

SERVICE_ACCOUNT = "vitrine-postgres"
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
    """The owner of the data, who runs the server; `may_bypass_modes`: it may keep a capability to traverse closed folders."""

    uid: int
    gid: int
    may_bypass_modes: bool

    def command(self, program: Sequence[str], required_paths: Sequence[Path]) -> list[str]:
        """Return the command that runs a program under this account, which must be able to reach the paths."""
        if self.uid == os.geteuid():
            return list(program)
        config = {
            "uid": self.uid,
            "gid": self.gid,
            "may_bypass_modes": self.may_bypass_modes,
            "required_paths": [*map(str, required_paths)],
        }
        return [sys.executable, "-I", "-S", str(LAUNCHER), json.dumps(config), *program]

    def own(self, path: Path) -> None:
        """Change the owner of a file or folder to this account, where root is allowed to."""
        if self.uid == os.geteuid():
            return
        try:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.EINVAL):
                raise  # otherwise the launcher handles or reports it

    def own_tree(self, top: Path) -> None:
        """Change the owner of a folder and its contents, following no symbolic links."""
        for folder, _, files in os.walk(top):
            self.own(Path(folder))
            for name in files:
                self.own(Path(folder, name))


def account_for(folder: Path, data: Path) -> ServiceAccount:
    """Choose the current user or, for root, the existing owner of the data or folder, else the service account."""
    if os.geteuid() != 0:
        return ServiceAccount(os.geteuid(), os.getegid(), may_bypass_modes=False)
    for path in (data, folder):
        if not path.exists():
            continue
        owner = path.stat()
        name = user_name(owner.st_uid)
        # The owner of postgresql.conf controls what the server reads. So only the service account, or an id without
        # a name (data from another container), keeps a capability, never a personal account.
        if owner.st_uid != 0 and (name is not None or path == data):
            return ServiceAccount(
                owner.st_uid, owner.st_gid, may_bypass_modes=name in (None, SERVICE_ACCOUNT, "nobody")
            )
    service = service_account()
    return ServiceAccount(service.pw_uid, service.pw_gid, may_bypass_modes=True)


def user_name(uid: int) -> str | None:
    """Return the name of a user id, if it has one."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return None


def service_account() -> pwd.struct_passwd:
    """Find or create the service account; fall back to `nobody`."""
    useradd = shutil.which("useradd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    for _ in range(20):
        try:
            return pwd.getpwnam(SERVICE_ACCOUNT)
        except KeyError:
            if useradd is None or not os.access("/etc", os.W_OK):
                break
        result = subprocess.run([useradd, *USERADD_OPTIONS, SERVICE_ACCOUNT], capture_output=True, check=False)
        if result.returncode != 0:
            time.sleep(0.1)  # another process may be creating it: useradd locks /etc/passwd
    try:
        return pwd.getpwnam("nobody")
    except KeyError:
        raise EmbeddedPostgresError(
            "PostgreSQL refuses to run as root and there is no other account; "
            f"create one (useradd --system {SERVICE_ACCOUNT}), run as an ordinary user, or set DATABASE_URL"
        ) from None
