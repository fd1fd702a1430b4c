"""Uploads of shoppers' files by a signed address: an address for one PUT, the check of what arrived, and the deletion of a file.

Files that come with a request are stored by `domain.carts.files`, by the same rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from domain.carts.files import check_space, checked_name, count_upload, find_option, inspect
from domain.carts.locked import LockedCart, find_cart, lock_open_cart, reject_closed
from domain.media.fetching import FileContent
from domain.media.option_files import (
    IS_IN_LINE,
    DownloadableFile,
    option_file_key,
    option_file_record,
    option_upload_key,
    upload_link,
)
from domain.media.uploads import LIFETIME, UPLOAD_FIELDS
from domain.storage import storage
from kernel.errors import Conflict, NotFound, RuleViolation, ValidationFailed
from kernel.fields import InputValues, read_fields
from kernel.ids import parse_uuid
from kernel.received_files import file_of_bytes
from kernel.scope import Scope, active_scope
from models.connection.database import execute, fetchrow, fetchval, transaction
from models.rows import delete_rows, insert_row

_FILE = f"""
SELECT f.id, f.file_id, f.file_name, f.mime_type, f.bytes, f.sha256, f.order_id, {IS_IN_LINE} AS is_in_line,
    o.name, o.allowed_extensions, o.max_file_size
FROM option_files f JOIN options o ON o.tenant_id = f.tenant_id AND o.id = f.option_id
WHERE f.tenant_id = $1 AND f.cart_id = $2 AND f.file_id = $3
"""
_COMPLETE = """
UPDATE option_files SET mime_type = $3, bytes = $4, sha256 = $5, created_at = $6
WHERE tenant_id = $1 AND id = $2 AND sha256 IS NULL
"""
# Before its content goes: nothing can name it any more.
_LEAVE = "UPDATE option_files SET cart_id = NULL WHERE tenant_id = $1 AND id = $2"
_IS_KEPT = """
SELECT EXISTS (SELECT FROM option_files WHERE tenant_id = $1 AND file_id = $2 AND (cart_id IS NOT NULL OR order_id IS NOT NULL))
"""


@dataclass(frozen=True, slots=True)
class FileUpload:
    """An upload that is awaited: where and how to send it."""

    file_id: UUID
    url: str
    method: str
    headers: dict[str, str]
    expires_at: datetime


async def register_upload(scope: Scope, cart: object, option: object, values: InputValues) -> FileUpload:
    """Begin the upload of a file `{file_name, mime_type, bytes}` for an option of type `F` in a cart; its address is valid for 15 minutes.

    Raises what `upload_file` does, but for what only the content shows.
    """
    with active_scope(scope):
        await _open_cart(scope, cart)
        await count_upload(scope)
        columns = read_fields(UPLOAD_FIELDS, values, creating=True)
        row = await find_option(scope, option)
        checked_name(row, columns["file_name"], columns["bytes"])
        file = uuid4()
        async with transaction(scope):
            locked = await lock_open_cart(scope, cart)
            await check_space(scope, locked.id, columns["bytes"])
            new = {**columns, "option_id": row["id"], "cart_id": locked.id, "created_at": scope.now}
            await insert_row(scope, "option_files", public_id=file, file_id=file, **new)
    expires_at = (scope.now + LIFETIME).replace(microsecond=0)
    url = await storage().link("PUT", option_upload_key(scope.store.public_id, file), LIFETIME)
    url = url or upload_link(scope, file, columns["bytes"], int(expires_at.timestamp()))
    return FileUpload(file, url, "PUT", {"Content-Type": columns["mime_type"]}, expires_at)


async def complete_upload(scope: Scope, cart: object, file: object) -> dict[str, Any]:
    """Check what was uploaded for a file of a cart, store it, and return its record; a complete one is returned as it is.

    Raises NotFound, RuleViolation `upload_missing` before anything arrived, and ValidationFailed for what the option doesn't take.
    """
    with active_scope(scope):
        row = await _find(scope, await _open_cart(scope, cart), file)
        if row["sha256"] is None:
            row = await _store(scope, cart, row)
    facts = {"id": str(row["file_id"]), "mime_type": row["mime_type"], "bytes": row["bytes"]}
    record = option_file_record(scope, {"value": row["file_name"], "file": facts})
    assert record is not None
    return record


async def _store(scope: Scope, cart: object, row: dict[str, Any]) -> dict[str, Any]:
    """Store the content of an upload, and return the row as it is then."""
    upload = option_upload_key(scope.store.public_id, row["file_id"])
    # At a provider anything may arrive, of any size.
    content = await storage().read(upload, most=row["bytes"])
    if content is None:
        raise RuleViolation("nothing was uploaded yet", reason="upload_missing")
    if len(content) > row["bytes"]:
        announced = f"the file has more than the {row['bytes']} bytes that were announced"
        raise ValidationFailed(announced, field="file", code="too_large")
    checked_name(row, row["file_name"], len(content))
    facts = await inspect(file_of_bytes(content, row["file_name"], row["mime_type"]), row["file_name"])
    key = option_file_key(scope.store.public_id, row["file_id"])
    await storage().put(key, content, DownloadableFile(row["file_name"], facts.mime_type).headers())
    try:
        await _complete(scope, cart, row, facts)
    except NotFound:  # deleted meanwhile, with what was stored of it until then
        await _delete_content(scope, row["file_id"])
        raise
    await storage().delete([upload])
    return {**row, "mime_type": facts.mime_type, "bytes": facts.bytes}


async def _complete(scope: Scope, cart: object, row: Mapping[str, Any], facts: FileContent) -> None:
    async with transaction(scope):
        await _find(scope, await lock_open_cart(scope, cart), row["file_id"])
        await execute(_COMPLETE, scope.store.id, row["id"], facts.mime_type, facts.bytes, facts.sha256, scope.now)


async def delete_file(scope: Scope, cart: object, file: object) -> None:
    """Delete a file of a cart; what an order or another cart has of it stays.

    Raises NotFound, and Conflict `file_in_use` while a line of the cart names it.
    """
    async with transaction(scope):
        row = await _find(scope, await lock_open_cart(scope, cart), file)
        if row["is_in_line"]:
            raise Conflict("a line of the cart has the file: change or remove it first", reason="file_in_use")
        await execute(_LEAVE, scope.store.id, row["id"])
    with active_scope(scope):
        await _delete_content(scope, row["file_id"])
        await delete_rows(scope, "option_files", id=row["id"])


async def _delete_content(scope: Scope, file: UUID) -> None:
    """Delete what is stored of a file, unless another cart or an order has it too."""
    if not await fetchval(_IS_KEPT, scope.store.id, file):
        await storage().delete(key(scope.store.public_id, file) for key in (option_file_key, option_upload_key))


async def _open_cart(scope: Scope, cart: object) -> LockedCart:
    current = await find_cart(scope, cart)
    reject_closed(scope, current)
    return current


async def _find(scope: Scope, cart: LockedCart, file: object) -> dict[str, Any]:
    row = await fetchrow(_FILE, scope.store.id, cart.id, parse_uuid(file))
    if row is None:
        raise NotFound("file")
    return dict(row)
