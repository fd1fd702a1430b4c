"""Let shoppers register, prove their address and regain their account by mail, and let people see to their second factor."""

from __future__ import annotations

import strawberry
from strawberry import Info

from domain.people import registration, two_factor
from models.reading import Row
from schema.fields import root
from schema.inputs.given import provided
from schema.inputs.people import RegistrationInput
from schema.scalars import Ident
from schema.types.account import (
    SHOPPERS,
    AcknowledgementObject,
    RecoveryCodesObject,
    TwoFactorEnrolmentObject,
    TwoFactorStateObject,
)
from schema.types.sessions import PEOPLE

DISABLED = "two-factor authentication is off"


@strawberry.type
class SecondFactorQueries:
    """What people ask about their second factor."""

    @root(PEOPLE, "Whether the caller has a second factor.")
    async def two_factor(self, info: Info) -> TwoFactorStateObject:
        """Tell about the second factor."""
        return await two_factor.state(info.context.scope)  # type: ignore[return-value]


@strawberry.type
class SecondFactorMutations:
    """What people do with their second factor."""

    @root(
        PEOPLE,
        "Make a secret for an authenticator app, to be confirmed with a code within the hour.",
        secret=True,
    )
    async def two_factor_begin(self, info: Info) -> TwoFactorEnrolmentObject:
        """Begin the enrolment."""
        return await two_factor.begin(info.context.scope)  # type: ignore[return-value]

    @root(
        PEOPLE,
        "Turn the second factor on with a code of the app. The recovery codes are shown this once.",
        secret=True,
    )
    async def two_factor_confirm(self, info: Info, code: str) -> RecoveryCodesObject:
        """Confirm the enrolment."""
        return Row(recovery_codes=await two_factor.confirm(info.context.scope, code))  # type: ignore[return-value]

    @root(
        PEOPLE,
        "Turn the second factor off with the caller's own password and code; with `user_id`, that of a user who lost it and whose"
        " account the caller may administer (then without a code where the caller has no second factor).",
    )
    async def two_factor_disable(
        self, info: Info, password: str, code: str | None = None, user_id: Ident | None = None
    ) -> AcknowledgementObject:
        """Turn the second factor off."""
        await two_factor.disable(info.context.scope, password, code, user_id)
        return _said(DISABLED)


@strawberry.type
class RegistrationMutations:
    """What somebody without an account, or without its password, can do. No answer tells whether a store knows an address."""

    @root(
        SHOPPERS,
        "Register a shopper, whose e-mail must then be confirmed. A taken e-mail is answered alike; its owner gets a mail."
        " Fires `user.registered`.",
    )
    async def user_register(self, info: Info, input: RegistrationInput) -> AcknowledgementObject:
        """Register."""
        await registration.register(info.context.scope, provided(input))
        return _said(registration.REGISTERED)

    @root(SHOPPERS, "Confirm an e-mail with the token that was mailed to it.")
    async def email_verify(self, info: Info, token: str | None = None) -> AcknowledgementObject:
        """Confirm an e-mail."""
        await registration.verify_email(info.context.scope, token)
        return _said(registration.EMAIL_VERIFIED)

    @root(SHOPPERS, "Mail the token that confirms an e-mail again; at most three an hour.")
    async def email_resend(self, info: Info, email: str | None = None) -> AcknowledgementObject:
        """Mail another confirmation."""
        await registration.resend_verification(info.context.scope, email)
        return _said(registration.VERIFICATION_SENT)

    @root(SHOPPERS, "Mail a token that sets a new password; at most three an hour.")
    async def password_forgot(self, info: Info, email: str | None = None) -> AcknowledgementObject:
        """Mail a token for a new password."""
        await registration.forgot_password(info.context.scope, email)
        return _said(registration.RESET_SENT)

    @root(
        SHOPPERS,
        "Set a new password with the token that was mailed; it ends all sessions and leaves the second factor on.",
    )
    async def password_reset(
        self, info: Info, token: str | None = None, password: str | None = None
    ) -> AcknowledgementObject:
        """Set a new password."""
        await registration.reset_password(info.context.scope, token, password)
        return _said(registration.PASSWORD_RESET)


def _said(message: str) -> AcknowledgementObject:
    return Row(message=message)  # type: ignore[return-value]


QUERIES = (SecondFactorQueries,)
MUTATIONS = (SecondFactorMutations, RegistrationMutations)
