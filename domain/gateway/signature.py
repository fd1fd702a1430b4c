"""Verify the HMAC signature of a gateway notification on the raw bytes, before anything parses them
(docs/reference/current.md#gateway-signature).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from domain import stores
from kernel.errors import Unauthenticated
from kernel.scope import Scope
from kernel.signatures import constant_time_equal, hmac_sha256_hex

_SCHEME = "sha256="


@dataclass(frozen=True, slots=True)
class VerifiedBody:
    """A body that may be parsed: signed with the store's secret, or `unsigned` when the store has no secret."""

    body: bytes
    unsigned: bool


async def verify(scope: Scope, body: bytes, signatures: Iterable[str | None]) -> VerifiedBody:
    """Verify the body against any of the signatures, `sha256=<hex>` each; without a secret nothing is verified.

    Raises Unauthenticated `invalid signature` for a missing or wrong one.
    """
    secret = await stores.gateway_secret(scope)
    if secret is None:
        return VerifiedBody(body, unsigned=True)
    expected = _SCHEME + hmac_sha256_hex(secret, body)
    # All are compared, in constant time each.
    matches = [
        constant_time_equal(signature.strip().lower(), expected) for signature in signatures if signature is not None
    ]
    if not any(matches):
        raise Unauthenticated("invalid signature")
    return VerifiedBody(body, unsigned=False)
