"""Prove that a notification comes from the store's gateway, on the bytes that were sent and before anything reads them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from domain import stores
from kernel.errors import Unauthenticated
from kernel.scope import Scope
from kernel.signatures import constant_time_equal, hmac_sha256_hex

_SCHEME = "sha256="


@dataclass(frozen=True, slots=True)
class Verified:
    """Hold a body that may be read: it was signed with the store's secret, or the store wants no signatures (`unsigned`)."""

    body: bytes
    unsigned: bool


async def verify(scope: Scope, body: bytes, signatures: Iterable[str | None]) -> Verified:
    """Prove the body with any of the signatures, `sha256=<hex>` each; without a secret nothing is proven.

    Raises Unauthenticated `invalid signature` for a missing or wrong one.
    """
    secret = await stores.gateway_secret(scope)
    if secret is None:
        return Verified(body, unsigned=True)
    expected = _SCHEME + hmac_sha256_hex(secret, body)
    # All are compared, so that the time doesn't tell which of them came close.
    matches = [
        constant_time_equal(given.strip().lower(), expected) for given in signatures if given is not None
    ]
    if not any(matches):
        raise Unauthenticated("invalid signature")
    return Verified(body, unsigned=False)
