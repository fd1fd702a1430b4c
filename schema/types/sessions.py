"""Define registration, sign-in results, two-factor authentication, sessions and API keys."""

from __future__ import annotations

from auth.access import Access
from schema.fields import object_type, output_field
from schema.scalars import ID, BigInt, DateTime
from schema.unset import Unset

# Account administration requires a user token (docs/reference/graphql.md#access).
SIGNED_IN_USERS = Access(vendor=True, customer=True, user_only=True)
# Customers have no API keys.
STAFF_AND_VENDORS = Access(vendor=True, user_only=True)
ANYONE = Access(anonymous=True, note="Authenticated by the arguments.")


@object_type("TokenPair", access=ANYONE)
class TokenPairObject:
    """The token pair of a session."""

    access_token: str = output_field("The access token (JWT), sent as `Authorization: Bearer`.")
    refresh_token: str = output_field("The single-use refresh token.")
    expires_at: DateTime = output_field("When the access token expires.")


@object_type("SignInAnswer", access=ANYONE)
class SignInAnswerObject:
    """The result of a sign-in: a token pair, or a two-factor challenge."""

    access_token: str | None = output_field("The access token (JWT); null if a two-factor code is required.")
    refresh_token: str | None = output_field("The refresh token; null if a two-factor code is required.")
    expires_at: DateTime | None = output_field("When the access token expires.")
    requires_2fa: bool = output_field("Whether a two-factor code is required.")
    temp_token: str | None = output_field("The challenge token to send with the two-factor code.")


@object_type("SignInKey", access=ANYONE)
class SignInKeyObject:
    """A key that signs a user in."""

    key: str = output_field("The key, valid for 60 seconds and once.")
    page: str | None = output_field("The storefront page that accepts the key, with it; null if the store has none.")


@object_type("LegacyToken", access=ANYONE)
class LegacyTokenObject:
    """A Bearer token of the legacy API."""

    token: str = output_field("The token.")
    ttl: BigInt = output_field("The lifetime in seconds.")


@object_type("SignedOut", access=ANYONE)
class SignedOutObject:
    """The result of a sign-out."""

    message: str = output_field("A human-readable confirmation.")


@object_type("JsonWebKey", access=ANYONE)
class JsonWebKeyObject:
    """The public key of a key pair that signs access tokens (RFC 8037)."""

    kty: str = output_field("The key type: `OKP`.")
    crv: str = output_field("The curve: `Ed25519`.")
    x: str = output_field("The public key, base64url.")
    kid: str = output_field("The key ID in the token header.")
    alg: str = output_field("The algorithm: `EdDSA`.")
    use: str = output_field("The key use: `sig`.")


@object_type("Session", access=SIGNED_IN_USERS)
class SessionObject:
    """A sign-in session."""

    id: ID = output_field("The unique ID (UUID).")
    created_at: DateTime = output_field("When the session was created.")
    last_used_at: DateTime = output_field("When the session was last refreshed.")
    expires_at: DateTime = output_field("When the session expires unless it is refreshed.")
    ip_address: str = output_field("The client IP address of the last refresh.", unset=Unset.LATER)
    user_agent: str = output_field("The user agent of the last refresh.", unset=Unset.LATER)
    current: bool = output_field("Whether this is the session of the current request.")


@object_type("ApiKey", access=STAFF_AND_VENDORS)
class ApiKeyObject:
    """An API key of the legacy API. The secret is returned only on creation."""

    id: ID = output_field("The unique ID (UUID).")
    name: str = output_field("The display name.")
    hint: str = output_field("The last four characters of the secret.")
    created_at: DateTime = output_field("When the record was created.")
    last_used_at: DateTime | None = output_field("When the key was last used, with minute precision.")


@object_type("NewApiKey", access=STAFF_AND_VENDORS)
class NewApiKeyObject:
    """A newly created API key."""

    key: str = output_field("The secret, used as the password of Basic authentication. Returned only once.")
    api_key: ApiKeyObject = output_field("The API key record.")


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
