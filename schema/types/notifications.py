"""Define what the platform tells people."""

from __future__ import annotations

from domain.notifications.read import NOTIFICATIONS, STATUS
from schema.fields import column, entity
from schema.scalars import BigInt, Ident, Time


@entity(NOTIFICATIONS, "Notification", "What the platform told somebody.")
class NotificationObject:
    """A row of `notifications`."""

    id: Ident = column("public_id", "The UUID.")
    user_id: Ident = column(
        "(SELECT u.public_id FROM users u WHERE u.tenant_id = t.tenant_id AND u.id = t.user_id)",
        "Whose inbox it lies in.",
    )
    type: str = column(description="What it is about: `order`, `stock` or `app`.")
    title: str = column(description="The title, in the store's language.")
    message: str = column(description="The text, in the store's language.")
    status: str = column(STATUS, "`read` or `unread`.")
    created_at: Time = column(description="When it was written.")
    read_at: Time | None = column(description="When it was read; null while it is unread.")
    created_unix: BigInt = column(
        "floor(extract(epoch from t.created_at))::bigint", "Unix seconds of writing.", internal=True
    )
