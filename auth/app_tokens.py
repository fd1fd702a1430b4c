"""Know the tokens of apps (`vat_live_…`, `vat_test_…`). Until apps are built, every one of them is unknown."""

from __future__ import annotations

from auth.memory import Remembered
from kernel.scope import Scope

PREFIX = "vat_"


async def find_app_token(scope: Scope, token: str) -> Remembered | None:
    """Give what an app token proves in the scope's store, None for one that is unknown, expired or revoked."""
    return None
