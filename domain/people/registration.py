"""Let shoppers make their own accounts, and prove and regain them by mail (decisions section 3, More).

Whether a store knows an address is nobody's business. So the answers, and the work done for them, are the same for an address that
is known and one that is not: what is written for somebody is written for nobody too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from asyncpg import Record

from auth import lockout, sessions
from auth.credential_cache import changed
from auth.passwords import check_new_password, hash_password
from domain import audit
from domain.fields import Given, InputField, read_fields, short_text
from domain.mails import outbox
from domain.mails.outbox import Recipient
from domain.mails.texts import MailType
from domain.people import accounts, mailed_tokens
from domain.people.account_fields import FIELDS, with_name_split
from domain.people.mailed_tokens import Purpose
from domain.store_settings import setting
from kernel.documents import is_email, normalise_email
from kernel.errors import ValidationFailed
from kernel.scope import Scope
from models import database

REGISTERED = "registration received: a mail says how to go on"
RESET_SENT = "if there is an account with this e-mail, a mail says how to set a new password"
VERIFICATION_SENT = "if an account with this e-mail waits for its confirmation, a mail says how to confirm it"
PASSWORD_RESET = "password changed"
EMAIL_VERIFIED = "email verified"

_NEEDED: Mapping[str, InputField] = {
    "email": FIELDS["email"],
    "password": InputField("password", FIELDS["password"].read, "password_invalid", required="required"),
    "name": InputField("name", short_text, "name_invalid", required="name_required"),
    "phone": FIELDS["phone"],
    "cpf": FIELDS["cpf"],
    "cnpj": FIELDS["cnpj"],
}


class _Undone(Exception):
    """Roll back what was only rehearsed."""


async def register(scope: Scope, given: Given) -> None:
    """Make a customer whose e-mail is to be confirmed; an address that somebody has makes none, and its owner gets a mail.

    `given` holds `email`, `password`, `name`, and perhaps `cpf`, `cnpj`, `phone`. Raises `ValidationFailed`, never for a taken e-mail.
    """
    columns = read_fields(_NEEDED, given, creating=True)
    names = with_name_split({"name": columns.pop("name")})
    columns |= {name: short_text(value) for name, value in names.items()}
    system = scope.as_system()
    draft = await accounts.drafted(system, columns)
    if setting(scope, "customers_need_approval"):
        draft["status"] = "P"
    async with database.transaction(scope):
        await outbox.one_at_a_time(scope, draft["email"])
        owner = await _account(scope, draft["email"])
        made = await _made(system, draft, for_real=owner is None)
        if made is None and owner is None:
            owner = await _account(scope, draft["email"])  # an administrator was quicker
        await _answer_registration(scope, owner, made, draft)


async def forgot_password(scope: Scope, email: str | None) -> None:
    """Mail a token that sets a new password to the account with the e-mail, if there is one; at most three an hour.

    Raises `RateLimited`, and `ValidationFailed` when the e-mail is missing.
    """
    await lockout.count_attempt(scope, "password_forgot")
    await _mail_token(scope, email, Purpose.PASSWORD_RESET, MailType.PASSWORD_RESET)


async def resend_verification(scope: Scope, email: str | None) -> None:
    """Mail a new token that confirms the e-mail to the account that waits for it, if there is one; at most three an hour."""
    await _mail_token(scope, email, Purpose.EMAIL_VERIFICATION, MailType.EMAIL_VERIFICATION)


async def reset_password(scope: Scope, token: str | None, password: str | None) -> None:
    """Set a new password with a token that was mailed, and end all the user is signed in with. A second factor stays.

    Who holds the token reads the mails of the address, so that is confirmed too. Raises `RateLimited`, `ValidationFailed` (a bad
    password leaves the token as it was) and `Unauthenticated` (`invalid or expired token`).
    """
    await lockout.count_attempt(scope, "password_reset")
    if not token:
        raise ValidationFailed("token is required")
    if not password:
        raise ValidationFailed("password is required")
    check_new_password(password)
    await mailed_tokens.holder(scope, Purpose.PASSWORD_RESET, token)
    new_hash = await hash_password(password)
    async with database.transaction(scope):
        user = await mailed_tokens.use(scope, Purpose.PASSWORD_RESET, token)
        await database.execute(
            """
            update users set password_hash = $3, password_changed_at = $4, updated_at = $4,
                email_verified_at = coalesce(email_verified_at, $4)
            where tenant_id = $1 and id = $2
            """,
            scope.store.id,
            user["id"],
            new_hash,
            scope.now,
        )
        await sessions.end_all_sessions(scope, user["id"], sessions.PASSWORD_CHANGED)
        await audit.record(scope, "user.password_reset", "user", user["public_id"])
        await outbox.queue(scope, MailType.PASSWORD_CHANGED, outbox.recipient_of(user))


async def verify_email(scope: Scope, token: str | None) -> None:
    """Confirm the e-mail of the account whose token this is; raises `ValidationFailed` or `Unauthenticated`."""
    if not token:
        raise ValidationFailed("token is required")
    async with database.transaction(scope):
        user = await mailed_tokens.use(scope, Purpose.EMAIL_VERIFICATION, token)
        await database.execute(
            """
            update users set email_verified_at = $3, updated_at = $3
            where tenant_id = $1 and id = $2 and email_verified_at is null
            """,
            scope.store.id,
            user["id"],
            scope.now,
        )
        await audit.record(scope, "user.email_verified", "user", user["public_id"])
        await changed(scope, user["id"])


async def _made(system: Scope, draft: Mapping[str, Any], *, for_real: bool) -> accounts.UserRef | None:
    """Make the user; or only do the same work, with an e-mail left out that would be refused, and undo it."""
    made = None
    try:
        async with database.transaction(system):
            user = draft if for_real else {**draft, "email": None}
            made = await accounts.add_user(system, user, verified=False)
            if not for_real:
                raise _Undone
    except _Undone:
        return None
    except ValidationFailed as refusal:
        if refusal.fields.get("email") != "email_taken":
            raise
        return None
    return made


async def _answer_registration(
    scope: Scope, owner: Record | None, made: accounts.UserRef | None, draft: Mapping[str, Any]
) -> None:
    """Write the one mail: to the new user, or to the owner of the address."""
    kind = MailType.REGISTRATION_TAKEN if made is None else MailType.EMAIL_VERIFICATION
    to = None
    if made is not None:
        to = Recipient(made.id, draft["email"], draft["firstname"] or draft["email"])
    elif owner is not None and owner["status"] != "D":
        to = outbox.recipient_of(owner)
    if await outbox.is_enough(scope, kind, to.user_id if to else None):
        to = None
    token = await mailed_tokens.issue(scope, Purpose.EMAIL_VERIFICATION, to if made is not None else None)
    await outbox.queue(scope, kind, to, token if made is not None else "")


async def _mail_token(scope: Scope, email: str | None, purpose: Purpose, kind: MailType) -> None:
    if not email or not email.strip():
        raise ValidationFailed("email is required")
    address = normalise_email(email)
    if not is_email(address):
        address = ""
    async with database.transaction(scope):
        await outbox.one_at_a_time(scope, address)
        user = await _account(scope, address)
        to = outbox.recipient_of(user) if user is not None and _may_have(user, purpose) else None
        if await outbox.is_enough(scope, kind, to.user_id if to else None):
            to = None
        token = await mailed_tokens.issue(scope, purpose, to)
        await outbox.queue(scope, kind, to, token)


def _may_have(user: Record, purpose: Purpose) -> bool:
    """Say whether a token of the kind is of any use to the account."""
    if user["status"] == "D":
        return False
    return purpose is Purpose.PASSWORD_RESET or user["email_verified_at"] is None


async def _account(scope: Scope, email: str) -> Record | None:
    return await database.row(
        "select * from users where tenant_id = $1 and email = $2 and deleted_at is null",
        scope.store.id,
        email,
    )
