"""The contents of files by digest, as they are served: what is known of each, and which sizes may be asked for."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from domain.media.addresses import AUTO, FORMATS, SIZES, media_key, original_path
from domain.media.renderer import RenderedFormat
from kernel.accepted_types import accepted_types
from kernel.cache import BoundedCache
from kernel.scope import Scope
from models.connection.database import fetchrow

IMAGE_TYPES = ("image/jpeg", "image/png", "image/webp", "image/gif", "image/avif", "image/heic")
"""What browsers show in place and the renderer decodes; everything else is sent as a file to save."""
SVG = "image/svg+xml"
"""A document that may contain scripts: a file to save, no image."""
VARIANTS: Mapping[str, tuple[int, RenderedFormat | None]] = {
    f"{size}.{suffix}": (size, None if name == AUTO else RenderedFormat(suffix))
    for size in SIZES.values()
    for name, suffix in FORMATS.items()
}
"""The names of rendered sizes in addresses, with size and format; None for the format that the client accepts."""
# A deleted file is served for as long by a process that knows it.
_SECONDS = 60.0
_MAX_CACHED = 20_000
_MEDIA_TYPE = re.compile(r"[A-Za-z0-9.+-]{1,60}/[A-Za-z0-9.+-]{1,60}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_OWN_FORMATS = {
    "image/jpeg": RenderedFormat.JPEG,
    "image/webp": RenderedFormat.WEBP,
    # As much as a client that accepts no newer format can show of it.
    "image/avif": RenderedFormat.JPEG,
    "image/heic": RenderedFormat.JPEG,
}

_CONTENT = """
SELECT mime_type, file_name, greatest(width, height) AS longest FROM media_files
WHERE tenant_id = $1 AND sha256 = $2 AND unused_since IS DISTINCT FROM '-infinity'
"""


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a file: its key in the storage, its type, the pixels of its longest side, its name in addresses and its own."""

    key: str
    mime_type: str
    longest: int
    name: str
    file_name: str

    @property
    def is_image(self) -> bool:
        """Return whether it can be shown in place and has sizes."""
        return self.mime_type in IMAGE_TYPES


@dataclass(frozen=True, slots=True)
class _CachedContent:
    content: Content
    until: float


_cache: BoundedCache[tuple[int, str], _CachedContent] = BoundedCache(_MAX_CACHED)


async def find_content(scope: Scope, sha256: str) -> Content | None:
    """Return the content of the store with this digest; None if the store has none."""
    if _DIGEST.fullmatch(sha256) is None:
        return None
    cached = _cache.find((scope.store.id, sha256))
    if cached is not None and cached.until > time.monotonic():
        return cached.content
    row = await fetchrow(_CONTENT, scope.store.id, sha256)
    if row is None:
        return None
    mime_type = row["mime_type"]
    name = original_path(sha256, mime_type).rpartition("/")[2]
    content = Content(media_key(scope.store.public_id, sha256), mime_type, row["longest"], name, row["file_name"])
    _cache.keep((scope.store.id, sha256), _CachedContent(content, time.monotonic() + _SECONDS))
    return content


def size_key(content: Content, size: int, file_format: RenderedFormat) -> str:
    """Return the key of a rendered size; sizes that would be as large as the image are one."""
    needed = min((each for each in SIZES.values() if each >= content.longest), default=size)
    return f"{content.key}.{min(size, needed)}.{file_format}"


def accepted_formats(accept: str, mime_type: str) -> tuple[RenderedFormat, ...]:
    """Return the formats of an image for a client, the best one first; the last one can always be rendered.

    >>> [*map(str, accepted_formats("image/avif,image/webp,*/*;q=0.8", "image/png"))]
    ['avif', 'webp']
    >>> [*map(str, accepted_formats("*/*", "image/png"))]
    ['png']
    """
    # Clients that accept any image don't say so of those that they can show: the newer formats are named or unknown.
    named = accepted_types(accept)
    newer = [RenderedFormat.AVIF] if "image/avif" in named else []
    if "image/webp" in named:
        return (*newer, RenderedFormat.WEBP)
    return (*newer, _OWN_FORMATS.get(mime_type, RenderedFormat.PNG))


def object_headers(mime_type: str, file_name: str = "") -> dict[str, str]:
    """Return the headers with which a content is stored at a provider, and sent."""
    if mime_type in IMAGE_TYPES:
        disposition = "inline"
    else:
        disposition = f"attachment; filename*=UTF-8''{quote(file_name, safe='')}" if file_name else "attachment"
    return {
        # The uploader wrote it.
        "Content-Type": mime_type if _MEDIA_TYPE.fullmatch(mime_type) else "application/octet-stream",
        "Content-Disposition": disposition,
        "Cache-Control": f"public, max-age={365 * 86_400}, immutable",
    }
