"""A process that hostile content took over can reach neither files, nor the network, nor other processes."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, mmap, os, resource, signal, socket, sys, threading
from server.media.sandbox import confine
path, attempt = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
assert confine(256 * 1024 * 1024)

def refused(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), "refused")

try:
    eval(attempt)
except (OSError, ValueError, MemoryError, RuntimeError) as error:
    print(type(error).__name__)
else:
    print("done")
"""


def _attempt(attempt: str, path: str = "/etc/passwd") -> str:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, path, attempt], capture_output=True, text=True, check=False, timeout=30
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


@pytest.mark.parametrize(
    "attempt",
    [
        "os.open(path, os.O_RDONLY)",
        "os.close(0), os.open(path, os.O_RDONLY)",
        "os.unlink(path)",
        "os.rename(path, path + '2')",
        "os.chmod(path, 0o777)",
        "os.stat(path)",
        "socket.socket()",
        "os.close(0), socket.socket()",
        "socket.socketpair()",
        "os.memfd_create('program')",
        "os.fork()",
        "os.execv(sys.executable, ['python', '-V'])",
        "os.kill(os.getppid(), signal.SIGTERM)",
        "refused(libc.syscall(234, os.getppid(), os.getppid(), 0))",
        "refused(libc.ptrace(16, os.getppid(), 0, 0))",
        "refused(libc.process_vm_readv(os.getppid(), None, 0, None, 0, 0))",
        "refused(libc.unshare(0x10000000))",
        "resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))",
        "refused(libc.prctl(4, 1, 0, 0, 0))",
    ],
)
def test_what_decoding_does_not_need_is_refused(attempt, tmp_path):
    file = tmp_path / "file"
    file.write_text("kept")

    assert _attempt(attempt, str(file)) in ("OSError", "ValueError", "PermissionError")

    assert file.read_text() == "kept"


def test_memory_is_limited():
    assert _attempt("bytearray(300 * 1024 * 1024)") == "MemoryError"
    assert _attempt("bytearray(100 * 1024 * 1024)") == "done"


def test_threads_are_permitted():
    assert _attempt("(thread := threading.Thread(target=len, args=('',))).start() or thread.join()") == "done"
