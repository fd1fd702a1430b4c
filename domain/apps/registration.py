"""Register apps and verify their client credentials (docs/reference/current.md#apps). Apps belong to the platform, not to a store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from unicodedata import bidirectional, category
from uuid import UUID

from asyncpg import Record

from auth.app_scopes import parse_app_scopes
from auth.secrets import APP_SECRET_PURPOSE, encrypt
from domain.app_calls.call_types import KINDS
from domain.apps.call_urls import CALL_URLS_FIELD, call_urls_by_kind, host_of, parse_call_url_changes
from domain.apps.redirects import parse_redirect_uris
from kernel.clock import now
from kernel.errors import Forbidden, NotFound, ValidationFailed
from kernel.fields import InputField, read_fields, text
from kernel.ids import checksummed_token, uuid7
from kernel.scope import ActorKind, Scope
from kernel.signatures import constant_time_equal, token_hash
from kernel.text import InvalidValue, has_forbidden_characters, repr_value
from models import audit
from models.connection import database
from models.rows import from_row, json_text

MODES = ("live", "test")
MAX_NAME = 100
MAX_CLIENT_ID = 200
SECRET_OVERLAP = timedelta(hours=24)


# Characters that change the direction of the text after them, or end its line.
_DIRECTIONS = frozenset(("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI", "B"))


def _parse_name(value: object) -> object:
    """Parse the name of an app. The consent page shows it to administrators of any store: it looks like what it is."""
    name = text(MAX_NAME, blank=False)(value)
    if any(category(character) == "Cc" or bidirectional(character) in _DIRECTIONS for character in str(name)):
        raise InvalidValue(f"is {repr_value(name)}; expected one line without characters that change its direction")
    return name


def _parse_mode(value: object) -> str:
    if value not in MODES:
        raise InvalidValue(f"is {repr_value(value)}; expected live or test")
    return str(value)


FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", _parse_name, "name_invalid", required="name_required"),
    "redirect_uris": InputField("redirect_uris", parse_redirect_uris, "redirect_uri_invalid", required="required"),
    "scopes": InputField("scopes", parse_app_scopes, "scope_unknown", required="required"),
    "mode": InputField("mode", _parse_mode, "mode_invalid"),
    "call_urls": CALL_URLS_FIELD,
}

_INSERT = """
    insert into apps
        (public_id, client_id, name, mode, redirect_uris, scopes, secret_hash, secret_sealed, registered_in, created_at, call_urls)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
"""

# The second hash is the previous secret's, while it is valid.
_HASHES = """
    select secret_hash, case when previous_secret_until > $2 then previous_secret_hash end from apps where id = $1
"""


@dataclass(frozen=True, slots=True)
class AppDetails:
    """An app's public attributes, and `number`, its primary key, which is internal."""

    number: int
    id: UUID
    client_id: str
    name: str
    mode: str
    redirect_uris: list[str]
    scopes: list[str]
    created_at: datetime
    call_urls: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class RegisteredApp:
    """A newly registered app; its secret is shown only once."""

    id: UUID
    client_id: str
    client_secret: str
    name: str
    mode: str
    redirect_uris: list[str]
    scopes: list[str]
    created_at: datetime
    call_urls: Mapping[str, str | None]


async def register_app(scope: Scope, values: Mapping[str, Any]) -> RegisteredApp:
    """Register an app from a store: `name`*, `redirect_uris`*, `scopes`*, `mode` (default `live`) and `call_urls`.

    Any store may install it. Raise `InsufficientPrivileges` without `manage_apps`, `ValidationFailed` naming invalid fields.
    """
    scope.check_privilege("manage_apps")
    app = _new_app(values, scope.now)
    async with database.transaction(scope):
        await database.execute(_INSERT, *_columns(app, scope.store.id))
        await audit.record(scope, "app.registered", "app", app.id, {"name": app.name, "scopes": app.scopes})
    return app


async def register_platform_app(values: Mapping[str, Any]) -> RegisteredApp:
    """Register an app as the platform's operator, without a store; raise `ValidationFailed` naming invalid fields."""
    app = _new_app(values, now())
    async with database.cross_store_connection() as platform:
        await platform.execute(_INSERT, *_columns(app, None))
    return app


async def find_app(client_id: str) -> AppDetails | None:
    """Return the app with a client id, whatever the caller's store."""
    if len(client_id) > MAX_CLIENT_ID or has_forbidden_characters(client_id):
        return None
    row = await database.fetchrow("select * from apps where client_id = $1", client_id)
    return None if row is None else _build_app(row)


async def list_apps() -> list[AppDetails]:
    """List the apps of the platform and of all stores, oldest first, as the operator."""
    async with database.cross_store_connection() as platform:
        return [_build_app(row) for row in await platform.fetch("select * from apps order by id")]


async def registering_store(client_id: str) -> UUID | None:
    """Return the id of the store in which an app was registered; None for an unknown app and for the operator's."""
    if len(client_id) > MAX_CLIENT_ID or has_forbidden_characters(client_id):
        return None
    store: UUID | None = await database.fetchval(
        "select t.public_id from apps a join tenants t on t.id = a.registered_in where a.client_id = $1", client_id
    )
    return store


async def list_registered_apps(scope: Scope) -> list[AppDetails]:
    """List the apps registered in the scope's store, oldest first."""
    rows = await database.fetch("select * from apps where registered_in = $1 order by id", scope.store.id)
    return [_build_app(row) for row in rows]


async def authenticate_client(client_id: str, client_secret: str) -> AppDetails | None:
    """Return the app with these client credentials, None if the id is unknown or the secret wrong."""
    app = await find_app(client_id)
    # Constant time: an unknown client costs the same comparison.
    stored = [b"", None] if app is None else list(await database.fetchrow(_HASHES, app.number, now()) or ())
    hashed = token_hash(client_secret)
    matches = [constant_time_equal(hashed, other) for other in stored if other is not None]
    return app if any(matches) else None


@dataclass(frozen=True, slots=True)
class SecretRotation:
    """A new secret, shown only once, and when the previous one expires; None if it was revoked at once."""

    client_secret: str
    previous_valid_until: datetime | None


async def rotate_secret(scope: Scope, client_secret: str | None, *, immediate: bool = False) -> SecretRotation:
    """Replace the calling app's secret; the current one stays valid for 24 hours, or is revoked at once.

    `client_secret` must be the newest: neither a stolen token nor a replaced secret can rotate it. Raise `ValidationFailed`.
    """
    if scope.actor.kind is not ActorKind.APP:
        raise Forbidden("insufficient permissions")
    if not client_secret:
        raise ValidationFailed("client_secret is required", field="client_secret", code="required")
    secret = _new_secret()
    until = None if immediate else scope.now + SECRET_OVERLAP
    # Apps belong to the platform. Of two concurrent rotations one no longer matches the current secret.
    async with _changed_app(scope, "app.secret_rotated", {"immediate": immediate}) as platform:
        replaced = await platform.execute(
            """
            update apps set secret_hash = $3, secret_sealed = $4, previous_secret_until = $5,
                previous_secret_hash = case when $5::timestamptz is null then null else secret_hash end,
                previous_secret_sealed = case when $5::timestamptz is null then null else secret_sealed end
            where id = $1 and secret_hash = $2
            """,
            scope.actor.app_id,
            token_hash(client_secret),
            token_hash(secret),
            encrypt(APP_SECRET_PURPOSE, secret.encode()),
            until,
        )
        if not replaced:
            raise _wrong_secret()
    return SecretRotation(secret, until)


async def set_call_urls(scope: Scope, client_secret: str | None, values: Mapping[str, Any]) -> dict[str, str | None]:
    """Change the addresses at which the calling app is called, in all stores, and return them; null removes one.

    `client_secret` must be the newest, as in `rotate_secret`: a stolen token can't redirect the calls. Raise `ValidationFailed`.
    """
    if scope.actor.kind is not ActorKind.APP:
        raise Forbidden("insufficient permissions")
    if not client_secret:
        raise ValidationFailed("client_secret is required", field="client_secret", code="required")
    changes = parse_call_url_changes(values)
    details = {name: host_of(url) for name, url in changes.items()}
    async with _changed_app(scope, "app.call_urls_changed", details) as platform:
        stored = await platform.fetchval(
            """
            update apps set call_urls = jsonb_strip_nulls(call_urls || $3::jsonb) where id = $1 and secret_hash = $2
            returning call_urls::text
            """,
            scope.actor.app_id,
            token_hash(client_secret),
            json_text(changes),
        )
        if stored is None:
            raise _wrong_secret()
    return call_urls_by_kind(stored)


@asynccontextmanager
async def _changed_app(
    scope: Scope, action: str, details: Mapping[str, object]
) -> AsyncIterator[database.CrossStoreConnection]:
    """Open a transaction of the platform that changes the calling app, and record it in the store's audit log.

    The log is committed first: no app is changed without an entry, and an error leaves the app, and the secret that the caller has.
    """
    async with database.cross_store_connection() as platform, platform.transaction():
        yield platform
        async with database.transaction(scope):
            await audit.record(scope, action, "app", scope.actor.app_id or 0, details)


def _wrong_secret() -> ValidationFailed:
    return ValidationFailed(
        "client_secret is not the app's present secret", field="client_secret", code="client_secret_invalid"
    )


async def reset_secret(client_id: str) -> str:
    """Replace an app's secret as the operator; the previous one is revoked at once. Raise `NotFound`."""
    if has_forbidden_characters(client_id):
        raise NotFound("app")
    secret = _new_secret()
    async with database.cross_store_connection() as platform:
        updated = await platform.execute(
            """
            update apps set secret_hash = $2, secret_sealed = $3,
                previous_secret_hash = null, previous_secret_sealed = null, previous_secret_until = null
            where client_id = $1
            """,
            client_id,
            token_hash(secret),
            encrypt(APP_SECRET_PURPOSE, secret.encode()),
        )
    if not updated:
        raise NotFound("app")
    return secret


def _new_app(values: Mapping[str, Any], at: datetime) -> RegisteredApp:
    columns = read_fields(FIELDS, {name: value for name, value in values.items() if value is not None}, creating=True)
    return RegisteredApp(
        id=uuid7(),
        client_id=checksummed_token("vci_", 128),
        client_secret=_new_secret(),
        name=columns["name"],
        mode=columns.get("mode", MODES[0]),
        redirect_uris=columns["redirect_uris"],
        scopes=columns["scopes"],
        created_at=at,
        call_urls=dict.fromkeys(KINDS) | columns.get("call_urls", {}),
    )


def _new_secret() -> str:
    return checksummed_token("vcs_")


def _columns(app: RegisteredApp, registered_in: int | None) -> tuple[Any, ...]:
    return (
        app.id,
        app.client_id,
        app.name,
        app.mode,
        app.redirect_uris,
        app.scopes,
        token_hash(app.client_secret),
        encrypt(APP_SECRET_PURPOSE, app.client_secret.encode()),
        registered_in,
        app.created_at,
        json_text({name: url for name, url in app.call_urls.items() if url is not None}),
    )


def _build_app(row: Record) -> AppDetails:
    return from_row(
        AppDetails,
        row,
        number=row["id"],
        id=row["public_id"],
        call_urls=call_urls_by_kind(row["call_urls"]),
    )
