"""Define the plain text of descriptions, which are HTML."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from kernel.plain_text import plain_text
from kernel.scope import Scope
from schema.fields import calculated

# More takes so long that other requests would notice.
_AT_ONCE = 100_000


def description_text() -> Any:
    """Declare the plain text of the column `description`, derived for all records of a list at once."""
    return calculated(
        "t.description", _plain_texts, "The description as plain text: without tags, a line for each paragraph."
    )


async def _plain_texts(_: Scope, descriptions: Sequence[str]) -> list[Any]:
    if sum(map(len, descriptions)) <= _AT_ONCE:
        return [plain_text(description) for description in descriptions]
    return [await asyncio.to_thread(plain_text, description) for description in descriptions]
