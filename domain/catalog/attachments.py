"""Product attachments, files of the store or links (never fetched), and the required products of a product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from domain.catalog.product_options import (
    find_editable_product,
    load_editable,
    resolve_editable_product,
    resolve_editable_products,
)
from domain.media.images import resolve_images
from domain.records import Change, RecordType
from kernel.codes import SWITCH_STATUSES
from kernel.errors import NotFound, ValidationFailed
from kernel.fields import MAX_NAME, InputField, check_count, code_in, integer, name_text, raise_field_errors, text
from kernel.product_fields import image_url, path_errors
from kernel.scope import Scope
from models import audit
from models.connection.database import fetchrow, fetchval, transaction
from models.references import ATTACHMENT
from models.rows import replace_rows
from models.tables.boxes import Attachment

ATTACHMENT_FIELDS: Mapping[str, InputField] = {
    "description": InputField("description", text(MAX_NAME)),
    "filename": InputField("filename", name_text, code="filename_invalid", required="filename_required"),
    "url": InputField("url", image_url, code="url_invalid", required="url_required"),
    "filesize": InputField("filesize", integer(0, 2**53), code="filesize_invalid"),
    "position": InputField("position", integer(), code="position_invalid"),
    "status": InputField("status", code_in(SWITCH_STATUSES), code="status_invalid"),
}
MAX_REQUIRED = 50

_STORED = "SELECT url, media_id FROM attachments WHERE tenant_id = $1 AND id = $2"
_BYTES = "SELECT bytes FROM media_files WHERE tenant_id = $1 AND id = $2"
_LOAD = """
SELECT a.id, p.vendor_id FROM attachments a
JOIN products p ON p.tenant_id = a.tenant_id AND p.id = a.product_id AND p.deleted_at IS NULL
WHERE a.tenant_id = $1 AND a.id = $2
"""


async def set_required_products(scope: Scope, product: object, required: Sequence[object]) -> int:
    """Replace the products that must be bought together with a product, and return its internal id.

    Raises NotFound for the product, ValidationFailed for unknown required products, the product itself, or more than 50.
    """
    check_count(required, MAX_REQUIRED, "products", field="required")
    async with transaction(scope):
        owning_product = await find_editable_product(scope, product)
        if owning_product is None:
            raise NotFound("product")
        ids_by_reference = await resolve_editable_products(scope, required, field="required")
        ids = list(dict.fromkeys(ids_by_reference[reference] for reference in required))
        if owning_product.id in ids:
            raise ValidationFailed("a product can't require itself", field="required", code="required_invalid")
        rows = [
            {"product_id": owning_product.id, "required_id": number, "position": position}
            for position, number in enumerate(ids)
        ]
        if await replace_rows(scope, "required_products", "product_id", [owning_product.id], rows, key="required_id"):
            await audit.record(scope, "product.required_products_set", "product", owning_product.public_id)
    return owning_product.id


async def _find_editable(scope: Scope, attachment: object) -> int:
    return int((await load_editable(scope, ATTACHMENT, _LOAD, attachment))["id"])


async def _prepare(change: Change) -> None:
    if change.columns.get("url") is not None or change.values.get("media_id") is not None:
        await _set_file(change)
    if change.is_new:  # the product of an attachment can't change
        product = await resolve_editable_product(change.scope, change.values.get("product"))
        change.columns["product_id"] = product.id


async def _set_file(change: Change) -> None:
    """Set the columns of the file or the link; the size is that of a new file, unless the input says another."""
    scope = change.scope
    file: dict[str, Any] = {}
    if change.columns.get("url") is not None:
        file["url"] = change.columns["url"]
    if change.values.get("media_id") is not None:
        file["named"] = change.values["media_id"]
    errors = await resolve_images(scope, [file], are_attachments=True)
    raise_field_errors(dict(errors.values()))
    stored = await fetchrow(_STORED, scope.store.id, change.record_id) or {"url": None, "media_id": None}
    if file["media_id"] is None:
        raise_field_errors(path_errors(scope, "url", file["url"], (stored["url"],)))
    elif "filesize" not in change.columns and file["media_id"] != stored["media_id"]:
        file["filesize"] = await fetchval(_BYTES, scope.store.id, file["media_id"])
    change.columns |= file


ATTACHMENT_RECORDS = RecordType(
    Attachment,
    ATTACHMENT_FIELDS,
    alternatives={"url": "media_id"},
    audit_input=True,
    hard_delete=True,
    find=_find_editable,
    prepare=_prepare,
)
