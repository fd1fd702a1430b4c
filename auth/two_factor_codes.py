"""Verify second factors (2FA): TOTP codes (RFC 6238) and recovery codes (docs/reference/current.md#two-factor).

Codes are consumed inside `code_attempt`: it checks the lockout, consumes the code in the transaction of the protected action, and
counts a wrong one after the rollback. Rows are locked in the order user, challenges, second factor, to avoid deadlocks.
"""

from __future__ import annotations

import base64
import hmac
import re
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pyotp
from asyncpg import Record

from auth import lockout
from auth.access import check_store_writable
from auth.secrets import DecryptionError, decrypt, encrypt, keyed_hash, keyed_hashes
from kernel import logging
from kernel.errors import Unauthenticated
from kernel.scope import Scope
from models.connection import database
from models.rows import delete_rows, insert_rows

SECRET_PURPOSE = "totp"
RECOVERY_PURPOSE = "recovery code"
STEP_SECONDS = 30
RECOVERY_CODES = 10
WRONG = "invalid code"

_DRIFT = (0, -1, 1)  # the current step first: it is the most likely
_CODE = re.compile(r"[0-9]{6}")
_RECOVERY_BYTES = 10  # 16 letters and digits
_SEPARATORS = re.compile(r"[\s-]+")
_MAX_CODE_LENGTH = 64


class WrongCode(Unauthenticated):
    """Reject a code that is wrong, expired or already used."""

    def __init__(self) -> None:
        super().__init__(WRONG)


async def is_enabled(scope: Scope, user_id: int) -> bool:
    """Return whether the user needs a code to sign in."""
    return bool(
        await database.fetchval(
            """
            select exists (select from two_factors where tenant_id = $1 and user_id = $2 and confirmed_at is not null)
            """,
            scope.store.id,
            user_id,
        )
    )


@asynccontextmanager
async def code_attempt(scope: Scope, user_id: int) -> AsyncIterator[None]:
    """Run the action that a code protects in one transaction; a `WrongCode` raised in it counts toward the lockout.

    Raise `AccountLocked` for a locked account, even with the right code.
    """
    subject = lockout.user_subject(user_id)
    async with lockout.attempt_lock(scope, subject):
        await lockout.check_not_locked(scope, subject)
        try:
            async with database.transaction(scope):
                await lock_user(scope, user_id)
                yield
        except WrongCode:
            await lockout.record_failure(scope, subject)
            raise


async def lock_user(scope: Scope, user_id: int) -> None:
    """Lock the user's row until the transaction ends."""
    await database.execute(
        "select id from users where tenant_id = $1 and id = $2 for no key update", scope.store.id, user_id
    )


async def consume_code(scope: Scope, user_id: int, code: str) -> None:
    """Consume a TOTP or recovery code of the user; raise `WrongCode`. Requires `code_attempt`.

    A right recovery code raises `TenantClosed` in a read-only store: it would be valid a second time where the store moves.
    """
    normalized = _SEPARATORS.sub("", code[:_MAX_CODE_LENGTH])
    if is_totp(normalized):
        factor = await _factor(scope, user_id)
        if factor is not None and await consume_totp(scope, user_id, bytes(factor["secret"]), normalized):
            return
    elif await _consume_recovery_code(scope, user_id, normalized):
        check_store_writable(scope.store)
        return
    raise WrongCode


async def consume_totp(scope: Scope, user_id: int, encrypted: bytes, code: str) -> bool:
    """Consume the current or an adjacent time step whose code this is; False if none matches or it was already used.

    One conditional UPDATE decides, so that of two concurrent uses one fails. It also deletes used steps that are too old to match.
    """
    secret = decrypt_secret(encrypted)
    if secret is None or not is_totp(code):
        return False
    current = int(scope.now.timestamp()) // STEP_SECONDS
    for step in (current + drift for drift in _DRIFT):
        if not hmac.compare_digest(totp_at(secret, step), code):
            continue
        used = await database.execute(
            """
            update two_factors
            set used_steps = array(select step from unnest(used_steps) as step where step > $4 - 10) || $4::bigint
            where tenant_id = $1 and user_id = $2 and secret = $3 and not $4 = any(used_steps)
            """,
            scope.store.id,
            user_id,
            encrypted,
            step,
        )
        if used:
            return True
    return False


def is_totp(code: str) -> bool:
    """Return whether the text has the form of a TOTP code."""
    return _CODE.fullmatch(code) is not None


def totp_at(secret: str, step: int) -> str:
    """Return the code of a time step: 6 digits, SHA-1 (RFC 6238)."""
    return pyotp.TOTP(secret, interval=STEP_SECONDS).generate_otp(step)


def new_secret() -> str:
    """Generate a 160-bit secret in base32, as authenticator apps expect."""
    return pyotp.random_base32()


def encrypt_secret(secret: str) -> bytes:
    """Encrypt a secret for storage."""
    return encrypt(SECRET_PURPOSE, secret.encode())


def decrypt_secret(encrypted: bytes) -> str | None:
    """Decrypt a secret; None, and a log line, if it was encrypted with another VITRINE_SECRET_KEY."""
    try:
        return decrypt(SECRET_PURPOSE, encrypted).decode()
    except DecryptionError as error:
        logging.failure("two-factor secret can't be decrypted", error)
        return None


async def replace_recovery_codes(scope: Scope, user_id: int) -> list[str]:
    """Replace the user's recovery codes by ten new ones, shown only once; part of the open transaction."""
    await delete_recovery_codes(scope, user_id)
    codes = [_new_recovery_code() for _ in range(RECOVERY_CODES)]
    texts = [_hashed_text(user_id, _SEPARATORS.sub("", code)) for code in codes]
    rows = [{"user_id": user_id, "code_hash": rf"\x{keyed_hash(RECOVERY_PURPOSE, text)}"} for text in texts]
    await insert_rows(scope, "recovery_codes", rows)
    return codes


async def delete_recovery_codes(scope: Scope, user_id: int) -> None:
    """Delete the user's recovery codes; part of the open transaction."""
    await delete_rows(scope, "recovery_codes", user_id=user_id)


async def _factor(scope: Scope, user_id: int) -> Record | None:
    # Locked, because `consume_totp` refuses a secret that changes in between, and re-encryption changes it.
    return await database.fetchrow(
        """
        select secret from two_factors where tenant_id = $1 and user_id = $2 and confirmed_at is not null for no key update
        """,
        scope.store.id,
        user_id,
    )


async def _consume_recovery_code(scope: Scope, user_id: int, code: str) -> bool:
    used = await database.execute(
        """
        update recovery_codes set used_at = $4
        where tenant_id = $1 and user_id = $2 and code_hash = any($3::bytea[]) and used_at is null
          and exists (
              select from two_factors f where f.tenant_id = $1 and f.user_id = $2 and f.confirmed_at is not null
          )
        """,
        scope.store.id,
        user_id,
        [bytes.fromhex(code_hash) for code_hash in keyed_hashes(RECOVERY_PURPOSE, _hashed_text(user_id, code))],
        scope.now,
    )
    return used > 0


def _new_recovery_code() -> str:
    code = base64.b32encode(secrets.token_bytes(_RECOVERY_BYTES)).decode()
    return "-".join(code[start : start + 4] for start in range(0, len(code), 4))


def _hashed_text(user_id: int, code: str) -> str:
    # Its hash is keyed, so that a leaked table doesn't allow an offline search of 80 bits.
    return f"{user_id}:{code.upper()}"
