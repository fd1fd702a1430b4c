"""The deployment's authentication settings; the composition root calls `configure` once, nothing happens at import."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

MIN_SECRET_BYTES = 16
ACCESS_LIFETIME = timedelta(minutes=15)


class AuthNotConfigured(RuntimeError):
    """Report a programming error: `auth.configure` was not called before a secret was needed."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """How this deployment signs users in (docs/reference/current.md#sign-in).

    `secret_key` is VITRINE_SECRET_KEY, `fallbacks` further keys that only read; `issuer` and `audience` are the `iss` and `aud` of access
    tokens. `retained_hash_keys` are (purpose, key) of secret keys that are no longer configured (`auth/hash_keys.py`).
    """

    secret_key: bytes
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
    fallbacks: tuple[bytes, ...] = ()
    retained_hash_keys: tuple[tuple[str, bytes], ...] = ()

    @property
    def ring(self) -> tuple[bytes, ...]:
        """Return every secret key that reads, the one that writes first."""
        return (self.secret_key, *self.fallbacks)


_configuration: Configuration | None = None


def configure(
    secret_key: bytes,
    *fallbacks: bytes,
    issuer: str = "vitrine",
    audience: str = "vitrine-api",
    access_lifetime: timedelta = ACCESS_LIFETIME,
) -> Configuration:
    """Set the secret key, the keys that only read, names and lifetime of access tokens; raise `ValueError` for a key below 16 bytes."""
    for key in (secret_key, *fallbacks):
        if len(key) < MIN_SECRET_BYTES:
            raise ValueError(f"VITRINE_SECRET_KEY has {len(key)} bytes; expected at least {MIN_SECRET_BYTES}")
    readers = tuple(key for key in dict.fromkeys(fallbacks) if key != secret_key)
    return use(Configuration(secret_key, issuer, audience, access_lifetime, fallbacks=readers))


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
