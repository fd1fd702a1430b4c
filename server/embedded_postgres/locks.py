"""File locks, which the kernel releases when their holder dies.

Three of them guard a folder. `lock` is held while the server is started or stopped. `users.lock` is shared by every process that uses
the server, so whether others use it is a question to the kernel, not a list of process ids that a SIGKILL or id reuse falsifies.
`server.lock` is inherited by PostgreSQL's processes, so it is free exactly when the last of them is gone, including orphans of a
killed postmaster.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from server.embedded_postgres.errors import EmbeddedPostgresError


class FileLock:
    """An open file that can be locked; forked children share it, and closing it there is harmless."""

    def __init__(self, path: Path) -> None:
        # O_NOFOLLOW: root may work in an ordinary user's folder, who must not redirect it by a symbolic link.
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        if os.geteuid() == 0:
            folder = path.parent.stat()
            os.fchown(self.descriptor, folder.st_uid, folder.st_gid)

    def acquire_shared(self) -> None:
        """Acquire the lock in shared mode, waiting for an exclusive holder."""
        fcntl.flock(self.descriptor, fcntl.LOCK_SH)

    def try_exclusive(self) -> bool:
        """Try to acquire the lock exclusively; a failure also releases a shared lock, see flock(2)."""
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        """Release the lock, also for forked children that share it."""
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)
        self.close()

    def close(self) -> None:
        """Close the file; a process that inherited it keeps the lock."""
        os.close(self.descriptor)


@contextmanager
def exclusive_lock(path: Path, seconds: float) -> Iterator[None]:
    """Hold the lock exclusively, waiting at most so many seconds for it."""
    lock = FileLock(path)
    deadline = time.monotonic() + seconds
    try:
        while not lock.try_exclusive():
            if time.monotonic() > deadline:
                raise EmbeddedPostgresError(
                    f"{path.parent}: another process has been starting or stopping PostgreSQL here for "
                    f"{seconds:.0f} seconds; look at {path.parent / 'log'}, then try again"
                )
            time.sleep(0.02)
        yield
    finally:
        lock.release()
