"""Make, change and delete the sellers of the marketplace. A seller changes its own address and contacts, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from auth.credential_cache import changed
from auth.sessions import end_all_sessions
from domain import audit, events
from domain.fields import Given, InputField, code_in, name_text, read_fields, short_text, text
from domain.mails import outbox
from domain.mails.texts import MailType
from domain.orders.draft import cep_text, email_text, json_object
from domain.orders.transitions import unfinished
from domain.references import VENDOR, find
from kernel.codes import COMMISSION_TYPES, VENDOR_STATUSES
from kernel.documents import has_cnpj_form, normalise_document
from kernel.errors import Forbidden, NotFound, RuleViolation, ValidationFailed
from kernel.money import cents_from, decimal_text
from kernel.scope import ActorKind, Scope
from kernel.text import Malformed, shown
from models.database import row, rows, transaction, value
from models.marketplace import Vendor

_WHOLE_PERCENT_CENTS = 10_000


def cnpj_text(value: object) -> object:
    """Read a CNPJ by its form, numeric or alphanumeric; the check digits are the credit score's business."""
    if value is None or value == "":
        return None
    if not isinstance(value, str) or not has_cnpj_form(value):
        raise Malformed(f"is {shown(value)}; expected 14 characters")
    return normalise_document(value)


def commission_text(value: object) -> object:
    """Read an amount or a percentage with at most two decimals, and give it with two."""
    try:
        return decimal_text(cents_from(value, field=""))
    except Malformed as error:
        raise Malformed(str(error).strip()) from error


# What a vendor may write of its own company (decisions-legacy section 4).
OWN_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "email": InputField("email", email_text, code="email_invalid", required="required"),
    "phone": InputField("phone", short_text),
    "address": InputField("address", short_text),
    "city": InputField("city", short_text),
    "state": InputField("state", short_text),
    "country": InputField("country", short_text),
    "zipcode": InputField("zipcode", cep_text),
    "url": InputField("url", text(2_048)),
    "shippings": InputField("shippings", json_object, code="shippings_invalid"),
}
VENDOR_FIELDS: Mapping[str, InputField] = {
    **OWN_FIELDS,
    "status": InputField("status", code_in(VENDOR_STATUSES), code="status_invalid"),
    "cnpj": InputField("cnpj", cnpj_text, code="cnpj_invalid"),
    "commission": InputField("commission", commission_text, code="commission_invalid"),
    "commission_type": InputField("commission_type", code_in(COMMISSION_TYPES), code="commission_invalid"),
}

# FOR UPDATE waits for orders being placed right now, which hold the vendor by their lines' foreign keys.
_LOCK = "SELECT status, commission, commission_type FROM vendors WHERE tenant_id = $1 AND id = $2 FOR UPDATE"

_HAS_OPEN_ORDERS = """
SELECT EXISTS (
    SELECT 1 FROM order_lines l JOIN orders o ON o.tenant_id = l.tenant_id AND o.id = l.order_id
    WHERE l.tenant_id = $1 AND l.vendor_id = $2 AND o.status = ANY($3::text[]) AND o.deleted_at IS NULL
)
"""
# In the order of the ids, as orders lock products too.
_HIDE_PRODUCTS = """
WITH locked AS (
    SELECT id FROM products WHERE tenant_id = $1 AND vendor_id = $2 AND deleted_at IS NULL ORDER BY id FOR NO KEY UPDATE
)
UPDATE products p SET deleted_at = $3, updated_at = $3 FROM locked
WHERE p.tenant_id = $1 AND p.id = locked.id RETURNING p.public_id
"""
_BAR_USERS = """
UPDATE users SET status = 'D', updated_at = $3
WHERE tenant_id = $1 AND vendor_id = $2 AND user_type = 'V' AND deleted_at IS NULL RETURNING id
"""
_ADMIT_USERS = """
UPDATE users SET status = 'A', updated_at = $3
WHERE tenant_id = $1 AND vendor_id = $2 AND user_type = 'V' AND status = 'P' AND deleted_at IS NULL RETURNING *
"""
_AWAITING_APPROVAL = ("P", "N")


async def create_vendor(scope: Scope, given: Given) -> int:
    """Make a seller and give its internal id.

    Keys: `name`*, `email`*, `status`, `phone`, `address`, `city`, `state`, `country`, `zipcode`, `url`, `cnpj`, `shippings`
    (an object), `commission` (a decimal text), `commission_type` (`A` an amount, `P` a percentage).
    """
    _refuse_vendor(scope)
    columns = read_fields(VENDOR_FIELDS, given, creating=True)
    _check_commission(columns, {})
    async with transaction(scope):
        vendor = Vendor(**columns, created_at=scope.now, updated_at=scope.now)
        await vendor.save()
        vendor_id: int = vendor.id
        await audit.record(scope, "vendor.created", "vendor", vendor.public_id)
    return vendor_id


async def update_vendor(scope: Scope, vendor: object, given: Given) -> int:
    """Change a seller partially and give its internal id; a seller reaches itself only, and of that what `OWN_FIELDS` name.

    Approving a seller that waits for it approves the users who wait with it.
    """
    is_vendor = scope.actor.kind is ActorKind.VENDOR
    columns = read_fields(OWN_FIELDS if is_vendor else VENDOR_FIELDS, given)
    async with transaction(scope):
        vendor_id = await find(scope, VENDOR, vendor)
        if is_vendor and vendor_id != scope.actor.company_id:
            raise NotFound("vendor")
        before = await row(_LOCK, scope.store.id, vendor_id)
        _check_commission(columns, before or {})
        await Vendor.filter(id=vendor_id).update(**columns, updated_at=scope.now)
        await audit.record(scope, "vendor.updated", "vendor", vendor_id, {"fields": sorted(columns)})
        if before is not None and before["status"] in _AWAITING_APPROVAL and columns.get("status") == "A":
            await _admit_users(scope, vendor_id)
    return vendor_id


async def delete_vendor(scope: Scope, vendor: object) -> None:
    """Hide a seller with its products, and bar its users from entering.

    Raises NotFound, and RuleViolation while orders with its products are open, processed or backordered.
    """
    _refuse_vendor(scope)
    async with transaction(scope):
        vendor_id = await find(scope, VENDOR, vendor)
        await row(_LOCK, scope.store.id, vendor_id)
        if await value(_HAS_OPEN_ORDERS, scope.store.id, vendor_id, unfinished(scope.store.order_statuses)):
            raise RuleViolation("the vendor has open orders", reason="vendor_has_open_orders")
        hidden = await rows(_HIDE_PRODUCTS, scope.store.id, vendor_id, scope.now)
        await events.products_deleted(scope, [product["public_id"] for product in hidden])
        for user in await rows(_BAR_USERS, scope.store.id, vendor_id, scope.now):
            await end_all_sessions(scope, user["id"], "vendor deleted")
        await Vendor.filter(id=vendor_id).update(deleted_at=scope.now, updated_at=scope.now)
        await audit.record(scope, "vendor.deleted", "vendor", vendor_id)


async def _admit_users(scope: Scope, vendor_id: int) -> None:
    """Let in those who applied together with the seller that has just been approved, and tell them."""
    for user in await rows(_ADMIT_USERS, scope.store.id, vendor_id, scope.now):
        await audit.record(scope, "user.updated", "user", user["public_id"], {"changed": ["status"]})
        await outbox.queue(scope, MailType.ACCOUNT_APPROVED, outbox.recipient_of(user))
        await changed(scope, user["id"])


def _check_commission(columns: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    """Refuse more than all of the price."""
    if "commission" not in columns and "commission_type" not in columns:
        return
    commission = columns.get("commission", before.get("commission", "0.00"))
    kind = columns.get("commission_type", before.get("commission_type", "P"))
    if kind == "P" and cents_from(commission) > _WHOLE_PERCENT_CENTS:
        raise ValidationFailed(
            f"commission is {commission}; expected at most 100.00 percent",
            field="commission",
            code="commission_invalid",
        )


def _refuse_vendor(scope: Scope) -> None:
    if scope.actor.kind is ActorKind.VENDOR:
        raise Forbidden("insufficient permissions")
