"""The files that an operator's commands write."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def named_in_errors(path: Path) -> Iterator[None]:
    """Name the file in the errors of its draft, `.<name>.…` next to it, and of a full disk, which name none."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL or Path(error.filename or "").name.startswith(f".{path.name}."):
            error.filename = str(path)
        raise
