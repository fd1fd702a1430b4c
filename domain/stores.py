"""Create stores, change their name, currency, settings and status; their hosts are in `domain.hosts`.

Every change notifies the processes that cache stores (`invalidate_store`) in its transaction. Creating a store and its status are
operations of the platform: they use `cross_store_connection` and are called by the command line. Name, currency and settings belong
to the store and use its scope (docs/reference/shared.md#store-resolution).
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson

from auth.secrets import decrypt, encrypt
from auth.store_resolution import build_store, invalidate_store
from domain import store_logo
from domain.hosts import assign_hosts, notify_changed, parse_store_host
from domain.media.images import read_image
from domain.store_limits import LIMITS, MOST
from domain.store_settings import (
    MASK,
    check_may_change,
    clear_unconfirmed_secrets,
    encrypt_secrets,
    masked_setting,
    stored_names,
)
from domain.store_settings import STORE_SETTINGS as STORE_SETTINGS
from domain.store_settings import setting as setting
from kernel.errors import RuleViolation, TenantNotFound, ValidationFailed
from kernel.fields import (
    InputField,
    InputValues,
    name_text,
    one_of,
    raise_field_errors,
    read_fields,
    read_with_errors,
    text,
)
from kernel.ids import split_reference, uuid7
from kernel.money import CURRENCIES
from kernel.scope import Scope, Store, active_scope
from kernel.text import InvalidValue, repr_value
from models import audit
from models.connection.database import (
    CrossStoreConnection,
    cross_store_connection,
    execute,
    fetchrow,
    fetchval,
    transaction,
)
from models.rows import json_text

ACTIVE, SUSPENDED, MAINTENANCE = "A", "S", "M"
GATEWAY_PURPOSE = "gateway_secret"

_GATEWAY_SECRET_BYTES = 32


def currency_code(value: object) -> object:
    """Read the code of a currency of ISO 4217 that is divided into cents."""
    if not isinstance(value, str) or value not in CURRENCIES:
        raise InvalidValue(f"is {repr_value(value)}; expected a currency of ISO 4217 with cents, such as BRL")
    return value


STORE_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "currency": InputField("currency", currency_code, code="currency_invalid"),
    "maintenance_message": InputField("maintenance_message", text(2_000)),
}
_STATUS: Mapping[str, InputField] = {
    "status": InputField("status", one_of(ACTIVE, SUSPENDED, MAINTENANCE), code="status_invalid")
}
_GATEWAY_SECRET_FIELD: Mapping[str, InputField] = {"secret": InputField("secret", text(1_000), code="secret_invalid")}

_INSERT = """
INSERT INTO tenants (public_id, name, currency, status, maintenance_message, gateway_secret)
VALUES ($1, $2, $3, $4, $5, $6) RETURNING *
"""
_FIND = "SELECT * FROM tenants WHERE id = $1 OR public_id = $2"
_SET_STATUS = """
UPDATE tenants SET status = $2, maintenance_message = coalesce($3, maintenance_message), is_read_only = $4 WHERE id = $1 RETURNING *
"""
_SET_LIMITS = "UPDATE tenants SET limits = jsonb_strip_nulls(limits || $2::text::jsonb) WHERE id = $1 RETURNING *"
_SETTINGS = "SELECT settings::text FROM tenants WHERE id = $1 FOR NO KEY UPDATE"
_SAVE_SETTINGS = "UPDATE tenants SET settings = $2::text::jsonb WHERE id = $1"
_SAVE_STORE = """
UPDATE tenants SET name = coalesce($2, name), currency = coalesce($3, currency),
    maintenance_message = coalesce($4, maintenance_message)
WHERE id = $1 AND (coalesce($2, name), coalesce($3, currency), coalesce($4, maintenance_message))
    IS DISTINCT FROM (name, currency, maintenance_message)
"""
_LOCK = "SELECT currency, coalesce(settings->>'logo_url', '') AS logo_url FROM tenants WHERE id = $1 FOR NO KEY UPDATE"
_HAS_ORDERS = "SELECT EXISTS (SELECT FROM orders WHERE tenant_id = $1)"
_SAVE_SECRET = "UPDATE tenants SET gateway_secret = $2 WHERE id = $1"
_GATEWAY_SECRET = "SELECT gateway_secret FROM tenants WHERE id = $1"


@dataclass(frozen=True, slots=True)
class NewStore:
    """A created store; its gateway secret can be read back by staff only."""

    store: Store
    gateway_secret: str


# --- Operations of the platform ----------------------------------------------------------------------------------------------


async def create_store(values: InputValues, *, hosts: Iterable[str] = (), public_id: UUID | None = None) -> NewStore:
    """Create a store with a random gateway secret: `name`*, `currency`, `status`, `maintenance_message`, and its hosts.

    `public_id` is for the demo, whose stores have fixed ids. Raises ValidationFailed for an invalid field or host, Conflict for a host that
    another store has.
    """
    columns = read_fields({**STORE_FIELDS, **_STATUS}, values, creating=True)
    names = [parse_store_host(host) for host in hosts]
    secret = secrets.token_urlsafe(_GATEWAY_SECRET_BYTES)
    async with cross_store_connection() as platform, platform.transaction():
        row = await platform.fetchrow(
            _INSERT,
            public_id or uuid7(),
            columns["name"],
            columns.get("currency", "BRL"),
            columns.get("status", ACTIVE),
            columns.get("maintenance_message"),
            encrypt(GATEWAY_PURPOSE, secret.encode()),
        )
        assert row is not None  # INSERT … RETURNING returns its row
        await assign_hosts(platform, row["id"], names)
        await notify_changed(platform, row["id"])
    return NewStore(build_store(row), secret)


async def find_store(reference: object) -> Store:
    """Return the store with this id or UUID; raises TenantNotFound."""
    async with cross_store_connection() as platform:
        return await _find(platform, reference)


async def change_status(
    reference: object, status: str, *, message: str | None = None, read_only: bool = False
) -> Store:
    """Set a store active (`A`), suspended (`S`) or in maintenance (`M`); `message` is returned to customers meanwhile.

    A `read_only` store answers reads and sign-ins: other mutations are refused as in maintenance, and periodic jobs leave it alone.
    """
    columns = read_fields(
        {**_STATUS, "message": STORE_FIELDS["maintenance_message"]}, {"status": status, "message": message}
    )
    async with cross_store_connection() as platform, platform.transaction():
        store = await _find(platform, reference)
        row = await platform.fetchrow(_SET_STATUS, store.id, columns["status"], message, read_only)
        if row is None:
            raise TenantNotFound()
        await notify_changed(platform, store.id)
    return build_store(row)


async def set_limits(scope: Scope, changes: Mapping[str, int | None]) -> Store:
    """Set or, with None, remove limits of the store, as the platform; other processes know within 5 seconds. Raise ValidationFailed."""
    for name, limit in changes.items():
        if name not in LIMITS:
            raise ValidationFailed(f"{repr_value(name)} is no limit; expected any of {', '.join(LIMITS)}", field="name")
        if limit is not None and not 0 <= limit <= MOST:
            raise ValidationFailed(f"{name} is {limit}; expected a number from 0 to {MOST}", field=name)
    async with cross_store_connection() as platform, platform.transaction():
        row = await platform.fetchrow(_SET_LIMITS, scope.store.id, json_text(changes))
        if row is None:
            raise TenantNotFound()
        await notify_changed(platform, scope.store.id)
    async with transaction(scope):
        await audit.record(scope, "store.limits_changed", "store", scope.store.public_id, dict(changes))
    return build_store(row)


async def suspend(reference: object) -> Store:
    """Suspend a store: every request is answered 503 `tenant_suspended`."""
    return await change_status(reference, SUSPENDED)


async def _find(platform: CrossStoreConnection, reference: object) -> Store:
    number, public_id = split_reference(reference)
    row = await platform.fetchrow(_FIND, number, public_id)
    if row is None:
        raise TenantNotFound()
    return build_store(row)


# --- Operations of the store -------------------------------------------------------------------------------------------------


async def update_store(scope: Scope, values: InputValues) -> None:
    """Change the store's `name`, `currency`, `maintenance_message` or `logo`; the currency only while the store has no orders.

    Raises ValidationFailed, and RuleViolation (`store_has_orders`) since reports, coupons and the ledger add up amounts of all orders.
    """
    columns = read_fields(STORE_FIELDS, values)
    image, errors = read_image(values, "logo")
    raise_field_errors(errors)
    async with transaction(scope):
        stored = await fetchrow(_LOCK, scope.store.id)
        assert stored is not None  # the store of the scope
        current = stored["currency"]
        if columns.get("currency", current) != current and await fetchval(_HAS_ORDERS, scope.store.id):
            raise RuleViolation(
                f"the store has orders in {current}; its currency can't change any more", reason="store_has_orders"
            )
        changed = await execute(
            _SAVE_STORE,
            scope.store.id,
            columns.get("name"),
            columns.get("currency"),
            columns.get("maintenance_message"),
        )
        has_other_logo = bool(image) and await store_logo.update_logo(scope, image, stored["logo_url"])
        if changed or has_other_logo:
            names = [*columns, *(["logo"] if image else [])]
            await audit.record_update(scope, "store", scope.store.public_id, names)
            await invalidate_store(scope.store.id)


async def update_settings(scope: Scope, values: Mapping[str, Any]) -> None:
    """Set settings by name; a value equal to the default is not stored.

    Raises ValidationFailed naming unknown settings and invalid values, and InsufficientPrivileges as `check_may_change` does.
    """
    validated = _read_settings(values)
    async with transaction(scope):
        stored: dict[str, Any] = orjson.loads(await fetchval(_SETTINGS, scope.store.id))
        logo, stored_logo = validated.get("logo_url"), stored.get("logo_url", "")
        if logo is not None and logo != stored_logo:
            validated["logo_url"] = await store_logo.update_link(scope, logo, stored_logo)
        new_settings = clear_unconfirmed_secrets(stored, stored_names(encrypt_secrets(validated, stored)))
        settings, current = _without_defaults(stored | new_settings), _without_defaults(stored)
        if settings == current:
            return
        check_may_change(scope, [name for name in new_settings if settings.get(name) != current.get(name)])
        await execute(_SAVE_SETTINGS, scope.store.id, orjson.dumps(settings).decode())
        await audit.record(scope, "settings.updated", "store", scope.store.public_id, {"names": sorted(new_settings)})
        await invalidate_store(scope.store.id)


async def set_gateway_secret(scope: Scope, secret: str) -> None:
    """Set the key that signs gateway notifications; an empty one accepts unsigned notifications, which is audited.

    The mask, and the stored one, leave it unchanged. Raises ValidationFailed if it is too long.
    """
    if secret == MASK:
        return
    read_fields(_GATEWAY_SECRET_FIELD, {"secret": secret})
    if secret == (await gateway_secret(scope) or ""):
        return
    async with transaction(scope):
        sealed = encrypt(GATEWAY_PURPOSE, secret.encode()) if secret else None
        await execute(_SAVE_SECRET, scope.store.id, sealed)
        action = "gateway_secret.updated" if secret else "gateway_secret.emptied"
        await audit.record(scope, action, "store", scope.store.public_id)
        await invalidate_store(scope.store.id)


async def gateway_secret(scope: Scope) -> str | None:
    """Return the key that signs gateway notifications, or None if it was removed."""
    with active_scope(scope):
        sealed: bytes | None = await fetchval(_GATEWAY_SECRET, scope.store.id)
    return decrypt(GATEWAY_PURPOSE, sealed).decode() if sealed else None


def masked_settings(scope: Scope) -> dict[str, Any]:
    """Return every setting with its value, secrets masked."""
    return {name: masked_setting(scope, name) for name in STORE_SETTINGS}


def _read_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    fields = {
        name: InputField(name, declaration.read, code="setting_invalid") for name, declaration in STORE_SETTINGS.items()
    }
    columns, errors = read_with_errors(fields, values)
    errors |= {
        name: ("setting_unknown", f"there is no setting {repr_value(name)}") for name in values if name not in fields
    }
    raise_field_errors(errors)
    return columns


def _without_defaults(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Omit settings equal to their default; unknown settings (of a later version) are kept."""
    return {
        name: setting_value
        for name, setting_value in settings.items()
        if name not in STORE_SETTINGS or setting_value != STORE_SETTINGS[name].default
    }
