"""Read which dialect of the legacy API a store uses (docs/reference/legacy.md#dialects)."""

from __future__ import annotations

from kernel.scope import Scope

CSCART = "cscart"
# The setting `legacy_dialect` is stored under its former name (domain/store_settings.py).
_STORED_NAME = "legacy_lists"


def is_cscart(scope: Scope) -> bool:
    """Return whether the store uses the dialect of programs written for CS-Cart."""
    return scope.store.settings.get(_STORED_NAME) == CSCART
