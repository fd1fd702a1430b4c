"""Make stores, set what they can set, open and close them, and give them their addresses.

Every change is told to the processes that remember stores (`auth.tenancy.store_changed`) in the transaction in which it happens.
Making a store, its state and its addresses are the platform's business: they go through `across_stores`, and the caller is the
operator's command line. Name, currency and settings are the store's own: they go through its scope.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson

from auth.secrets import decrypt, encrypt
from auth.tenancy import CHANNEL, host_name, store_changed, store_from
from domain import audit
from domain.fields import Given, InputField, check_fields, name_text, one_of, read_fields, refuse_wrong, text
from domain.store_settings import MASK, sealed, shown_setting
from domain.store_settings import STORE_SETTINGS as STORE_SETTINGS
from domain.store_settings import setting as setting
from kernel.errors import Conflict, TenantNotFound, ValidationFailed
from kernel.ids import parse_reference, uuid7
from kernel.scope import Scope, Store, entered
from kernel.text import Malformed, shown
from models.database import AcrossStores, UniqueViolation, across_stores, execute, transaction, value

ACTIVE, SUSPENDED, MAINTENANCE = "A", "S", "M"
GATEWAY_PURPOSE = "gateway_secret"

_CURRENCY = re.compile(r"[A-Z]{3}")
_GATEWAY_SECRET_BYTES = 32


def currency_code(value: object) -> object:
    """Read a currency: three capitals (ISO 4217)."""
    if not isinstance(value, str) or not _CURRENCY.fullmatch(value):
        raise Malformed(f"is {shown(value)}; expected three capitals such as BRL")
    return value


STORE_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "currency": InputField("currency", currency_code, code="currency_invalid"),
    "maintenance_message": InputField("maintenance_message", text(2_000)),
}
_STATUS: Mapping[str, InputField] = {
    "status": InputField("status", one_of(ACTIVE, SUSPENDED, MAINTENANCE), code="status_invalid")
}
_GATEWAY_SECRET_FIELD: Mapping[str, InputField] = {
    "secret": InputField("secret", text(1_000), code="secret_invalid")
}

_INSERT = """
INSERT INTO tenants (public_id, name, currency, status, maintenance_message, settings, gateway_secret)
VALUES ($1, $2, $3, $4, $5, $6::text::jsonb, $7) RETURNING *
"""
_FIND = "SELECT * FROM tenants WHERE id = $1 OR public_id = $2"
_SET_STATUS = """
UPDATE tenants SET status = $2, maintenance_message = coalesce($3, maintenance_message) WHERE id = $1 RETURNING *
"""
_ADD_HOST = "INSERT INTO store_hosts (host, store_id) VALUES ($1, $2)"
_REMOVE_HOST = "DELETE FROM store_hosts WHERE host = $1 AND store_id = $2"
_SETTINGS = "SELECT settings::text FROM tenants WHERE id = $1 FOR NO KEY UPDATE"
_SAVE_SETTINGS = "UPDATE tenants SET settings = $2::text::jsonb WHERE id = $1"
_SAVE_STORE = """
UPDATE tenants SET name = coalesce($2, name), currency = coalesce($3, currency),
    maintenance_message = coalesce($4, maintenance_message)
WHERE id = $1
"""
_SAVE_SECRET = "UPDATE tenants SET gateway_secret = $2 WHERE id = $1"
_GATEWAY_SECRET = "SELECT gateway_secret FROM tenants WHERE id = $1"


@dataclass(frozen=True, slots=True)
class NewStore:
    """Tell of a store that was made; the gateway's secret key is shown here and can be read back by staff only."""

    store: Store
    gateway_secret: str


# --- The platform's business -----------------------------------------------------------------------------------------------


async def create_store(
    given: Given,
    *,
    hosts: Iterable[str] = (),
    settings: Mapping[str, Any] | None = None,
    public_id: UUID | None = None,
) -> NewStore:
    """Make a store with a random gateway secret: `name`*, `currency`, `status`, `maintenance_message`, its addresses and settings.

    `public_id` is for the demo, whose stores are known by theirs. Raises ValidationFailed for a wrong field or address, Conflict
    for an address that another store has.
    """
    columns = read_fields({**STORE_FIELDS, **_STATUS}, given, creating=True)
    differing = _differing(_checked(settings or {}))
    names = [_checked_host(host) for host in hosts]
    secret = secrets.token_urlsafe(_GATEWAY_SECRET_BYTES)
    async with across_stores() as platform, platform.transaction():
        made = await platform.row(
            _INSERT,
            public_id or uuid7(),
            columns["name"],
            columns.get("currency", "BRL"),
            columns.get("status", ACTIVE),
            columns.get("maintenance_message"),
            orjson.dumps(differing).decode(),
            encrypt(GATEWAY_PURPOSE, secret.encode()),
        )
        assert made is not None  # INSERT … RETURNING gives its row
        await _add_hosts(platform, made["id"], names)
        await _tell(platform, made["id"])
    return NewStore(store_from(made), secret)


async def find_store(reference: object) -> Store:
    """Give the store that the operator names by number or UUID; raises TenantNotFound."""
    async with across_stores() as platform:
        return await _find(platform, reference)


async def change_status(reference: object, status: str, *, message: str | None = None) -> Store:
    """Open (`A`), suspend (`S`) or take into maintenance (`M`) a store; `message` is what shoppers read meanwhile."""
    columns = read_fields(
        {**_STATUS, "message": STORE_FIELDS["maintenance_message"]}, {"status": status, "message": message}
    )
    async with across_stores() as platform, platform.transaction():
        store = await _find(platform, reference)
        changed = await platform.row(_SET_STATUS, store.id, columns["status"], message)
        assert changed is not None  # found above, and stores are never removed
        await _tell(platform, store.id)
    return store_from(changed)


async def suspend(reference: object) -> Store:
    """Close a store: every request is answered 503 `tenant_suspended`."""
    return await change_status(reference, SUSPENDED)


async def resume(reference: object) -> Store:
    """Open a store again."""
    return await change_status(reference, ACTIVE)


async def maintain(reference: object, *, message: str | None = None) -> Store:
    """Take a store into maintenance: requests are answered 503, and notifications of the gateway are still taken."""
    return await change_status(reference, MAINTENANCE, message=message)


async def add_host(reference: object, host: str) -> Store:
    """Give a store one more address; raises Conflict when another store has it."""
    name = _checked_host(host)
    async with across_stores() as platform, platform.transaction():
        store = await _find(platform, reference)
        await _add_hosts(platform, store.id, [name])
        await _tell(platform, store.id)
    return store


async def remove_host(reference: object, host: str) -> bool:
    """Take an address from a store; say whether it had it."""
    async with across_stores() as platform, platform.transaction():
        store = await _find(platform, reference)
        removed = await platform.execute(_REMOVE_HOST, _checked_host(host), store.id)
        await _tell(platform, store.id)
    return removed > 0


async def _find(platform: AcrossStores, reference: object) -> Store:
    known = parse_reference(reference)
    number, public_id = (known, None) if isinstance(known, int) else (None, known)
    found = await platform.row(_FIND, number, public_id)
    if found is None:
        raise TenantNotFound()
    return store_from(found)


async def _add_hosts(platform: AcrossStores, store_id: int, names: Iterable[str]) -> None:
    for name in names:
        try:
            await platform.execute(_ADD_HOST, name, store_id)
        except UniqueViolation as error:
            raise Conflict(f"the address {name} is in use", reason="host_taken") from error


async def _tell(platform: AcrossStores, store_id: int) -> None:
    # NOTIFY goes out with the commit; this process hears it like the others.
    await platform.execute("SELECT pg_notify($1, $2)", CHANNEL, str(store_id))


def _checked_host(host: str) -> str:
    name = host_name(host)
    if name is None:
        raise ValidationFailed(
            f"host is {shown(host)}; expected a name such as shop.example.com",
            field="host",
            code="host_invalid",
        )
    return name


# --- The store's own -------------------------------------------------------------------------------------------------------


async def update_store(scope: Scope, given: Given) -> None:
    """Change the store's `name`, `currency` or `maintenance_message`; orders keep the currency they were placed in."""
    columns = read_fields(STORE_FIELDS, given)
    async with transaction(scope):
        await execute(
            _SAVE_STORE,
            scope.store.id,
            columns.get("name"),
            columns.get("currency"),
            columns.get("maintenance_message"),
        )
        await audit.record(
            scope, "store.updated", "store", scope.store.public_id, {"fields": sorted(columns)}
        )
        await store_changed(scope.store.id)


async def update_settings(scope: Scope, given: Mapping[str, Any]) -> None:
    """Set settings by name; a value that equals the default is forgotten.

    Raises ValidationFailed naming settings there are not, and values a setting can't have.
    """
    checked = _checked(given)
    async with transaction(scope):
        stored: dict[str, Any] = orjson.loads(await value(_SETTINGS, scope.store.id))
        await execute(_SAVE_SETTINGS, scope.store.id, orjson.dumps(_differing(stored | checked)).decode())
        await audit.record(
            scope, "settings.updated", "store", scope.store.public_id, {"names": sorted(checked)}
        )
        await store_changed(scope.store.id)


async def set_gateway_secret(scope: Scope, secret: str) -> None:
    """Set the key that signs the gateway's notifications; an empty one lets them in unsigned, which is audited.

    The mask leaves the stored one as it is. Raises ValidationFailed for a longer one than any gateway has.
    """
    if secret == MASK:
        return
    read_fields(_GATEWAY_SECRET_FIELD, {"secret": secret})
    async with transaction(scope):
        sealed = encrypt(GATEWAY_PURPOSE, secret.encode()) if secret else None
        await execute(_SAVE_SECRET, scope.store.id, sealed)
        action = "gateway_secret.updated" if secret else "gateway_secret.emptied"
        await audit.record(scope, action, "store", scope.store.public_id)
        await store_changed(scope.store.id)


async def gateway_secret(scope: Scope) -> str | None:
    """Give the key that signs the gateway's notifications; None where it was emptied."""
    with entered(scope):
        sealed: bytes | None = await value(_GATEWAY_SECRET, scope.store.id)
    return decrypt(GATEWAY_PURPOSE, sealed).decode() if sealed else None


def shown_settings(scope: Scope) -> dict[str, Any]:
    """Give every setting with its value, secrets masked."""
    return {name: shown_setting(scope, name) for name in STORE_SETTINGS}


def _checked(given: Mapping[str, Any]) -> dict[str, Any]:
    fields = {
        name: InputField(name, known.read, code="setting_invalid") for name, known in STORE_SETTINGS.items()
    }
    columns, wrong = check_fields(fields, given)
    wrong |= {
        name: ("setting_unknown", f"there is no setting {shown(name)}")
        for name in given
        if name not in fields
    }
    refuse_wrong(wrong)
    return sealed(columns)


def _differing(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is as it would be anyway; a setting of a later version is kept."""
    return {
        name: new
        for name, new in settings.items()
        if name not in STORE_SETTINGS or new != STORE_SETTINGS[name].default
    }
