"""Divide long work on the event loop, so that other requests are served in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TypeVar

T = TypeVar("T")

PART_SIZE = 1_000


async def in_parts(items: Sequence[T], size: int = PART_SIZE) -> AsyncIterator[Sequence[T]]:
    """Yield the items in parts of at most `size`; other requests get their turn between two parts."""
    for start in range(0, len(items), size):
        if start:
            await asyncio.sleep(0)
        yield items[start : start + size]
