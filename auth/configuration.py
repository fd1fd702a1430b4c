"""The deployment's authentication settings; the composition root calls `configure` once, nothing happens at import.

Its secret keys are those of `auth/secrets.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from auth.secrets import SecretKeys, use_secret_keys

ACCESS_LIFETIME = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Configuration:
    """How this deployment signs users in (docs/reference/current.md#sign-in).

    `issuer` and `audience` are the `iss` and `aud` of access tokens.
    """

    issuer: str = "vitrine"
    audience: str = "vitrine-api"
    access_lifetime: timedelta = ACCESS_LIFETIME
    refresh_lifetime: timedelta = timedelta(days=30)
    legacy_token_lifetime: timedelta = timedelta(seconds=86_400)
    sign_in_rate: int = 5
    """Attempts per minute and purpose from one address."""
    wrong_attempts: int = 10
    lockout_window: timedelta = timedelta(minutes=15)
    lockout: timedelta = timedelta(minutes=15)


_configuration = Configuration()


def configure(
    secret_key: bytes,
    *fallbacks: bytes,
    issuer: str = "vitrine",
    audience: str = "vitrine-api",
    access_lifetime: timedelta = ACCESS_LIFETIME,
) -> None:
    """Set the secret key, the keys that only read, names and lifetime of access tokens; raise `ValueError` for a key below 16 bytes."""
    use_secret_keys(SecretKeys.of(secret_key, *fallbacks))
    use(Configuration(issuer, audience, access_lifetime))


def use(configuration: Configuration) -> None:
    """Set the whole configuration."""
    global _configuration
    _configuration = configuration


def configured() -> Configuration:
    """Return the configuration."""
    return _configuration
