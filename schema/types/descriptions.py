"""Define the plain text of descriptions, which are HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernel.event_loop import convert_texts
from kernel.plain_text import plain_text
from kernel.scope import Scope
from schema.fields import calculated


def description_text() -> Any:
    """Declare the plain text of the column `description`, derived for all records of a list at once."""
    return calculated(
        "t.description", _plain_texts, "The description as plain text: without tags, a line for each paragraph."
    )


async def _plain_texts(_: Scope, descriptions: Sequence[str]) -> list[Any]:
    return await convert_texts(plain_text, descriptions)
