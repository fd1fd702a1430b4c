"""Create, update and delete product attachments, and set the required products of a product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from domain.catalog.product_draft import image_url
from domain.catalog.product_options import find_editable_product, resolve_editable_product
from kernel.codes import SWITCH_STATUSES
from kernel.errors import NotFound, ValidationFailed
from kernel.fields import (
    MAX_NAME,
    InputField,
    InputValues,
    check_count,
    code_in,
    integer,
    name_text,
    read_fields,
    text,
)
from kernel.ids import uuid7
from kernel.scope import ActorKind, Scope
from models import audit
from models.boxes import Attachment
from models.database import execute, fetchrow, transaction
from models.references import ATTACHMENT, PRODUCT, find, resolve_all

ATTACHMENT_FIELDS: Mapping[str, InputField] = {
    "description": InputField("description", text(MAX_NAME)),
    "filename": InputField("filename", name_text, code="filename_invalid", required="filename_required"),
    "url": InputField("url", image_url, code="url_invalid", required="url_required"),
    "filesize": InputField("filesize", integer(0, 2**53), code="filesize_invalid"),
    "position": InputField("position", integer(), code="position_invalid"),
    "status": InputField("status", code_in(SWITCH_STATUSES), code="status_invalid"),
}
MAX_REQUIRED = 50

_LOAD = """
SELECT a.id, a.public_id, p.vendor_id FROM attachments a
JOIN products p ON p.tenant_id = a.tenant_id AND p.id = a.product_id AND p.deleted_at IS NULL
WHERE a.tenant_id = $1 AND a.id = $2
"""
_REPLACE_REQUIRED = """
WITH deleted AS (
    DELETE FROM required_products WHERE tenant_id = $1 AND product_id = $2 AND required_id <> ALL($4::bigint[])
)
INSERT INTO required_products (tenant_id, public_id, product_id, required_id, position)
SELECT $1, g.public_id, $2, g.required_id, g.ordinal - 1
FROM unnest($3::uuid[], $4::bigint[]) WITH ORDINALITY AS g (public_id, required_id, ordinal)
ON CONFLICT (tenant_id, product_id, required_id) DO UPDATE SET position = excluded.position
"""


async def create_attachment(scope: Scope, values: InputValues) -> int:
    """Attach a file to a product and return its internal id.

    Keys: `product`*, `filename`*, `url`* (http or https, never fetched), `description`, `filesize` in bytes, `position`, `status`.
    """
    columns = read_fields(ATTACHMENT_FIELDS, values, creating=True)
    async with transaction(scope):
        owning_product = await resolve_editable_product(scope, values.get("product"))
        row = Attachment(**columns, product_id=owning_product.id, created_at=scope.now, updated_at=scope.now)
        await row.save()
        attachment_id: int = row.id
        await audit.record(scope, "attachment.created", "attachment", row.public_id)
    return attachment_id


async def update_attachment(scope: Scope, attachment: object, values: InputValues) -> int:
    """Update an attachment partially and return its internal id; its product can't change."""
    columns = read_fields(ATTACHMENT_FIELDS, values)
    async with transaction(scope):
        current = await _find_editable(scope, attachment)
        await Attachment.filter(id=current["id"]).update(**columns, updated_at=scope.now)
        await audit.record_update(scope, "attachment", current["public_id"], values)
    return int(current["id"])


async def delete_attachment(scope: Scope, attachment: object) -> None:
    """Delete an attachment."""
    async with transaction(scope):
        current = await _find_editable(scope, attachment)
        await Attachment.filter(id=current["id"]).delete()
        await audit.record(scope, "attachment.deleted", "attachment", current["public_id"])


async def require_products(scope: Scope, product: object, required: Sequence[object]) -> int:
    """Replace the products that must be bought together with a product, and return its internal id.

    Raises NotFound for the product, ValidationFailed for unknown required products, the product itself, or more than 50.
    """
    check_count(required, MAX_REQUIRED, "products", field="required")
    async with transaction(scope):
        owning_product = await find_editable_product(scope, product)
        if owning_product is None:
            raise NotFound("product")
        ids_by_reference = await resolve_all(scope, PRODUCT, required, field="required")
        ids = list(dict.fromkeys(ids_by_reference[reference] for reference in required))
        if owning_product.id in ids:
            raise ValidationFailed(
                "a product can't require itself", field="required", code="required_invalid"
            )
        await execute(_REPLACE_REQUIRED, scope.store.id, owning_product.id, [uuid7() for _ in ids], ids)
        await audit.record(scope, "product.required_products_set", "product", owning_product.public_id)
    return owning_product.id


async def _find_editable(scope: Scope, attachment: object) -> Mapping[str, Any]:
    current = await fetchrow(_LOAD, scope.store.id, await find(scope, ATTACHMENT, attachment))
    if current is None or (
        scope.actor.kind is ActorKind.VENDOR and current["vendor_id"] != scope.actor.vendor_id
    ):
        raise NotFound("attachment")
    return dict(current)
