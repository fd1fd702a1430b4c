"""Let a store serve here again when the other database of its move is lost for ever: `vitrine tenant move --abandon`.

What was written there is lost. As long as the other one answers, and the store may serve there, this is refused.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import asyncpg

from kernel.clock import format_rfc3339, now
from kernel.scope import Store
from models import audit
from models.connection import database
from server.operations.archives import ArchiveError
from server.operations.store_admin import system_scope
from server.operations.store_copy import COPYING, Side
from server.operations.store_move import LEAVING, LEFT, lock_store, reject_same_database
from server.operations.store_transfer import connect_owner

ABANDONED = "abandoned"
"""The state of the move of such a store; its ticket stays, so that `vitrine cells map` prefers it to the other one."""
UNREACHABLE, WITHOUT_STORE, WITH_COPY = "unreachable", "without the store", "with a copy that doesn't serve"
# What says that there is no such server or database; one that refuses a password, or starts, isn't lost.
_LOST = (OSError, TimeoutError, asyncpg.InvalidCatalogNameError)


@dataclass(frozen=True, slots=True)
class Abandonment:
    """What it changed: the state of the move before (None: nothing was to do), since when it was left, and what the other database is."""

    was: str | None = None
    left_at: str | None = None
    other: str | None = None


async def abandon_move(here: Side, store: Store, url: str) -> Abandonment:
    """Resume a store that moves to, has moved to, or comes from the database of the URL; raises ArchiveError if it may serve there."""
    await lock_store(here.connection, store.public_id)
    await here.read(store.public_id)
    if not here.store_id:
        raise ArchiveError("the store was deleted meanwhile")
    if here.state not in (COPYING, LEAVING, LEFT):
        return Abandonment()
    if here.move.get("deleting"):
        raise ArchiveError(
            "rows of what the store left here are deleted already: end that with vitrine tenant delete, and import the store from a backup"
        )
    other = await _other_database(here, store, url)
    was, before = str(here.state), here.move
    status = None if was == LEAVING else "A"
    move = {"state": ABANDONED, "ticket": before["ticket"], "at": format_rfc3339(now())}
    await here.set(status, before.get("was_read_only", False), move)
    scope = system_scope(store)
    async with database.transaction(scope):
        await audit.record(scope, "store.move_abandoned", "store", store.public_id, {"from": was, "other": other})
    return Abandonment(was, before.get("at"), other)


async def _other_database(here: Side, store: Store, url: str) -> str:
    """Return what the other database is; raises ArchiveError when the store may serve there."""
    try:
        async with connect_owner(url) as connection:
            await reject_same_database(here.connection, connection)
            there = Side(connection, url, here.files)
            with suppress(asyncpg.UndefinedTableError):  # an empty one
                await there.read(store.public_id)
    except _LOST:
        return UNREACHABLE
    if not there.store_id:
        return WITHOUT_STORE
    # The copy of a move from here; any other says that the store is there, or has moved on.
    if here.state == LEAVING and there.state in (COPYING, LEFT):
        return WITH_COPY
    raise ArchiveError(_advice(here.state, there))


def _advice(state: str | None, there: Side) -> str:
    if state == LEAVING:
        return "the store has arrived in the other database, which answers: repeat vitrine tenant move"
    if there.state in (COPYING, LEFT):
        return "the store has moved on from the other database: move it here from where it serves"
    return "the other database answers, and the store serves there: move it back with vitrine tenant move --undo"


def describe(name: str, done: Abandonment) -> list[str]:
    """Return the lines for people."""
    if done.was is None:
        return [f"{name} serves here: there is nothing to abandon"]
    lost = {
        LEAVING: "what was written there, if it had arrived",
        LEFT: f"what was written there since {done.left_at}",
        COPYING: "what was written there since the last round of the copy",
    }
    lines = [f"{name} serves here again; the other database is {done.other}", f"lost: {lost[done.was]}"]
    if done.was == COPYING:
        lines.append("its addresses and files may be missing: vitrine tenant host add, vitrine doctor")
    return lines


def as_json(store: Store, done: Abandonment) -> dict[str, Any]:
    """Return the `--json` form."""
    return {
        "tenant_id": str(store.public_id),
        "changed": done.was is not None,
        "was": done.was,
        "left_at": done.left_at,
        "other": done.other,
    }
