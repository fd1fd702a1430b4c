"""The sizes of images in AVIF, which workers render: claim an image that has none, and store what came of it.

An image is claimed by moving `avif_due_at` past a lease and counting the attempt; a result counts only for the attempt that made it and the
content that it had. `avif_due_at` is null once its sizes are stored or can't be rendered: requests don't look for what was given up.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from domain.media.addresses import SIZES
from domain.media.contents import Content, size_key
from domain.media.renderer import RenderedFormat
from domain.media.sizes import load_original, store_size
from domain.resting_stores import RESTING_STORES
from domain.storage import storage
from kernel.retries import retry_delay
from kernel.scope import Scope
from models.connection.database import cross_store_connection, execute, transaction
from models.rows import from_row

MAX_ATTEMPTS = 3
# A worker that is still at it after that renders for nothing, which is no harm.
LEASE = timedelta(minutes=2)

_CLAIM = f"""
WITH due AS (
    SELECT tenant_id, id FROM media_files
    WHERE avif_due_at <= clock_timestamp() AND tenant_id <> ALL({RESTING_STORES})
        AND sha256 IS NOT NULL AND width > 0 AND unused_since IS DISTINCT FROM '-infinity'
    ORDER BY avif_due_at LIMIT 1 FOR UPDATE SKIP LOCKED
)
UPDATE media_files f SET avif_due_at = clock_timestamp() + $1, avif_attempts = f.avif_attempts + 1
FROM due WHERE f.tenant_id = due.tenant_id AND f.id = due.id
RETURNING f.tenant_id AS store_id, f.id, f.sha256, f.mime_type, greatest(f.width, f.height) AS longest, f.avif_attempts AS attempts
"""
_SETTLE = """
UPDATE media_files SET avif_due_at = clock_timestamp() + $5::interval, avif_attempts = $6
WHERE tenant_id = $1 AND id = $2 AND sha256 = $3 AND avif_attempts = $4 AND avif_due_at IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class ClaimedImage:
    """An image whose sizes in AVIF are to be rendered; `attempts` counts this one, `longest` is its longest side in pixels."""

    store_id: int
    id: int
    sha256: str
    mime_type: str
    longest: int
    attempts: int


async def claim_image() -> ClaimedImage | None:
    """Claim the image of all stores that has waited longest for its sizes in AVIF."""
    async with cross_store_connection() as platform:
        row = await platform.fetchrow(_CLAIM, LEASE)
    return None if row is None else from_row(ClaimedImage, row)


async def render_avif(content: Content) -> None:
    """Render and keep an image in every size that addresses name, as far as it isn't kept; raises ImageError, and NotFound."""
    original = await load_original(content)
    for size in SIZES.values():
        key = size_key(content, size, RenderedFormat.AVIF)
        if await storage().head(key) is None:
            await store_size(original, key, size, RenderedFormat.AVIF)
        if size >= content.longest:
            break  # larger sizes would be this one


async def mark_rendered(scope: Scope, claimed: ClaimedImage) -> None:
    """Store that the sizes are kept."""
    async with transaction(scope):
        await execute(_SETTLE, scope.store.id, claimed.id, claimed.sha256, claimed.attempts, None, claimed.attempts)


async def mark_failed(scope: Scope, claimed: ClaimedImage, *, is_final: bool = False) -> bool:
    """Store that the sizes could not be rendered; return whether they are tried again."""
    is_last = is_final or claimed.attempts >= MAX_ATTEMPTS
    delay = None if is_last else retry_delay(claimed.attempts)
    async with transaction(scope):
        await execute(_SETTLE, scope.store.id, claimed.id, claimed.sha256, claimed.attempts, delay, claimed.attempts)
    return delay is not None


async def release(scope: Scope, claimed: ClaimedImage, *, delay: timedelta = timedelta(0)) -> None:
    """Give up an attempt that says nothing about the image: the worker stops, or the storage doesn't answer."""
    attempts = claimed.attempts - 1
    async with transaction(scope):
        await execute(_SETTLE, scope.store.id, claimed.id, claimed.sha256, claimed.attempts, delay, attempts)
