"""Tune Python's garbage collector for processes with many permanent objects: the schema, routes and operations."""

from __future__ import annotations

import gc

# Each request creates more objects than the default threshold, and nearly all are freed without the collector.
THRESHOLDS = (10_000, 20, 50)
# Imports and schemas create half a million objects, nearly all permanent: examining them, even once, takes a twentieth of a start.
_START_THRESHOLDS = (2_000_000, 20, 50)


def collect_rarely_at_start() -> None:
    """Raise the thresholds until `collect_rarely` is called, once everything is imported."""
    gc.set_threshold(*_START_THRESHOLDS)


def collect_rarely() -> None:
    """Raise the thresholds."""
    gc.set_threshold(*THRESHOLDS)


def exclude_permanent_objects() -> None:
    """Exclude the objects that exist now from collection, the few that are garbage as well: to find them took 0.2 s of a start."""
    gc.freeze()
