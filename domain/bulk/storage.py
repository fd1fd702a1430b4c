"""Where the files of bulk operations are: in a directory, or in an object storage as `server.s3`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol


class ObjectStorage(Protocol):
    """Objects by key. Everything but `link` raises `Unavailable` when the storage does not answer or refuses."""

    def link(self, method: str, key: str, lifetime: timedelta, at: datetime) -> str:
        """Return a link that loads (`GET`) or stores (`PUT`) an object without a credential."""

    async def size(self, key: str) -> int | None:
        """Return the size of an object in bytes; None if there is none."""

    async def save(self, path: Path, key: str, headers: Mapping[str, str]) -> None:
        """Store a file, whole or not at all; raise `StorageFull`."""

    async def load(self, key: str, path: Path) -> None:
        """Copy an object into a file; raise `StorageFull` when it can't be written."""

    async def copy(self, source: str, target: str) -> None:
        """Copy an object; raise `StorageFull`."""

    async def delete(self, keys: Sequence[str]) -> None:
        """Delete objects; those that are gone already are no error."""

    async def keys_before(self, prefix: str, limit: datetime) -> list[str]:
        """Return the keys with a prefix of the objects that were stored before; abort uploads that were begun before."""
