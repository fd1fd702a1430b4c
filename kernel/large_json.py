"""Serialize large JSON in parts, so that other requests are served in between: orjson blocks the event loop, in a thread as well."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import orjson

# The weight of a part: a few milliseconds, whether it is of small values or of long texts.
MAX_PART_WEIGHT = 500_000
_VALUE_WEIGHT = 50


async def dumps_in_parts(value: Any, *, option: int = 0, max_bytes: int) -> bytes | None:
    """Return the same bytes as `orjson.dumps`; None when they are more than `max_bytes`, without building the rest."""
    parts: list[bytes] = []
    size = 0
    for part in _parts(value, option):
        size += len(part)
        if size > max_bytes:
            return None
        parts.append(part)
        if len(part) > _VALUE_WEIGHT:
            await asyncio.sleep(0)
    return b"".join(parts)


def _parts(value: Any, option: int) -> Iterator[bytes]:
    if not value or not isinstance(value, dict | list | tuple) or _weight(value) <= MAX_PART_WEIGHT:
        yield orjson.dumps(value, option=option)
    elif isinstance(value, dict):
        for position, (key, item) in enumerate(value.items()):
            yield (b"," if position else b"{") + orjson.dumps(key) + b":"
            yield from _parts(item, option)
        yield b"}"
    else:
        yield from _list_parts(value, option)


def _list_parts(items: list[Any] | tuple[Any, ...], option: int) -> Iterator[bytes]:
    """Serialize as many items at once as make up one part."""
    start, weight = 0, 0
    separator = b"["
    for position, item in enumerate(items):
        own = _weight(item)
        if weight + own > MAX_PART_WEIGHT and position > start:
            yield separator + orjson.dumps(items[start:position], option=option)[1:-1]
            start, weight, separator = position, 0, b","
        if own > MAX_PART_WEIGHT:
            yield separator
            yield from _parts(item, option)
            start, separator = position + 1, b","
        else:
            weight += own
    if start < len(items):
        yield separator + orjson.dumps(items[start:], option=option)[1:-1]
    yield b"]"


def _weight(value: Any) -> int:
    """Return the weight of a value, or a larger one than that of a part as soon as it is known to be heavier."""
    pending, weight = [value], 0
    while pending and weight <= MAX_PART_WEIGHT:
        item = pending.pop()
        weight += _VALUE_WEIGHT
        if isinstance(item, str):
            weight += len(item)
        elif isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list | tuple):
            pending.extend(item)
    return weight
