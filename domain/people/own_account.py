"""Changes of the caller's own account that need more than an access token (docs/reference/current.md#own-account).

A password or e-mail changes only with the current password, and a new e-mail or a deletion only with a token sent by mail.
"""

from __future__ import annotations

from auth import sessions
from auth.passwords import find_password_problem, hash_password
from domain.mails import outbox
from domain.mails.outbox import Recipient
from domain.mails.texts import MailType
from domain.people import mailed_tokens, removal
from domain.people.account_fields import ACCOUNT_FIELDS
from domain.people.accounts import find_by_email, lock_user
from domain.people.mailed_tokens import TokenPurpose
from domain.people.reauthentication import verify_own_password
from kernel.errors import Unauthenticated, ValidationFailed
from kernel.fields import InputField, read_fields
from kernel.scope import Scope
from models import audit
from models.connection import database
from models.rows import update_row

PASSWORD_CHANGED = "password changed"
EMAIL_CHANGE_SENT = "if the new e-mail can be used, a mail to it says how to confirm it"
DELETION_SENT = "a mail says how to confirm the deletion"
ACCOUNT_DELETED = "account deleted"

_NEW_EMAIL = {"new_email": InputField("email", ACCOUNT_FIELDS["email"].read, "email_invalid", required="required")}


async def change_password(scope: Scope, current_password: str, new_password: str) -> None:
    """Set the caller's password, revoke their other sessions and notify them by mail.

    Raises `ValidationFailed` (`password_wrong`, `password_invalid`) and `AccountLocked`.
    """
    user_id = scope.own_user_id()
    problem = find_password_problem(new_password)
    if problem is not None:
        raise ValidationFailed(f"new_password {problem}", field="new_password", code="password_invalid")
    current_hash = await verify_own_password(scope, current_password, field="current_password")
    new_hash = await hash_password(new_password)
    async with database.transaction(scope):
        user = await lock_user(scope, user_id)
        if user["password_hash"] != current_hash:  # changed while the new one was hashed
            raise ValidationFailed("password is wrong", field="current_password", code="password_wrong")
        await update_row(
            scope, "users", user_id, password_hash=new_hash, password_changed_at=scope.now, updated_at=scope.now
        )
        await sessions.revoke_all_sessions(
            scope, user_id, sessions.PASSWORD_CHANGED, except_session_id=scope.actor.session_id
        )
        await audit.record(scope, "user.password_changed", "user", user["public_id"])
        if user["email"] is not None:
            await outbox.queue_mail(scope, MailType.PASSWORD_CHANGED, outbox.recipient_of(user))


async def request_email_change(scope: Scope, password: str, new_email: str) -> None:
    """Mail a token to the new address, which replaces the caller's once confirmed, and notify the current one.

    For a taken address the response is the same, and its owner is notified instead. At most three requests an hour have an effect. Raises
    `ValidationFailed` (`password_wrong`, `email_invalid`) and `AccountLocked`.
    """
    user_id = scope.own_user_id()
    address: str = read_fields(_NEW_EMAIL, {"new_email": new_email}, creating=True)["email"]
    await verify_own_password(scope, password)
    async with database.transaction(scope):
        await outbox.lock_address(scope, address)
        user = await lock_user(scope, user_id)
        if user["email"] is None or user["email"] == address:
            return
        if await outbox.is_over_hourly_limit(scope, MailType.EMAIL_CHANGE_REQUESTED, user_id):
            return
        await outbox.queue_mail(scope, MailType.EMAIL_CHANGE_REQUESTED, outbox.recipient_of(user))
        await audit.record(scope, "user.email_change_requested", "user", user["public_id"])
        owner = await find_by_email(scope, address)
        account = outbox.recipient_of(user)
        token = await mailed_tokens.issue_token(
            scope, TokenPurpose.EMAIL_CHANGE, account if owner is None else None, new_email=address
        )
        if owner is None:
            to = Recipient(user_id, address, account.name)
            await outbox.queue_mail(scope, MailType.EMAIL_CHANGE, to, token)
            return
        over_limit = await outbox.is_over_hourly_limit(scope, MailType.EMAIL_CHANGE_TAKEN, owner["id"])
        is_notified = owner["status"] != "D" and not over_limit
        await outbox.queue_mail(scope, MailType.EMAIL_CHANGE_TAKEN, outbox.recipient_of(owner) if is_notified else None)


async def delete_own_account(scope: Scope, token: str | None, password: str | None = None) -> bool:
    """Mail a token to the caller or, with that token, delete the account; return whether it was deleted.

    A password is verified first: a shop asks for it because another person may use the device. An account to which orders refer is
    anonymized, any other erased (docs/reference/shared.md#deletion). Raises `ValidationFailed` (`password_wrong`), `AccountLocked`,
    `Unauthenticated` for an invalid token, and `RuleViolation` for the owner and the last administrator.
    """
    user_id = scope.own_user_id()
    if password is not None:
        await verify_own_password(scope, password)
    if token is None:
        await _mail_deletion_token(scope, user_id)
        return False
    user = await mailed_tokens.find_token_user(scope, token, TokenPurpose.ACCOUNT_DELETION)
    if user["id"] != user_id:
        raise Unauthenticated(mailed_tokens.INVALID)
    async with database.transaction(scope):
        await mailed_tokens.consume_token(scope, token, TokenPurpose.ACCOUNT_DELETION)
        await removal.erase_or_anonymize(scope, user_id)
    return True


async def _mail_deletion_token(scope: Scope, user_id: int) -> None:
    async with database.transaction(scope):
        user = await lock_user(scope, user_id)
        if await outbox.is_over_hourly_limit(scope, MailType.ACCOUNT_DELETION, user_id):
            return
        to = outbox.recipient_of(user)
        token = await mailed_tokens.issue_token(scope, TokenPurpose.ACCOUNT_DELETION, to)
        await outbox.queue_mail(scope, MailType.ACCOUNT_DELETION, to, token)
