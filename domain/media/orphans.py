"""The comparison of a store's media files with the objects in the storage, and the deletion of objects that no file needs.

An object without a row may be needed at any moment: an upload or a fetch stores the content again, and then writes the row. Such a content
is therefore entered as a deleted file, whose place a new one with that content takes. The job that deletes unused files deletes its bytes
and sizes at a later run, with the row (`domain.media.usage`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from domain.media import option_files
from domain.media.addresses import media_key, upload_key
from domain.media.fetching import enter_deleted
from domain.media.option_files import option_file_key, option_upload_key
from domain.storage import Storage
from kernel.scope import Scope
from models.connection.database import fetch, transaction

FOLDERS = ("media/", option_files.FOLDER)
# Younger ones are of files whose row is not written yet.
MIN_AGE = timedelta(days=1)
_BATCH = 100
_DIGEST = re.compile(r"/([0-9a-f]{64})(?:\.\d+\.[a-z]+)?$")

_CONTENTS = """
SELECT sha256, unused_since IS NOT DISTINCT FROM '-infinity' AS is_deleted FROM media_files WHERE tenant_id = $1 AND sha256 IS NOT NULL
"""
_UPLOADS = """
SELECT public_id FROM media_files WHERE tenant_id = $1 AND sha256 IS NULL AND original_id IS NULL AND source_url IS NULL
"""
_OPTION_FILES = "SELECT DISTINCT file_id, sha256 IS NULL AS is_awaited FROM option_files WHERE tenant_id = $1"


@dataclass(slots=True)
class StorageComparison:
    """What a comparison found: contents with a row, and keys without their counterpart. `orphans` are a day old at least."""

    contents: int = 0
    missing: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)


async def compare(scope: Scope, storage: Storage) -> StorageComparison:
    """Compare the files of the store in scope with the objects."""
    store = scope.store.public_id
    folders = [f"{folder}{store}/" for folder in FOLDERS]
    stored = {each.key: each.modified_at for folder in folders async for each in storage.find(folder)}
    # After the objects: what was deleted meanwhile has no row.
    contents = {media_key(store, row["sha256"]): row["is_deleted"] for row in await fetch(_CONTENTS, scope.store.id)}
    uploads = {upload_key(store, row["public_id"]) for row in await fetch(_UPLOADS, scope.store.id)}
    options = await fetch(_OPTION_FILES, scope.store.id)
    uploads |= {option_upload_key(store, row["file_id"]) for row in options if row["is_awaited"]}
    contents |= {option_file_key(store, row["file_id"]): False for row in options if not row["is_awaited"]}
    result = StorageComparison(len(contents))
    for key, is_deleted in contents.items():
        if not is_deleted and key not in stored and await storage.head(key) is None:
            result.missing.append(key)
    for key, modified_at in stored.items():
        if modified_at < scope.now - MIN_AGE and key.partition(".")[0] not in contents and key not in uploads:
            result.orphans.append(key)
    return result


async def delete_orphans(scope: Scope, storage: Storage, keys: Sequence[str]) -> int:
    """Delete orphans, and return how many: uploads that nothing awaits and shoppers' files at once, contents by the next runs of the job.

    Objects with other names are not ours and stay.
    """
    store = scope.store.public_id
    uploads = [key for key in keys if key.startswith((f"media/{store}/uploads/", f"{option_files.FOLDER}{store}/"))]
    digests = [match[1] for key in keys if (match := _DIGEST.search(key)) is not None]
    contents = sorted(set(digests))
    for start in range(0, len(contents), _BATCH):
        async with transaction(scope):
            await enter_deleted(scope, contents[start : start + _BATCH])
    await storage.delete(uploads)
    return len(uploads) + len(digests)
