"""Uploads of media files: an address for one PUT, at the object storage or at this server, and the check of what arrived.

An upload is an object of its own until it is complete; then its content is stored under its digest, where the same content may be already.
Files that come with a request (`domain.media.received`) are checked in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from domain.media.addresses import base_url, upload_key
from domain.media.contents import SVG
from domain.media.fetching import FileContent, become, enter_deleted, inspect_image, measure, stored_content
from domain.media.files import lock_file, uploader
from domain.media.renderer import MAX_BYTES, ImageError
from domain.signed_links import sign, verify
from domain.storage import storage
from domain.store_limits import check_limit
from kernel.errors import Conflict, RateLimited, RuleViolation, ValidationFailed
from kernel.fields import InputField, InputValues, integer, name_text, read_fields, text
from kernel.ids import uuid7
from kernel.scope import ActorKind, Scope
from kernel.text import InvalidValue, repr_value
from models import audit
from models.connection.database import execute, fetchval, transaction
from models.rows import insert_row, update_row

LIFETIME = timedelta(minutes=15)
MAX_DAILY = 20
"""The uploads that a customer may begin in 24 hours."""
ROUTE = "/files/media"
MIN_COUNTED = 64 * 1024
"""What an upload counts at least, in bytes: rows take space too."""
_PURPOSE = "media uploads"
_MAX_TYPE = 255
_MAX_ERROR = 1_000


def media_type(value: object) -> str:
    """Read the media type that a client announces."""
    announced = str(text(_MAX_TYPE, blank=False)(value))
    if not (announced.isascii() and announced.isprintable() and "/" in announced):
        raise InvalidValue(f"is {repr_value(announced)}; expected a media type such as image/jpeg")
    return announced


UPLOAD_FIELDS: Mapping[str, InputField] = {
    "file_name": InputField("file_name", name_text, code="file_name_invalid", required="required"),
    "mime_type": InputField("mime_type", media_type, code="mime_type_invalid", required="required"),
    "bytes": InputField("bytes", integer(1, MAX_BYTES), code="bytes_invalid", required="required"),
}
_LOCK_CUSTOMER = "SELECT pg_advisory_xact_lock(hashtextextended('uploads:' || $1::bigint || ':' || $2::bigint, 0))"
_LOCK_STORE = "SELECT pg_advisory_xact_lock(hashtextextended('uploads:' || $1::bigint, 0))"
# Deleted ones too: the job deletes what arrived of them.
_TAKEN = f"""
SELECT coalesce(sum(greatest(bytes, {MIN_COUNTED})), 0)::bigint FROM media_files
WHERE tenant_id = $1 AND status = 'pending' AND source_url IS NULL AND (user_id IS NOT NULL OR NOT $2)
"""
_IS_AWAITED = """
tenant_id = $1 AND public_id = $2 AND status = 'pending' AND source_url IS NULL
    AND unused_since IS DISTINCT FROM '-infinity'
"""
_AWAITED = f"SELECT true FROM media_files WHERE {_IS_AWAITED}"
_NOTE_REFUSAL = f"UPDATE media_files SET error = $3, updated_at = $4 WHERE {_IS_AWAITED}"
_WAITING = f"""
SELECT coalesce(sum(greatest(bytes, {MIN_COUNTED})), 0)::bigint FROM option_files WHERE tenant_id = $1 AND order_id IS NULL
"""
_RECENT = "SELECT count(*) FROM media_files WHERE tenant_id = $1 AND user_id = $2 AND created_at > $3"


@dataclass(slots=True)
class _Limits:
    store_bytes: int = 1024**3


_limits = _Limits()


def configure(store_bytes: int) -> None:
    """Set how much the uploads of a store that are not complete may take, in bytes."""
    _limits.store_bytes = store_bytes


@dataclass(frozen=True, slots=True)
class Upload:
    """An upload that is awaited: where and how to send it."""

    media_id: UUID
    url: str
    method: str
    headers: Mapping[str, str]
    expires_at: datetime


async def register_upload(scope: Scope, values: InputValues) -> Upload:
    """Begin an upload of the caller, `{file_name, mime_type, bytes}`, and return the address for it, valid for 15 minutes.

    Raises ValidationFailed, RateLimited for a customer with more than 20 in a day, and Conflict `upload_space_used` where the store's
    uploads that are not complete take too much.
    """
    columns = read_fields(UPLOAD_FIELDS, values, creating=True)
    public_id = uuid7()
    async with transaction(scope):
        await insert_upload(scope, {**columns, "public_id": public_id})
    expires_at = (scope.now + LIFETIME).replace(microsecond=0)
    url = await storage().link("PUT", upload_key(scope.store.public_id, public_id), LIFETIME)
    url = url or _own_link(scope.store.public_id, public_id, columns["bytes"], int(expires_at.timestamp()))
    return Upload(public_id, url, "PUT", {"Content-Type": columns["mime_type"]}, expires_at)


async def insert_upload(scope: Scope, columns: Mapping[str, Any]) -> int:
    """Insert a file that waits for its content, in the open transaction; customers upload images, 20 a day."""
    is_customer = scope.actor.kind is ActorKind.CUSTOMER
    if is_customer:
        if not is_image_type(columns["mime_type"]):
            raise ValidationFailed("expected the type of an image", field="mime_type", code="mime_type_invalid")
        await _check_daily_limit(scope)
    await _check_space(scope, columns["bytes"], is_customer=is_customer)
    await check_limit(scope, "storage_bytes", columns["bytes"])
    new = {**columns, **uploader(scope), "created_at": scope.now, "updated_at": scope.now}
    file = await insert_row(scope, "media_files", **new)
    assert file is not None
    return int(file)


async def complete_upload(scope: Scope, media: object) -> int:
    """Check what was uploaded, store it, and return the internal id of the file: of another one that has the same content.

    A complete one is returned as it is. Raises NotFound, RuleViolation `upload_missing` before anything arrived, and ValidationFailed
    for what is too large or no image, with which the upload has failed.
    """
    async with transaction(scope):
        row = await lock_file(scope, media, with_copies=True)
    if (file := _complete_file(row)) is not None:
        return file
    key = upload_key(scope.store.public_id, row["public_id"])
    try:
        content = await _read_arrived(row, key)
        facts = await _inspect_arrived(content, row["mime_type"])
    except (RuleViolation, ValidationFailed) as error:
        return await _reject(scope, media, key, error)
    async with stored_content(scope, content, facts), transaction(scope):
        file = _complete_file(await lock_file(scope, media, with_copies=True))
        if file is None:
            file = await become(scope, row["id"], facts) or int(row["id"])
            await update_row(scope, "media_files", row["id"], error="")
            await audit.record(scope, "media_file.uploaded", "media_file", row["public_id"], {"bytes": facts.bytes})
        else:  # another request was faster, perhaps with what was stored before
            await enter_deleted(scope, [facts.sha256])
    await storage().delete([key])
    return file


def _complete_file(row: Mapping[str, Any]) -> int | None:
    """Return the internal id of the file that an upload has become, None for one that is awaited."""
    return int(row["original_id"] or row["id"]) if row["sha256"] is not None or row["original_id"] is not None else None


async def _read_arrived(row: Mapping[str, Any], key: str) -> bytes:
    stored = await storage().head(key)
    if stored is None:
        raise _missing(row)
    if stored.size > row["bytes"]:
        raise _invalid(f"the file has {stored.size} bytes; {row['bytes']} were announced", "too_large")
    # At a provider it may be stored again meanwhile, with any size.
    content = await storage().read(key, most=row["bytes"])
    if content is None:
        raise _missing(row)
    if len(content) > row["bytes"]:
        raise _invalid(f"the file has more than the {row['bytes']} bytes that were announced", "too_large")
    return content


async def _inspect_arrived(content: bytes, announced: str) -> FileContent:
    try:
        return await inspect_content(content, announced)
    except ImageError as error:
        raise _invalid(error.message, "media_invalid") from error


async def inspect_content(content: bytes | Path, announced: str) -> FileContent:
    """Return the facts of a content: an image by its content, whatever its name says, else a file of the announced type.

    Raises ImageError for what was announced as an image.
    """
    try:
        return await inspect_image(content)
    except ImageError:
        if is_image_type(announced):
            raise
    sha256, size = await measure(content)
    return FileContent(sha256, announced, size)


def is_image_type(mime_type: str) -> bool:
    """Return whether what is announced so must be an image; attachments may be anything."""
    return mime_type.startswith("image/") and mime_type != SVG


def _missing(row: Mapping[str, Any]) -> RuleViolation:
    """Return the error of an upload of which nothing is stored, with the reason for which the last one was refused."""
    refused = f"; what was sent before was refused: {row['error']}" if row["error"] else ""
    return RuleViolation(f"nothing was uploaded yet{refused}", reason="upload_missing")


async def note_refusal(scope: Scope, media: UUID, reason: str) -> None:
    """Keep for `complete_upload` why what was sent to the address of an upload was refused."""
    async with transaction(scope):
        await execute(_NOTE_REFUSAL, scope.store.id, media, reason[:_MAX_ERROR], scope.now)


def _invalid(reason: str, code: str) -> ValidationFailed:
    return ValidationFailed(reason, field="media_id", code=code)


async def _reject(scope: Scope, media: object, key: str, error: RuleViolation | ValidationFailed) -> int:
    """Let an upload fail whose content is invalid, and raise the error; return the file where another request has completed the upload."""
    async with transaction(scope):
        row = await lock_file(scope, media, with_copies=True)
        file = _complete_file(row)
        if file is None and isinstance(error, ValidationFailed):
            await fail_upload(scope, row["id"], error.message)
    if file is not None:
        return file
    if isinstance(error, ValidationFailed):
        await storage().delete([key])
    raise error


async def fail_upload(scope: Scope, file: int, reason: str) -> None:
    """Let an upload fail, in the open transaction."""
    await update_row(scope, "media_files", file, status="failed", error=reason[:_MAX_ERROR], updated_at=scope.now)


async def _check_daily_limit(scope: Scope) -> None:
    user = scope.actor.user_id
    await execute(_LOCK_CUSTOMER, scope.store.id, user)
    if await fetchval(_RECENT, scope.store.id, user, scope.now - timedelta(days=1)) >= MAX_DAILY:
        raise RateLimited(f"a customer uploads at most {MAX_DAILY} pictures a day", retry_after=3_600)


async def _check_space(scope: Scope, size: int, *, is_customer: bool) -> None:
    """Refuse an upload for which the store has no space; those of customers get half of it, and leave the other to the store."""
    limit = _limits.store_bytes // 2 if is_customer else _limits.store_bytes
    await execute(_LOCK_STORE, scope.store.id)
    taken = await fetchval(_TAKEN, scope.store.id, is_customer)
    if taken + max(size, MIN_COUNTED) > limit:
        text = f"uploads that are not complete take {taken} of {limit} bytes; complete them first, or delete them and try again later"
        raise Conflict(text, reason="upload_space_used")


async def check_waiting_space(scope: Scope, size: int) -> None:
    """Refuse a shopper's file, in the open transaction, where those that no order has yet take as much as customers' uploads may."""
    await execute(_LOCK_STORE, scope.store.id)
    limit, taken = _limits.store_bytes // 2, await fetchval(_WAITING, scope.store.id)
    if taken + max(size, MIN_COUNTED) > limit:
        raise Conflict(f"files in carts take {taken} of {limit} bytes; try again later", reason="upload_space_used")


# --- Addresses at this server ----------------------------------------------------------------------------------------------


def _own_link(store: UUID, media: UUID, size: int, expires: int) -> str:
    signature = sign(_PURPOSE, f"{store}:{media}:{size}", expires)
    return f"{base_url()}{ROUTE}/{store}/{media}?bytes={size}&expires={expires}&signature={signature}"


def verify_upload_link(store: UUID, media: UUID, size: int, expires: int, signature: str, now: datetime) -> None:
    """Raise `Forbidden` for an address that this deployment did not sign, and after its time; it takes at most `size` bytes."""
    verify(_PURPOSE, f"{store}:{media}:{size}", expires, signature, now)


async def is_awaited(scope: Scope, media: UUID) -> bool:
    """Return whether a file waits for its upload."""
    return bool(await fetchval(_AWAITED, scope.store.id, media))
