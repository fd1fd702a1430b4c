"""Publish the running server's address to other commands, since its port may not be the configured one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager

from kernel.errors import OperatorError
from kernel.settings import Settings

_FILE = "serving"


class StartupError(OperatorError):
    """No process could start serving; each has logged its reason."""


@contextmanager
def published_address(settings: Settings, url: str) -> Iterator[None]:
    """Store the address in the data folder while the server runs, then that of one that runs on; not in production."""
    if settings.is_production:
        yield
        return
    path = settings.data_dir / _FILE
    pid, other_url = _read(settings)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{os.getpid()} {url}\n", encoding="utf-8")
    try:
        yield
    finally:
        if _read(settings)[0] == os.getpid():
            path.unlink(missing_ok=True)
            if pid not in (0, os.getpid()) and _is_alive(pid):
                path.write_text(f"{pid} {other_url}\n", encoding="utf-8")


def public_url(settings: Settings) -> str:
    """Return the address for clients: the configured one, else the running server's, else the default."""
    if settings.base_url:
        return settings.public_url
    pid, url = _read(settings)
    return url if pid and _is_alive(pid) else settings.public_url


def _read(settings: Settings) -> tuple[int, str]:
    try:
        pid, _, url = (settings.data_dir / _FILE).read_text(encoding="utf-8").strip().partition(" ")
        return int(pid), url
    except (OSError, ValueError):
        return 0, ""


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
