"""Ed25519 keys that sign access tokens: created on demand, rotated, private keys encrypted (docs/reference/current.md#access-tokens)."""

from __future__ import annotations

import base64
import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from asyncpg import Record
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from auth.configuration import configured
from auth.secrets import DecryptionError, decrypt, encrypt
from kernel.ids import random_token
from models.connection import database

ALGORITHM = "EdDSA"
# The cache TTL: after a rotation, another process signs with the old key for at most this long.
CACHE_SECONDS = 60.0
# An unknown `kid` may be new or forged: the database is queried at most this often.
RECHECK_SECONDS = 1.0

PURPOSE = "signing-keys"
_LOCK = "select pg_advisory_xact_lock(hashtextextended('vitrine signing keys', 0))"
_SERVED_KEYS = """
    select kid, private_key, public_key, retired_at from signing_keys
    where algorithm = $1 and (retired_at is null or retired_at > $2) order by retired_at is null desc, created_at desc, kid
"""


@dataclass(frozen=True, slots=True)
class SigningKeyPair:
    """The key pair that currently signs."""

    kid: str
    private: Ed25519PrivateKey


class SigningKeyRing:
    """The deployment's signing keys, as cached by one process."""

    def __init__(self) -> None:
        self._public: dict[str, Ed25519PublicKey] = {}
        self._signing: SigningKeyPair | None = None
        self._kid: str | None = None
        self._loaded_at = float("-inf")

    async def signing(self, now: datetime) -> SigningKeyPair:
        """Return the pair that signs, creating the first one if there is none.

        Raise `DecryptionError` if it was encrypted with another VITRINE_SECRET_KEY. It is not replaced automatically, because this
        process may have the wrong secret; `rotate` replaces it.
        """
        if self._signing is None or time.monotonic() - self._loaded_at > CACHE_SECONDS:
            await self._load(now)
            if self._kid is None:
                await _create_key(now, replacing=None)
                await self._load(now)
        if self._signing is None:
            raise DecryptionError(f"the signing key {self._kid} can't be read: was VITRINE_SECRET_KEY changed?")
        return self._signing

    async def public(self, kid: str, now: datetime) -> Ed25519PublicKey | None:
        """Return the public key of a `kid` whose tokens are still valid, None for any other."""
        age = time.monotonic() - self._loaded_at
        if age > CACHE_SECONDS or (kid not in self._public and age > RECHECK_SECONDS):
            await self._load(now)
        return self._public.get(kid)

    async def jwks(self, now: datetime) -> dict[str, list[dict[str, str]]]:
        """Return the public keys as a JSON Web Key Set (RFC 7517, RFC 8037), the signing key first."""
        if time.monotonic() - self._loaded_at > CACHE_SECONDS:
            await self._load(now)
        if self._kid is None:
            await self.signing(now)
        return {"keys": [_jwk(kid, key) for kid, key in self._public.items()]}

    async def rotate(self, now: datetime) -> str:
        """Create a new signing key and return its id; tokens of the old key stay valid until they expire."""
        await self._load(now)
        kid = await _create_key(now, replacing=self._kid)
        await self._load(now)
        return kid

    def clear(self) -> None:
        """Clear the cache, so that the next use reads the database."""
        self._public, self._signing, self._kid, self._loaded_at = {}, None, None, float("-inf")

    async def _load(self, now: datetime) -> None:
        rows = await database.fetch(_SERVED_KEYS, ALGORITHM, now - retired_key_lifetime())
        # Without an await in between, so that no other task sees a signing key that is not served.
        self._public = {row["kid"]: Ed25519PublicKey.from_public_bytes(row["public_key"]) for row in rows}
        current = rows[0] if rows and rows[0]["retired_at"] is None else None
        self._kid = current["kid"] if current is not None else None
        self._signing = _decrypt_pair(current) if current is not None else None
        self._loaded_at = time.monotonic()


_process_ring = SigningKeyRing()


def process_key_ring() -> SigningKeyRing:
    """Return the key ring of this process."""
    return _process_ring


def retired_key_lifetime() -> timedelta:
    """Return how long a retired public key is served: the maximum lifetime of a token that it signed."""
    return configured().access_lifetime + timedelta(seconds=2 * CACHE_SECONDS)


async def _create_key(now: datetime, *, replacing: str | None) -> str:
    """Insert a key pair and retire the others, unless one other than `replacing` already signs; return the signing key's id.

    Under a lock, so that processes that start together create one key.
    """
    async with database.cross_store_connection() as platform, platform.transaction():
        await platform.execute(_LOCK)
        current: str | None = await platform.fetchval(
            "select kid from signing_keys where algorithm = $1 and retired_at is null order by created_at desc, kid",
            ALGORITHM,
        )
        if current is not None and current != replacing:
            return current
        await platform.execute("update signing_keys set retired_at = $1 where retired_at is null", now)
        await platform.execute("delete from signing_keys where retired_at < $1", now - 2 * retired_key_lifetime())
        kid, private = random_token(96), Ed25519PrivateKey.generate()
        await platform.execute(
            "insert into signing_keys (kid, algorithm, private_key, public_key, created_at) values ($1, $2, $3, $4, $5)",
            kid,
            ALGORITHM,
            encrypt(PURPOSE, private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())),
            private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw),
            now,
        )
    return kid


def _decrypt_pair(row: Record) -> SigningKeyPair | None:
    """Decrypt a pair, None if it was encrypted with another secret: its tokens can be verified, but none signed."""
    try:
        private = decrypt(PURPOSE, row["private_key"])
    except DecryptionError:
        return None
    return SigningKeyPair(row["kid"], Ed25519PrivateKey.from_private_bytes(private))


def _jwk(kid: str, key: Ed25519PublicKey) -> dict[str, str]:
    raw = key.public_bytes(Encoding.Raw, PublicFormat.Raw)
    x = base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
    return {"kty": "OKP", "crv": "Ed25519", "x": x, "kid": kid, "alg": ALGORITHM, "use": "sig"}
