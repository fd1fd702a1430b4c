"""Registration of customers, confirmation of e-mails and password resets (docs/reference/current.md#registration).

To prevent account enumeration, responses and the work done for them are the same for known and unknown addresses; mails and tokens are also
created without a recipient.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from asyncpg import Record

from auth import lockout, sessions
from auth.credential_cache import invalidate_credentials
from auth.passwords import check_new_password, hash_password
from domain import record_events
from domain.mails import outbox
from domain.mails.outbox import Recipient
from domain.mails.texts import MailType
from domain.people import accounts, mailed_tokens
from domain.people.account_fields import ACCOUNT_FIELDS, split_name
from domain.people.mailed_tokens import TokenPurpose
from domain.store_settings import setting
from kernel.errors import Forbidden, RuleViolation, Unauthenticated, ValidationFailed
from kernel.fields import InputField, InputValues, is_email, normalize_email, read_fields, short_text
from kernel.scope import ActorKind, Scope
from models import audit
from models.connection import database
from models.rows import update_row

REGISTERED = "registration received: a mail says how to go on"
RESET_SENT = "if there is an account with this e-mail, a mail says how to set a new password"
VERIFICATION_SENT = "if an account with this e-mail waits for its confirmation, a mail says how to confirm it"
PASSWORD_RESET = "password changed"
EMAIL_VERIFIED = "email verified"

_REGISTRATION_FIELDS: Mapping[str, InputField] = {
    "email": ACCOUNT_FIELDS["email"],
    "password": InputField("password", ACCOUNT_FIELDS["password"].read, "password_invalid", required="required"),
    "name": InputField("name", short_text, "name_invalid", required="name_required"),
    "phone": ACCOUNT_FIELDS["phone"],
    "cpf": ACCOUNT_FIELDS["cpf"],
    "cnpj": ACCOUNT_FIELDS["cnpj"],
}

_RESET_USER = "SELECT id, email, firstname, status FROM users WHERE tenant_id = $1 AND id = $2"


class _RollBack(Exception):
    """Roll back work that was only done to take the same time."""


async def register(scope: Scope, values: InputValues) -> None:
    """Create a customer whose e-mail must be confirmed; for an existing address, mail its owner instead.

    `values` has `email`, `password`, `name`, and optionally `cpf`, `cnpj`, `phone`. Raises `RateLimited`, and `ValidationFailed` but never
    for an existing e-mail. Invalid values don't count as an attempt.
    """
    columns = read_fields(_REGISTRATION_FIELDS, values, creating=True)
    await lockout.count_attempt(scope, "register")
    names = split_name({"name": columns.pop("name")})
    columns |= {name: short_text(value) for name, value in names.items()}
    system = scope.as_system()
    draft = await accounts.prepare_user(system, columns)
    if setting(scope, "customers_need_approval"):
        draft["status"] = "P"
    async with database.transaction(scope):
        await outbox.lock_address(scope, draft["email"])
        owner = await accounts.find_by_email(scope, draft["email"])
        created = await _create_or_rehearse(system, draft, create=owner is None)
        if created is None and owner is None:
            owner = await accounts.find_by_email(scope, draft["email"])  # created concurrently by an administrator
        await _send_registration_mail(scope, owner, created, draft)


async def notify_owner(scope: Scope, email: str) -> None:
    """Mail the owner of a registered address that a registration with it was attempted."""
    address = normalize_email(email)
    async with database.transaction(scope):
        await outbox.lock_address(scope, address)
        owner = await accounts.find_by_email(scope, address)
        await _send_registration_mail(scope, owner, None, {})


async def forgot_password(scope: Scope, email: str | None) -> None:
    """Mail a password reset token to the account with the e-mail, if there is one; at most three an hour.

    Raises `RateLimited`, and `ValidationFailed` if the e-mail is missing.
    """
    await lockout.count_attempt(scope, "password_forgot")
    await _mail_token(scope, email, TokenPurpose.PASSWORD_RESET, MailType.PASSWORD_RESET)


async def issue_password_link(scope: Scope, user: accounts.UserRef) -> dict[str, str]:
    """Return what a user sets a new password with, for the platform's operator: a `token`, and a `link` if the store has an account page.

    Raises `RuleViolation` for an account that is disabled or has no e-mail. The audit log notes it.
    """
    if scope.actor.kind is not ActorKind.SYSTEM:
        raise Forbidden("insufficient permissions")
    async with database.transaction(scope):
        row = await database.fetchrow(_RESET_USER, scope.store.id, user.id)
        if row is None or row["status"] == "D" or not row["email"]:
            raise RuleViolation("the account is disabled or has no e-mail", reason="account_disabled")
        token = await mailed_tokens.issue_token(scope, TokenPurpose.PASSWORD_RESET, outbox.recipient_of(row))
        await audit.record(scope, "user.password_link_issued", "user", user.public_id)
    page = setting(scope, "account_url")
    return {"token": token, **({"link": f"{page}#{MailType.PASSWORD_RESET.value}={token}"} if page else {})}


async def resend_verification(scope: Scope, email: str | None) -> None:
    """Mail a new confirmation token to the unconfirmed account with the e-mail, if there is one; at most three an hour.

    Raises `RateLimited`, and `ValidationFailed` if the e-mail is missing.
    """
    await lockout.count_attempt(scope, "email_resend")
    await _mail_token(scope, email, TokenPurpose.EMAIL_VERIFICATION, MailType.EMAIL_VERIFICATION)


async def reset_password(scope: Scope, token: str | None, password: str | None) -> None:
    """Set a new password with a mailed token and revoke the user's sessions; the second factor stays enabled.

    Also confirms the e-mail, which the token proves. Raises `RateLimited`, `ValidationFailed` (an invalid password doesn't consume the
    token) and `Unauthenticated` (`invalid or expired token`).
    """
    await lockout.count_attempt(scope, "password_reset")
    if not token:
        raise ValidationFailed("token is required")
    if not password:
        raise ValidationFailed("password is required")
    check_new_password(password)
    await mailed_tokens.find_token_user(scope, token, TokenPurpose.PASSWORD_RESET)
    new_hash = await hash_password(password)
    async with database.transaction(scope):
        user = await mailed_tokens.consume_token(scope, token, TokenPurpose.PASSWORD_RESET)
        times: dict[str, Any] = dict.fromkeys(("password_changed_at", "email_verified_at", "updated_at"), scope.now)
        await update_row(scope, "users", user["id"], password_hash=new_hash, **times)
        await sessions.revoke_all_sessions(scope, user["id"], sessions.PASSWORD_CHANGED)
        await audit.record(scope, "user.password_reset", "user", user["public_id"])
        await outbox.queue_mail(scope, MailType.PASSWORD_CHANGED, outbox.recipient_of(user))


async def verify_email(scope: Scope, token: str | None) -> None:
    """Confirm the e-mail of the token's account, or the new one that it asked for; raises `ValidationFailed` or `Unauthenticated`."""
    if not token:
        raise ValidationFailed("token is required")
    async with database.transaction(scope):
        user = await mailed_tokens.consume_token(
            scope, token, TokenPurpose.EMAIL_VERIFICATION, TokenPurpose.EMAIL_CHANGE
        )
        if user["token_purpose"] == TokenPurpose.EMAIL_CHANGE.value:
            await _change_email(scope, user)
            return
        if user["email_verified_at"] is None:
            await update_row(scope, "users", user["id"], email_verified_at=scope.now, updated_at=scope.now)
        await audit.record(scope, "user.email_verified", "user", user["public_id"])
        await invalidate_credentials(scope, user["id"])


async def _change_email(scope: Scope, user: Record) -> None:
    """Set the confirmed new e-mail and notify the old one."""
    try:
        times: dict[str, Any] = {"email_verified_at": scope.now, "updated_at": scope.now}
        await update_row(scope, "users", user["id"], email=user["new_email"], **times)
    except database.UniqueViolation as error:  # registered since the request
        raise Unauthenticated(mailed_tokens.INVALID) from error
    await record_events.emit_customer_changed(
        scope, user["id"], user["public_id"], user["user_type"], user["user_type"]
    )
    await audit.record(scope, "user.email_changed", "user", user["public_id"])
    await outbox.queue_mail(scope, MailType.EMAIL_CHANGED, outbox.recipient_of(user))
    await invalidate_credentials(scope, user["id"])


async def _create_or_rehearse(system: Scope, draft: Mapping[str, Any], *, create: bool) -> accounts.UserRef | None:
    """Create the user; or do the same work without the e-mail, which would be refused, and roll it back."""
    created = None
    try:
        async with database.transaction(system):
            user = draft if create else {**draft, "email": None}
            created = await accounts.add_user(system, user, verified=False)
            if not create:
                raise _RollBack
    except _RollBack:
        return None
    except ValidationFailed as error:
        if error.fields.get("email") != "email_taken":
            raise
        return None
    return created


async def _send_registration_mail(
    scope: Scope, owner: Record | None, created: accounts.UserRef | None, draft: Mapping[str, Any]
) -> None:
    """Queue the one mail: to the new user, or to the owner of the address."""
    mail_type = MailType.REGISTRATION_TAKEN if created is None else MailType.EMAIL_VERIFICATION
    to = None
    if created is not None:
        to = Recipient(created.id, draft["email"], draft["firstname"] or draft["email"])
    elif owner is not None and owner["status"] != "D":
        to = outbox.recipient_of(owner)
    if await outbox.is_over_hourly_limit(scope, mail_type, to.user_id if to else None):
        to = None
    token = await mailed_tokens.issue_token(scope, TokenPurpose.EMAIL_VERIFICATION, to if created is not None else None)
    await outbox.queue_mail(scope, mail_type, to, token if created is not None else "")


async def _mail_token(scope: Scope, email: str | None, purpose: TokenPurpose, mail_type: MailType) -> None:
    if not email or not email.strip():
        raise ValidationFailed("email is required")
    address = normalize_email(email)
    if not is_email(address):
        address = ""
    async with database.transaction(scope):
        await outbox.lock_address(scope, address)
        user = await accounts.find_by_email(scope, address)
        to = outbox.recipient_of(user) if user is not None and _can_use_token(user, purpose) else None
        if await outbox.is_over_hourly_limit(scope, mail_type, to.user_id if to else None):
            to = None
        token = await mailed_tokens.issue_token(scope, purpose, to)
        await outbox.queue_mail(scope, mail_type, to, token)


def _can_use_token(user: Record, purpose: TokenPurpose) -> bool:
    """Return whether the account can use a token of the purpose."""
    if user["status"] == "D":
        return False
    return purpose is TokenPurpose.PASSWORD_RESET or user["email_verified_at"] is None
