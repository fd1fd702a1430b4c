"""Files of shoppers for options of type `F`: where their content is, links to it, and the deletion of what no cart or order has.

They are apart from the store's own media files, whose contents anybody may read: a link to one of these is signed and expires.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote
from uuid import UUID

from domain.media.addresses import base_url, store_url
from domain.media.contents import IMAGE_TYPES
from domain.signed_links import sign, verify
from domain.storage import storage
from kernel.scope import Scope
from models.connection.database import execute, fetch, fetchrow, fetchval, transaction
from models.rows import from_row

ROUTE = "/files/options"
UPLOAD_ROUTE = "/files/option-uploads"
FOLDER = "files/"
"""The folder of all contents, none of which is public: not below `media/`, which a provider may show everyone."""
LINK_SECONDS = 3_600
"""The least that a link is valid; all that are made within an hour are the same, so that browsers keep pictures."""
UNUSED_FOR = timedelta(hours=1)
"""How long a file may wait for a line that names it."""
_IN_PROGRESS = timedelta(minutes=5)  # A change of a cart that has read the file in time is done by then.
_PURPOSE, _UPLOAD_PURPOSE = "option files", "option file uploads"

_FILE = """
SELECT file_name, mime_type FROM option_files
WHERE tenant_id = $1 AND file_id = $2 AND sha256 IS NOT NULL AND (cart_id IS NOT NULL OR order_id IS NOT NULL) ORDER BY id LIMIT 1
"""
_AWAITED = (
    "SELECT true FROM option_files WHERE tenant_id = $1 AND file_id = $2 AND sha256 IS NULL AND cart_id IS NOT NULL"
)
IS_IN_LINE = """EXISTS (
    SELECT FROM cart_items i WHERE i.tenant_id = f.tenant_id AND i.cart_id = f.cart_id
        AND i.options @> jsonb_build_array(jsonb_build_object('file', jsonb_build_object('id', f.file_id::text))))"""
"""The condition that a line of the cart of the row `f` has its file."""
# What no order has goes with its cart, as soon as that can't be changed any more; before, when no line could name it since $3.
_IS_UNUSED = f"""f.order_id IS NULL AND NOT EXISTS (
    SELECT FROM carts c WHERE c.tenant_id = f.tenant_id AND c.id = f.cart_id AND c.status = 'open'
        AND (f.created_at > $3 OR {IS_IN_LINE}))"""
_UNUSED = f"""
SELECT f.id, f.file_id, NOT EXISTS (SELECT FROM option_files o
    WHERE o.tenant_id = f.tenant_id AND o.file_id = f.file_id AND NOT ({_IS_UNUSED.replace("f.", "o.")})) AS is_last
FROM option_files f WHERE f.tenant_id = $1 AND {_IS_UNUSED} ORDER BY f.id LIMIT $2
"""
_FORGET = "DELETE FROM option_files WHERE tenant_id = $1 AND id = ANY($2::bigint[])"


@dataclass(frozen=True, slots=True)
class DownloadableFile:
    """The name and type of a file."""

    file_name: str
    mime_type: str

    def headers(self) -> dict[str, str]:
        """Return the headers with which the content is stored at a provider, and sent: no browser opens it by itself."""
        return {
            "Content-Type": self.mime_type if self.mime_type in IMAGE_TYPES else "application/octet-stream",
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(self.file_name, safe='')}",
            "Cache-Control": f"private, max-age={LINK_SECONDS}",
        }


def option_file_key(store: UUID, file: object) -> str:
    """Return the key of a content in the object storage."""
    return f"{FOLDER}{store}/{file}"


def option_upload_key(store: UUID, file: object) -> str:
    """Return the key of what was uploaded for a file that is not complete."""
    return f"{FOLDER}{store}/uploads/{file}"


def option_file_record(scope: Scope, option: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the file of a stored option, `{id, file_name, mime_type, bytes, url}`; None for one that has none."""
    facts = option.get("file")
    return facts and {**facts, "file_name": option["value"], "url": _link(scope, facts["id"])}


def _link(scope: Scope, file: str) -> str:
    expires = (int(scope.now.timestamp()) // LINK_SECONDS + 2) * LINK_SECONDS
    signature = sign(_PURPOSE, f"{scope.store.public_id}:{file}", expires)
    return f"{store_url(scope.store)}{ROUTE}/{scope.store.public_id}/{file}?expires={expires}&signature={signature}"


def upload_link(scope: Scope, file: UUID, size: int, expires: int) -> str:
    """Return the address at this server for one upload of a file, of at most `size` bytes."""
    store = scope.store.public_id
    signature = sign(_UPLOAD_PURPOSE, f"{store}:{file}:{size}", expires)
    return f"{base_url()}{UPLOAD_ROUTE}/{store}/{file}?bytes={size}&expires={expires}&signature={signature}"


def verify_option_upload_link(store: UUID, file: UUID, size: int, expires: int, signature: str, now: datetime) -> None:
    """Raise `Forbidden` for an address that this deployment did not sign, and after its time."""
    verify(_UPLOAD_PURPOSE, f"{store}:{file}:{size}", expires, signature, now)


async def is_option_upload_awaited(scope: Scope, file: UUID) -> bool:
    """Return whether a file of a cart waits for its upload."""
    return bool(await fetchval(_AWAITED, scope.store.id, file))


def verify_file_link(store: UUID, file: UUID, expires: int, signature: str, now: datetime) -> None:
    """Raise `Forbidden` for a link that this deployment did not sign, and after its time."""
    verify(_PURPOSE, f"{store}:{file}", expires, signature, now)


async def find_option_file(scope: Scope, file: UUID) -> DownloadableFile | None:
    """Return a file that a cart or an order has; None if none has it any more."""
    row = await fetchrow(_FILE, scope.store.id, file)
    return None if row is None else from_row(DownloadableFile, row)


async def delete_unused_option_files(scope: Scope, *, limit: int) -> int:
    """Delete up to `limit` files that no order and no open cart has, or that waited too long for a line of it; return how many.

    Their content is deleted first, then their rows.
    """
    rows = await fetch(_UNUSED, scope.store.id, limit, scope.now - UNUSED_FOR - _IN_PROGRESS)
    last = [row["file_id"] for row in rows if row["is_last"]]
    await storage().delete(
        key(scope.store.public_id, file) for file in last for key in (option_file_key, option_upload_key)
    )
    async with transaction(scope):
        await execute(_FORGET, scope.store.id, [row["id"] for row in rows])
    return len(rows)
