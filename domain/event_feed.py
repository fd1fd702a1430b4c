"""The event feed: all events of a store in one order, for reading from any place on (docs/reference/shared.md#event-feed).

Each event gets a position after the commit of the transaction that emitted it: `number_events`, called by each reader. Under a lock of
the store it numbers the committed events that have no position yet. So positions become visible in their order, without gaps, and those
who emit events neither wait for each other nor for a reader. Cause precedes effect, and the events of a subject are in their sequence:
they had their ids one after the other.

A cursor is the position of an event, encrypted together with its store.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import orjson

from auth.access import Access
from auth.app_scopes import privilege_for
from auth.secrets import DecryptionError, decrypt_deterministic, encrypt_deterministic
from domain.event_types import EVENT_TYPES, NAMES, check_names, order_keys
from domain.store_settings import setting
from domain.webhooks.envelope import event_id
from kernel.clock import format_rfc3339
from kernel.errors import Expired, InsufficientPrivileges, MissingScope, ValidationFailed
from kernel.scope import ActorKind, Scope, Store
from models.connection import database
from models.reading.queries import statement_limit
from models.rows import from_row

OLDEST, LATEST = "oldest", "latest"
"""In place of a cursor: before the oldest event that is kept, and after the newest."""
MAX_PAGE_SIZE = 1_000

_SCOPES = tuple(dict.fromkeys(EVENT_TYPES[name].scope for name in NAMES))
ACCESS = Access(
    privileges=tuple(dict.fromkeys(privilege_for(scope) for scope in _SCOPES)),
    app_scope=_SCOPES,
    note="Each event needs the scope that reads its subject, or the privilege that covers this scope.",
)

CURSOR_PURPOSE = "event cursor"
_CURSOR = struct.Struct(">QQ")
# Events numbered by one statement, and statements of one read: what is left has positions by the next read.
_NUMBERED_AT_ONCE = 2_000
_MAX_STATEMENTS = 20
# A page reads at most so many positions: the events that a caller wants may be rare.
_WINDOW = 20_000

_NUMBER = f"SELECT vitrine_number_events({_NUMBERED_AT_ONCE})"
_PAGE = f"""
SELECT f.latest, f.expired, e.position, e.public_id, e.name, e.subject_type, e.subject_id, e.sequence, e.data, e.created_at
FROM event_feeds f LEFT JOIN LATERAL (
    SELECT * FROM outbox_events e
    WHERE e.tenant_id = f.tenant_id AND e.position > coalesce($2, f.expired) AND e.position <= coalesce($2, f.expired) + {_WINDOW}
        AND e.name = ANY($3::text[])
    ORDER BY e.position LIMIT {{limit}}
) e ON true
WHERE f.tenant_id = $1 ORDER BY e.position
"""
_DELETE = """
WITH old AS (
    SELECT id FROM outbox_events e
    WHERE tenant_id = $1 AND created_at < $2 AND (dispatched_at IS NULL OR dispatched_at < $2)
        AND (position IS NOT NULL OR name = 'ping') AND NOT EXISTS (
            SELECT FROM event_deliveries d WHERE d.tenant_id = e.tenant_id AND d.event_id = e.id AND d.due_at IS NOT NULL
        )
    LIMIT $3
), deleted AS (
    DELETE FROM outbox_events e USING old WHERE e.tenant_id = $1 AND e.id = old.id RETURNING e.position
), bounds AS (
    UPDATE event_feeds SET expired = greatest(expired, (SELECT max(position) FROM deleted)) WHERE tenant_id = $1
)
SELECT count(*) FROM deleted
"""


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """An event with its position in the feed of its store."""

    position: int
    id: UUID
    name: str
    subject_type: str
    subject_id: UUID
    sequence: int
    data: dict[str, Any]
    at: datetime
    size: int
    """The length of the stored data, in characters."""

    def record(self, store: Store) -> dict[str, Any]:
        """Return the event as clients see it, in the order of its keys: a webhook's envelope without what depends on the receiver."""
        return {
            "id": event_id(self.id),
            "event": self.name,
            "timestamp": format_rfc3339(self.at),
            "tenant_id": str(store.public_id),
            "subject_type": self.subject_type,
            "subject_id": str(self.subject_id),
            "sequence": self.sequence,
            "data": self.data,
            "cursor": encode_cursor(store, self.position),
        }


@dataclass(frozen=True, slots=True)
class FeedPage:
    """Events after the position `start`; `end` is how far was read, which may be past the last event."""

    events: Sequence[FeedEvent]
    start: int
    end: int
    has_more: bool


def readable_events(scope: Scope, types: Iterable[str] | None = None) -> list[str]:
    """Return the names of the events that the caller may read, of the requested types.

    Raises `ValidationFailed` for an unknown type, `MissingScope` or `InsufficientPrivileges` for one that the caller may not read, and the
    errors of `ACCESS`.
    """
    ACCESS.check(scope)
    if types is None:
        return [name for name in NAMES if _may_read(scope, EVENT_TYPES[name].scope)]
    names = list(dict.fromkeys(types))
    check_names("types", names)
    for name in names:
        if not _may_read(scope, EVENT_TYPES[name].scope):
            if scope.actor.kind is ActorKind.APP:
                raise MissingScope(EVENT_TYPES[name].scope)
            raise InsufficientPrivileges(privilege_for(EVENT_TYPES[name].scope))
    return names


def _may_read(scope: Scope, app_scope: str) -> bool:
    if scope.actor.kind is ActorKind.APP:
        return app_scope in scope.actor.scopes
    return scope.actor.has_privilege(privilege_for(app_scope))


# --- Cursors ---------------------------------------------------------------------------------------------------------------


def encode_cursor(store: Store, position: int) -> str:
    """Return the cursor of a position in the store's feed."""
    encrypted = encrypt_deterministic(CURSOR_PURPOSE, _CURSOR.pack(store.id, position))
    return base64.urlsafe_b64encode(encrypted).rstrip(b"=").decode()


def _decode_cursor(store: Store, cursor: str) -> int:
    """Return the position of a cursor; raises `ValidationFailed` for any text but a cursor of the store, here or where it came from."""
    try:
        text = cursor.encode("ascii")
        encrypted = base64.b64decode(text + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
        store_id, position = _CURSOR.unpack(decrypt_deterministic(CURSOR_PURPOSE, encrypted))
    except (DecryptionError, ValueError, struct.error) as error:
        raise _unknown_cursor() from error
    if store_id not in (store.id, *store.former_ids):
        raise _unknown_cursor()
    return int(position)


def _unknown_cursor() -> ValidationFailed:
    return ValidationFailed("after is not a cursor of this store's events", field="after", code="invalid")


async def start_position(scope: Scope, after: str | None) -> int | None:
    """Return the position to read after: of a cursor or of `latest`; None for `oldest` and None, before the oldest event that is kept.

    Raises `ValidationFailed` for any other text.
    """
    if after is None or after == OLDEST:
        return None
    if after != LATEST:
        return _decode_cursor(scope.store, after)
    while not await number_events():
        pass
    return await database.fetchval("SELECT latest FROM event_feeds WHERE tenant_id = $1", scope.store.id) or 0


# --- Reading ---------------------------------------------------------------------------------------------------------------


async def number_events() -> bool:
    """Assign positions to the store's committed events; return False if some are left for the next call."""
    for _ in range(_MAX_STATEMENTS):
        if await database.fetchval(_NUMBER) < _NUMBERED_AT_ONCE:
            return True
    return False


async def read_page(scope: Scope, position: int | None, names: Sequence[str], limit: int) -> FeedPage:
    """Return the events of these names after a position, at most `limit`; None reads from the oldest event that is kept.

    A page ends early where many events of other names lie between; `has_more` says that there is more to read after its `end`. Raises
    `Expired` with the `oldest_cursor` when events after the position were deleted, `ValidationFailed` for a position that does not exist.
    """
    is_complete = await number_events()
    rows = await database.fetch(_PAGE.format(limit=statement_limit(limit + 1)), scope.store.id, position, names)
    latest, expired = (rows[0]["latest"], rows[0]["expired"]) if rows else (0, 0)
    start: int = expired if position is None else position
    if start > latest:
        raise _unknown_cursor()  # of a database that was replaced by an older backup
    if start < expired:
        oldest = encode_cursor(scope.store, expired)
        raise Expired("the events after this cursor are no longer kept", details={"oldest_cursor": oldest})
    page_events = [_build_event(row) for row in rows if row["position"] is not None]
    if len(page_events) > limit:
        return FeedPage(page_events[:limit], start, page_events[limit - 1].position if limit else start, True)
    end = min(start + _WINDOW, latest)
    return FeedPage(page_events, start, end, end < latest or not is_complete)


def _build_event(row: Any) -> FeedEvent:
    data = order_keys(row["name"], orjson.loads(row["data"]))
    return from_row(FeedEvent, row, id=row["public_id"], data=data, at=row["created_at"], size=len(row["data"]))


# --- Deletion --------------------------------------------------------------------------------------------------------------


_DELETE_BATCH = 5_000


async def delete_old_events(scope: Scope) -> None:
    """Delete the store's events older than its setting `event_days`, except those with deliveries that are still pending.

    Events without a position are numbered first, so that a cursor before a deleted one is recognized.
    """
    while not await number_events():
        pass
    before = scope.now - timedelta(days=setting(scope, "event_days"))
    while await database.fetchval(_DELETE, scope.store.id, before, _DELETE_BATCH):
        pass
