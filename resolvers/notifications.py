"""Assemble what can be asked and done about notifications."""

from __future__ import annotations

from typing import Any

import strawberry
from strawberry import Info

from auth.access import Access
from domain.notifications import write
from domain.notifications.read import NOTIFICATIONS, owner_of_inbox
from models import reading
from models.reading import Row, Where
from resolvers.changes import shown
from resolvers.reads import DEFAULT_SIZE, MAX_PUBLIC, reads
from schema.fields import root
from schema.filters import window
from schema.pagination import page_type
from schema.scalars import BigInt, Ident, Time
from schema.selection import asked, selection_below
from schema.types.notifications import NotificationObject

_READ = Access(
    vendor=True,
    customer=True,
    user_only=True,
    note="Everybody sees their own, administrators everybody's in the store.",
)
_OWN = Access(vendor=True, customer=True, user_only=True, note="Only one's own.")

Inbox: Any = page_type(NotificationObject, "Inbox")


@strawberry.type
class NotificationQueries:
    """A user's inbox."""

    @root(_READ, "The notifications of a user, newest first; asking for another's is refused.")
    async def inbox(self, info: Info, user_id: Ident, page: int = 1, per_page: int = DEFAULT_SIZE) -> Inbox:
        """Show a page of somebody's inbox."""
        scope = info.context.scope
        window(per_page, 0, MAX_PUBLIC, "per_page")
        window(page, 0, 2**31 - 1, "page")
        page = max(page, 1)
        owner = await owner_of_inbox(scope, user_id)
        mine = [Where("t.user_id = {}", (owner,))]
        result = Row(page=page, per_page=per_page, items=[], total=0)
        if owner is None:
            return result
        if asked(info, "items"):
            result["items"] = await reading.many(
                scope,
                selection_below(info, "items"),
                conditions=mine,
                limit=per_page,
                offset=(page - 1) * per_page,
            )
        if asked(info, "total"):
            result["total"] = await reading.count(scope, NOTIFICATIONS, mine)
        return result


@strawberry.type
class NotificationMutations:
    """What can be done with notifications."""

    @root(_OWN, "Mark one of one's own notifications as read.")
    async def notification_mark_read(self, info: Info, id: Ident) -> NotificationObject | None:
        """Mark one as read."""
        return await shown(info, NOTIFICATIONS, await write.mark_read(info.context.scope, id))

    @root(
        _OWN,
        "Mark all of one's own notifications, or those written before a moment, as read; gives how many were unread.",
    )
    async def notifications_mark_read(self, info: Info, before: Time | None = None) -> BigInt:
        """Mark all as read."""
        return BigInt(await write.mark_all_read(info.context.scope, before))


QUERIES = (
    reads(NotificationObject, NOTIFICATIONS, "notification", "notifications"),
    NotificationQueries,
)
MUTATIONS = (NotificationMutations,)
