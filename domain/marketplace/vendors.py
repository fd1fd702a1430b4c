"""Create, update and delete vendors. A vendor can change only its own contact data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from auth.credential_cache import invalidate_credentials
from auth.sessions import revoke_all_sessions
from domain import events
from domain.mails import outbox
from domain.mails.texts import MailType
from domain.orders.draft import cep_text, email_text, json_object
from domain.orders.transitions import unfinished_statuses
from kernel.codes import COMMISSION_TYPES, VENDOR_STATUSES
from kernel.documents import has_cnpj_form, normalize_document
from kernel.errors import Forbidden, NotFound, RuleViolation, ValidationFailed
from kernel.fields import InputField, InputValues, code_in, name_text, read_fields, short_text, text
from kernel.money import format_cents, parse_cents
from kernel.scope import ActorKind, Scope
from kernel.text import InvalidValue, repr_value
from models import audit
from models.database import fetch, fetchrow, fetchval, transaction
from models.marketplace import Vendor
from models.references import VENDOR, find

_MAX_PERCENT_CENTS = 10_000


def cnpj_text(value: object) -> object:
    """Read a CNPJ by its format, numeric or alphanumeric; check digits are only validated by the credit score."""
    if value is None or value == "":
        return None
    if not isinstance(value, str) or not has_cnpj_form(value):
        raise InvalidValue(f"is {repr_value(value)}; expected 14 characters")
    return normalize_document(value)


def commission_text(value: object) -> object:
    """Read an amount or a percentage with at most two decimals, and return it with two."""
    try:
        return format_cents(parse_cents(value, field=""))
    except InvalidValue as error:
        raise InvalidValue(str(error).strip()) from error


# The fields that a vendor may change itself (docs/reference/legacy.md#vendor-app).
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

# FOR UPDATE waits for orders being placed, which lock the vendor through their lines' foreign keys.
_LOCK = "SELECT status, commission, commission_type FROM vendors WHERE tenant_id = $1 AND id = $2 FOR UPDATE"

_HAS_OPEN_ORDERS = """
SELECT EXISTS (
    SELECT 1 FROM order_lines l JOIN orders o ON o.tenant_id = l.tenant_id AND o.id = l.order_id
    WHERE l.tenant_id = $1 AND l.vendor_id = $2 AND o.status = ANY($3::text[]) AND o.deleted_at IS NULL
)
"""
# Locked in ascending id order, as orders do.
_DELETE_PRODUCTS = """
WITH locked AS (
    SELECT id FROM products WHERE tenant_id = $1 AND vendor_id = $2 AND deleted_at IS NULL ORDER BY id FOR NO KEY UPDATE
)
UPDATE products p SET deleted_at = $3, updated_at = $3 FROM locked
WHERE p.tenant_id = $1 AND p.id = locked.id RETURNING p.public_id
"""
_DISABLE_USERS = """
UPDATE users SET status = 'D', updated_at = $3
WHERE tenant_id = $1 AND vendor_id = $2 AND user_type = 'V' AND deleted_at IS NULL RETURNING id
"""
_APPROVE_USERS = """
UPDATE users SET status = 'A', updated_at = $3
WHERE tenant_id = $1 AND vendor_id = $2 AND user_type = 'V' AND status = 'P' AND deleted_at IS NULL RETURNING *
"""
_PENDING_STATUSES = ("P", "N")


async def create_vendor(scope: Scope, values: InputValues) -> int:
    """Create a vendor and return its internal id.

    Keys: `name`*, `email`*, `status`, `phone`, `address`, `city`, `state`, `country`, `zipcode`, `url`, `cnpj`, `shippings` (an object),
    `commission` (a decimal text), `commission_type` (`A` an amount, `P` a percentage).
    """
    _check_not_vendor(scope)
    columns = read_fields(VENDOR_FIELDS, values, creating=True)
    _check_commission(columns, {})
    async with transaction(scope):
        vendor = Vendor(**columns, created_at=scope.now, updated_at=scope.now)
        await vendor.save()
        vendor_id: int = vendor.id
        await audit.record(scope, "vendor.created", "vendor", vendor.public_id)
    return vendor_id


async def update_vendor(scope: Scope, vendor: object, values: InputValues) -> int:
    """Update a vendor partially and return its internal id; a vendor can update only itself, and only `OWN_FIELDS`.

    Approving a pending vendor approves its pending users.
    """
    is_vendor = scope.actor.kind is ActorKind.VENDOR
    columns = read_fields(OWN_FIELDS if is_vendor else VENDOR_FIELDS, values)
    async with transaction(scope):
        vendor_id = await find(scope, VENDOR, vendor)
        if is_vendor and vendor_id != scope.actor.vendor_id:
            raise NotFound("vendor")
        current = await fetchrow(_LOCK, scope.store.id, vendor_id)
        _check_commission(columns, current or {})
        await Vendor.filter(id=vendor_id).update(**columns, updated_at=scope.now)
        await audit.record_update(scope, "vendor", vendor_id, columns)
        if current is not None and current["status"] in _PENDING_STATUSES and columns.get("status") == "A":
            await _approve_users(scope, vendor_id)
    return vendor_id


async def delete_vendor(scope: Scope, vendor: object) -> None:
    """Soft-delete a vendor with its products, and disable its users.

    Raises NotFound, and RuleViolation while orders with its products are open, processed or backordered.
    """
    _check_not_vendor(scope)
    async with transaction(scope):
        vendor_id = await find(scope, VENDOR, vendor)
        await fetchrow(_LOCK, scope.store.id, vendor_id)
        if await fetchval(
            _HAS_OPEN_ORDERS, scope.store.id, vendor_id, unfinished_statuses(scope.store.order_statuses)
        ):
            raise RuleViolation("the vendor has open orders", reason="vendor_has_open_orders")
        deleted_products = await fetch(_DELETE_PRODUCTS, scope.store.id, vendor_id, scope.now)
        await events.emit_products_deleted(scope, [product["public_id"] for product in deleted_products])
        for user in await fetch(_DISABLE_USERS, scope.store.id, vendor_id, scope.now):
            await revoke_all_sessions(scope, user["id"], "vendor deleted")
        await Vendor.filter(id=vendor_id).update(deleted_at=scope.now, updated_at=scope.now)
        await audit.record(scope, "vendor.deleted", "vendor", vendor_id)


async def _approve_users(scope: Scope, vendor_id: int) -> None:
    """Approve the users who signed up with a vendor that was just approved, and mail them."""
    for user in await fetch(_APPROVE_USERS, scope.store.id, vendor_id, scope.now):
        await audit.record(scope, "user.updated", "user", user["public_id"], {"changed": ["status"]})
        await outbox.queue_mail(scope, MailType.ACCOUNT_APPROVED, outbox.recipient_of(user))
        await invalidate_credentials(scope, user["id"])


def _check_commission(columns: Mapping[str, Any], current: Mapping[str, Any]) -> None:
    """Refuse a commission above 100 %."""
    if "commission" not in columns and "commission_type" not in columns:
        return
    commission = columns.get("commission", current.get("commission", "0.00"))
    commission_type = columns.get("commission_type", current.get("commission_type", "P"))
    if commission_type == "P" and parse_cents(commission) > _MAX_PERCENT_CENTS:
        raise ValidationFailed(
            f"commission is {commission}; expected at most 100.00 percent",
            field="commission",
            code="commission_invalid",
        )


def _check_not_vendor(scope: Scope) -> None:
    if scope.actor.kind is ActorKind.VENDOR:
        raise Forbidden("insufficient permissions")
