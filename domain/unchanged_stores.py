"""Stores in which nothing has changed since a job of this process finished them, so that it doesn't have to look again."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from time import monotonic

from asyncpg import Record

CATALOGUE_VERSION = "(select coalesce(sum(v.version), 0) from catalogue_versions v where v.tenant_id = t.id)"
"""The version of the catalogue of a store `t`: triggers raise it with each change of a product (migration 0022)."""
# What no change of a row shows: a product that can be bought from a certain time on.
LONGEST = timedelta(minutes=15)


class UnchangedStores:
    """The stores that a job has finished, each with what it had read of it before: the column `state`."""

    def __init__(self) -> None:
        self._finished: dict[int, tuple[str, float]] = {}

    def without(self, stores: Iterable[Record]) -> list[Record]:
        """Return the stores that have changed since, or were finished a while ago; those that aren't among them are forgotten."""
        by_id = {store["id"]: store for store in stores}
        since = monotonic() - LONGEST.total_seconds()
        self._finished = {
            number: (state, at)
            for number, (state, at) in self._finished.items()
            if number in by_id and by_id[number]["state"] == state and at > since
        }
        return [store for number, store in by_id.items() if number not in self._finished]

    def add(self, store: Record) -> None:
        """Keep that the job is done with a store, as it was read."""
        self._finished[store["id"]] = (store["state"], monotonic())
