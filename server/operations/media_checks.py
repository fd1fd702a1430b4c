"""Check media files: the renderer of images, and whether rows and contents in the storage belong together."""

from __future__ import annotations

import asyncio
import base64
from contextlib import suppress

from domain.media.orphans import FOLDERS, StorageComparison, compare, delete_orphans
from domain.media.renderer import ImageError, RenderedFormat
from domain.storage import Storage, open_storage
from domain.stores import find_store
from kernel.errors import StorageFull, TenantNotFound, Unavailable
from kernel.ids import parse_uuid
from kernel.scope import active_scope
from kernel.settings import Settings
from models.connection.database import cross_store_connection
from server.media.child_pool import Renderer, RendererLimits
from server.operations.check_results import CheckResult, fail, join_names, ok, warn
from server.operations.store_admin import system_scope

# A comparison lists all objects: a large storage is compared in part.
_MAX_SECONDS = 30.0
_PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
_STORES = """
SELECT t.id FROM tenants t
WHERE t.public_id = ANY($1::uuid[]) OR EXISTS (SELECT FROM media_files f WHERE f.tenant_id = t.id)
    OR EXISTS (SELECT FROM option_files f WHERE f.tenant_id = t.id) ORDER BY t.id
"""


async def check_renderer() -> CheckResult:
    """Decode and render an image in a child process."""
    renderer = Renderer(RendererLimits(children=1))
    try:
        await renderer.inspect(_PIXEL)
        await renderer.render(_PIXEL, 64, RenderedFormat.WEBP)
    except (ImageError, Unavailable, OSError) as error:
        return fail("images", f"can't be rendered: {error}")
    finally:
        await renderer.close()
    return ok("images", "are rendered")


async def check_media(settings: Settings, *, deletes_orphans: bool = False) -> CheckResult:
    """Compare the rows of media files with the objects in the storage, for half a minute at most unless orphans are to be deleted."""
    storage = open_storage(settings.storage_address)
    result = StorageComparison()
    deleted = compared = 0
    try:
        stores = await _stores(storage)
        async with asyncio.timeout(None if deletes_orphans else _MAX_SECONDS):
            for store_id in stores:
                with suppress(TenantNotFound):  # deleted meanwhile
                    deleted += await _compare(storage, store_id, result, deletes_orphans=deletes_orphans)
                compared += 1
    except TimeoutError:
        pass
    except (StorageFull, Unavailable) as error:
        return fail("media", f"can't be compared with the storage: {error}")
    text = f"{result.contents} contents"
    if compared < len(stores):
        text += f", of {compared} of {len(stores)} stores in {_MAX_SECONDS:.0f} s"
    if result.orphans:
        text += f"; {len(result.orphans)} objects belong to no file: {join_names(result.orphans)}"
    if deleted:
        text += f"; {deleted} of them are deleted, contents by the job delete_unused_media in one to two hours"
    if result.missing:
        return fail("media", f"{text}; {len(result.missing)} are not in the storage: {join_names(result.missing)}")
    return warn("media", text) if len(result.orphans) > deleted else ok("media", text)


async def _stores(storage: Storage) -> list[int]:
    """Return the stores that have media files, files of shoppers, or objects."""
    names = [name for folder in FOLDERS for name in await storage.folders(folder)]
    ids = [store for name in names if (store := parse_uuid(name)) is not None]
    async with cross_store_connection() as platform:
        return [row["id"] for row in await platform.fetch(_STORES, ids)]


async def _compare(storage: Storage, store_id: int, result: StorageComparison, *, deletes_orphans: bool) -> int:
    """Add the comparison of one store; return how many orphans were deleted."""
    scope = system_scope(await find_store(store_id))
    with active_scope(scope):
        of_store = await compare(scope, storage)
        result.contents += of_store.contents
        result.missing += of_store.missing
        result.orphans += of_store.orphans
        return await delete_orphans(scope, storage, of_store.orphans) if deletes_orphans else 0
