"""Media files of the store: made from the URL of a source, fetched again, described and deleted."""

from __future__ import annotations

from typing import Any

from domain.media.addresses import source_digest
from domain.media.usage import IS_USED, free_sources
from domain.outgoing import calls
from domain.outgoing.targets import MAX_LENGTH
from kernel.errors import Conflict, NotFound, RuleViolation
from kernel.fields import MAX_NAME, InputField, read_fields, text
from kernel.ids import parse_uuid, uuid7
from kernel.scope import ActorKind, Scope
from models import audit
from models.connection.database import execute, fetchrow, fetchval, transaction
from models.rows import insert_row, update_row

_CONFLICT = "ON CONFLICT (tenant_id, md5(source_url)) WHERE source_url IS NOT NULL DO NOTHING"
_OF_SOURCE = """
SELECT o.id FROM media_files f JOIN media_files o ON o.tenant_id = f.tenant_id AND o.id = coalesce(f.original_id, f.id)
WHERE f.tenant_id = $1 AND md5(f.source_url) = $2 AND f.source_url = $3 AND o.unused_since IS DISTINCT FROM '-infinity'
"""
# It waits for the transactions that refer to the file (`resolve_images`), and those to come wait for it.
_LOCK = """
SELECT f.id, f.public_id, f.sha256, f.source_url, f.mime_type, f.bytes, f.original_id, f.error FROM media_files f
WHERE f.tenant_id = $1 AND f.public_id = $2 AND ($5 OR f.original_id IS NULL) AND f.unused_since IS DISTINCT FROM '-infinity'
    AND ($3::bigint IS NULL OR f.vendor_id = $3) AND ($4::bigint IS NULL OR f.user_id = $4)
FOR UPDATE
"""
_IS_USED = f"SELECT {IS_USED} FROM media_files f WHERE f.tenant_id = $1 AND f.id = $2"
_DELETE = "UPDATE media_files SET unused_since = '-infinity', next_attempt_at = NULL, updated_at = $3 WHERE tenant_id = $1 AND id = $2"


def _source(value: object) -> str:
    return calls.read_address(text(MAX_LENGTH, blank=False)(value))


_NEW = {
    "source_url": InputField("source_url", _source, code="url_invalid", required="required"),
    "alt": InputField("alt", text(MAX_NAME)),
}


def uploader(scope: Scope) -> dict[str, Any]:
    """Return the columns that say who makes a file: the vendor of a vendor's user, or the customer."""
    actor = scope.actor
    return {
        "vendor_id": actor.vendor_id if actor.kind is ActorKind.VENDOR else None,
        "user_id": actor.user_id if actor.kind is ActorKind.CUSTOMER else None,
    }


async def create_from_url(scope: Scope, source_url: str, alt: str | None = None) -> int:
    """Return the internal id of the file with this source: a new one that the worker fetches, or the one that is there.

    Raises ValidationFailed for a URL that is never requested, and Conflict where the file was deleted at the same moment.
    """
    columns = read_fields(_NEW, {"source_url": source_url, "alt": alt}, creating=True)
    url = columns["source_url"]
    times = {"next_attempt_at": scope.now, "created_at": scope.now, "updated_at": scope.now}
    async with transaction(scope):
        await free_sources(scope, [source_digest(url)])
        public_id = uuid7()
        new = {**columns, **uploader(scope), **times, "public_id": public_id}
        if await insert_row(scope, "media_files", conflict=_CONFLICT, **new) is not None:
            await audit.record(scope, "media_file.created", "media_file", public_id, {"source_url": url})
        file = await fetchval(_OF_SOURCE, scope.store.id, source_digest(url), url)
        if file is None:
            raise Conflict("the file of the source was deleted just now; try again", reason="media_deleted")
    return int(file)


async def refresh_file(scope: Scope, file: object) -> int:
    """Let the worker fetch a file again from its source, and return its internal id; until then it shows what it has.

    Raises NotFound, and RuleViolation `no_source` for an upload.
    """
    async with transaction(scope):
        row = await lock_file(scope, file)
        if row["source_url"] is None:
            raise RuleViolation("the file was uploaded; it has no source", reason="no_source")
        status: dict[str, Any] = {} if row["sha256"] is not None else {"status": "pending"}
        await update_row(
            scope,
            "media_files",
            row["id"],
            **status,
            error="",
            attempts=0,
            next_attempt_at=scope.now,
            updated_at=scope.now,
        )
        await audit.record(scope, "media_file.refreshed", "media_file", row["public_id"])
    return int(row["id"])


async def update_file(scope: Scope, file: object, alt: str) -> int:
    """Set the alternative text of a file and return its internal id."""
    columns = read_fields({"alt": _NEW["alt"]}, {"alt": alt})
    async with transaction(scope):
        row = await lock_file(scope, file)
        if await update_row(scope, "media_files", row["id"], **columns, updated_at=scope.now):
            await audit.record_update(scope, "media_file", row["public_id"], columns)
    return int(row["id"])


async def delete_file(scope: Scope, file: object) -> None:
    """Delete a file that no record refers to; the job deletes its bytes. Raises NotFound, and RuleViolation `media_in_use`."""
    async with transaction(scope):
        row = await lock_file(scope, file)
        if await fetchval(_IS_USED, scope.store.id, row["id"]):
            raise RuleViolation("records show the file", reason="media_in_use")
        await execute(_DELETE, scope.store.id, row["id"], scope.now)
        await audit.record(scope, "media_file.deleted", "media_file", row["public_id"])


async def lock_file(scope: Scope, file: object, *, with_copies: bool = False) -> Any:
    """Return the locked row of a file that the caller may change: vendors and customers those that they uploaded. Raises NotFound.

    Uploads whose content another file has are found `with_copies`.
    """
    public_id = parse_uuid(str(file))
    own = uploader(scope)
    row = public_id and await fetchrow(_LOCK, scope.store.id, public_id, own["vendor_id"], own["user_id"], with_copies)
    if not row:
        raise NotFound("media file")
    return row
