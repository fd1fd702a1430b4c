"""Resolve inbox notifications."""

from __future__ import annotations

from typing import Any

from strawberry import Info

from auth.access import Access
from domain.notifications import write
from domain.notifications.read import NOTIFICATIONS, find_inbox_owner
from models.reading import row_reads
from models.reading.queries import Condition, Row
from resolvers.engine.complete import load_record
from resolvers.entity_queries import build_entity_queries
from schema.declaration import declare
from schema.fields import root_field
from schema.pagination import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, check_page_bounds, page_type
from schema.scalars import ID, BigInt, DateTime
from schema.selection import is_requested, requested_shape
from schema.types.notifications import NotificationObject

_READ = Access(
    vendor=True,
    customer=True,
    user_only=True,
    note="Users see their own notifications, administrators those of all users.",
)
_OWN = Access(vendor=True, customer=True, user_only=True, note="Only for the caller's own notifications.")

Inbox: Any = page_type(NotificationObject, "Inbox")


@declare
class NotificationQueries:
    """Queries of a user's inbox."""

    @root_field(_READ)
    async def inbox(self, info: Info, user_id: ID, page: int = 1, per_page: int = DEFAULT_PAGE_SIZE) -> Inbox:
        """Return the notifications of a user, newest first; access to another user's inbox is denied."""
        scope = info.context.scope
        check_page_bounds(per_page, 0, MAX_PAGE_SIZE, "per_page")
        check_page_bounds(page, 0, 2**31 - 1, "page")
        page = max(page, 1)
        owner = await find_inbox_owner(scope, user_id)
        mine = [Condition("t.user_id = {}", (owner,))]
        result = Row(page=page, per_page=per_page, items=[], total=0)
        if owner is None:
            return result
        if is_requested(info, "items"):
            result["items"] = await row_reads.fetch_many(
                scope, requested_shape(info, "items"), conditions=mine, limit=per_page, offset=(page - 1) * per_page
            )
        if is_requested(info, "total"):
            result["total"] = await row_reads.count_rows(scope, NOTIFICATIONS, mine)
        return result


@declare
class NotificationMutations:
    """Mutations of notifications."""

    @root_field(_OWN)
    async def notification_mark_read(self, info: Info, id: ID) -> NotificationObject | None:
        """Mark one of the caller's notifications as read."""
        return await load_record(info, await write.mark_read(info.context.scope, id))

    @root_field(_OWN)
    async def notifications_mark_read(self, info: Info, before: DateTime | None = None) -> BigInt:
        """Mark all of the caller's notifications, or those created before a time, as read; returns the number of previously unread ones."""
        return BigInt(await write.mark_all_read(info.context.scope, before))


QUERIES = (
    build_entity_queries(NotificationObject),
    NotificationQueries,
)
MUTATIONS = (NotificationMutations,)
