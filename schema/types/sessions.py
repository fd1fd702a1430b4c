"""Define what sign-in and the administration of one's own account show: tokens, sessions, API keys."""

from __future__ import annotations

import strawberry

from auth.access import Access
from schema.fields import part
from schema.scalars import BigInt, Ident, Time

# Account administration is for people signed in with their own token (decisions section 8, Access).
PEOPLE = Access(vendor=True, customer=True, user_only=True)
# Customers have no API keys.
STAFF = Access(vendor=True, user_only=True)
ANYBODY = Access(anonymous=True, note="Whoever asks proves who they are with the arguments.")


@part("TokenPair", "What a sign-in or refresh gives.", access=ANYBODY)
class TokenPairObject:
    """A pair of tokens; a refresh token is good for one use."""

    access_token: str = strawberry.field(description="The JWT sent as `Authorization: Bearer`.")
    refresh_token: str = strawberry.field(description="The secret that gives the next pair, once.")
    expires_at: Time = strawberry.field(description="When the access token expires.")


@part("SignInAnswer", "What a right password gives: a pair of tokens, or a challenge.", access=ANYBODY)
class SignInAnswerObject:
    """The pair, or, where the user has a second factor, what asks for a code."""

    access_token: str | None = strawberry.field(description="The JWT, unless a code is asked for.")
    refresh_token: str | None = strawberry.field(description="The secret that gives the next pair.")
    expires_at: Time | None = strawberry.field(description="When the access token expires.")
    requires_2fa: bool = strawberry.field(description="Whether a code is asked for.")
    temp_token: str | None = strawberry.field(description="What to send along with the code.")


@part("LegacyToken", "A Bearer token of the legacy layer.", access=ANYBODY)
class LegacyTokenObject:
    """A token and its life."""

    token: str = strawberry.field(description="The token.")
    ttl: BigInt = strawberry.field(description="How many seconds it is good.")


@part("SignedOut", "What ended.", access=ANYBODY)
class SignedOutObject:
    """The end of one session or of all."""

    message: str = strawberry.field(description="What ended, in words.")


@part("JsonWebKey", "The public half of a key that signs access tokens (RFC 8037).", access=ANYBODY)
class JsonWebKeyObject:
    """A key of `/.well-known/jwks.json`."""

    kty: str = strawberry.field(description="The family of the key: `OKP`.")
    crv: str = strawberry.field(description="The curve: `Ed25519`.")
    x: str = strawberry.field(description="The public key, base64url.")
    kid: str = strawberry.field(description="The name that tokens have in their header.")
    alg: str = strawberry.field(description="The algorithm: `EdDSA`.")
    use: str = strawberry.field(description="What it is for: `sig`.")


@part("Session", "One signed-in device.", access=PEOPLE)
class SessionObject:
    """A live session of the caller."""

    id: Ident = strawberry.field(description="The UUID.")
    created_at: Time = strawberry.field(description="When it began.")
    last_used_at: Time = strawberry.field(description="When it was last refreshed.")
    expires_at: Time = strawberry.field(description="When it ends unless it is refreshed before.")
    ip_address: str = strawberry.field(description="The address it was last refreshed from.")
    user_agent: str = strawberry.field(description="The program it was last refreshed with.")
    current: bool = strawberry.field(description="Whether this request came with it.")


@part("ApiKey", "A key for the legacy layer. The secret itself is never shown again.", access=STAFF)
class ApiKeyObject:
    """An API key as its owner sees it after creation."""

    id: Ident = strawberry.field(description="The UUID.")
    name: str = strawberry.field(description="What its owner calls it.")
    hint: str = strawberry.field(description="The last four characters of the secret.")
    created_at: Time = strawberry.field(description="When it was made.")
    last_used_at: Time | None = strawberry.field(description="When it was last used, to the minute.")


@part("NewApiKey", "An API key that was just made.", access=STAFF)
class NewApiKeyObject:
    """The one time the secret is shown."""

    key: str = strawberry.field(description="The secret: the password of Basic credentials. Shown this once.")
    api_key: ApiKeyObject = strawberry.field(description="The key as it is listed from now on.")
