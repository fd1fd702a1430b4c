"""Queryable fields of notifications: a user's own, and for administrators those of every user."""

from __future__ import annotations

from domain.filters import created_range, exact, ids, references, sorts
from domain.visibility import VisibleRows
from kernel.errors import Forbidden
from kernel.ids import parse_reference
from kernel.scope import STAFF, Scope
from models.reading.queries import Entity, EntityFilter, any_of
from models.references import USER, find_ids

STATUS = "CASE WHEN t.read_at IS NULL THEN 'unread' ELSE 'read' END"

NOTIFICATIONS = Entity(
    table="notifications",
    # Visible without privileges, because a notification reveals no more than that something happened.
    visible=VisibleRows(admin=(), vendor="t.user_id = {user}", customer="t.user_id = {user}", user_only=True),
    filters={
        "id": ids("notifications"),
        "user_id": references("users", "of any of these users"),
        **exact("notification_type", type="of any of these types"),
        "status": EntityFilter("notification_status", any_of(STATUS), "any of these statuses", many=True),
        **created_range(),
    },
    sorts=sorts("created_at", "id"),
    default_sort="-created_at",
)


async def find_inbox_owner(scope: Scope, user: object) -> int | None:
    """Return the internal id of the user whose notifications are requested, None if there is no such user.

    Raises Forbidden if a caller other than an administrator requests another user's.
    """
    reference = parse_reference(user)
    actor = scope.actor
    if reference is not None and reference in (actor.user_id, actor.user_public_id):
        return actor.user_id
    if actor.kind not in STAFF:
        raise Forbidden("insufficient permissions")
    return (await find_ids(scope, USER, [user])).get(user)
