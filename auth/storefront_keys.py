"""Know the keys of storefronts (`sfk_…`). Until keys are built, every one of them is unknown."""

from __future__ import annotations

from auth.memory import Remembered
from kernel.scope import Scope

PREFIX = "sfk_"


async def find_storefront_key(scope: Scope, key: str) -> Remembered | None:
    """Give what a storefront key proves in the scope's store, None for one that is unknown or revoked."""
    return None
