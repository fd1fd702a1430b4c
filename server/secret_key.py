"""Create a persistent secret for a development server: generated once, stored in the data folder, readable by its owner only."""

from __future__ import annotations

import os
import secrets
from dataclasses import replace
from pathlib import Path

from kernel.setting_types import MIN_SECRET_LENGTH
from kernel.settings import SettingError, Settings

FILE = "secret_key"
_BYTES = 48


def with_secret_key(settings: Settings, *, initial: str | None = None) -> Settings:
    """Return the settings with a secret, stored as `initial` or a random one where there is none yet.

    Raises SettingError in production and when it can't be stored.
    """
    if settings.secret_key is not None:
        return settings
    if settings.is_production:
        raise SettingError("VITRINE_SECRET_KEY is not set; production expects it in the environment")
    path = settings.data_dir / FILE
    try:
        return replace(settings, secret_key=_read(path) or _create(path, initial))
    except OSError as error:
        raise SettingError(
            f"VITRINE_SECRET_KEY is not set and none can be stored in {path} ({error.strerror}); "
            "expected a secret or a folder that can be written to"
        ) from error


def _read(path: Path) -> str | None:
    try:
        secret = path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        secret = ""
    if len(secret) < MIN_SECRET_LENGTH:
        # Not replaced: data encrypted with the right one would be lost.
        raise SettingError(f"{path} is damaged; restore the original secret there or set it as VITRINE_SECRET_KEY")
    return secret


def _create(path: Path, initial: str | None) -> str:
    """Write the file atomically; when two processes start at once, the first one's secret wins."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{FILE}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write((initial or secrets.token_urlsafe(_BYTES)) + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
    finally:
        draft.unlink()
    secret = _read(path)
    assert secret is not None
    return secret
