"""Make inboxes, and room for what a shipment's client says of the order's time."""

from __future__ import annotations

from tortoise.migrations.migration import Migration as Base
from tortoise.migrations.operations import AddField, Operation

from models.migrations._operations import StateOnly, field, run_files, store_model


class Migration(Base):
    """Follow the first tables."""

    dependencies: list[tuple[str, str]] = [("models", "0003_pricing")]  # noqa: RUF012  # as Tortoise declares it
    operations: list[Operation] = [  # noqa: RUF012
        run_files(forward="0004_notifications", backward="0004_notifications_reverse.sql"),
        StateOnly(
            store_model(
                "Notification",
                "notifications",
                user="-> User.notifications",
                type="text",
                title="text",
                message="text",
                created_at="moment",
                read_at="moment?",
            ),
            AddField("Shipment", "order_placed_at", field("order_placed_at", "moment?")),
        ),
    ]
