"""The files that an operator's commands write."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

_FULL = (errno.ENOSPC, errno.EDQUOT)
_NO_HARD_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS)


@contextmanager
def named_in_errors(path: Path) -> Iterator[None]:
    """Name the file in the errors of its draft, `.<name>.…` next to it, and of a full disk, which name none."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL or Path(error.filename or "").name.startswith(f".{path.name}."):
            error.filename = str(path)
        raise


def name_new_file(draft: Path, path: Path) -> None:
    """Give a complete draft its name, which it then has besides its own or in its place; raises FileExistsError, and replaces no file."""
    try:
        os.link(draft, path)  # unlike a rename it refuses to replace a file
    except OSError as error:
        # FAT, shared folders of virtual machines and some network file systems have no hard links.
        if error.errno not in _NO_HARD_LINKS:
            raise
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from error
        draft.rename(path)


@contextmanager
def replaced_file(path: Path) -> Iterator[IO[str]]:
    """Yield a file that everybody may read and that takes the place of the one at the path when the block ends without an error.

    What is no file, such as /dev/stdout, is written as it is.
    """
    if path.exists() and not path.is_file():
        with named_in_errors(path), path.open("w", encoding="utf-8") as file:
            yield file
        return
    path = path.resolve()
    with named_in_errors(path):
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                os.fchmod(file.fileno(), 0o644)
                yield file
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
