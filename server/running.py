"""Let other commands know where the server of this data folder answers: its port may be one that they weren't told."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager

from kernel.settings import Settings

_FILE = "serving"


class NotStarted(RuntimeError):
    """Say that no process could begin to serve; why, each has written itself."""


@contextmanager
def announced(settings: Settings, url: str) -> Iterator[None]:
    """Leave the address in the data folder for as long as the server runs; in production nothing is left anywhere."""
    if settings.is_production:
        yield
        return
    path = settings.data_dir / _FILE
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{os.getpid()} {url}\n", encoding="utf-8")
    try:
        yield
    finally:
        if _read(settings)[0] == os.getpid():
            path.unlink(missing_ok=True)


def public_url(settings: Settings) -> str:
    """Give the address that clients call: the one that is set, else the running server's, else the one it would have."""
    if settings.base_url:
        return settings.public_url
    process, url = _read(settings)
    return url if process and _is_alive(process) else settings.public_url


def _read(settings: Settings) -> tuple[int, str]:
    try:
        process, _, url = (settings.data_dir / _FILE).read_text(encoding="utf-8").strip().partition(" ")
        return int(process), url
    except (OSError, ValueError):
        return 0, ""


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
