"""Keep what else belongs to a product: files to go with it, and products it is sold only together with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from domain import audit
from domain.catalog.offered import find_owner, owner_named
from domain.catalog.product_draft import image_url
from domain.fields import (
    MAX_NAME,
    Given,
    InputField,
    code_in,
    name_text,
    read_fields,
    text,
    whole,
)
from domain.references import ATTACHMENT, PRODUCT, find, resolve_all
from kernel.codes import SWITCH_STATUSES
from kernel.errors import NotFound, ValidationFailed
from kernel.ids import uuid7
from kernel.scope import ActorKind, Scope
from models.boxes import Attachment
from models.database import execute, row, transaction

ATTACHMENT_FIELDS: Mapping[str, InputField] = {
    "description": InputField("description", text(MAX_NAME)),
    "filename": InputField("filename", name_text, code="filename_invalid", required="filename_required"),
    "url": InputField("url", image_url, code="url_invalid", required="url_required"),
    "filesize": InputField("filesize", whole(0, 2**53), code="filesize_invalid"),
    "position": InputField("position", whole(), code="position_invalid"),
    "status": InputField("status", code_in(SWITCH_STATUSES), code="status_invalid"),
}
MAX_REQUIRED = 50

_SUBJECT = """
SELECT a.id, a.public_id, p.vendor_id FROM attachments a
JOIN products p ON p.tenant_id = a.tenant_id AND p.id = a.product_id AND p.deleted_at IS NULL
WHERE a.tenant_id = $1 AND a.id = $2
"""
_REQUIRE = """
WITH dropped AS (
    DELETE FROM required_products WHERE tenant_id = $1 AND product_id = $2 AND required_id <> ALL($4::bigint[])
)
INSERT INTO required_products (tenant_id, public_id, product_id, required_id, position)
SELECT $1, g.public_id, $2, g.required_id, g.place - 1
FROM unnest($3::uuid[], $4::bigint[]) WITH ORDINALITY AS g (public_id, required_id, place)
ON CONFLICT (tenant_id, product_id, required_id) DO UPDATE SET position = excluded.position
"""


async def create_attachment(scope: Scope, given: Given) -> int:
    """Attach a file to a product and give its internal id.

    Keys: `product`*, `filename`*, `url`* (http or https, never fetched), `description`, `filesize` in bytes, `position`, `status`.
    """
    columns = read_fields(ATTACHMENT_FIELDS, given, creating=True)
    async with transaction(scope):
        owner = await owner_named(scope, given.get("product"))
        made = Attachment(**columns, product_id=owner.id, created_at=scope.now, updated_at=scope.now)
        await made.save()
        attachment_id: int = made.id
        await audit.record(scope, "attachment.created", "attachment", made.public_id)
    return attachment_id


async def update_attachment(scope: Scope, attachment: object, given: Given) -> int:
    """Change an attachment partially and give its internal id; its product stays."""
    columns = read_fields(ATTACHMENT_FIELDS, given)
    async with transaction(scope):
        held = await _reach(scope, attachment)
        await Attachment.filter(id=held["id"]).update(**columns, updated_at=scope.now)
        await audit.record(
            scope, "attachment.updated", "attachment", held["public_id"], {"fields": sorted(map(str, given))}
        )
    attachment_id: int = held["id"]
    return attachment_id


async def delete_attachment(scope: Scope, attachment: object) -> None:
    """Take an attachment away."""
    async with transaction(scope):
        held = await _reach(scope, attachment)
        await Attachment.filter(id=held["id"]).delete()
        await audit.record(scope, "attachment.deleted", "attachment", held["public_id"])


async def require_products(scope: Scope, product: object, required: Sequence[object]) -> int:
    """Say which products have to be bought with a product, in place of those before, and give its internal id.

    Raises NotFound for the product, ValidationFailed for those it can't require: unknown ones, itself, more than 50.
    """
    if len(required) > MAX_REQUIRED:
        raise ValidationFailed(
            f"there are {len(required)} products; expected at most {MAX_REQUIRED}",
            field="required",
            code="too_many",
        )
    async with transaction(scope):
        owner = await find_owner(scope, product)
        if owner is None:
            raise NotFound("product")
        found = await resolve_all(scope, PRODUCT, required, field="required")
        ids = list(dict.fromkeys(found[reference] for reference in required))
        if owner.id in ids:
            raise ValidationFailed(
                "a product can't require itself", field="required", code="required_invalid"
            )
        await execute(_REQUIRE, scope.store.id, owner.id, [uuid7() for _ in ids], ids)
        await audit.record(scope, "product.required_products_set", "product", owner.public_id)
    return owner.id


async def _reach(scope: Scope, attachment: object) -> Mapping[str, Any]:
    held = await row(_SUBJECT, scope.store.id, await find(scope, ATTACHMENT, attachment))
    if held is None or (scope.actor.kind is ActorKind.VENDOR and held["vendor_id"] != scope.actor.company_id):
        raise NotFound("attachment")
    return dict(held)
