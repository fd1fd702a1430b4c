"""Run a systemd unit of deploy/ without systemd: as another user, in a file system that is read-only but for the unit's folders.

Of a unit count ExecStart, Environment, WorkingDirectory, User, ProtectSystem, ProtectHome, PrivateTmp, StateDirectory, NoNewPrivileges and
CapabilityBoundingSet. Filters of system calls, address families and devices need systemd.
"""

from __future__ import annotations

import asyncio
import functools
import os
import pwd
import shlex
import shutil
import subprocess
import sys
import sysconfig
from asyncio.subprocess import DEVNULL, Process
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

from tests.harness.programs import ROOT

_PROGRAM = "/opt/vitrine/.venv/bin/vitrine"
_NAMESPACE = ("unshare", "--mount", "--propagation", "private")
# /opt gets the checkout, PostgreSQL's socket, and the Python of the tests, which may be in a home directory.
_OPT = """set -eu
mount -t tmpfs -o mode=755 tmpfs /opt
mkdir /opt/vitrine /opt/python /opt/postgresql
mount --bind "$CHECKOUT" /opt/vitrine
mount --bind "$PYTHON" /opt/python
mount --bind "$SOCKETS" /opt/postgresql
mount -t tmpfs -o mode=755 tmpfs /var/lib
"""
_STATE = 'mkdir "/var/lib/$STATE_NAME"; mount --bind "$STATE" "/var/lib/$STATE_NAME"\n'
_TMP = "for each in /tmp /var/tmp; do mount -t tmpfs -o mode=1777 tmpfs $each; done\n"
_HOME = "for each in /home /root /run/user; do test ! -d $each || mount -t tmpfs -o mode=000 tmpfs $each; done\n"
_READ_ONLY = """while read -r _ each _; do
    case "$each" in
        /dev | /dev/* | /proc | /proc/* | /sys | /sys/* | /tmp | /var/tmp | /var/lib/?*) ;;
        *) mount -o remount,bind,ro "$each" ;;
    esac
done </proc/self/mounts
"""


@functools.cache
def why_not() -> str:
    """Return why units can't be run here, or ""."""
    if os.geteuid() != 0:
        return "mounting needs root"
    if missing := [name for name in ("unshare", "setpriv", "mount") if shutil.which(name) is None]:
        return f"{missing[0]} is not installed"
    done = subprocess.run([*_NAMESPACE, "mount", "-o", "remount,bind,ro", "/"], capture_output=True, check=False)
    return "" if done.returncode == 0 else "mounting is not permitted here"


def directives_of(unit: str) -> dict[str, list[str]]:
    """Return the values of each directive of a unit; none for those that it lacks."""
    values: dict[str, list[str]] = defaultdict(list)
    for line in (ROOT / "deploy" / "systemd" / unit).read_text(encoding="utf-8").splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            values[name].append(value)
    return values


@dataclass(frozen=True)
class Unit:
    """A unit with its settings in place of EnvironmentFile, and the folder that stands for StateDirectory."""

    name: str
    state: Path
    database_url: str
    settings: dict[str, str] = field(default_factory=dict)

    @asynccontextmanager
    async def running(self, *arguments: str) -> AsyncIterator[Process]:
        """Start ExecStart, or Python with the arguments, and end it with SIGTERM."""
        directives = directives_of(self.name)
        sockets = _sockets(self.database_url)
        for path in (Path(sockets), *Path(sockets).glob(".s.PGSQL.*[0-9]")):
            path.chmod(0o777)  # other accounts than that of the tests may connect
        process = await asyncio.create_subprocess_exec(
            *_NAMESPACE, "sh", "-c", _mounts(directives) + 'cd "$WORKING"; exec "$@"', "sh",
            *_limits(directives), "env", "-i", *self._environment(directives), *_program(directives, arguments),
            env={
                "PATH": os.environ["PATH"],
                "CHECKOUT": str(ROOT),
                "PYTHON": sys.base_prefix,
                "SOCKETS": sockets,
                "STATE": str(self.state),
                "STATE_NAME": "".join(directives["StateDirectory"]),
                "WORKING": directives["WorkingDirectory"][0],
            },
            stdin=DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        try:
            yield process
        finally:
            if process.returncode is None:
                process.terminate()
                await asyncio.wait_for(process.communicate(), 60)

    def _environment(self, directives: dict[str, list[str]]) -> list[str]:
        site = Path(sysconfig.get_path("purelib")).relative_to(ROOT)
        return [
            "PATH=/usr/bin:/bin",
            "LD_LIBRARY_PATH=/opt/python/lib",
            f"PYTHONPATH=/opt/vitrine:/opt/vitrine/{site}",
            *(pair for value in directives["Environment"] for pair in shlex.split(value)),
            f"DATABASE_URL={inside(self.database_url)}",
            *(f"{name}={value}" for name, value in self.settings.items()),
        ]


def inside(database_url: str) -> str:
    """Return the URL of a database as it is within a unit."""
    return database_url.replace(quote(_sockets(database_url), safe="/"), "/opt/postgresql")


def _sockets(database_url: str) -> str:
    return parse_qs(urlsplit(database_url).query)["host"][0]


def make_state(folder: Path, unit: str) -> Path:
    """Create the folder that stands for the unit's StateDirectory, as systemd does."""
    user = _account(directives_of(unit))
    folder.mkdir()
    os.chown(folder, user.pw_uid, user.pw_gid)
    return folder


def _account(directives: dict[str, list[str]]) -> pwd.struct_passwd:
    """Return the unit's user, or another without privileges where it doesn't exist."""
    try:
        return pwd.getpwnam(directives["User"][0])
    except KeyError:
        return pwd.getpwnam("nobody")


def _mounts(directives: dict[str, list[str]]) -> str:
    parts = (
        (directives["StateDirectory"] != [], _STATE),
        (directives["PrivateTmp"] == ["yes"], _TMP),
        (directives["ProtectHome"] == ["yes"], _HOME),
        (directives["ProtectSystem"] == ["strict"], _READ_ONLY),
    )
    return _OPT + "".join(script for is_set, script in parts if is_set)


def _limits(directives: dict[str, list[str]]) -> list[str]:
    user = _account(directives)
    limits = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    if directives["NoNewPrivileges"] == ["yes"]:
        limits.append("--no-new-privs")
    if directives["CapabilityBoundingSet"] == [""]:
        limits.append("--bounding-set=-all")
    return limits


def _program(directives: dict[str, list[str]], arguments: Sequence[str]) -> list[str]:
    program, *command = shlex.split(directives["ExecStart"][0])
    assert program == _PROGRAM
    python = f"/opt/python/bin/{Path(sys.executable).resolve().name}"
    return [python, *(arguments or ("-m", "server.cli", *command))]
