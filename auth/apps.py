"""Register apps, and know them by their client credentials (decisions section 4). Apps belong to the platform, not to a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from asyncpg import Record

from auth.app_scopes import read_app_scopes
from auth.redirects import read_redirect_uris
from auth.secrets import decrypt, encrypt
from domain import audit
from domain.fields import InputField, read_fields, text
from kernel.clock import now
from kernel.errors import Forbidden, NotFound, ValidationFailed
from kernel.ids import checksummed_token, uuid7
from kernel.scope import ActorKind, Scope
from kernel.signatures import constant_time_equal, token_hash
from kernel.text import Malformed, has_forbidden_characters, shown
from models import database

MODES = ("live", "test")
MAX_NAME = 100
MAX_CLIENT_ID = 200
SECRET_OVERLAP = timedelta(hours=24)

_PURPOSE = "app-secret"


def _mode(value: object) -> str:
    if value not in MODES:
        raise Malformed(f"is {shown(value)}; expected live or test")
    return str(value)


FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", text(MAX_NAME, blank=False), "name_invalid", required="name_required"),
    "redirect_uris": InputField(
        "redirect_uris", read_redirect_uris, "redirect_uri_invalid", required="required"
    ),
    "scopes": InputField("scopes", read_app_scopes, "scope_unknown", required="required"),
    "mode": InputField("mode", _mode, "mode_invalid"),
}

_INSERT = """
    insert into apps
        (public_id, client_id, name, mode, redirect_uris, scopes, secret_hash, secret_sealed, registered_in, created_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
"""

# The second is the secret before it, while that is good.
_HASHES = """
    select secret_hash, case when previous_secret_until > $2 then previous_secret_hash end from apps where id = $1
"""


@dataclass(frozen=True, slots=True)
class AppDetails:
    """An app as everybody may see it, except `number`, which is the table's own."""

    number: int
    id: UUID
    client_id: str
    name: str
    mode: str
    redirect_uris: list[str]
    scopes: list[str]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class RegisteredApp:
    """An app that was just registered: the one time its secret is shown."""

    id: UUID
    client_id: str
    client_secret: str
    name: str
    mode: str
    redirect_uris: list[str]
    scopes: list[str]
    created_at: datetime


async def register_app(scope: Scope, given: Mapping[str, Any]) -> RegisteredApp:
    """Register an app from a store: `name`*, `redirect_uris`*, `scopes`* and `mode` (`live` unless said).

    Any store may install it. Raises `InsufficientPrivileges` without `manage_apps`, `ValidationFailed` naming wrong fields.
    """
    scope.require("manage_apps")
    made = _draft(given, scope.now)
    async with database.transaction(scope):
        await database.execute(_INSERT, *_columns(made, scope.store.id))
        await audit.record(
            scope, "app.registered", "app", made.id, {"name": made.name, "scopes": made.scopes}
        )
    return made


async def register_app_of_platform(given: Mapping[str, Any]) -> RegisteredApp:
    """Register an app for the platform's operator; needs no store. Raises `ValidationFailed` naming wrong fields."""
    made = _draft(given, now())
    async with database.across_stores() as platform:
        await platform.execute(_INSERT, *_columns(made, None))
    return made


async def find_app(client_id: str) -> AppDetails | None:
    """Give the app of a client id, in whatever store the caller works."""
    if len(client_id) > MAX_CLIENT_ID or has_forbidden_characters(client_id):
        return None
    found = await database.row("select * from apps where client_id = $1", client_id)
    return None if found is None else _app(found)


async def list_registered(scope: Scope) -> list[AppDetails]:
    """List the apps that were registered in the scope's store, the oldest first."""
    found = await database.rows("select * from apps where registered_in = $1 order by id", scope.store.id)
    return [_app(record) for record in found]


async def verify_client(client_id: str, client_secret: str) -> AppDetails | None:
    """Give the app whose credentials these are, None when the id is unknown or the secret wrong."""
    app = await find_app(client_id)
    # An unknown client costs the same comparison; what is compared are hashes of random secrets.
    stored = [b"", None] if app is None else list(await database.row(_HASHES, app.number, now()) or ())
    given = token_hash(client_secret)
    matches = [constant_time_equal(given, each) for each in stored if each is not None]
    return app if any(matches) else None


async def signing_secret(app_number: int) -> str:
    """Give an app's client secret, with which outbound events are signed; raises `Unreadable` under another VITRINE_SECRET_KEY."""
    sealed = await database.value("select secret_sealed from apps where id = $1", app_number)
    if sealed is None:
        raise NotFound("app")
    return decrypt(_PURPOSE, sealed).decode()


def good_secrets(
    sealed: bytes, previous: bytes | None, previous_until: datetime | None, at: datetime
) -> list[str]:
    """Open the secrets that are good at that moment, the oldest first; raises `Unreadable` under another VITRINE_SECRET_KEY."""
    good = [sealed]
    if previous is not None and previous_until is not None and at < previous_until:
        good.insert(0, previous)
    return [decrypt(_PURPOSE, each).decode() for each in good]


@dataclass(frozen=True, slots=True)
class SecretRotation:
    """A new secret, shown once, and until when the one before it is good; None when it ended at once."""

    client_secret: str
    previous_valid_until: datetime | None


async def rotate_secret(
    scope: Scope, client_secret: str | None, *, immediate: bool = False
) -> SecretRotation:
    """Give the calling app a new secret; the one it has now stays good for 24 hours, or ends at once.

    `client_secret` must be the newest: neither a stolen token nor a secret that was replaced renews it. Raises `ValidationFailed`.
    """
    if scope.actor.kind is not ActorKind.APP:
        raise Forbidden("insufficient permissions")
    if not client_secret:
        raise ValidationFailed("client_secret is required", field="client_secret", code="required")
    secret = _new_secret()
    until = None if immediate else scope.now + SECRET_OVERLAP
    async with database.transaction(scope):
        # First, so that no secret is replaced without a line.
        details: dict[str, object] = {"immediate": immediate}
        await audit.record(scope, "app.secret_rotated", "app", scope.actor.app_id or 0, details)
        if not await _replace_secret(scope.actor.app_id, client_secret, secret, until):
            raise ValidationFailed(
                "client_secret is not the app's present secret",
                field="client_secret",
                code="client_secret_invalid",
            )
    return SecretRotation(secret, until)


async def _replace_secret(app: int | None, present: str, secret: str, until: datetime | None) -> bool:
    # Apps belong to the platform. Of two rotations at once one finds the secret replaced.
    async with database.across_stores() as platform:
        return (
            await platform.execute(
                """
            update apps set secret_hash = $3, secret_sealed = $4, previous_secret_until = $5,
                previous_secret_hash = case when $5::timestamptz is null then null else secret_hash end,
                previous_secret_sealed = case when $5::timestamptz is null then null else secret_sealed end
            where id = $1 and secret_hash = $2
            """,
                app,
                token_hash(present),
                token_hash(secret),
                encrypt(_PURPOSE, secret.encode()),
                until,
            )
            > 0
        )


async def renew_secret(client_id: str) -> str:
    """Give an app a new secret, as the operator; the old one ends at once. Raises `NotFound`."""
    secret = _new_secret()
    async with database.across_stores() as platform:
        known = await platform.execute(
            """
            update apps set secret_hash = $2, secret_sealed = $3,
                previous_secret_hash = null, previous_secret_sealed = null, previous_secret_until = null
            where client_id = $1
            """,
            client_id,
            token_hash(secret),
            encrypt(_PURPOSE, secret.encode()),
        )
    if not known:
        raise NotFound("app")
    return secret


def _draft(given: Mapping[str, Any], at: datetime) -> RegisteredApp:
    columns = read_fields(
        FIELDS, {name: value for name, value in given.items() if value is not None}, creating=True
    )
    return RegisteredApp(
        id=uuid7(),
        client_id=checksummed_token("vci_", 128),
        client_secret=_new_secret(),
        name=columns["name"],
        mode=columns.get("mode", MODES[0]),
        redirect_uris=columns["redirect_uris"],
        scopes=columns["scopes"],
        created_at=at,
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
        encrypt(_PURPOSE, app.client_secret.encode()),
        registered_in,
        app.created_at,
    )


def _app(found: Record) -> AppDetails:
    return AppDetails(
        number=found["id"],
        id=found["public_id"],
        client_id=found["client_id"],
        name=found["name"],
        mode=found["mode"],
        redirect_uris=found["redirect_uris"],
        scopes=found["scopes"],
        created_at=found["created_at"],
    )
