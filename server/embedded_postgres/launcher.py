"""Become an unprivileged account and execute a program; root runs this file as a script.

PostgreSQL refuses to run as root, and its account may be unable to traverse the parent folders of the data or the programs (a checkout
in /root or in a `mktemp -d` folder). Their modes must not change. So, only when something is out of reach, the account keeps one
capability: DAC_READ_SEARCH, or DAC_OVERRIDE where a container grants only that. PostgreSQL uses access(2), which ignores an ordinary
account's capabilities unless the secure bit NO_SETUID_FIXUP is set.

In a sandbox without other users than root, a user namespace maps the account's id to root.

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
    """Apply the configuration in the first argument and execute the rest; exit with one line when that is impossible."""
    config, program = json.loads(sys.argv[1]), sys.argv[2:]
    libc = ctypes.CDLL(None)
    may_bypass_modes = config["may_bypass_modes"] and libc.prctl(PR_SET_SECUREBITS, NO_SETUID_FIXUP, 0, 0, 0) == 0
    try:
        os.setgroups([])
        os.setgid(config["gid"])
        os.setuid(config["uid"])
    except OSError as error:
        if not enter_user_namespace(libc, config["uid"], config["gid"]):
            sys.exit(
                f"root must run PostgreSQL under the account {config['uid']} and can't become it ({error}); "
                "run as an ordinary user, or set DATABASE_URL"
            )
        may_bypass_modes = False
    if may_bypass_modes:
        drop_unneeded_capabilities(libc, config["required_paths"])
    unreachable = first_unreachable(config["required_paths"])
    if unreachable is not None:
        sys.exit(
            f"root must run PostgreSQL under the account {config['uid']}, which can't reach {unreachable}; "
            "run as an ordinary user, move the project to a folder others may enter, or set DATABASE_URL"
        )
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    os.execv(program[0], program)


def enter_user_namespace(libc: ctypes.CDLL, uid: int, gid: int) -> bool:
    """Enter a user namespace that maps our id to another; return whether that was possible."""
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


def drop_unneeded_capabilities(libc: ctypes.CDLL, paths: list[str]) -> None:
    """Drop every capability except the weakest one with which the paths are reachable, if any is needed."""
    available = permitted_capabilities(libc)
    retained = 0
    for capability in (None, DAC_READ_SEARCH, DAC_OVERRIDE):
        retained = 0 if capability is None else (1 << capability) & available
        set_capabilities(libc, effective=retained, permitted=available)
        if first_unreachable(paths) is None:
            break
    set_capabilities(libc, effective=retained, permitted=retained)
    for capability in (DAC_READ_SEARCH, DAC_OVERRIDE):
        if retained == 1 << capability and libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0) != 0:
            set_capabilities(libc, effective=0, permitted=0)  # it would be lost at the exec: report the failure before


def first_unreachable(paths: list[str]) -> str | None:
    """Return the first of the paths that this process may not read and enter (or execute)."""
    return next((path for path in paths if not os.access(path, os.R_OK | os.X_OK)), None)


def permitted_capabilities(libc: ctypes.CDLL) -> int:
    """Return the low half of this process's permitted capabilities."""
    data = ctypes.create_string_buffer(24)
    libc.capget(struct.pack("Ii", CAPABILITY_VERSION_3, 0), data)
    return int(struct.unpack("6I", data.raw)[1])


def set_capabilities(libc: ctypes.CDLL, *, effective: int, permitted: int) -> None:
    """Set the effective (also inheritable) and permitted capabilities; the high half is dropped."""
    header = struct.pack("Ii", CAPABILITY_VERSION_3, 0)
    libc.capset(header, struct.pack("6I", effective, permitted, effective, 0, 0, 0))


if __name__ == "__main__":
    main()
