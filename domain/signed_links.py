"""Signatures of links that need no credential until they expire."""

from __future__ import annotations

import hmac
from datetime import datetime

from auth.secrets import keyed_hash, keyed_hashes
from kernel.errors import Forbidden


def sign(purpose: str, text: str, expires: int) -> str:
    """Return the signature of what a link is for, until a time (seconds since 1970)."""
    return keyed_hash(purpose, f"{text}:{expires}")


def verify(purpose: str, text: str, expires: int, signature: str, now: datetime) -> None:
    """Raise `Forbidden` for a link that this deployment did not sign, and after its time."""
    known = keyed_hashes(purpose, f"{text}:{expires}")
    if not signature.isascii() or not any(hmac.compare_digest(each, signature) for each in known):
        raise Forbidden("link_invalid", details={"detail": "the signature of the link is wrong"})
    if now.timestamp() > expires:
        raise Forbidden("link_expired", details={"detail": "the link has expired; ask for another one"})
