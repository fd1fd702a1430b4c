"""Create, revoke and verify the keys of headless storefronts (`sfk_…`; docs/reference/current.md#storefront-keys)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from auth.api_keys import USE_RECORDED_EVERY, record_key_use
from auth.app_scopes import STOREFRONT_SCOPES, parse_storefront_scopes
from auth.credential_cache import VerifiedCredential, invalidate_credentials
from auth.secrets import keyed_hash
from kernel.errors import NotFound
from kernel.fields import InputField, integer, read_fields, text
from kernel.ids import checksummed_token, has_valid_checksum, parse_uuid, uuid7
from kernel.scope import Actor, ActorKind, Scope
from kernel.signatures import token_hash
from kernel.text import InvalidValue, repr_value
from models import audit
from models.connection import database
from models.rows import insert_row

PREFIX = "sfk_"
# A key is public: its limit counts the requests of all customers, and each client address has a share of it.
DEFAULT_RATE = 60_000
DEFAULT_ADDRESS_RATE = 1_200
MAX_RATE_LIMIT = 100_000
HINT_LENGTH = 4
DERIVED_KEY_PURPOSE = "storefront-key"
MAX_NAME = 100
_FIND = "select revoked_at from storefront_keys where tenant_id = $1 and key_hash = $2"
# A key is valid until it is revoked; a cached one is verified again each minute (`auth.credentials.REVERIFY_AFTER`).
_CACHE_LIFETIME = timedelta(minutes=5)


def _parse_boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidValue(f"is {repr_value(value)}; expected true or false")
    return value


FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", text(MAX_NAME), "name_invalid"),
    "scopes": InputField("scopes", parse_storefront_scopes, "scope_unknown"),
    "rate_limit": InputField("rate_limit", integer(1, MAX_RATE_LIMIT), "rate_limit_invalid"),
    "per_address": InputField("per_address", integer(0, MAX_RATE_LIMIT), "rate_limit_invalid"),
    "server_side": InputField("server_side", _parse_boolean),
}


@dataclass(frozen=True, slots=True)
class CreatedStorefrontKey:
    """A new key, shown only once. `number` is its primary key, which is internal."""

    number: int
    id: UUID
    key: str
    rate_limit: int
    per_address: int


async def create_storefront_key(scope: Scope, values: Mapping[str, Any]) -> CreatedStorefrontKey:
    """Create a key: `name`, `scopes` (default all three), `rate_limit` and `per_address` (requests per minute) and `server_side`.

    Raise `InsufficientPrivileges` without `manage_apps`, and without `manage_orders` for a server-side key, which places orders for any
    customer; `ValidationFailed` naming invalid fields.
    """
    scope.check_privilege("manage_apps")
    columns = read_fields(FIELDS, {name: value for name, value in values.items() if value is not None})
    if columns.get("server_side"):
        scope.check_privilege("manage_orders")
    created = await _insert(scope, checksummed_token(PREFIX), columns)
    assert created is not None
    return created


async def derived_storefront_key(scope: Scope, name: str) -> str:
    """Return the store's key of this name that the server itself hands out, created at its first use.

    It is derived from VITRINE_SECRET_KEY: all processes agree on it, and none is stored. A revoked one is followed by another.
    """
    revoked = 0
    while True:
        secret = keyed_hash(DERIVED_KEY_PURPOSE, f"{scope.store.public_id} {name} {revoked}")
        key = checksummed_token(PREFIX, secret=int(secret, 16))
        row = await database.fetchrow(_FIND, scope.store.id, token_hash(key))
        if row is None:
            # None is returned where another process has just created it.
            await _insert(scope, key, {"name": name})
            return key
        if row["revoked_at"] is None:
            return key
        revoked += 1


async def _insert(scope: Scope, key: str, columns: Mapping[str, Any]) -> CreatedStorefrontKey | None:
    """Insert a key unless it exists."""
    public_id = uuid7()
    scopes = columns.get("scopes", list(STOREFRONT_SCOPES))
    rate_limit = columns.get("rate_limit", DEFAULT_RATE)
    per_address = columns.get("per_address", min(DEFAULT_ADDRESS_RATE, rate_limit))
    async with database.transaction(scope):
        number = await insert_row(
            scope,
            "storefront_keys",
            public_id=public_id,
            key_hash=token_hash(key),
            hint=key[-HINT_LENGTH:],
            name=columns.get("name", ""),
            scopes=scopes,
            rate_limit=rate_limit,
            per_address=per_address,
            server_side=columns.get("server_side", False),
            created_at=scope.now,
            conflict="ON CONFLICT ON CONSTRAINT storefront_keys_hash_key DO NOTHING",
        )
        if number is None:
            return None
        await audit.record(scope, "storefront_key.created", "storefront_key", public_id, {"scopes": scopes})
    return CreatedStorefrontKey(number, public_id, key, rate_limit, per_address)


async def revoke_storefront_key(scope: Scope, key: UUID | str) -> None:
    """Revoke a key; raise `NotFound` for one that is absent or already revoked."""
    scope.check_privilege("manage_apps")
    async with database.transaction(scope):
        row = await database.fetchrow(
            """
            update storefront_keys set revoked_at = $3
            where tenant_id = $1 and public_id = $2 and revoked_at is null returning id, public_id
            """,
            scope.store.id,
            parse_uuid(key),
            scope.now,
        )
        if row is None:
            raise NotFound("storefront key")
        await audit.record(scope, "storefront_key.revoked", "storefront_key", row["public_id"])
        await invalidate_credentials(scope, _credential_owner(row["id"]))


async def find_storefront_key(scope: Scope, key: str) -> VerifiedCredential | None:
    """Return the credential of a key in the scope's store and record its use; None if it is unknown or revoked."""
    if not has_valid_checksum(key):
        return None
    row = await database.fetchrow(
        """
        select id, scopes, rate_limit, per_address, server_side, last_used_at, trusted_documents_only, documents_version
        from storefront_keys
        where tenant_id = $1 and key_hash = $2 and revoked_at is null
        """,
        scope.store.id,
        token_hash(key),
    )
    if row is None:
        return None
    if row["last_used_at"] is None or row["last_used_at"] <= scope.now - USE_RECORDED_EVERY:
        await record_key_use(scope, "storefront_keys", row["id"])
    actor = Actor(
        kind=ActorKind.STOREFRONT,
        scopes=frozenset(row["scopes"]),
        storefront_key_id=row["id"],
        rate_limit=row["rate_limit"],
        rate_limit_per_address=row["per_address"],
        server_side=row["server_side"],
        trusted_documents_only=row["trusted_documents_only"],
        documents_version=row["documents_version"],
        credential=f"key:{row['id']}",
    )
    return VerifiedCredential(actor, scope.store.id, _credential_owner(row["id"]), scope.now + _CACHE_LIFETIME)


def _credential_owner(number: int) -> str:
    return f"key:{number}"
