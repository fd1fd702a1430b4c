"""Two-factor authentication (2FA, TOTP): enrol, confirm and disable a second factor (docs/reference/current.md#two-factor).

The secret is shown, confirmed with a code, and required at sign-in only from then on. User administrators can disable the factor of a user
who lost it, after authenticating themselves again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

import pyotp
import segno
from asyncpg import Record

from auth import challenges, privileges, two_factor_codes
from auth.credential_cache import invalidate_credentials
from domain.mails import outbox
from domain.mails.texts import MailType
from domain.people.reauthentication import verify_own_password
from kernel.errors import Conflict, Forbidden, ValidationFailed
from kernel.ids import Reference
from kernel.scope import ActorKind, Scope
from kernel.text import shorten
from models import audit
from models.connection import database
from models.rows import insert_row

# An older secret may have been seen by others, and is probably not on the user's screen any more.
ENROLMENT_LIFETIME = timedelta(hours=1)

_QR_SCALE = 4
# The URI has the store's name twice, up to twelve bytes a character: with longer ones no QR code could hold it.
_MAX_ISSUER = 60
_REPLACE = (
    "ON CONFLICT (tenant_id, user_id) DO UPDATE SET secret = excluded.secret, created_at = excluded.created_at,"
    " confirmed_at = excluded.confirmed_at, used_steps = '{}'"
)


@dataclass(frozen=True, slots=True)
class Enrolment:
    """The data for an authenticator app: the secret in base32, its otpauth URI, and that as a QR code (SVG)."""

    secret: str
    otpauth_uri: str
    qr_svg: str


@dataclass(frozen=True, slots=True)
class TwoFactorStatus:
    """Whether a user has a second factor, and how many recovery codes are left."""

    enabled: bool
    recovery_codes_left: int


async def load_status(scope: Scope) -> TwoFactorStatus:
    """Return the status of the caller's second factor."""
    row = await database.fetchrow(
        """
        select exists (select from two_factors where tenant_id = $1 and user_id = $2 and confirmed_at is not null) as enabled,
            (select count(*) from recovery_codes where tenant_id = $1 and user_id = $2 and used_at is null) as codes
        """,
        scope.store.id,
        scope.own_user_id(),
    )
    assert row is not None
    return TwoFactorStatus(row["enabled"], row["codes"])


async def begin_enrolment(scope: Scope) -> Enrolment:
    """Create a secret for the caller, replacing an unconfirmed one; raises `Conflict` (`two_factor_on`)."""
    user_id = scope.own_user_id()
    secret = two_factor_codes.new_secret()
    async with database.transaction(scope):
        user = await _lock_user(scope, user_id)
        encrypted = two_factor_codes.encrypt_secret(secret)
        replace = f"{_REPLACE} WHERE two_factors.confirmed_at IS NULL"
        times = {"created_at": scope.now, "confirmed_at": None}
        if await insert_row(scope, "two_factors", user_id=user_id, secret=encrypted, **times, conflict=replace) is None:
            raise Conflict("two-factor authentication is on already", reason="two_factor_on")
    account = user["email"] or str(user["public_id"])
    uri = pyotp.TOTP(secret).provisioning_uri(name=account, issuer_name=shorten(scope.store.name, _MAX_ISSUER))
    return Enrolment(secret, uri, _qr_code(uri))


async def confirm(scope: Scope, code: str) -> list[str]:
    """Enable the second factor with a code of the app; return ten recovery codes, shown only once.

    Raises `ValidationFailed` for a wrong code, `Conflict` (`two_factor_not_begun`, `two_factor_on`).
    """
    user_id = scope.own_user_id()
    if not code.strip():
        raise ValidationFailed("code is required", field="code", code="required")
    async with database.transaction(scope):
        user = await _lock_user(scope, user_id)
        factor = await database.fetchrow(
            """
            select secret, confirmed_at, created_at from two_factors where tenant_id = $1 and user_id = $2 for no key update
            """,
            scope.store.id,
            user_id,
        )
        if factor is not None and factor["confirmed_at"] is not None:
            raise Conflict("two-factor authentication is on already", reason="two_factor_on")
        if factor is None or factor["created_at"] <= scope.now - ENROLMENT_LIFETIME:
            raise Conflict("two_factor_begin comes first", reason="two_factor_not_begun")
        totp_code = code.replace(" ", "")
        if not await two_factor_codes.consume_totp(scope, user_id, bytes(factor["secret"]), totp_code):
            raise _wrong_code()
        await database.execute(
            "update two_factors set confirmed_at = $3 where tenant_id = $1 and user_id = $2",
            scope.store.id,
            user_id,
            scope.now,
        )
        codes = await two_factor_codes.replace_recovery_codes(scope, user_id)
        await audit.record(scope, "two_factor.enabled", "user", user["public_id"])
        await _send_mail(scope, MailType.TWO_FACTOR_ON, user)
    return codes


async def disable(scope: Scope, password: str, code: str | None, user: Reference | str | None = None) -> None:
    """Disable the second factor of the caller, or of a user whose account the caller may administer.

    Password and code are the caller's own; a caller without a second factor needs no code to disable another user's. Wrong ones count
    toward the caller's lockout (docs/reference/shared.md#lockout). Raises `ValidationFailed`, `AccountLocked`, `InsufficientPrivileges`,
    and `Conflict` (`two_factor_off`).
    """
    own_id = scope.own_user_id()
    target = own_id if user is None else await privileges.find_user_to_edit(scope, user)
    if target != own_id:
        await _check_may_disable(scope, target)
    await verify_own_password(scope, password)
    if not await two_factor_codes.is_enabled(scope, own_id):
        if target == own_id:
            raise _not_enabled()
        async with database.transaction(scope):
            await _delete_factor(scope, target)
        return
    if not code or not code.strip():
        raise ValidationFailed("code is required", field="code", code="required")
    try:
        async with two_factor_codes.code_attempt(scope, own_id):
            await two_factor_codes.consume_code(scope, own_id, code)
            await _delete_factor(scope, target)
    except two_factor_codes.WrongCode as error:
        raise _wrong_code() from error


async def reset(scope: Scope, user_id: int, reason: str) -> None:
    """Remove the second factor of a user who has lost it, for the platform's operator; the audit log keeps the reason.

    Raises `Conflict` (`two_factor_off`), and `ValidationFailed` without a reason.
    """
    if scope.actor.kind is not ActorKind.SYSTEM:
        raise Forbidden("insufficient permissions")
    if not reason.strip():
        raise ValidationFailed("reason is required", field="reason", code="required")
    async with database.transaction(scope):
        await _delete_factor(scope, user_id, {"reason": reason.strip()})


async def enable_for_demo(scope: Scope, user_id: int) -> str:
    """Set a confirmed second factor with a new secret for a user and return the secret; for the demo only."""
    if scope.actor.kind is not ActorKind.SYSTEM:
        raise Forbidden("insufficient permissions")
    secret = two_factor_codes.new_secret()
    async with database.transaction(scope):
        await _lock_user(scope, user_id)
        encrypted = two_factor_codes.encrypt_secret(secret)
        times = {"created_at": scope.now, "confirmed_at": scope.now}
        await insert_row(scope, "two_factors", user_id=user_id, secret=encrypted, **times, conflict=_REPLACE)
        await two_factor_codes.delete_recovery_codes(scope, user_id)
    return secret


async def _check_may_disable(scope: Scope, user_id: int) -> None:
    account = await privileges.load_account(scope, user_id)
    assert account is not None  # resolved above
    privileges.check_may_manage_user(scope, account)


async def _delete_factor(scope: Scope, user_id: int, details: Mapping[str, object] | None = None) -> None:
    """Delete the second factor with its recovery codes and challenges; part of the current transaction."""
    user = await _lock_user(scope, user_id)
    await challenges.delete_challenges(scope, user_id)
    deleted = await database.execute(
        "delete from two_factors where tenant_id = $1 and user_id = $2 and confirmed_at is not null",
        scope.store.id,
        user_id,
    )
    if not deleted:
        raise _not_enabled()
    await two_factor_codes.delete_recovery_codes(scope, user_id)
    await audit.record(scope, "two_factor.disabled", "user", user["public_id"], details)
    await _send_mail(scope, MailType.TWO_FACTOR_OFF, user)
    await invalidate_credentials(scope, user_id)


async def _lock_user(scope: Scope, user_id: int) -> Record:
    await two_factor_codes.lock_user(scope, user_id)
    user = await database.fetchrow(
        "select id, public_id, email, firstname from users where tenant_id = $1 and id = $2", scope.store.id, user_id
    )
    if user is None:
        raise Forbidden("insufficient permissions")
    return user


async def _send_mail(scope: Scope, mail_type: MailType, user: Record) -> None:
    if user["email"] is not None:
        await outbox.queue_mail(scope, mail_type, outbox.recipient_of(user))


def _qr_code(uri: str) -> str:
    """Return a QR code as an SVG element, readable on any background."""
    return str(segno.make(uri, error="m", micro=False).svg_inline(scale=_QR_SCALE, border=4, light="#fff"))


def _not_enabled() -> Conflict:
    return Conflict("two-factor authentication is off", reason="two_factor_off")


def _wrong_code() -> ValidationFailed:
    return ValidationFailed("code is wrong or was used before", field="code", code="code_invalid")
