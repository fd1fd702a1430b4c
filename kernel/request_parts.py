"""Measure the parts of a request's time: waiting for a connection, the database, serialization, compression."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kernel import metrics

_PARTS = metrics.histogram("vitrine_part_seconds", "Time by part of the work.", "part")


def part(name: str) -> Callable[[float], None]:
    """Return the function that records the seconds of a part."""
    return partial(_PARTS.observe, _PARTS.child(name))


record_connection_wait = part("connection")
"""A wait for a pooled connection, which includes opening it; one that is idle takes no time and is not recorded."""
record_database = part("database")
"""A statement, from sending to its last row."""
record_serialization = part("serialization")
record_compression = part("compression")
