"""Ask for a second factor: codes of an authenticator app, and recovery codes for who lost it (decisions section 3, RFC 6238).

Whoever uses a code does so inside `guarded`: the lock is looked at, the code is used up in the transaction of what it opens, and a
wrong one is counted after that was rolled back. Rows are locked in one order, so that nothing waits in a circle: the user, its
challenges, its second factor.
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
from auth.secrets import Unreadable, decrypt, encrypt, keyed_hash
from kernel import logging
from kernel.errors import Unauthenticated
from kernel.ids import uuid7
from kernel.scope import Scope
from models import database

SECRET_PURPOSE = "totp"
STEP_SECONDS = 30
RECOVERY_CODES = 10
WRONG = "invalid code"

_DRIFT = (0, -1, 1)  # the present step first: it is the likely one
_CODE = re.compile(r"[0-9]{6}")
_RECOVERY_BYTES = 10  # 16 letters and digits
_SEPARATORS = re.compile(r"[\s-]+")
_LONGEST = 64


class WrongCode(Unauthenticated):
    """Refuse a code that is wrong, was used before or is out of its time."""

    def __init__(self) -> None:
        super().__init__(WRONG)


async def is_on(scope: Scope, user_id: int) -> bool:
    """Say whether the user must give a code to sign in."""
    return bool(
        await database.value(
            """
            select exists (select from two_factors where tenant_id = $1 and user_id = $2 and confirmed_at is not null)
            """,
            scope.store.id,
            user_id,
        )
    )


@asynccontextmanager
async def guarded(scope: Scope, user_id: int) -> AsyncIterator[None]:
    """Do in one transaction what a code opens; a `WrongCode` that leaves it is counted toward the lockout.

    Raises `AccountLocked` for a locked account, right code or not.
    """
    subject = lockout.subject_of_user(user_id)
    async with lockout.in_turn(scope, subject):
        await lockout.check_not_locked(scope, subject)
        try:
            async with database.transaction(scope):
                await lock_user(scope, user_id)
                yield
        except WrongCode:
            await lockout.record_wrong(scope, subject)
            raise


async def lock_user(scope: Scope, user_id: int) -> None:
    """Let nobody else change the user, or sign in as it, until the transaction ends."""
    await database.execute(
        "select id from users where tenant_id = $1 and id = $2 for no key update", scope.store.id, user_id
    )


async def use(scope: Scope, user_id: int, code: str) -> None:
    """Use up a code of the user's app or one of its recovery codes; raises `WrongCode`. Needs `guarded`."""
    given = _SEPARATORS.sub("", code[:_LONGEST])
    if is_app_code(given):
        factor = await _factor(scope, user_id)
        if factor is not None and await use_step(scope, user_id, bytes(factor["secret"]), given):
            return
    elif await _use_recovery_code(scope, user_id, given):
        return
    raise WrongCode


async def use_step(scope: Scope, user_id: int, sealed: bytes, code: str) -> bool:
    """Use up the time step whose code this is, the present one or a neighbour; False when there is none, or it was used.

    One conditional UPDATE decides, so that of two who use one code at once one fails. Steps too old to be asked for are forgotten.
    """
    secret = open_secret(sealed)
    if secret is None or not is_app_code(code):
        return False
    present = int(scope.now.timestamp()) // STEP_SECONDS
    for step in (present + drift for drift in _DRIFT):
        if not hmac.compare_digest(code_at(secret, step), code):
            continue
        used = await database.execute(
            """
            update two_factors
            set used_steps = array(select step from unnest(used_steps) as step where step > $4 - 10) || $4::bigint
            where tenant_id = $1 and user_id = $2 and secret = $3 and not $4 = any(used_steps)
            """,
            scope.store.id,
            user_id,
            sealed,
            step,
        )
        if used:
            return True
    return False


def is_app_code(code: str) -> bool:
    """Say whether this has the form of an app's code."""
    return _CODE.fullmatch(code) is not None


def code_at(secret: str, step: int) -> str:
    """Give the code of a time step: 6 digits, SHA-1 (RFC 6238)."""
    return pyotp.TOTP(secret, interval=STEP_SECONDS).generate_otp(step)


def new_secret() -> str:
    """Make a secret of 160 bits in base32, as apps take it."""
    return pyotp.random_base32()


def seal_secret(secret: str) -> bytes:
    """Encrypt a secret for its row."""
    return encrypt(SECRET_PURPOSE, secret.encode())


def open_secret(sealed: bytes) -> str | None:
    """Decrypt a secret; None, and a line in the log, when it was made with another VITRINE_SECRET_KEY."""
    try:
        return decrypt(SECRET_PURPOSE, sealed).decode()
    except Unreadable as error:
        logging.failure("a second factor can't be read", error)
        return None


async def replace_recovery_codes(scope: Scope, user_id: int) -> list[str]:
    """Give the user ten new recovery codes, to be shown this once; part of the open transaction."""
    await forget_recovery_codes(scope, user_id)
    codes = [_new_recovery_code() for _ in range(RECOVERY_CODES)]
    await database.execute(
        """
        insert into recovery_codes (tenant_id, public_id, user_id, code_hash)
        select $1, public_id, $2, code_hash from unnest($3::uuid[], $4::bytea[]) as t (public_id, code_hash)
        """,
        scope.store.id,
        user_id,
        [uuid7() for _ in codes],
        [_hash(user_id, _SEPARATORS.sub("", code)) for code in codes],
    )
    return codes


async def forget_recovery_codes(scope: Scope, user_id: int) -> None:
    """Delete the user's recovery codes; part of the open transaction."""
    await database.execute(
        "delete from recovery_codes where tenant_id = $1 and user_id = $2", scope.store.id, user_id
    )


async def _factor(scope: Scope, user_id: int) -> Record | None:
    return await database.row(
        "select secret from two_factors where tenant_id = $1 and user_id = $2 and confirmed_at is not null",
        scope.store.id,
        user_id,
    )


async def _use_recovery_code(scope: Scope, user_id: int, given: str) -> bool:
    used = await database.execute(
        """
        update recovery_codes set used_at = $4
        where tenant_id = $1 and user_id = $2 and code_hash = $3 and used_at is null
          and exists (
              select from two_factors f where f.tenant_id = $1 and f.user_id = $2 and f.confirmed_at is not null
          )
        """,
        scope.store.id,
        user_id,
        _hash(user_id, given),
        scope.now,
    )
    return used > 0


def _new_recovery_code() -> str:
    letters = base64.b32encode(secrets.token_bytes(_RECOVERY_BYTES)).decode()
    return "-".join(letters[start : start + 4] for start in range(0, len(letters), 4))


def _hash(user_id: int, code: str) -> bytes:
    # Keyed, for who has only the rows must not be able to try 80 bits at leisure.
    return bytes.fromhex(keyed_hash("recovery code", f"{user_id}:{code.upper()}"))
