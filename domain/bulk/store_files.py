"""All files of bulk operations of a store: deleted with the store, and where they are left of one that is gone.

Within a shared folder every store has a folder of its own, within an object storage a prefix.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from uuid import UUID

from domain.bulk.configuration import configured
from kernel.ids import parse_uuid
from models.connection.database import cross_store_connection

_KNOWN = "SELECT public_id FROM tenants WHERE public_id = ANY($1::uuid[])"
# Younger files may be of a store that is being moved here.
MIN_AGE = timedelta(days=1)


async def delete_store_files(store: UUID, now: datetime) -> list[str]:
    """Delete the files of a store and return their names; raise `Unavailable` without the object storage."""
    objects, deleted = configured().objects, await asyncio.to_thread(_delete_folder, store)
    if objects is not None:
        # Also what was stored by a clock that is ahead.
        keys = await objects.keys_before(f"{store}/", now + MIN_AGE)
        await objects.delete(keys)
        deleted += [key.partition("/")[2] for key in keys]
    return sorted(deleted)


async def delete_files_of_unknown_stores(now: datetime) -> int:
    """Delete the files older than a day of stores that don't exist; return the number of stores."""
    objects = configured().objects
    owners = await asyncio.to_thread(_old_folders)
    if objects is not None:
        keys = await objects.keys_before("", now - MIN_AGE)
        owners |= _stores(key.partition("/")[0] for key in keys)
    async with cross_store_connection() as platform:
        known = {row["public_id"] for row in await platform.fetch(_KNOWN, list(owners))}
    for store in sorted(owners - known):
        await delete_store_files(store, now)
    return len(owners - known)


def _stores(names: Iterable[str]) -> set[UUID]:
    return {store for name in names if (store := parse_uuid(name)) is not None}


def _old_folders() -> set[UUID]:
    limit = time.time() - MIN_AGE.total_seconds()
    with suppress(FileNotFoundError):
        return _stores(path.name for path in configured().folder.iterdir() if path.stat().st_mtime < limit)
    return set()


def _delete_folder(store: UUID) -> list[str]:
    folder = configured().folder / str(store)
    deleted = []
    with suppress(FileNotFoundError):
        for path in folder.iterdir():
            path.unlink(missing_ok=True)
            deleted.append(path.name)
        folder.rmdir()
    return deleted
