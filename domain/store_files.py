"""All files of a store: deleted with the store, and where they are left of one that is gone.

Every store has a folder of its own below each of `FOLDERS`.
"""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta
from uuid import UUID

from domain.bulk.configuration import configured
from domain.media import option_files
from domain.storage import storage
from kernel.ids import parse_uuid
from kernel.work_queues import run_in_thread
from models.connection.database import cross_store_connection

FOLDERS = ("bulk/", "media/", option_files.FOLDER)
_KNOWN = "SELECT public_id FROM tenants WHERE public_id = ANY($1::uuid[])"
# Younger files may be of a store that is being moved here.
MIN_AGE = timedelta(days=1)


async def delete_store_files(store: UUID) -> list[str]:
    """Delete the files of a store and return their names; raise `Unavailable` without the storage."""
    prefixes = [f"{folder}{store}/" for folder in FOLDERS]
    keys = [(key.key, key.key.removeprefix(prefix)) for prefix in prefixes async for key in storage().find(prefix)]
    await storage().delete(key for key, _ in keys)
    await run_in_thread(shutil.rmtree, configured().folder / str(store), ignore_errors=True)
    return sorted(name for _, name in keys)


async def delete_files_of_unknown_stores(now: datetime) -> int:
    """Delete the files of stores that don't exist, a day after they were stored; return the number of stores."""
    names = {name for folder in FOLDERS for name in await storage().folders(folder)}
    owners = {store for name in names if (store := parse_uuid(name)) is not None}
    async with cross_store_connection() as platform:
        known = {row["public_id"] for row in await platform.fetch(_KNOWN, list(owners))}
    lost = [store for store in sorted(owners - known) if await _is_old(store, now - MIN_AGE)]
    for store in lost:
        await delete_store_files(store)
    return len(lost)


async def _is_old(store: UUID, limit: datetime) -> bool:
    """Return whether a file of the store was stored before the time."""
    for folder in FOLDERS:
        async for file in storage().find(f"{folder}{store}/"):
            if file.modified_at < limit:
                return True
    return False
