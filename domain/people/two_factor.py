"""Let people set up, prove and give up their second factor (decisions section 3, Enrolment).

An app's secret is shown, then proved by a code, and only then asked for at sign-in. Whoever administers a user may take the factor
away from one who lost it, after proving that it is they themselves who ask.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pyotp
import segno
from asyncpg import Record

from auth import challenges, lockout, privileges, second_factor
from auth.credential_cache import changed
from auth.passwords import verify_password
from domain import audit, references
from domain.mails import outbox
from domain.mails.texts import MailType
from kernel.errors import Conflict, Forbidden, ValidationFailed
from kernel.ids import Reference, uuid7
from kernel.scope import ActorKind, Scope
from models import database

# A secret that was shown longer ago was perhaps photographed, and is not what the person has on the screen.
BEGUN_FOR = timedelta(hours=1)

_QR_SCALE = 4


@dataclass(frozen=True, slots=True)
class Enrolment:
    """What an authenticator app takes: the secret in base32, the same as an address, and that as a picture (SVG)."""

    secret: str
    otpauth_uri: str
    qr_svg: str


@dataclass(frozen=True, slots=True)
class State:
    """Tell whether a user has a second factor, and how many recovery codes are left."""

    enabled: bool
    recovery_codes_left: int


async def state(scope: Scope) -> State:
    """Tell the caller about its own second factor."""
    user_id = _own_id(scope)
    left: int = await database.value(
        "select count(*) from recovery_codes where tenant_id = $1 and user_id = $2 and used_at is null",
        scope.store.id,
        user_id,
    )
    return State(await second_factor.is_on(scope, user_id), left)


async def begin(scope: Scope) -> Enrolment:
    """Make a secret for the caller, in the place of one that was not confirmed; raises `Conflict` (`two_factor_on`)."""
    user_id = _own_id(scope)
    secret = second_factor.new_secret()
    async with database.transaction(scope):
        user = await _locked(scope, user_id)
        begun = await database.execute(
            """
            insert into two_factors (tenant_id, public_id, user_id, secret, created_at) values ($1, $2, $3, $4, $5)
            on conflict (tenant_id, user_id) do update
            set secret = excluded.secret, created_at = excluded.created_at, used_steps = '{}'
            where two_factors.confirmed_at is null
            """,
            scope.store.id,
            uuid7(),
            user_id,
            second_factor.seal_secret(secret),
            scope.now,
        )
        if not begun:
            raise Conflict("two-factor authentication is on already", reason="two_factor_on")
    account = user["email"] or str(user["public_id"])
    uri = pyotp.TOTP(secret).provisioning_uri(name=account, issuer_name=scope.store.name)
    return Enrolment(secret, uri, _picture(uri))


async def confirm(scope: Scope, code: str) -> list[str]:
    """Turn the second factor on with a code of the app; give ten recovery codes, shown this once.

    Raises `ValidationFailed` for a wrong code, `Conflict` (`two_factor_not_begun`, `two_factor_on`).
    """
    user_id = _own_id(scope)
    if not code.strip():
        raise ValidationFailed("code is required", field="code", code="required")
    async with database.transaction(scope):
        user = await _locked(scope, user_id)
        factor = await database.row(
            "select secret, confirmed_at, created_at from two_factors where tenant_id = $1 and user_id = $2",
            scope.store.id,
            user_id,
        )
        if factor is not None and factor["confirmed_at"] is not None:
            raise Conflict("two-factor authentication is on already", reason="two_factor_on")
        if factor is None or factor["created_at"] <= scope.now - BEGUN_FOR:
            raise Conflict("two_factor_begin comes first", reason="two_factor_not_begun")
        given = code.replace(" ", "")
        if not await second_factor.use_step(scope, user_id, bytes(factor["secret"]), given):
            raise _wrong_code()
        await database.execute(
            "update two_factors set confirmed_at = $3 where tenant_id = $1 and user_id = $2",
            scope.store.id,
            user_id,
            scope.now,
        )
        codes = await second_factor.replace_recovery_codes(scope, user_id)
        await audit.record(scope, "two_factor.enabled", "user", user["public_id"])
        await _tell(scope, MailType.TWO_FACTOR_ON, user)
    return codes


async def disable(scope: Scope, password: str, code: str | None, user: Reference | str | None = None) -> None:
    """Take the second factor from the caller, or from a user whose account the caller may administer.

    The password and code are the caller's own; who has no second factor and helps somebody else needs no code. Wrong ones count
    toward the caller's lockout. Raises `ValidationFailed`, `AccountLocked`, `InsufficientPrivileges`, and `Conflict` (`two_factor_off`).
    """
    own_id = _own_id(scope)
    target = own_id if user is None else await references.find(scope, references.USER, user)
    if target != own_id:
        await _check_may_help(scope, target)
    await _check_password(scope, own_id, password)
    if not await second_factor.is_on(scope, own_id):
        if target == own_id:
            raise _off()
        async with database.transaction(scope):
            await _take_away(scope, target)
        return
    if not code or not code.strip():
        raise ValidationFailed("code is required", field="code", code="required")
    try:
        async with second_factor.guarded(scope, own_id):
            await second_factor.use(scope, own_id, code)
            await _take_away(scope, target)
    except second_factor.WrongCode as error:
        raise _wrong_code() from error


async def install(scope: Scope, user_id: int) -> str:
    """Give a user a confirmed second factor with a new secret, and that secret; for the platform's own demo."""
    if scope.actor.kind is not ActorKind.SYSTEM:
        raise Forbidden("insufficient permissions")
    secret = second_factor.new_secret()
    async with database.transaction(scope):
        await _locked(scope, user_id)
        await database.execute(
            """
            insert into two_factors (tenant_id, public_id, user_id, secret, created_at, confirmed_at)
            values ($1, $2, $3, $4, $5, $5)
            on conflict (tenant_id, user_id) do update
            set secret = excluded.secret, created_at = excluded.created_at, confirmed_at = excluded.confirmed_at, used_steps = '{}'
            """,
            scope.store.id,
            uuid7(),
            user_id,
            second_factor.seal_secret(secret),
            scope.now,
        )
        await second_factor.forget_recovery_codes(scope, user_id)
    return secret


async def _check_may_help(scope: Scope, user_id: int) -> None:
    privileges.check_may_edit_users(scope)
    account = await privileges.account(scope, user_id)
    assert account is not None  # it was found a moment ago
    privileges.check_may_manage_user(scope, account)


async def _check_password(scope: Scope, user_id: int, password: str) -> None:
    """Refuse a wrong password of the caller, and count it: a stolen session must not serve to guess it."""
    subject = lockout.subject_of_user(user_id)
    async with lockout.in_turn(scope, subject):
        await lockout.check_not_locked(scope, subject)
        password_hash = await database.value(
            "select password_hash from users where tenant_id = $1 and id = $2", scope.store.id, user_id
        )
        if await verify_password(password_hash, password):
            return
        await lockout.record_wrong(scope, subject)
    raise ValidationFailed("password is wrong", field="password", code="password_wrong")


async def _take_away(scope: Scope, user_id: int) -> None:
    """Delete all that the second factor consists of; part of the open transaction."""
    user = await _locked(scope, user_id)
    await challenges.forget_all(scope, user_id)
    taken = await database.execute(
        "delete from two_factors where tenant_id = $1 and user_id = $2 and confirmed_at is not null",
        scope.store.id,
        user_id,
    )
    if not taken:
        raise _off()
    await second_factor.forget_recovery_codes(scope, user_id)
    await audit.record(scope, "two_factor.disabled", "user", user["public_id"])
    await _tell(scope, MailType.TWO_FACTOR_OFF, user)
    await changed(scope, user_id)


async def _locked(scope: Scope, user_id: int) -> Record:
    await second_factor.lock_user(scope, user_id)
    user = await database.row(
        "select id, public_id, email, firstname from users where tenant_id = $1 and id = $2",
        scope.store.id,
        user_id,
    )
    if user is None:
        raise Forbidden("insufficient permissions")
    return user


async def _tell(scope: Scope, kind: MailType, user: Record) -> None:
    if user["email"] is not None:
        await outbox.queue(scope, kind, outbox.recipient_of(user))


def _picture(uri: str) -> str:
    """Draw a QR code as one SVG element, readable on any background."""
    return str(segno.make(uri, error="m", micro=False).svg_inline(scale=_QR_SCALE, border=4, light="#fff"))


def _own_id(scope: Scope) -> int:
    if not scope.actor.is_user or scope.actor.user_id is None:
        raise Forbidden("insufficient permissions")
    return scope.actor.user_id


def _off() -> Conflict:
    return Conflict("two-factor authentication is off", reason="two_factor_off")


def _wrong_code() -> ValidationFailed:
    return ValidationFailed("code is wrong or was used before", field="code", code="code_invalid")
