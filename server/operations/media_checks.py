"""Check media files: the renderer of images, and whether rows and contents in the storage belong together."""

from __future__ import annotations

import asyncio
import base64
from datetime import timedelta
from time import monotonic
from typing import Any

from domain.media.addresses import media_key
from domain.media.renderer import ImageError, RenderedFormat
from domain.storage import Storage, open_storage
from domain.stores import find_store
from kernel.clock import now
from kernel.errors import StorageFull, Unavailable
from kernel.scope import active_scope
from kernel.settings import Settings
from models.connection.database import cross_store_connection, fetch
from server.media.renderer import Renderer, RendererLimits
from server.operations.check_results import CheckResult, fail, join_names, ok, warn
from server.operations.store_admin import system_scope

# A comparison lists all objects: a large storage is compared in part.
_MAX_SECONDS = 30.0
# Younger ones are of files whose row is not written yet.
_MIN_AGE = timedelta(days=1)
_PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
_STORES = """
SELECT t.id, t.public_id FROM tenants t WHERE EXISTS (SELECT FROM media_files f WHERE f.tenant_id = t.id) ORDER BY t.id
"""
_FILES = """
SELECT sha256, unused_since IS NOT DISTINCT FROM '-infinity' AS is_deleted FROM media_files WHERE tenant_id = $1 AND sha256 IS NOT NULL
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


async def check_media(settings: Settings) -> CheckResult:
    """Compare the rows of media files with the objects in the storage, for half a minute at most."""
    storage = open_storage(settings.storage_address)
    deadline = monotonic() + _MAX_SECONDS
    missing: list[str] = []
    orphans: list[str] = []
    files = compared = 0
    async with cross_store_connection() as platform:
        stores = await platform.fetch(_STORES)
    try:
        for store in stores:
            async with asyncio.timeout(deadline - monotonic()):
                files += await _compare(storage, store, missing, orphans)
            compared += 1
    except TimeoutError:
        pass
    except (StorageFull, Unavailable) as error:
        return fail("media", f"can't be compared with the storage: {error}")
    text = f"{files} contents"
    if compared < len(stores):
        text += f", of {compared} of {len(stores)} stores in {_MAX_SECONDS:.0f} s"
    if orphans:
        text += f"; {len(orphans)} objects belong to no file: {join_names(orphans)}"
    if missing:
        return fail("media", f"{text}; {len(missing)} are not in the storage: {join_names(missing)}")
    return warn("media", text) if orphans else ok("media", text)


async def _compare(storage: Storage, store: Any, missing: list[str], orphans: list[str]) -> int:
    """Compare the files of one store; return how many have a content."""
    before = now() - _MIN_AGE
    prefix = f"media/{store['public_id']}/"
    stored = {each.key: each.modified_at async for each in storage.find(prefix)}
    # After the objects: what was deleted meanwhile has no row.
    with active_scope(system_scope(await find_store(store["id"]))):
        rows = await fetch(_FILES, store["id"])
    keys = {media_key(store["public_id"], row["sha256"]): row["is_deleted"] for row in rows}
    for key, is_deleted in keys.items():
        if not is_deleted and key not in stored and await storage.head(key) is None:
            missing.append(key)
    for key, modified_at in stored.items():
        is_upload = key.startswith(f"{prefix}uploads/")
        if not is_upload and modified_at < before and key.partition(".")[0] not in keys:
            orphans.append(key)
    return len(keys)
