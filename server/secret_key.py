"""Give a development server a secret that lasts: made once, kept in the data folder, readable by its owner only."""

from __future__ import annotations

import os
import secrets
from dataclasses import replace
from pathlib import Path

from kernel.setting_types import LEAST_SECRET_LENGTH
from kernel.settings import SettingError, Settings

FILE = "secret_key"
_BYTES = 48


def with_secret_key(settings: Settings) -> Settings:
    """Fill in the secret that the environment doesn't give; SettingError in production and where it can't be kept."""
    if settings.secret_key is not None:
        return settings
    if settings.is_production:
        raise SettingError("VITRINE_SECRET_KEY is not set; production expects it in the environment")
    path = settings.data_dir / FILE
    try:
        return replace(settings, secret_key=_read(path) or _make(path))
    except OSError as error:
        raise SettingError(
            f"VITRINE_SECRET_KEY is not set and none can be kept in {path} ({error.strerror}); "
            "expected a secret or a folder that can be written to"
        ) from error


def _read(path: Path) -> str | None:
    try:
        secret = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        secret = ""
    if len(secret) < LEAST_SECRET_LENGTH:
        # Not made anew: what was encrypted with the right one would be lost.
        raise SettingError(
            f"{path} is damaged; expected the secret that was made there, or VITRINE_SECRET_KEY with it"
        )
    return secret


def _make(path: Path) -> str:
    """Write the file whole or not at all; when two processes start at once, the first one's secret counts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{FILE}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(_BYTES) + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
    finally:
        draft.unlink()
    made = _read(path)
    assert made is not None
    return made
