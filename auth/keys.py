"""Keep the Ed25519 keys that sign access tokens: made at first use, rotated, the private halves encrypted (decisions section 3)."""

from __future__ import annotations

import base64
import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from asyncpg import Record
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from auth.configuration import configured
from auth.secrets import Unreadable, decrypt, encrypt
from kernel.ids import random_token
from models import database

ALGORITHM = "EdDSA"
# A process that has not heard of a rotation signs with the old key for at most this long, and this long nothing is asked again.
FRESH_SECONDS = 60.0
# An unknown `kid` may be a key made a moment ago, or an invention: the database is asked once in a while, not for each.
ASK_AGAIN_SECONDS = 1.0

_PURPOSE = "signing-keys"
_LOCK = "select pg_advisory_xact_lock(hashtextextended('vitrine signing keys', 0))"
_SERVED = """
    select kid, private_key, public_key, retired_at from signing_keys
    where algorithm = $1 and (retired_at is null or retired_at > $2) order by retired_at is null desc, created_at desc, kid
"""


@dataclass(frozen=True, slots=True)
class SigningPair:
    """The key pair that signs now."""

    kid: str
    private: Ed25519PrivateKey


class KeyRing:
    """Hold the keys of the deployment as one process knows them."""

    def __init__(self) -> None:
        self._public: dict[str, Ed25519PublicKey] = {}
        self._signing: SigningPair | None = None
        self._kid: str | None = None
        self._read_at = float("-inf")

    async def signing(self, now: datetime) -> SigningPair:
        """Give the pair that signs, making the first one when there is none.

        Raises `Unreadable` for one that was made with another VITRINE_SECRET_KEY. It is not replaced on the quiet: the secret of this
        process may be the wrong one. `rotate` replaces it.
        """
        if self._signing is None or time.monotonic() - self._read_at > FRESH_SECONDS:
            await self._read(now)
            if self._kid is None:
                await _make(now, replacing=None)
                await self._read(now)
        if self._signing is None:
            raise Unreadable(f"the signing key {self._kid} can't be read: was VITRINE_SECRET_KEY changed?")
        return self._signing

    async def public(self, kid: str, now: datetime) -> Ed25519PublicKey | None:
        """Give the public half of a key whose tokens are still good, None for any other."""
        age = time.monotonic() - self._read_at
        if age > FRESH_SECONDS or (kid not in self._public and age > ASK_AGAIN_SECONDS):
            await self._read(now)
        return self._public.get(kid)

    async def jwks(self, now: datetime) -> dict[str, list[dict[str, str]]]:
        """Give the public keys as a JSON Web Key Set (RFC 7517, RFC 8037), the signing one first."""
        if time.monotonic() - self._read_at > FRESH_SECONDS:
            await self._read(now)
        if self._kid is None:
            await self.signing(now)
        return {"keys": [_jwk(kid, key) for kid, key in self._public.items()]}

    async def rotate(self, now: datetime) -> str:
        """Sign with a new key from now on and give its id; tokens of the old one are good until they expire."""
        await self._read(now)
        kid = await _make(now, replacing=self._kid)
        await self._read(now)
        return kid

    def forget(self) -> None:
        """Ask the database at the next use."""
        self._public, self._signing, self._kid, self._read_at = {}, None, None, float("-inf")

    async def _read(self, now: datetime) -> None:
        found = await database.rows(_SERVED, ALGORITHM, now - served_after_retirement())
        # All at once, without an await between: no other task sees a signing key that is not served.
        self._public = {
            record["kid"]: Ed25519PublicKey.from_public_bytes(record["public_key"]) for record in found
        }
        present = found[0] if found and found[0]["retired_at"] is None else None
        self._kid = present["kid"] if present is not None else None
        self._signing = _opened(present) if present is not None else None
        self._read_at = time.monotonic()


_process_ring = KeyRing()


def process_ring() -> KeyRing:
    """Give the key ring of this process."""
    return _process_ring


def served_after_retirement() -> timedelta:
    """Say how long the public half of a retired key is served: as long as a token that was signed with it may live."""
    return configured().access_lifetime + timedelta(seconds=2 * FRESH_SECONDS)


async def _make(now: datetime, *, replacing: str | None) -> str:
    """Add a key pair and retire the others, unless one other than `replacing` signs by now; give the id of the one that signs.

    Under a lock, so that processes that start together make one key.
    """
    async with database.across_stores() as platform, platform.transaction():
        await platform.execute(_LOCK)
        present: str | None = await platform.value(
            "select kid from signing_keys where algorithm = $1 and retired_at is null order by created_at desc, kid",
            ALGORITHM,
        )
        if present is not None and present != replacing:
            return present
        await platform.execute("update signing_keys set retired_at = $1 where retired_at is null", now)
        await platform.execute(
            "delete from signing_keys where retired_at < $1", now - 2 * served_after_retirement()
        )
        kid, private = random_token(96), Ed25519PrivateKey.generate()
        await platform.execute(
            "insert into signing_keys (kid, algorithm, private_key, public_key, created_at) values ($1, $2, $3, $4, $5)",
            kid,
            ALGORITHM,
            encrypt(_PURPOSE, private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())),
            private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw),
            now,
        )
    return kid


def _opened(record: Record) -> SigningPair | None:
    """Decrypt a pair, None when it was made with another secret: its tokens can be verified, but none signed."""
    try:
        private = decrypt(_PURPOSE, record["private_key"])
    except Unreadable:
        return None
    return SigningPair(record["kid"], Ed25519PrivateKey.from_private_bytes(private))


def _jwk(kid: str, key: Ed25519PublicKey) -> dict[str, str]:
    raw = key.public_bytes(Encoding.Raw, PublicFormat.Raw)
    x = base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
    return {"kty": "OKP", "crv": "Ed25519", "x": x, "kid": kid, "alg": ALGORITHM, "use": "sig"}
