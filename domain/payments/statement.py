"""What a customer's card statement says of a store's payments."""

from __future__ import annotations

from domain.store_settings import setting
from kernel.scope import Scope
from kernel.text import plain_capitals

_LONGEST = 13


def statement_descriptor(scope: Scope) -> str:
    """Return the store's text for statements: the setting, else its name; at most 13 capital characters, digits and blanks."""
    text: str = setting(scope, "statement_descriptor") or scope.store.name
    return plain_capitals(text, _LONGEST)
