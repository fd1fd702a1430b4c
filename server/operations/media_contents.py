"""The contents of media files and of shoppers' files in archives: each a member with its key in the storage as name, type, file name and
digest in its comment.

Rendered sizes are not included: they are rendered again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import asyncpg

from domain.media.addresses import media_key
from domain.media.contents import object_headers
from domain.media.option_files import DownloadableFile, option_file_key
from domain.storage import storage
from server.operations.archives import ArchiveError, damage_reported

_KEY = re.compile(r"media/[0-9a-f-]{36}/[0-9a-f]{2}/[0-9a-f]{2}/([0-9a-f]{64})|files/[0-9a-f-]{36}/[0-9a-f-]{36}")
_FILES = """
SELECT t.public_id AS store, f.sha256, f.mime_type, f.file_name, f.bytes FROM media_files f JOIN tenants t ON t.id = f.tenant_id
WHERE f.sha256 IS NOT NULL AND f.unused_since IS DISTINCT FROM '-infinity' AND ($1::bigint IS NULL OR f.tenant_id = $1)
ORDER BY f.tenant_id, f.id
"""
_OPTION_FILES = """
SELECT DISTINCT ON (f.tenant_id, f.file_id) t.public_id AS store, f.file_id, f.sha256, f.mime_type, f.file_name, f.bytes
FROM option_files f JOIN tenants t ON t.id = f.tenant_id
WHERE f.sha256 IS NOT NULL AND (f.cart_id IS NOT NULL OR f.order_id IS NOT NULL) AND ($1::bigint IS NULL OR f.tenant_id = $1)
ORDER BY f.tenant_id, f.file_id
"""

AVIF_IS_DUE = "UPDATE {table} SET avif_due_at = DEFAULT, avif_attempts = DEFAULT"
"""The statement after which workers render sizes in AVIF again, for contents that were stored without."""


@dataclass(frozen=True, slots=True)
class StoredContent:
    """A content that a row says is stored."""

    key: str
    mime_type: str
    file_name: str
    bytes: int
    sha256: str

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers with which it is stored at a provider."""
        if _KEY.fullmatch(self.key)[1]:  # type: ignore[index]
            return object_headers(self.mime_type, self.file_name)
        return DownloadableFile(self.file_name, self.mime_type).headers()


@dataclass(frozen=True, slots=True)
class ContentCount:
    """How many contents were written or read; `missing` are the keys of those that the storage doesn't have."""

    files: int = 0
    bytes: int = 0
    missing: tuple[str, ...] = ()


async def find_contents(connection: asyncpg.Connection, store_id: int | None = None) -> list[StoredContent]:
    """Return the contents of a store's files, or of those of all stores."""
    files = [(media_key(row["store"], row["sha256"]), row) for row in await connection.fetch(_FILES, store_id)]
    rows = await connection.fetch(_OPTION_FILES, store_id)
    files += [(option_file_key(row["store"], row["file_id"]), row) for row in rows]
    return [StoredContent(key, row["mime_type"], row["file_name"], row["bytes"], row["sha256"]) for key, row in files]


async def write_contents(archive: zipfile.ZipFile, contents: Sequence[StoredContent]) -> ContentCount:
    """Add contents to an archive. Raises `Unavailable` without the storage."""
    missing: list[str] = []
    size = 0
    for content in contents:
        data = await storage().read(content.key)
        if data is None:
            missing.append(content.key)
            continue
        # Compressed formats: a ZipInfo of its own is stored as it is.
        member = zipfile.ZipInfo(content.key)
        member.comment = json.dumps([content.mime_type, content.file_name, content.sha256]).encode()
        await asyncio.to_thread(archive.writestr, member, data)
        size += len(data)
    return ContentCount(len(contents) - len(missing), size, tuple(missing))


async def read_contents(archive: zipfile.ZipFile, store: UUID | None = None) -> ContentCount:
    """Store the contents of an archive; raises ArchiveError for one that isn't what its name says, or is of another store."""
    files = size = 0
    for member in archive.infolist():
        match = _KEY.fullmatch(member.filename)
        if match is None:
            continue
        if store is not None and not member.filename.startswith((f"media/{store}/", f"files/{store}/")):
            raise ArchiveError(f"{archive.filename} has a file of another store: {member.filename}")
        with damage_reported(archive.filename):
            data = await asyncio.to_thread(archive.read, member)
            # Versions without files of shoppers wrote no digest.
            mime_type, file_name, *digest = json.loads(member.comment)
        content = StoredContent(member.filename, mime_type, file_name, len(data), match[1] or digest[0])
        if hashlib.sha256(data).hexdigest() != content.sha256:
            raise ArchiveError(f"{archive.filename} is damaged: {member.filename} has another content")
        await storage().put(content.key, data, content.headers)
        files += 1
        size += len(data)
    return ContentCount(files, size)
