"""Give out, revoke and verify the keys of headless storefronts (`sfk_…`; contract, Storefront key)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from auth.app_scopes import STOREFRONT_SCOPES, read_storefront_scopes
from auth.credential_cache import Remembered, changed
from domain import audit
from domain.fields import InputField, read_fields, text, whole
from kernel.errors import NotFound
from kernel.ids import checksummed_token, has_valid_checksum, parse_uuid, uuid7
from kernel.scope import Actor, ActorKind, Scope
from kernel.signatures import token_hash
from kernel.text import Malformed, shown
from models import database

PREFIX = "sfk_"
DEFAULT_RATE = 600
MOST_RATE = 100_000
HINT_LENGTH = 4
MAX_NAME = 100
RECORD_USE_EVERY = timedelta(minutes=1)
# A key is good until it is revoked. What it proved is looked at again each minute anyway (`auth.credentials.LOOK_AGAIN`).
_REMEMBERED = timedelta(minutes=5)


def _yes_or_no(value: object) -> bool:
    if not isinstance(value, bool):
        raise Malformed(f"is {shown(value)}; expected true or false")
    return value


FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", text(MAX_NAME), "name_invalid"),
    "scopes": InputField("scopes", read_storefront_scopes, "scope_unknown"),
    "rate_limit": InputField("rate_limit", whole(1, MOST_RATE), "rate_limit_invalid"),
    "server_side": InputField("server_side", _yes_or_no),
}


@dataclass(frozen=True, slots=True)
class CreatedStorefrontKey:
    """A key that was just made: the one time it is shown. `number` is the row's own."""

    number: int
    id: UUID
    key: str


async def create_storefront_key(scope: Scope, given: Mapping[str, Any]) -> CreatedStorefrontKey:
    """Make a key: `name`, `scopes` (all three unless said), `rate_limit` (requests a minute) and `server_side`.

    Raises `InsufficientPrivileges` without `manage_apps`, `ValidationFailed` naming wrong fields.
    """
    scope.require("manage_apps")
    columns = read_fields(FIELDS, {name: value for name, value in given.items() if value is not None})
    key, public_id = checksummed_token(PREFIX), uuid7()
    scopes = columns.get("scopes", list(STOREFRONT_SCOPES))
    async with database.transaction(scope):
        number = await database.value(
            """
            insert into storefront_keys
                (tenant_id, public_id, key_hash, hint, name, scopes, rate_limit, server_side, created_at)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9) returning id
            """,
            scope.store.id,
            public_id,
            token_hash(key),
            key[-HINT_LENGTH:],
            columns.get("name", ""),
            scopes,
            columns.get("rate_limit", DEFAULT_RATE),
            columns.get("server_side", False),
            scope.now,
        )
        await audit.record(scope, "storefront_key.created", "storefront_key", public_id, {"scopes": scopes})
    return CreatedStorefrontKey(number, public_id, key)


async def revoke_storefront_key(scope: Scope, key: UUID | str) -> None:
    """Revoke a key at once; raises `NotFound` for one that is absent or revoked already."""
    scope.require("manage_apps")
    async with database.transaction(scope):
        found = await database.row(
            """
            update storefront_keys set revoked_at = $3
            where tenant_id = $1 and public_id = $2 and revoked_at is null returning id, public_id
            """,
            scope.store.id,
            parse_uuid(key),
            scope.now,
        )
        if found is None:
            raise NotFound("storefront key")
        await audit.record(scope, "storefront_key.revoked", "storefront_key", found["public_id"])
        await changed(scope, _holder(found["id"]))


async def find_storefront_key(scope: Scope, key: str) -> Remembered | None:
    """Give what a storefront key proves in the scope's store, None for one that is unknown or revoked. Its use is recorded."""
    if not has_valid_checksum(key):
        return None
    found = await database.row(
        """
        select id, scopes, rate_limit, server_side, last_used_at from storefront_keys
        where tenant_id = $1 and key_hash = $2 and revoked_at is null
        """,
        scope.store.id,
        token_hash(key),
    )
    if found is None:
        return None
    if found["last_used_at"] is None or found["last_used_at"] <= scope.now - RECORD_USE_EVERY:
        await _record_use(scope, found["id"])
    actor = Actor(
        kind=ActorKind.STOREFRONT,
        scopes=frozenset(found["scopes"]),
        storefront_key_id=found["id"],
        rate_limit=found["rate_limit"],
        server_side=found["server_side"],
        credential=f"key:{found['id']}",
    )
    return Remembered(actor, scope.store.id, _holder(found["id"]), scope.now + _REMEMBERED)


async def _record_use(scope: Scope, number: int) -> None:
    await database.execute(
        """
        update storefront_keys set last_used_at = $3
        where tenant_id = $1 and id = $2 and (last_used_at is null or last_used_at <= $4)
        """,
        scope.store.id,
        number,
        scope.now,
        scope.now - RECORD_USE_EVERY,
    )


def _holder(number: int) -> str:
    return f"key:{number}"
