"""Stores in which nothing has changed since a job of this process finished them, so that it doesn't have to look again."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from time import monotonic

from asyncpg import Record

from kernel.clock import now

CATALOGUE_VERSION = "(select coalesce(sum(v.version), 0) from catalogue_versions v where v.tenant_id = t.id)"
"""The version of the catalogue of a store `t`: triggers raise it with each change of a product (migration 0022)."""
LONGEST = timedelta(minutes=15)
"""When a job looks again where nothing has changed, for what no row shows."""


class UnchangedStores:
    """The stores that a job has finished, each with what it had read of it before, the column `state`, and until when that is enough."""

    def __init__(self) -> None:
        self._finished: dict[int, tuple[str, float]] = {}

    def without(self, stores: Iterable[Record]) -> list[Record]:
        """Return the stores that have changed since, or where time alone may have changed something; others than these are forgotten."""
        by_id = {store["id"]: store for store in stores}
        at = monotonic()
        self._finished = {
            number: (state, until)
            for number, (state, until) in self._finished.items()
            if number in by_id and by_id[number]["state"] == state and at < until
        }
        return [store for number, store in by_id.items() if number not in self._finished]

    def add(self, store: Record, changes_at: object = None) -> None:
        """Keep that the job is done with a store, as it was read, until the time that the job returned."""
        seconds = LONGEST.total_seconds()
        if isinstance(changes_at, datetime):
            seconds = min(seconds, (changes_at - now()).total_seconds())
        self._finished[store["id"]] = (store["state"], monotonic() + seconds)
