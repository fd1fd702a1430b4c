"""Files that shoppers upload to a cart for options of type `F`: a line names one by its id, the order of the cart keeps it."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any
from uuid import UUID, uuid4

from auth.lockout import count_recent
from domain.carriers.limits import SHOPPERS
from domain.carts.locked import find_cart, lock_open_cart, reject_closed
from domain.media.fetching import FileContent
from domain.media.option_files import IS_IN_LINE, UNUSED_FOR, DownloadableFile, option_file_key, option_file_record
from domain.media.renderer import ImageError
from domain.media.uploads import check_waiting_space, inspect_content
from domain.purchase.lines import Offer
from domain.purchase.option_selection import SelectedFile, file_options, files_of
from domain.storage import storage
from domain.store_limits import check_limit
from kernel.errors import Conflict, NotFound, RateLimited, ValidationFailed
from kernel.fields import InputField, name_text, read_fields
from kernel.ids import parse_uuid
from kernel.ip_addresses import rate_limit_key
from kernel.received_files import ReceivedFile
from kernel.scope import Scope, active_scope
from models.connection.database import execute, fetch, fetchrow, separate_transaction, transaction
from models.rows import insert_row

MAX_FILES = 50
MAX_BYTES = 100 * 1024 * 1024
"""The files that a cart may have, and the bytes of all of them."""
PER_ADDRESS = 30
"""The files that shoppers of one address may upload in a minute."""
_NAME = {"file_name": InputField("file_name", name_text, code="file_name_invalid", required="required")}

_OPTION = """
SELECT id, public_id, name, allowed_extensions, max_file_size FROM options
WHERE tenant_id = $1 AND public_id = $2 AND type = 'F' AND status = 'A' AND deleted_at IS NULL
"""
_OF_CART = "SELECT count(*) AS files, coalesce(sum(bytes), 0)::bigint AS bytes FROM option_files WHERE tenant_id = $1 AND cart_id = $2"
# One that the job may delete isn't there any more.
_FIND = f"""
SELECT f.file_id, f.file_name, f.mime_type, f.bytes, o.public_id AS option_id FROM carts c
JOIN option_files f ON f.tenant_id = c.tenant_id AND f.cart_id = c.id
JOIN options o ON o.tenant_id = f.tenant_id AND o.id = f.option_id
WHERE c.tenant_id = $1 AND c.public_id = $2 AND f.file_id = ANY($3::uuid[]) AND f.sha256 IS NOT NULL
    AND (f.created_at > $4 OR {IS_IN_LINE})
"""
_ORDER = """
UPDATE option_files SET order_id = $3 WHERE tenant_id = $1 AND cart_id = $2 AND file_id = ANY($4::uuid[])
"""
# An erasure of the order waits.
_COPY = """
INSERT INTO option_files (tenant_id, public_id, file_id, option_id, cart_id, file_name, mime_type, bytes, sha256, created_at)
SELECT f.tenant_id, gen_random_uuid(), f.file_id, f.option_id, $2, f.file_name, f.mime_type, f.bytes, f.sha256, f.created_at
FROM (SELECT * FROM option_files WHERE tenant_id = $1 AND order_id = $3 AND file_id = ANY($4::uuid[]) FOR SHARE) f
ON CONFLICT (tenant_id, cart_id, file_id) WHERE cart_id IS NOT NULL DO NOTHING
"""
_MOVE = """
UPDATE option_files f SET cart_id = $2 WHERE f.tenant_id = $1 AND f.cart_id = $3 AND NOT EXISTS (
    SELECT FROM option_files o WHERE o.tenant_id = $1 AND o.cart_id = $2 AND o.file_id = f.file_id)
"""


async def upload_file(scope: Scope, cart: object, option: object, file: ReceivedFile) -> dict[str, Any]:
    """Store a file for an option of type `F` in a cart, and return its record, whose `id` is a value of the option.

    Raises NotFound for a cart or option, ValidationFailed for a file that the option doesn't take, Conflict for more than a cart may have,
    RateLimited for too many of one address, and what `reject_closed` does.
    """
    with active_scope(scope):
        current = await find_cart(scope, cart)
        reject_closed(scope, current)
        await count_upload(scope)
        row = await find_option(scope, option)
    name = checked_name(row, file.file_name, file.size)
    content = await inspect(file, name)
    public_id = uuid4()
    key = option_file_key(scope.store.public_id, public_id)
    async with transaction(scope):
        await check_space(scope, current.id, content.bytes)
    try:
        await storage().put(key, file.content, DownloadableFile(name, content.mime_type).headers())
        await _insert(scope, cart, row["id"], public_id, name, content)
    except BaseException:  # of a client that went away too
        await asyncio.shield(storage().delete([key]))
        raise
    facts = {"id": str(public_id), "mime_type": content.mime_type, "bytes": content.bytes}
    record = option_file_record(scope, {"value": name, "file": facts})
    assert record is not None
    return record


async def find_option(scope: Scope, option: object) -> Mapping[str, Any]:
    """Return an active option of type `F`; raises NotFound."""
    row: Mapping[str, Any] | None = await fetchrow(_OPTION, scope.store.id, parse_uuid(option))
    if row is None:
        raise NotFound("option")
    return row


async def count_upload(scope: Scope) -> None:
    """Count an upload of the caller's address; raise RateLimited for a shopper's that uploads too often."""
    if scope.actor.kind not in SHOPPERS:
        return
    async with separate_transaction(scope):
        is_counted = await count_recent(f"cart_files:{rate_limit_key(scope.client_ip)}", scope.now, PER_ADDRESS)
    if not is_counted:
        raise RateLimited(f"at most {PER_ADDRESS} files a minute may be uploaded to carts from one address")


def checked_name(option: Mapping[str, Any], file_name: str, size: int) -> str:
    """Return the name of a file that the option takes by its name and size; raises ValidationFailed for any other."""
    if not size:
        raise ValidationFailed("the file is empty", field="file", code="required")
    name: str = read_fields(_NAME, {"file_name": file_name}, creating=True)["file_name"]
    allowed = [each for each in option["allowed_extensions"].split(",") if each]
    if allowed and PurePath(name).suffix.lower().removeprefix(".") not in allowed:
        raise ValidationFailed(
            f"option {option['name']} takes files of the types {', '.join(allowed)}", field="file", code="type_invalid"
        )
    if option["max_file_size"] and size > option["max_file_size"] * 1024:
        raise ValidationFailed(
            f"option {option['name']} takes files of at most {option['max_file_size']} KiB",
            field="file",
            code="too_large",
        )
    return name


async def inspect(file: ReceivedFile, name: str) -> FileContent:
    """Return what is known of a content; raises ValidationFailed for what is named as an image and is none."""
    announced = mimetypes.guess_type(name)[0] or "application/octet-stream"
    try:
        return await inspect_content(file.content, announced)
    except ImageError as error:
        raise ValidationFailed(f"the file is refused: {error.message}", field="file", code="media_invalid") from error


async def _insert(scope: Scope, cart: object, option_id: int, public_id: UUID, name: str, content: FileContent) -> None:
    async with transaction(scope):
        locked = await lock_open_cart(scope, cart)
        await check_space(scope, locked.id, content.bytes)
        await insert_row(
            scope,
            "option_files",
            public_id=public_id,
            file_id=public_id,
            option_id=option_id,
            cart_id=locked.id,
            file_name=name,
            mime_type=content.mime_type,
            bytes=content.bytes,
            sha256=content.sha256,
            created_at=scope.now,
        )


async def check_space(scope: Scope, cart_id: int, size: int) -> None:
    """Raise Conflict for a file, in the open transaction, for which the cart, all carts or the store have no space."""
    row = await fetchrow(_OF_CART, scope.store.id, cart_id)
    assert row is not None  # an aggregate always returns a row
    if row["files"] >= MAX_FILES or row["bytes"] + size > MAX_BYTES:
        raise Conflict(
            f"a cart has at most {MAX_FILES} files with {MAX_BYTES // 1024**2} MiB in all", reason="too_many_files"
        )
    await check_waiting_space(scope, size)
    await check_limit(scope, "storage_bytes", size)


async def with_files(
    scope: Scope, cart: object | None, requests: Sequence[tuple[Offer, Mapping[str, Any]]]
) -> list[Mapping[str, Any]]:
    """Return the selected options of each request, with the cart's files in place of their ids; one statement, if there are any.

    Any other text stays the value of an option of type `F`. Raises ValidationFailed for the id of a file that the cart doesn't have.
    """
    named = [dict(_file_ids(offer, options)) for offer, options in requests]
    ids = sorted({file for files in named for _, file in files.values()})
    if not ids:
        return [options for _, options in requests]
    with active_scope(scope):
        rows = await fetch(_FIND, scope.store.id, parse_uuid(cart), ids, scope.now - UNUSED_FOR)
    stored = {
        (row["option_id"], row["file_id"]): SelectedFile(
            row["file_name"], {"id": str(row["file_id"]), "mime_type": row["mime_type"], "bytes": row["bytes"]}
        )
        for row in rows
    }
    for files in named:
        for option, file in files.values():
            if (option, file) not in stored:
                raise ValidationFailed(
                    f"file {file} was not uploaded for this option and cart", field="options", code="not_found"
                )
    return [
        {**options, **{name: stored[file] for name, file in files.items()}}
        for (_, options), files in zip(requests, named, strict=True)
    ]


def _file_ids(offer: Offer, options: Mapping[str, Any]) -> Iterable[tuple[str, tuple[UUID, UUID]]]:
    """Yield each option of type `F` whose value is an id: as it is named, with its own id and that of the file."""
    for name, option in file_options(offer, options):
        file = parse_uuid(options[name])
        if file is not None:
            yield name, (option.public_id, file)


async def order_files(scope: Scope, cart_id: int, order_id: int, files: Sequence[str]) -> None:
    """Let the order of a cart keep the files of its lines."""
    await execute(_ORDER, scope.store.id, cart_id, order_id, files)


async def copy_files(scope: Scope, order_id: int, cart_id: int, options: Iterable[Sequence[Mapping[str, Any]]]) -> None:
    """Let a cart have the files of an order in the options of lines too: one statement, if there are any."""
    files = files_of(options)
    if files:
        await execute(_COPY, scope.store.id, cart_id, order_id, files)


async def move_files(scope: Scope, into: int, guest: int) -> None:
    """Move the files of a guest's cart into another one."""
    await execute(_MOVE, scope.store.id, into, guest)
