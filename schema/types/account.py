"""Define the results of registration, e-mail verification, password reset and two-factor authentication."""

from __future__ import annotations

from schema.fields import object_type, output_field
from schema.types.sessions import ANYONE, SIGNED_IN_USERS


@object_type("Acknowledgement", access=ANYONE)
class AcknowledgementObject:
    """A generic acknowledgement."""

    message: str = output_field("A human-readable confirmation.")


@object_type("TwoFactorState", access=SIGNED_IN_USERS)
class TwoFactorStateObject:
    """The caller's two-factor authentication status."""

    enabled: bool = output_field("Whether two-factor authentication is enabled.")
    recovery_codes_left: int = output_field("The number of unused recovery codes.")


@object_type("TwoFactorEnrolment", access=SIGNED_IN_USERS)
class TwoFactorEnrolmentObject:
    """A TOTP secret for an authenticator app; two-factor authentication stays off until the enrolment is confirmed."""

    secret: str = output_field("The TOTP secret in base32, for manual entry.")
    otpauth_uri: str = output_field("The secret as an `otpauth://` URI.")
    qr_svg: str = output_field("The URI as a QR code, an SVG element.")


@object_type("RecoveryCodes", access=SIGNED_IN_USERS)
class RecoveryCodesObject:
    """Single-use codes that replace the authenticator app. Returned only once."""

    recovery_codes: list[str] = output_field("The recovery codes.")
