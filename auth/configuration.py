"""The deployment's authentication settings; the composition root calls `configure` once, nothing happens at import."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

MIN_SECRET_BYTES = 16


class AuthNotConfigured(RuntimeError):
    """Report a programming error: `auth.configure` was not called before a secret was needed."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """How this deployment signs users in (docs/reference/current.md#sign-in).

    `secret_key` is VITRINE_SECRET_KEY; `issuer` and `audience` are the `iss` and `aud` of access tokens.
    """

    secret_key: bytes
    issuer: str = "vitrine"
    audience: str = "vitrine-api"
    access_lifetime: timedelta = timedelta(minutes=15)
    refresh_lifetime: timedelta = timedelta(days=30)
    legacy_token_lifetime: timedelta = timedelta(seconds=86_400)
    sign_in_rate: int = 5
    """Attempts per minute and purpose from one address."""
    wrong_attempts: int = 10
    lockout_window: timedelta = timedelta(minutes=15)
    lockout: timedelta = timedelta(minutes=15)


_configuration: Configuration | None = None


def configure(secret_key: bytes, *, issuer: str = "vitrine", audience: str = "vitrine-api") -> Configuration:
    """Set the secret and names; raise `ValueError` for a secret of fewer than 16 bytes."""
    if len(secret_key) < MIN_SECRET_BYTES:
        raise ValueError(f"VITRINE_SECRET_KEY has {len(secret_key)} bytes; expected at least {MIN_SECRET_BYTES}")
    return use(Configuration(secret_key, issuer, audience))


def use(configuration: Configuration) -> Configuration:
    """Set the whole configuration."""
    global _configuration
    _configuration = configuration
    return configuration


def configured() -> Configuration:
    """Return the configuration, or raise `AuthNotConfigured`."""
    if _configuration is None:
        raise AuthNotConfigured("call auth.configure(secret_key) at start")
    return _configuration
