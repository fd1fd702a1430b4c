"""Locks on files, which the kernel gives back when their holder dies, however it dies.

Three of them guard a folder. `lock` is held by whoever starts or stops the server, for as long as that takes.
`users.lock` is shared by every process that uses the server, so "nobody else is left" is a question to the kernel:
there is no list of process ids that a SIGKILL leaves wrong, or that a later process with the same id falsifies.
`server.lock` is inherited by PostgreSQL's own processes, so it is free exactly when the last of them is gone,
orphans of a killed postmaster included.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from server.embedded_postgres.errors import EmbeddedPostgresError


class FileLock:
    """An open file that can be locked; forked children share it, closing it there does no harm."""

    def __init__(self, path: Path) -> None:
        # O_NOFOLLOW: root may work in the folder of an ordinary user, who must not point it at another file.
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        if os.geteuid() == 0:
            folder = path.parent.stat()
            os.fchown(self.descriptor, folder.st_uid, folder.st_gid)

    def take_shared(self) -> None:
        """Take the lock together with others, waiting while somebody has it alone."""
        fcntl.flock(self.descriptor, fcntl.LOCK_SH)

    def try_exclusive(self) -> bool:
        """Try to take the lock alone; a failure also gives up a share held before, as flock(2) says."""
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        """Give the lock back, also on behalf of forked children that share it."""
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)
        self.close()

    def close(self) -> None:
        """Close the file; a process that inherited it keeps the lock."""
        os.close(self.descriptor)


@contextmanager
def held(path: Path, seconds: float) -> Iterator[None]:
    """Hold the lock alone for a while, waiting at most so many seconds for it."""
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
