"""The token that opens an order to the customer who placed it: a keyed hash of the order's id, so that no secret is stored."""

from __future__ import annotations

from auth.secrets import keyed_hash, keyed_hashes
from kernel.scope import Scope
from kernel.signatures import constant_time_equal

TOKEN_PURPOSE = "order token"


def order_token(scope: Scope, order: object) -> str:
    """Return the 256-bit token that authorizes access to an order (by public id) for the customer that placed it."""
    return keyed_hash(TOKEN_PURPOSE, _hashed_text(scope, order))


def is_order_token(scope: Scope, order: object, token: str) -> bool:
    """Return whether the token authorizes access to the order (by public id)."""
    tokens = keyed_hashes(TOKEN_PURPOSE, _hashed_text(scope, order))
    return any(constant_time_equal(token, valid) for valid in tokens)


def _hashed_text(scope: Scope, order: object) -> str:
    return f"{scope.store.public_id}:{order}"
