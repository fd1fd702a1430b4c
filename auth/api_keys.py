"""Create, revoke and verify API keys, the passwords of Basic credentials on the legacy API (docs/reference/legacy.md#credentials)."""

from __future__ import annotations

import secrets
import string
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from auth import privileges
from auth.credential_cache import invalidate_credentials
from kernel.errors import Forbidden, NotFound, RuleViolation, ValidationFailed
from kernel.ids import Reference, split_reference, uuid7
from kernel.scope import ActorKind, Scope
from kernel.signatures import token_hash
from models import audit
from models.connection import database
from models.rows import insert_row, update_row

KEY_LENGTH = 40
HINT_LENGTH = 4
MAX_NAME = 100
USE_RECORDED_EVERY = timedelta(minutes=1)

_ALPHABET = string.ascii_letters + string.digits
_USER_TYPES_WITH_KEYS = ("A", "V")


@dataclass(frozen=True, slots=True)
class ApiKeyInfo:
    """An API key without its secret, of which only the last four characters are shown."""

    id: UUID
    name: str
    hint: str
    created_at: datetime
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class CreatedApiKey:
    """An API key with its secret, which is shown only once."""

    info: ApiKeyInfo
    secret: str


@dataclass(frozen=True, slots=True)
class VerifiedApiKey:
    """The id and user of a verified API key."""

    key_id: int
    user_id: int


async def create_api_key(scope: Scope, user: Reference | str, name: str = "") -> CreatedApiKey:
    """Create an API key for an administrator or vendor with an e-mail.

    An administrator's key has all of that user's privileges, so only that user or one who has them all may create it.
    """
    if len(name) > MAX_NAME:
        raise ValidationFailed(
            f"name has {len(name)} characters; expected at most {MAX_NAME}", field="name", code="too_long"
        )
    secret = "".join(secrets.choice(_ALPHABET) for _ in range(KEY_LENGTH))
    info = ApiKeyInfo(uuid7(), name, secret[-HINT_LENGTH:], scope.now, None)
    async with database.transaction(scope):
        user_id = await _manageable_user(scope, user)
        await insert_row(
            scope,
            "api_keys",
            public_id=info.id,
            user_id=user_id,
            key_hash=token_hash(secret),
            hint=info.hint,
            name=name,
            created_at=scope.now,
        )
        await audit.record(scope, "api_key.created", "api_key", info.id)
    return CreatedApiKey(info, secret)


async def list_api_keys(scope: Scope, user: Reference | str) -> list[ApiKeyInfo]:
    """List the unrevoked API keys of a user, newest first."""
    user_id = await _manageable_user(scope, user)
    rows = await database.fetch(
        """
        select public_id, name, hint, created_at, last_used_at from api_keys
        where tenant_id = $1 and user_id = $2 and revoked_at is null order by id desc
        """,
        scope.store.id,
        user_id,
    )
    return [
        ApiKeyInfo(row["public_id"], row["name"], row["hint"], row["created_at"], row["last_used_at"]) for row in rows
    ]


async def revoke_api_key(scope: Scope, key: Reference | str) -> None:
    """Revoke an API key; raise `NotFound` for one that is absent or already revoked."""
    async with database.transaction(scope):
        row = await database.fetchrow(
            """
            select id, public_id, user_id from api_keys
            where tenant_id = $1 and (id = $2 or public_id = $3) and revoked_at is null
            """,
            scope.store.id,
            *split_reference(key),
        )
        is_own = row is not None and privileges.is_own_account(scope, row["user_id"])
        if row is None or not (is_own or scope.actor.has_privilege("manage_users")):
            raise NotFound("API key")
        await _manageable_account(scope, row["user_id"])
        await update_row(scope, "api_keys", row["id"], revoked_at=scope.now)
        await audit.record(scope, "api_key.revoked", "api_key", row["public_id"])
        await invalidate_credentials(scope, row["user_id"])


async def revoke_all_api_keys(scope: Scope, user_id: int) -> None:
    """Revoke every API key of a user who is being deleted; joins the open transaction."""
    await database.execute(
        "update api_keys set revoked_at = $3 where tenant_id = $1 and user_id = $2 and revoked_at is null",
        scope.store.id,
        user_id,
        scope.now,
    )
    await invalidate_credentials(scope, user_id)


async def verify_api_key(scope: Scope, email: str, secret: str) -> VerifiedApiKey | None:
    """Return the key and user of a normalized e-mail and secret; None if they don't match or the user is disabled."""
    row = await database.fetchrow(
        """
        select k.id, k.user_id from api_keys k join users u on u.tenant_id = k.tenant_id and u.id = k.user_id
        where k.tenant_id = $1 and k.key_hash = $2 and k.revoked_at is null
          and u.email = $3 and u.status = 'A' and u.deleted_at is null
        """,
        scope.store.id,
        token_hash(secret),
        email,
    )
    return None if row is None else VerifiedApiKey(row["id"], row["user_id"])


async def record_key_use(scope: Scope, table: str, key_id: int) -> None:
    """Record that a key of `api_keys` or `storefront_keys` was used, at most once a minute whatever the number of processes."""
    await database.execute(
        f"""
        update {table} set last_used_at = $3
        where tenant_id = $1 and id = $2 and (last_used_at is null or last_used_at <= $4)
        """,
        scope.store.id,
        key_id,
        scope.now,
        scope.now - USE_RECORDED_EVERY,
    )


async def _manageable_user(scope: Scope, user: Reference | str) -> int:
    """Return the internal id of a user whose keys the caller may change."""
    # Account administration requires a user token (docs/reference/shared.md#privileges).
    if scope.actor.kind not in (ActorKind.ADMIN, ActorKind.VENDOR, ActorKind.SYSTEM):
        raise Forbidden("insufficient permissions")
    account = await _manageable_account(scope, await privileges.find_user_to_edit(scope, user))
    email = await database.fetchval(
        "select email from users where tenant_id = $1 and id = $2", scope.store.id, account.id
    )
    if account.user_type not in _USER_TYPES_WITH_KEYS or email is None:
        raise RuleViolation("API keys are for administrators and vendors with an e-mail", reason="api_key_not_allowed")
    return account.id


async def _manageable_account(scope: Scope, user_id: int) -> privileges.AccountRights:
    account = await privileges.load_account(scope, user_id)
    if account is None:
        raise NotFound("user")
    privileges.check_may_manage_user(scope, account)
    return account
