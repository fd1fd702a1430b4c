"""Repeat work whose transaction lost against a concurrent one: a deadlock (SQLSTATE 40P01) or a serialization failure (40001).

The error ends the transaction, so its work starts again from the beginning. Only whole operations are repeated, and only while nothing
outside of the rolled-back transaction took effect: no commit (a `separate_transaction` included), no write without a transaction, no
request to another server. `record_effect` is called for each of these.
"""

from __future__ import annotations

import asyncio
import logging
import random
import re
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from kernel.errors import TransactionConflict
from models.connection.write_notices import record_write

T = TypeVar("T")

logger = logging.getLogger("vitrine.database")

MAX_RETRIES = 3
RETRIED = "transaction conflict, repeated"
# Random, so that the transactions that met don't meet again.
_DELAY_SECONDS = (0.01, 0.05)
_WRITES = re.compile(r"\b(insert|update|delete|merge|pg_notify)\b", re.IGNORECASE)


@dataclass(slots=True)
class _Effects:
    """Count what took effect since the outermost `retry_conflicts` of the task began; child tasks share it."""

    count: int = 0


_effects: ContextVar[_Effects | None] = ContextVar("vitrine_effects", default=None)


def record_effect() -> None:
    """Record that something took effect that a rollback doesn't undo, so that the current work is not repeated."""
    effects = _effects.get()
    if effects is not None:
        effects.count += 1


def record_statement(sql: str, store: int) -> None:
    """Record a statement that ran without a transaction, unless it only reads."""
    if _writes(sql):
        record_effect()
        record_write(store)


@lru_cache(maxsize=4096)
def _writes(sql: str) -> bool:
    return _WRITES.search(sql) is not None


async def retry_conflicts(
    work: Callable[[], Awaitable[T]], *, has_conflict: Callable[[T], bool] = lambda _: False
) -> T:
    """Run work that opens its own transaction, and repeat it after a conflict, at most MAX_RETRIES times; raise or return the last outcome.

    `has_conflict` recognizes a conflict in a result. Inside an open transaction call the work directly: only the outermost transaction can
    be repeated.
    """
    effects = _effects.get() or _Effects()
    token = _effects.set(effects)
    try:
        for retry in range(MAX_RETRIES + 1):
            count = effects.count
            try:
                result = await work()
                if not has_conflict(result) or retry == MAX_RETRIES or effects.count != count:
                    return result
            except TransactionConflict:
                if retry == MAX_RETRIES or effects.count != count:
                    raise
            logger.info(RETRIED)
            await asyncio.sleep(random.uniform(*_DELAY_SECONDS))
        raise AssertionError("the last attempt returns or raises")
    finally:
        _effects.reset(token)
