"""Sign-in keys: an administrator's program signs a user in without the password (docs/reference/legacy.md#auth).

A caller who may create a key for a user may also set that user's password, so a key grants nothing new. Two-factor authentication applies.
"""

from __future__ import annotations

from dataclasses import dataclass

from auth import challenges, lockout, privileges, sessions, two_factor_codes
from auth.challenges import Challenge
from auth.password_authentication import authenticated_user, check_may_sign_in
from auth.sessions import SessionTokens
from domain.mails.outbox import recipient_of
from domain.people import accounts, mailed_tokens
from domain.people.mailed_tokens import TokenPurpose
from domain.store_settings import setting
from kernel.errors import NotFound, ValidationFailed
from kernel.fields import normalize_email
from kernel.scope import Scope
from models import audit
from models.connection.database import transaction


@dataclass(frozen=True, slots=True)
class SignInKey:
    """A key, and the storefront page that accepts it if the store has one; the key is in the fragment, which isn't sent to servers."""

    key: str
    page: str | None


async def create_sign_in_key(scope: Scope, email: str | None) -> SignInKey:
    """Create a key for the user with the e-mail: valid for 60 seconds, once, and until the e-mail or password changes.

    Raise `RateLimited`, `ValidationFailed` without an e-mail, `NotFound`, `InsufficientPrivileges` for a user whom the caller may not
    administer, and `SignInDenied` for one who may not sign in.
    """
    await lockout.count_attempt(scope, "sign_in_key_create")
    if not email or not email.strip():
        raise ValidationFailed("email is required", field="email", code="required")
    async with transaction(scope):
        user = await accounts.find_by_email(scope, normalize_email(email))
        account = None if user is None else await privileges.load_account(scope, user["id"])
        if user is None or account is None:
            raise NotFound("user")
        privileges.check_may_manage_user(scope, account)
        await check_may_sign_in(scope, authenticated_user(user, lockout.user_subject(user["id"])))
        key = await mailed_tokens.issue_token(scope, TokenPurpose.SIGN_IN, recipient_of(user))
        await audit.record(scope, "sign_in_key.created", "user", user["public_id"])
    page = setting(scope, "account_url")
    return SignInKey(key, f"{page}#{TokenPurpose.SIGN_IN.value}={key}" if page else None)


async def sign_in_with_key(scope: Scope, key: str | None) -> SessionTokens | Challenge:
    """Use a key up and sign its user in; return a challenge if two-factor authentication is enabled.

    Raise `RateLimited`, `ValidationFailed` without a key, `Unauthenticated` (`invalid or expired token`), `AccountLocked` and
    `SignInDenied`.
    """
    await lockout.count_attempt(scope, "sign_in_key")
    if not key:
        raise ValidationFailed("key is required")
    async with transaction(scope):
        row = await mailed_tokens.consume_token(scope, key, TokenPurpose.SIGN_IN)
        user = authenticated_user(row, lockout.user_subject(row["id"]))
        await check_may_sign_in(scope, user)
        await audit.record(scope, "sign_in_key.used", "user", user.public_id)
        if await two_factor_codes.is_enabled(scope, user.id):
            return await challenges.create_challenge(scope, user)
        return await sessions.complete_sign_in(scope, user)
