"""Keep the statuses of orders and parcels, and give every store those that none can be without."""

from __future__ import annotations

from tortoise.migrations.migration import Migration as Base
from tortoise.migrations.operations import AddField, Operation

from models.migrations._operations import StateOnly, field, run_files, store_model


class Migration(Base):
    """Add a table, and the letters a store added to the store itself."""

    dependencies: list[tuple[str, str]] = [("models", "0005_carts")]  # noqa: RUF012  # as Tortoise declares it
    operations: list[Operation] = [  # noqa: RUF012
        run_files(forward="0006_statuses", backward="0006_statuses_reverse.sql"),
        StateOnly(
            store_model(
                "Status",
                "statuses",
                created_at="moment",
                updated_at="moment",
                deleted_at="moment?",
                type="text",
                letter="text",
                description="text",
                color="text",
                inventory="text?",
                notify="bool",
                position="int",
                built_in="bool",
            ),
            AddField("Tenant", "status_letters", field("status_letters", "json")),
        ),
    ]
