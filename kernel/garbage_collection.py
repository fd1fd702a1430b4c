"""Tune Python's garbage collector for processes with many permanent objects: the schema, routes and operations."""

from __future__ import annotations

import gc

# Starting and each request create more objects than the default threshold, and nearly all are freed without the collector.
THRESHOLDS = (10_000, 20, 50)


def collect_rarely() -> None:
    """Raise the thresholds."""
    gc.set_threshold(*THRESHOLDS)


def exclude_permanent_objects() -> None:
    """Exclude the objects that exist now from collection."""
    gc.collect()
    gc.freeze()
