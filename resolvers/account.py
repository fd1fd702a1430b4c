"""Resolve registration, e-mail verification, password reset and two-factor authentication."""

from __future__ import annotations

from strawberry import Info

from auth.access import Access
from domain.people import own_account, registration, two_factor
from models.reading.queries import Row
from resolvers.engine.compiled_results import RESULT, ResultField
from resolvers.mutation_helpers import acknowledgement
from schema.declaration import declare
from schema.fields import root_field
from schema.inputs import provided_fields
from schema.scalars import ID
from schema.types.people import RegistrationInput
from schema.types.sessions import (
    ANYONE,
    SIGNED_IN_USERS,
    AcknowledgementObject,
    RecoveryCodesObject,
    TwoFactorEnrolmentObject,
    TwoFactorStateObject,
)

_CUSTOMERS_ONLY = Access(admin=False, customer=True, user_only=True)

TWO_FACTOR_DISABLED = "two-factor authentication is off"


@declare
class TwoFactorQueries:
    """Queries about two-factor authentication."""

    @root_field(SIGNED_IN_USERS, metadata={RESULT: ResultField(SIGNED_IN_USERS, two_factor.load_status)})
    async def two_factor(self, info: Info) -> TwoFactorStateObject:
        """Return the caller's two-factor authentication status."""
        return await two_factor.load_status(info.context.scope)  # type: ignore[return-value]


@declare
class TwoFactorMutations:
    """Mutations of two-factor authentication."""

    @root_field(SIGNED_IN_USERS, secret=True)
    async def two_factor_begin(self, info: Info) -> TwoFactorEnrolmentObject:
        """Start the two-factor enrolment: create a TOTP secret, to be confirmed with a code within an hour."""
        return await two_factor.begin_enrolment(info.context.scope)  # type: ignore[return-value]

    @root_field(SIGNED_IN_USERS, secret=True)
    async def two_factor_confirm(self, info: Info, code: str) -> RecoveryCodesObject:
        """Enable two-factor authentication with a code of the authenticator app. The recovery codes are returned only once."""
        return Row(recovery_codes=await two_factor.confirm(info.context.scope, code))  # type: ignore[return-value]

    @root_field(SIGNED_IN_USERS)
    async def two_factor_disable(
        self, info: Info, password: str, code: str | None = None, user_id: ID | None = None
    ) -> AcknowledgementObject:
        """Disable two-factor authentication with the caller's own password and code; with `user_id`, for another user whose account the
        caller may administer (no code is needed if the caller has no two-factor authentication).
        """
        await two_factor.disable(info.context.scope, password, code, user_id)
        return acknowledgement(TWO_FACTOR_DISABLED)


@declare
class OwnAccountMutations:
    """Mutations of the caller's own password, e-mail address and account."""

    @root_field(SIGNED_IN_USERS)
    async def password_change(self, info: Info, current_password: str, new_password: str) -> AcknowledgementObject:
        """Set the caller's password; revokes their other sessions and notifies them by e-mail. A wrong current password counts toward the
        lockout.
        """
        await own_account.change_password(info.context.scope, current_password, new_password)
        return acknowledgement(own_account.PASSWORD_CHANGED)

    @root_field(SIGNED_IN_USERS)
    async def email_change(self, info: Info, password: str, new_email: str) -> AcknowledgementObject:
        """Send a token to a new e-mail address, which becomes the caller's with `email_verify`; the current one is notified. The response
        doesn't reveal whether the address is registered. A wrong password counts toward the lockout.
        """
        await own_account.request_email_change(info.context.scope, password, new_email)
        return acknowledgement(own_account.EMAIL_CHANGE_SENT)

    @root_field(_CUSTOMERS_ONLY)
    async def account_delete_request(
        self, info: Info, token: str | None = None, password: str | None = None
    ) -> AcknowledgementObject:
        """Send a deletion token to the caller's e-mail address; with that token, delete the account: anonymized if it has orders, otherwise
        permanently. A `password` is verified first; a wrong one counts toward the lockout.
        """
        deleted = await own_account.delete_own_account(info.context.scope, token, password)
        return acknowledgement(own_account.ACCOUNT_DELETED if deleted else own_account.DELETION_SENT)


@declare
class RegistrationMutations:
    """Mutations for users who aren't signed in; no response reveals whether an e-mail address is registered."""

    @root_field(ANYONE)
    async def user_register(self, info: Info, input: RegistrationInput) -> AcknowledgementObject:
        """Register a customer, whose e-mail address must then be verified. For a registered address the response is the same; its owner is
        notified by e-mail. Emits `user.registered`.
        """
        await registration.register(info.context.scope, provided_fields(input))
        return acknowledgement(registration.REGISTERED)

    @root_field(ANYONE)
    async def email_verify(self, info: Info, token: str | None = None) -> AcknowledgementObject:
        """Verify an e-mail address with the token sent to it."""
        await registration.verify_email(info.context.scope, token)
        return acknowledgement(registration.EMAIL_VERIFIED)

    @root_field(ANYONE)
    async def email_resend(self, info: Info, email: str | None = None) -> AcknowledgementObject:
        """Resend the verification e-mail; at most three per hour."""
        await registration.resend_verification(info.context.scope, email)
        return acknowledgement(registration.VERIFICATION_SENT)

    @root_field(ANYONE)
    async def password_forgot(self, info: Info, email: str | None = None) -> AcknowledgementObject:
        """Send a password reset e-mail; at most three per hour."""
        await registration.forgot_password(info.context.scope, email)
        return acknowledgement(registration.RESET_SENT)

    @root_field(ANYONE)
    async def password_reset(
        self, info: Info, token: str | None = None, password: str | None = None
    ) -> AcknowledgementObject:
        """Set a new password with a password reset token; revokes all sessions and keeps two-factor authentication enabled."""
        await registration.reset_password(info.context.scope, token, password)
        return acknowledgement(registration.PASSWORD_RESET)


QUERIES = (TwoFactorQueries,)
MUTATIONS = (TwoFactorMutations, OwnAccountMutations, RegistrationMutations)
