"""Vendors. A vendor can change only its own contact data and what its page shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from auth.credential_cache import invalidate_credentials
from auth.sessions import revoke_all_sessions
from domain import events
from domain.catalog.product_matching import lock_catalog_exclusively
from domain.mails import outbox
from domain.mails.texts import MailType
from domain.media.images import image_columns, set_image
from domain.orders.transitions import unfinished_statuses
from domain.purchase.draft import json_object
from domain.records import Change, RecordType
from kernel.codes import COMMISSION_TYPES, VENDOR_STATUSES
from kernel.documents import cep_text, has_cnpj_form, normalize_document
from kernel.errors import Forbidden, NotFound, RuleViolation, ValidationFailed
from kernel.fields import InputField, InputValues, code_in, email_text, http_url, name_text, short_text, text
from kernel.ids import uuid7
from kernel.money import format_cents, parse_cents
from kernel.product_fields import SEO_FIELDS, slug_text
from kernel.scope import ActorKind, Scope
from kernel.text import InvalidValue, repr_value
from models import audit
from models.connection.database import execute, fetch, fetchrow, fetchval
from models.references import VENDOR, find
from models.rows import delete_rows
from models.tables.marketplace import Vendor

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
    "url": InputField("url", http_url(2_048), code="url_invalid"),
    "shippings": InputField("shippings", json_object, code="shippings_invalid"),
    "description": InputField("description", text()),
    **SEO_FIELDS,
}
VENDOR_FIELDS: Mapping[str, InputField] = {
    **OWN_FIELDS,
    "status": InputField("status", code_in(VENDOR_STATUSES), code="status_invalid"),
    "slug": InputField("slug", slug_text, code="slug_invalid"),
    "cnpj": InputField("cnpj", cnpj_text, code="cnpj_invalid"),
    "commission": InputField("commission", commission_text, code="commission_invalid"),
    "commission_type": InputField("commission_type", code_in(COMMISSION_TYPES), code="commission_invalid"),
    "recipient_id": InputField("recipient_id", text(100), code="recipient_invalid"),
}

# FOR UPDATE waits for orders being placed, which lock the vendor through their lines' foreign keys.
_LOCK = "SELECT status, commission, commission_type FROM vendors WHERE tenant_id = $1 AND id = $2 FOR UPDATE"

_HAS_OPEN_ORDERS = """
SELECT EXISTS (
    SELECT 1 FROM order_lines l JOIN orders o ON o.tenant_id = l.tenant_id AND o.id = l.order_id
    WHERE l.tenant_id = $1 AND l.vendor_id = $2 AND o.status = ANY($3::text[]) AND o.deleted_at IS NULL
)
"""
# In ascending id order, as orders do, and before the statement that updates them (`domain.orders.locked`).
_LOCK_PRODUCTS = """
SELECT id FROM products WHERE tenant_id = $1 AND vendor_id = $2 AND deleted_at IS NULL ORDER BY id FOR NO KEY UPDATE
"""
_DELETE_PRODUCTS = """
UPDATE products SET deleted_at = $3, updated_at = $3
WHERE tenant_id = $1 AND vendor_id = $2 AND deleted_at IS NULL RETURNING public_id
"""
_DISABLE_USERS = """
UPDATE users SET status = 'D', updated_at = $3
WHERE tenant_id = $1 AND vendor_id = $2 AND user_type = 'V' AND deleted_at IS NULL RETURNING id
"""
_APPROVE_USERS = """
UPDATE users SET status = 'A', updated_at = $3
WHERE tenant_id = $1 AND vendor_id = $2 AND user_type = 'V' AND status = 'P' AND deleted_at IS NULL RETURNING *
"""
_USERS = "SELECT id FROM users WHERE tenant_id = $1 AND vendor_id = $2 AND user_type = 'V' AND deleted_at IS NULL"
_BANNER = "banner"
_SAVE_BANNER = """
INSERT INTO vendor_banners AS b (tenant_id, public_id, vendor_id, image_url, image_alt, media_id)
VALUES ($1, $3, $2, $4, coalesce($5::text, ''), $6)
ON CONFLICT (tenant_id, vendor_id) DO UPDATE SET image_url = $4, image_alt = coalesce($5, b.image_alt), media_id = $6
WHERE (b.image_url, b.image_alt, b.media_id) IS DISTINCT FROM ($4, coalesce($5, b.image_alt), $6::bigint)
"""
_PENDING_STATUSES = ("P", "N")
_DISABLED = "D"


async def create_vendor(scope: Scope, values: InputValues) -> int:
    """Create a vendor and return its internal id; `commission_type` is `A` an amount, `P` a percentage."""
    _check_not_vendor(scope)
    return await VENDOR_RECORDS.create(scope, values)


async def update_vendor(scope: Scope, vendor: object, values: InputValues) -> int:
    """Update a vendor partially and return its internal id; a vendor can update only itself, and only `OWN_FIELDS` and its images.

    Approving a pending vendor approves its pending users; disabling one signs its users out.
    """
    if scope.actor.kind is ActorKind.VENDOR:
        values = {name: value for name, value in values.items() if name in {*OWN_FIELDS, "image", _BANNER}}
    return await VENDOR_RECORDS.update(scope, vendor, values)


async def delete_vendor(scope: Scope, vendor: object) -> None:
    """Soft-delete a vendor with its products, and disable its users.

    Raises NotFound, and RuleViolation while orders with its products are open, processed or backordered.
    """
    _check_not_vendor(scope)
    await VENDOR_RECORDS.delete(scope, vendor)


async def _find_vendor(scope: Scope, vendor: object) -> int:
    vendor_id = await find(scope, VENDOR, vendor)
    if scope.actor.kind is ActorKind.VENDOR and vendor_id != scope.actor.vendor_id:
        raise NotFound("vendor")
    return vendor_id


async def _delete_parts(scope: Scope, vendor_id: int) -> None:
    # A product that is being written has looked the vendor up already.
    await lock_catalog_exclusively(scope)
    await fetchrow(_LOCK, scope.store.id, vendor_id)
    unfinished = unfinished_statuses(scope.store.order_statuses)
    if await fetchval(_HAS_OPEN_ORDERS, scope.store.id, vendor_id, unfinished):
        raise RuleViolation("the vendor has open orders", reason="vendor_has_open_orders")
    await fetch(_LOCK_PRODUCTS, scope.store.id, vendor_id)
    deleted_products = await fetch(_DELETE_PRODUCTS, scope.store.id, vendor_id, scope.now)
    await events.emit_products_deleted(scope, [product["public_id"] for product in deleted_products])
    for user in await fetch(_DISABLE_USERS, scope.store.id, vendor_id, scope.now):
        await revoke_all_sessions(scope, user["id"], "vendor deleted")


async def _approve_users(change: Change) -> None:
    """Approve the users who signed up with a vendor that was just approved, and mail them."""
    scope = change.scope
    if change.is_new or change.current["status"] not in _PENDING_STATUSES or change.merged["status"] != "A":
        return
    for user in await fetch(_APPROVE_USERS, scope.store.id, change.record_id, scope.now):
        await audit.record(scope, "user.updated", "user", user["public_id"], {"changed": ["status"]})
        await outbox.queue_mail(scope, MailType.ACCOUNT_APPROVED, outbox.recipient_of(user))
        await invalidate_credentials(scope, user["id"])


async def _sign_users_out(change: Change) -> None:
    """End the sessions of the users of a vendor that was just disabled; they may not sign in until it isn't any more."""
    if change.is_new:
        return
    before, after = change.current["status"], change.merged["status"]
    if before == after or _DISABLED not in (before, after):
        return
    for user in await fetch(_USERS, change.scope.store.id, change.record_id):
        if after == _DISABLED:
            await revoke_all_sessions(change.scope, user["id"], "vendor disabled")
        else:
            await invalidate_credentials(change.scope, user["id"])


async def _prepare(change: Change) -> None:
    await set_image(change, "vendors")
    change.parts[_BANNER] = await image_columns(
        change.scope, change.values, "vendor_banners", change.record_id, field=_BANNER, key="vendor_id"
    )


async def _save_parts(change: Change) -> None:
    await _approve_users(change)
    await _sign_users_out(change)
    if banner := change.parts[_BANNER]:
        change.has_changed |= await _save_banner(change.scope, change.record_id, banner)


async def _save_banner(scope: Scope, vendor_id: int, banner: Mapping[str, Any]) -> bool:
    """Write the columns of a banner, without a link none; return whether that changed it."""
    if not banner["image_url"]:
        return await delete_rows(scope, "vendor_banners", vendor_id=vendor_id) > 0
    values = (banner["image_url"], banner.get("image_alt"), banner["media_id"])
    return await execute(_SAVE_BANNER, scope.store.id, vendor_id, uuid7(), *values) > 0


def _check_commission(change: Change) -> None:
    """Refuse a commission above 100 %."""
    if "commission" not in change.columns and "commission_type" not in change.columns:
        return
    commission = change.merged["commission"]
    if change.merged["commission_type"] == "P" and parse_cents(commission) > _MAX_PERCENT_CENTS:
        raise ValidationFailed(
            f"commission is {commission}; expected at most 100.00 percent",
            field="commission",
            code="commission_invalid",
        )


def _check_not_vendor(scope: Scope) -> None:
    if scope.actor.kind is ActorKind.VENDOR:
        raise Forbidden("insufficient permissions")


VENDOR_RECORDS = RecordType(
    Vendor,
    VENDOR_FIELDS,
    alternatives={"email": "has_no_email"},
    lock_row=_LOCK,
    prepare=_prepare,
    defaults={"commission": "0.00", "commission_type": "P"},
    find=_find_vendor,
    check=_check_commission,
    after_save=_save_parts,
    before_delete=_delete_parts,
)
