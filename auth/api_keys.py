"""Give out, revoke and verify API keys, the passwords of Basic credentials on the legacy layer (decisions-legacy section 6)."""

from __future__ import annotations

import secrets
import string
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from auth import privileges
from auth.credential_cache import changed
from domain import audit
from kernel.errors import Forbidden, NotFound, RuleViolation, ValidationFailed
from kernel.ids import Reference, parse_reference, uuid7
from kernel.scope import ActorKind, Scope
from kernel.signatures import token_hash
from models import database

KEY_LENGTH = 40
HINT_LENGTH = 4
MAX_NAME = 100
RECORD_USE_EVERY = timedelta(minutes=1)

_ALPHABET = string.ascii_letters + string.digits
_KINDS_WITH_KEYS = ("A", "V")


@dataclass(frozen=True, slots=True)
class ApiKeyInfo:
    """An API key as its owner sees it afterwards: the secret is shown by its last four characters only."""

    id: UUID
    name: str
    hint: str
    created_at: datetime
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class CreatedApiKey:
    """An API key with its secret, which is shown this once."""

    info: ApiKeyInfo
    secret: str


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """Say whose key was proved."""

    key_id: int
    user_id: int


async def create_api_key(scope: Scope, user: Reference | str, name: str = "") -> CreatedApiKey:
    """Make an API key for an administrator or vendor, who needs an e-mail to be named by.

    An administrator's key carries all of that user's privileges, so only that user or one who holds them all may make it.
    """
    if len(name) > MAX_NAME:
        raise ValidationFailed(
            f"name has {len(name)} characters; expected at most {MAX_NAME}", field="name", code="too_long"
        )
    secret = "".join(secrets.choice(_ALPHABET) for _ in range(KEY_LENGTH))
    info = ApiKeyInfo(uuid7(), name, secret[-HINT_LENGTH:], scope.now, None)
    async with database.transaction(scope):
        user_id = await _manageable_user(scope, user)
        await database.execute(
            """
            insert into api_keys (tenant_id, public_id, user_id, key_hash, hint, name, created_at)
            values ($1, $2, $3, $4, $5, $6, $7)
            """,
            scope.store.id,
            info.id,
            user_id,
            token_hash(secret),
            info.hint,
            name,
            scope.now,
        )
        await audit.record(scope, "api_key.created", "api_key", info.id)
    return CreatedApiKey(info, secret)


async def list_api_keys(scope: Scope, user: Reference | str) -> list[ApiKeyInfo]:
    """List the live API keys of a user, the newest first."""
    user_id = await _manageable_user(scope, user)
    found = await database.rows(
        """
        select public_id, name, hint, created_at, last_used_at from api_keys
        where tenant_id = $1 and user_id = $2 and revoked_at is null order by id desc
        """,
        scope.store.id,
        user_id,
    )
    return [
        ApiKeyInfo(
            record["public_id"], record["name"], record["hint"], record["created_at"], record["last_used_at"]
        )
        for record in found
    ]


async def revoke_api_key(scope: Scope, key: Reference | str) -> None:
    """Revoke an API key at once; raises `NotFound` for one that is absent or revoked already."""
    reference = parse_reference(key)
    async with database.transaction(scope):
        found = await database.row(
            """
            select id, public_id, user_id from api_keys
            where tenant_id = $1 and (id = $2 or public_id = $3) and revoked_at is null
            """,
            scope.store.id,
            reference if isinstance(reference, int) else None,
            reference if isinstance(reference, UUID) else None,
        )
        if found is None:
            raise NotFound("API key")
        await _check_may_manage(scope, found["user_id"])
        await database.execute(
            "update api_keys set revoked_at = $3 where tenant_id = $1 and id = $2",
            scope.store.id,
            found["id"],
            scope.now,
        )
        await audit.record(scope, "api_key.revoked", "api_key", found["public_id"])
        await changed(scope, found["user_id"])


async def revoke_all_api_keys(scope: Scope, user_id: int) -> None:
    """Revoke every API key of a user who goes; joins the open transaction."""
    await database.execute(
        "update api_keys set revoked_at = $3 where tenant_id = $1 and user_id = $2 and revoked_at is null",
        scope.store.id,
        user_id,
        scope.now,
    )
    await changed(scope, user_id)


async def verify_api_key(scope: Scope, email: str, secret: str) -> KeyHolder | None:
    """Say whose key and e-mail these are; `email` comes normalised. None when they are nobody's, or of somebody disabled."""
    found = await database.row(
        """
        select k.id, k.user_id from api_keys k join users u on u.tenant_id = k.tenant_id and u.id = k.user_id
        where k.tenant_id = $1 and k.key_hash = $2 and k.revoked_at is null
          and u.email = $3 and u.status = 'A' and u.deleted_at is null
        """,
        scope.store.id,
        token_hash(secret),
        email,
    )
    return None if found is None else KeyHolder(found["id"], found["user_id"])


async def record_use(scope: Scope, key_id: int) -> None:
    """Record that a key was used, at most once a minute whatever the number of processes."""
    await database.execute(
        """
        update api_keys set last_used_at = $3
        where tenant_id = $1 and id = $2 and (last_used_at is null or last_used_at <= $4)
        """,
        scope.store.id,
        key_id,
        scope.now,
        scope.now - RECORD_USE_EVERY,
    )


async def _manageable_user(scope: Scope, user: Reference | str) -> int:
    """Give the internal id of a user whose keys the caller may change."""
    reference = parse_reference(user)
    found = await database.row(
        "select id, user_type, email from users where tenant_id = $1 and (id = $2 or public_id = $3) and deleted_at is null",
        scope.store.id,
        reference if isinstance(reference, int) else None,
        reference if isinstance(reference, UUID) else None,
    )
    if found is None:
        raise NotFound("user")
    await _check_may_manage(scope, found["id"])
    if found["user_type"] not in _KINDS_WITH_KEYS or found["email"] is None:
        raise RuleViolation(
            "API keys are for administrators and vendors with an e-mail", reason="api_key_not_allowed"
        )
    return int(found["id"])


async def _check_may_manage(scope: Scope, user_id: int) -> None:
    account = await privileges.account(scope, user_id)
    if account is None:
        raise NotFound("user")
    # Administration of accounts takes user tokens only (decisions section 8).
    if scope.actor.kind not in (ActorKind.ADMIN, ActorKind.VENDOR, ActorKind.SYSTEM):
        raise Forbidden("insufficient permissions")
    privileges.check_may_manage_user(scope, account)
