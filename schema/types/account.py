"""Define what registration, mails that prove an address, and the second factor show."""

from __future__ import annotations

import strawberry

from auth.access import Access
from schema.fields import part
from schema.types.sessions import ANYBODY, PEOPLE

# Whoever has any credential of the store; the REST routes ask for none.
SHOPPERS: Access = ANYBODY


@part("Acknowledgement", "That something was received or done, in words that tell no more.", access=ANYBODY)
class AcknowledgementObject:
    """A sentence."""

    message: str = strawberry.field(description="What was received or done.")


@part("TwoFactorState", "Whether the caller has a second factor.", access=PEOPLE)
class TwoFactorStateObject:
    """The second factor from outside."""

    enabled: bool = strawberry.field(description="Whether signing in asks for a code.")
    recovery_codes_left: int = strawberry.field(description="How many recovery codes were not used yet.")


@part(
    "TwoFactorEnrolment",
    "A secret for an authenticator app; nothing is asked for until it is confirmed.",
    access=PEOPLE,
)
class TwoFactorEnrolmentObject:
    """The secret in the three forms that apps take."""

    secret: str = strawberry.field(description="The secret in base32, to be typed.")
    otpauth_uri: str = strawberry.field(description="The secret as an `otpauth://` address.")
    qr_svg: str = strawberry.field(description="The address as a QR code: one SVG element.")


@part(
    "RecoveryCodes", "Codes that stand for the authenticator app, each once. Shown this once.", access=PEOPLE
)
class RecoveryCodesObject:
    """Ten codes."""

    recovery_codes: list[str] = strawberry.field(description="The codes, as they are to be typed.")
