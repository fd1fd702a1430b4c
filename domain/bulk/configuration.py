"""The deployment's settings of bulk operations; the composition root calls `configure` once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class BulkConfiguration:
    """What a caller may use of bulk operations, and the folder of files that are being written or executed, each machine's own.

    `daily_rows` are the lines that the bulk queries of a caller may have in a day (UTC), 0 for no limit; `public_url` precedes the path
    of links; an upload has at most `upload_bytes`, all of a store `store_upload_bytes`.
    """

    folder: Path
    public_url: str = ""
    daily_rows: int = 0
    upload_bytes: int = 256 * 1024 * 1024
    store_upload_bytes: int = 2 * 1024**3


_configuration = BulkConfiguration(Path(".vitrine") / "bulk")


def configure(configuration: BulkConfiguration) -> None:
    """Set the configuration."""
    global _configuration
    _configuration = configuration


def configured() -> BulkConfiguration:
    """Return the configuration."""
    return _configuration
