"""Become an unprivileged account and execute a program: root runs this file as a script, nobody imports it.

PostgreSQL refuses to run as root, and the account it runs under may be unable to enter the folders above the data
or the programs (a checkout in /root or in a `mktemp -d` folder). Their modes are not ours to change. So, only when
something would be out of reach, the account keeps one capability to pass: DAC_READ_SEARCH, or DAC_OVERRIDE where a
container grants only that. PostgreSQL asks access(2), which forgets an ordinary account's capabilities unless the
secure bit NO_SETUID_FIXUP is set.

In a sandbox that knows no user but root, a user namespace gives this process the account's id in its own eyes; to the
files outside it stays who it is.

Not a `preexec_fn`, which may deadlock in a process with threads; not setpriv(1), which not every system has.
"""

import ctypes
import json
import os
import struct
import sys

# linux/prctl.h, linux/securebits.h, linux/capability.h, linux/sched.h
PR_SET_SECUREBITS, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 28, 38, 47, 2
NO_SETUID_FIXUP = 1 << 2
CAPABILITY_VERSION_3 = 0x20080522
DAC_OVERRIDE, DAC_READ_SEARCH = 1, 2
CLONE_NEWUSER = 0x10000000


def main() -> None:
    """Read the order from the first argument, obey it, execute the rest; exit with one line when that is impossible."""
    order, program = json.loads(sys.argv[1]), sys.argv[2:]
    libc = ctypes.CDLL(None)
    may_pass = order["may_pass"] and libc.prctl(PR_SET_SECUREBITS, NO_SETUID_FIXUP, 0, 0, 0) == 0
    try:
        os.setgroups([])
        os.setgid(order["gid"])
        os.setuid(order["uid"])
    except OSError as problem:
        if not rename_oneself(libc, order["uid"], order["gid"]):
            sys.exit(
                f"root must run PostgreSQL under the account {order['uid']} and can't become it ({problem}); "
                "run as an ordinary user, or set DATABASE_URL"
            )
        may_pass = False
    if may_pass:
        keep_what_is_needed(libc, order["reach"])
    unreachable = first_unreachable(order["reach"])
    if unreachable is not None:
        sys.exit(
            f"root must run PostgreSQL under the account {order['uid']}, which can't reach {unreachable}; "
            "run as an ordinary user, move the project to a folder others may enter, or set DATABASE_URL"
        )
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    os.execv(program[0], program)


def rename_oneself(libc: ctypes.CDLL, uid: int, gid: int) -> bool:
    """Enter a user namespace in which we bear another id, and tell whether that was possible."""
    maps = {"uid_map": f"{uid} {os.geteuid()} 1", "setgroups": "deny", "gid_map": f"{gid} {os.getegid()} 1"}
    if libc.unshare(CLONE_NEWUSER) != 0:
        return False
    try:
        for name, line in maps.items():
            with open(f"/proc/self/{name}", "w") as file:
                file.write(line)
    except OSError:
        return False
    return os.geteuid() == uid


def keep_what_is_needed(libc: ctypes.CDLL, paths: list[str]) -> None:
    """Give up every capability but the first one, if any is needed, with which the paths can be reached."""
    own = permitted(libc)
    kept = 0
    for capability in (None, DAC_READ_SEARCH, DAC_OVERRIDE):
        kept = 0 if capability is None else (1 << capability) & own
        set_capabilities(libc, effective=kept, allowed=own)
        if first_unreachable(paths) is None:
            break
    set_capabilities(libc, effective=kept, allowed=kept)
    for capability in (DAC_READ_SEARCH, DAC_OVERRIDE):
        if (
            kept == 1 << capability
            and libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0) != 0
        ):
            set_capabilities(libc, effective=0, allowed=0)  # it would be lost at the exec: be honest before


def first_unreachable(paths: list[str]) -> str | None:
    """Return the first of the paths that this process may not read and enter (or execute)."""
    return next((path for path in paths if not os.access(path, os.R_OK | os.X_OK)), None)


def permitted(libc: ctypes.CDLL) -> int:
    """Return the low half of this process's permitted capabilities."""
    data = ctypes.create_string_buffer(24)
    libc.capget(struct.pack("Ii", CAPABILITY_VERSION_3, 0), data)
    return int(struct.unpack("6I", data.raw)[1])


def set_capabilities(libc: ctypes.CDLL, *, effective: int, allowed: int) -> None:
    """Set the capabilities in force and those allowed; those in force may be inherited, the high half is dropped."""
    header = struct.pack("Ii", CAPABILITY_VERSION_3, 0)
    libc.capset(header, struct.pack("6I", effective, allowed, effective, 0, 0, 0))


if __name__ == "__main__":
    main()
