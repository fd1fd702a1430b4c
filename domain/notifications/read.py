"""Declare what of notifications can be read: everybody's own, and an administrator everybody's in the store."""

from __future__ import annotations

from domain.references import USER, look_up
from domain.visibility import Rows
from kernel.errors import Forbidden
from kernel.ids import parse_reference
from kernel.scope import ActorKind, Scope
from models.reading import Entity, EntityFilter, Sort, any_of, compares, named, refers_to

STATUS = "CASE WHEN t.read_at IS NULL THEN 'unread' ELSE 'read' END"

NOTIFICATIONS = Entity(
    name="notification",
    table="notifications",
    # Which privileges an administrator has makes no difference: what a notification tells is no more than that something happened.
    visible=Rows(admin=(), vendor="t.user_id = {user}", customer="t.user_id = {user}", user_only=True),
    filters={
        "id": EntityFilter("id", named, "any of these notifications", many=True),
        "user_id": EntityFilter("id", refers_to("t.user_id", "users"), "of any of these users", many=True),
        "type": EntityFilter("text", any_of("t.type"), "of any of these types", many=True),
        "status": EntityFilter("text", any_of(STATUS), "`read` or `unread`", many=True),
        "created_from": EntityFilter("time", compares("t.created_at", ">="), "written then or later"),
        "created_before": EntityFilter("time", compares("t.created_at", "<"), "written before"),
    },
    sorts={
        "created_at": Sort("t.created_at", "timestamptz", "time of writing"),
        "id": Sort("t.id", "bigint", "order of entry"),
    },
    default_sort="-created_at",
)


async def owner_of_inbox(scope: Scope, user: object) -> int | None:
    """Give the internal id of the user whose inbox is asked for, None where there is no such user.

    Raises Forbidden for anybody but an administrator who asks for an inbox not their own.
    """
    reference = parse_reference(user)
    actor = scope.actor
    if reference is not None and reference in (actor.user_id, actor.user_public_id):
        return actor.user_id
    if actor.kind not in (ActorKind.ADMIN, ActorKind.SYSTEM):
        raise Forbidden("insufficient permissions")
    return (await look_up(scope, USER, [user])).get(user)
