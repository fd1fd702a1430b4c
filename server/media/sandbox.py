"""Confine this process to computing: what a decoder that hostile content took over could still do.

Three layers, so that each system has at least the first, which needs no privilege and no support by the kernel's configuration:

* resource limits: memory, no file descriptor beyond those that are open (no file, no socket), no written file, no core dump;
* no capability, no new privileges: root is an ordinary account here, and can't raise its limits again;
* a list of permitted system calls (seccomp): no program, no process, no signal or memory of another process, no path.

Namespaces would add nothing to it, and systemd's RestrictNamespaces and containers forbid them.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import struct

# linux/prctl.h, linux/seccomp.h, linux/capability.h, linux/sched.h, linux/audit.h
_PR_SET_NAME, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 15, 22, 38
_SECCOMP_MODE_FILTER = 2
_ALLOW, _KILL_PROCESS = 0x7FFF0000, 0x80000000
# ENOSYS rather than EPERM: libraries then take the older call (clone3, clone).
_NOT_IMPLEMENTED = 0x00050000 | 38
_CAPABILITY_VERSION_3 = 0x20080522
_CLONE_THREAD = 0x00010000
_LOAD, _JUMP_IF_EQUAL, _JUMP_IF_SET, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16

_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
# Numbers on x86_64 and on aarch64: reading requests, writing answers, memory, threads, time, the end.
_PERMITTED = {
    "read": (0, 63), "write": (1, 64), "writev": (20, 66), "pread64": (17, 67), "lseek": (8, 62), "fstat": (5, 80),
    "close": (3, 57),
    "mmap": (9, 222), "munmap": (11, 215), "mremap": (25, 216), "mprotect": (10, 226), "madvise": (28, 233),
    "brk": (12, 214),
    "futex": (202, 98), "set_robust_list": (273, 99), "rseq": (334, 293), "membarrier": (324, 283),
    "set_tid_address": (218, 96), "gettid": (186, 178), "getpid": (39, 172), "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "sigaltstack": (131, 132),
    "restart_syscall": (219, 128), "setitimer": (38, 103),
    "nanosleep": (35, 101), "clock_nanosleep": (230, 115), "clock_gettime": (228, 113), "gettimeofday": (96, 169),
    "getrusage": (98, 165), "sysinfo": (99, 179), "getrandom": (318, 278),
    "exit": (60, 93), "exit_group": (231, 94),
}  # fmt: skip
_CLONE, _TGKILL, _PRCTL = (56, 220), (234, 131), (157, 167)


def confine(memory: int) -> bool:
    """Give up all that decoding doesn't need, for good; return whether the kernel filters system calls too.

    `memory` is in bytes. Modules must be imported, and files open, before. Threads that run already would keep what they have.
    """
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_DATA, memory)
    # Programs, libraries, and what allocators reserve without using it.
    _limit(resource.RLIMIT_AS, memory * 2)
    libc = ctypes.CDLL(None)
    _limit(resource.RLIMIT_NOFILE, 0)  # what is open stays open
    _drop_capabilities(libc)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    return _filter_system_calls(libc)


def _limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    if libc.capset(header, bytes(24)) != 0:
        raise OSError("the process can't give up its capabilities")


def _filter_system_calls(libc: ctypes.CDLL) -> bool:
    architecture = _ARCHITECTURES.get(platform.machine())
    if architecture is None:
        return False
    program = _filter_program(*architecture)
    instructions = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog: a short, padding, a pointer.
    filter_ = struct.pack("@HP", len(program) // 8, ctypes.addressof(instructions))
    return bool(libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, filter_, 0, 0) == 0)


def _filter_program(audit_architecture: int, column: int) -> bytes:
    """Return the instructions of the filter (classic BPF, struct sock_filter)."""
    instructions = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_IF_EQUAL, 1, 0, audit_architecture),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER),
    ]
    for numbers in _PERMITTED.values():
        instructions += [(_JUMP_IF_EQUAL, 0, 1, numbers[column]), (_RETURN, 0, 0, _ALLOW)]
    for numbers, test, value in (
        (_CLONE, _JUMP_IF_SET, _CLONE_THREAD),  # threads, no processes
        (_TGKILL, _JUMP_IF_EQUAL, os.getpid()),  # abort()
        (_PRCTL, _JUMP_IF_EQUAL, _PR_SET_NAME),
    ):
        instructions += [
            (_JUMP_IF_EQUAL, 0, 4, numbers[column]),
            (_LOAD, 0, 0, _FIRST_ARGUMENT),
            (test, 0, 1, value),
            (_RETURN, 0, 0, _ALLOW),
            (_RETURN, 0, 0, _NOT_IMPLEMENTED),
        ]
    instructions.append((_RETURN, 0, 0, _NOT_IMPLEMENTED))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)
