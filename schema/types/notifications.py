"""Define inbox notifications."""

from __future__ import annotations

from domain.notifications.read import NOTIFICATIONS, STATUS
from models.reading.queries import ToOne
from schema.enums import NotificationStatus, NotificationType
from schema.fields import column, computed, entity_type, referenced, relation, unix_seconds
from schema.scalars import ID, BigInt, DateTime
from schema.types.people import UserObject


@entity_type(NOTIFICATIONS, "Notification")
class NotificationObject:
    """A notification in a user's inbox."""

    id: ID = column("public_id", "The unique ID (UUID).")
    user_id: ID = column(referenced("users", "user_id"), "The recipient.")
    user: UserObject | None = relation(ToOne("user_id"), "The recipient.")
    type: NotificationType = column(description="The type.")
    title: str = column(description="The title, in the store's language.")
    message: str = column(description="The text, in the store's language.")
    status: NotificationStatus = computed(STATUS, "Whether it was read.")
    created_at: DateTime = column(description="When the notification was created.")
    read_at: DateTime | None = column(description="When the notification was read; null while unread.")
    created_unix: BigInt = unix_seconds("created_at", "When the notification was created")
